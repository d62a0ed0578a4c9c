"""What an epsilon means, against the best attacks that there are."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

from discreto.cli import app
from discreto.core.cost import Cost, read_amount
from discreto.errors import ParameterError
from discreto.text.meaning import DEPLOYMENTS, deployments_near, explain, explain_cost


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("prior", [0.01, 0.1, 0.5, 0.9])
def test_randomised_response_reaches_every_bound(epsilon, prior):
    """Yes with p, no with 1 - p: nothing is easier to attack at this epsilon."""
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = explain(epsilon, prior=prior)
    belief = prior * yes / (prior * yes + (1 - prior) * (1 - yes))
    assert found.posterior == pytest.approx(belief)
    # Guess by the answer, or always the same.
    right = max(prior * yes + (1 - prior) * yes, prior, 1 - prior)
    assert found.success == pytest.approx(right)
    # Accusing a part of those who answer yes.
    for part in (0.1, 0.5, 1.0):
        alarms = part * (1 - yes)
        assert found.hits(alarms) == pytest.approx(part * yes)
        assert found.precision(alarms) == pytest.approx(belief)


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
def test_with_a_delta_the_worst_mechanism_reaches_the_bounds(delta):
    """With probability delta it says who; else randomised response."""
    epsilon, prior = 1.0, 0.3
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = explain(epsilon, delta, prior=prior)
    right = delta + (1 - delta) * max(yes, prior, 1 - prior)
    assert found.success == pytest.approx(right)
    alarms = (1 - delta) * (1 - yes)
    assert found.hits(alarms) == pytest.approx(delta + (1 - delta) * yes)
    assert found.odds is None
    assert found.posterior is None


@pytest.mark.parametrize("prior", [0.1, 0.5])
def test_gaussian_noise_stays_below_its_bound_and_close_to_it(prior):
    cost = Cost.of(1, "1e-5")
    mu, found = math.sqrt(2 * float(cost.rho)), explain_cost(cost, prior=prior)
    for alarms in np.geomspace(1e-4, 0.5, 20).tolist():
        exact = norm.cdf(norm.ppf(alarms) + mu)
        assert exact <= found.hits(alarms) <= 1.25 * exact + 1e-9
    cut = math.log((1 - prior) / prior) / mu
    exact = prior * norm.cdf(mu / 2 - cut) + (1 - prior) * norm.cdf(mu / 2 + cut)
    assert exact <= found.success <= exact + 0.02
    assert found.success < explain(1, "1e-5", prior=prior).success + 1e-12


def test_costs_of_several_kinds_add_up():
    both = explain_cost(Cost.of(1) + Cost.of(1, "1e-5"))
    assert both.success > explain_cost(Cost.of(1, "1e-5")).success
    assert explain_cost(Cost.of(1)).success == explain(1).success
    assert explain_cost(Cost.leak()).success == 1


def test_no_guarantee_and_no_knowledge_are_the_ends():
    assert explain("1e-9", prior=0.2).posterior == pytest.approx(0.2)
    assert explain(10**6).success == 1
    assert "∞" in str(explain(10**6))


@pytest.mark.parametrize("prior", [-0.1, 1.1, "x", None, float("nan")])
def test_a_prior_is_a_probability(prior):
    with pytest.raises(ParameterError, match="prior must be"):
        explain(1, prior=prior)


@pytest.mark.parametrize(
    ("text", "of"), [("ln 3", 3), (" ln(3/2) ", 1.5), ("ln 1.5", 1.5), ("ln2", 2)]
)
def test_a_logarithm_is_read_from_below(text, of):
    amount = read_amount(text, "epsilon")
    from decimal import Context, Decimal

    exact = Context(prec=60).ln(Decimal(str(of)))
    shown = Decimal(amount.numerator) / Decimal(amount.denominator)
    assert 0 < exact - Context(prec=60).create_decimal(shown) < Decimal("1e-18")


@pytest.mark.parametrize("text", ["ln 1", "ln 0", "ln -3", "ln", "ln x", "ln 1/0"])
def test_what_has_no_logarithm_above_0_is_refused(text):
    with pytest.raises(ParameterError, match="epsilon must be"):
        read_amount(text, "epsilon")


def test_the_shell_says_the_same():
    words = ["explain", "--epsilon", "1", "--delta", "1e-5", "--prior", "0.1"]
    told = CliRunner().invoke(app, words).output
    assert "10 % becomes 23.3 % at most" in told
    assert "ρ 0.0359" in told
    data = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert data["success"] == explain(1, "1e-5", prior=0.1).success
    assert CliRunner().invoke(app, ["explain", "--epsilon", "-1"]).exit_code == 2


def test_the_page_has_the_right_numbers():
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "choosing-epsilon.md"
    first, others = page.read_text("utf-8").split("## What others chose")
    lines = [
        x
        for x in first.splitlines()
        if x.startswith(("| 0", "| 1 ", "| ln", "| 2", "| 4", "| 8"))
    ]
    assert len(lines) == 7
    for line in lines:
        epsilon, odds, half, tenth, guess, hits = (
            cell.strip().removesuffix(" %").replace(",", "")
            for cell in line.strip("|").split("|")
        )
        even, low = explain(epsilon), explain(epsilon, prior=0.1)
        told = [odds, half, tenth, guess, hits]
        exact = [even.odds, even.posterior, low.posterior, even.success, even.hits()]
        exact = [exact[0], *(100 * part for part in exact[1:])]
        for text, number in zip(told, exact, strict=True):
            assert float(text) == pytest.approx(number, rel=5e-3), line
    for one in DEPLOYMENTS:
        assert f"| {one.epsilon:g} | {one.who} |" in others


def test_published_values_stand_beside_an_epsilon():
    values = [one.epsilon for one in DEPLOYMENTS]
    assert values == sorted(values)
    assert all(one.unit and one.source for one in DEPLOYMENTS)
    assert [one.epsilon for one in deployments_near("0.1")] == [1]
    assert [one.epsilon for one in deployments_near(5)] == [4, 6]
    assert [one.epsilon for one in deployments_near(100)] == [43]


def test_the_command_puts_an_epsilon_among_published_ones():
    done = CliRunner().invoke(app, ["explain", "--epsilon", "5"])
    lines = done.output.split("What others published", 1)[1].splitlines()
    place = [i for i, line in enumerate(lines) if "yours" in line]
    assert len(place) == 1
    assert "emoji" in lines[place[0] - 1]
    assert "macOS" in lines[place[0] + 1]
    done = CliRunner().invoke(app, ["explain", "--epsilon", "1", "--json"])
    found = json.loads(done.output)
    assert len(found["deployments"]) == len(DEPLOYMENTS)
    for alarms, hits in found["rates"]:
        assert hits == pytest.approx(math.e * alarms)
