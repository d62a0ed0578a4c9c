"""One table of many silos: statistics and models on the sum of their releases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from silos import LINEAR, NAMES, YES_NO, columns, federation, parts, silo

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.maps import ReachVotes, RowsInReach
from discreto.core.query import Choice, Randomise
from discreto.errors import BudgetError, DomainError, ParameterError
from discreto.federated import FederatedTable, Federation, Policy
from discreto.models import (
    BoostingSettings,
    FuzzyCMeans,
    GradientBoostingClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
)
from discreto.testing import simulate

PARTS = parts(0, [40, 60, 80])
POOLED = {
    name: np.concatenate([part[name] for part in PARTS]) for name in (*LINEAR, *YES_NO)
}
MODELS = [
    (LinearRegression(epsilon=1), LINEAR),
    (LinearRegression(epsilon=1, delta="1e-5"), LINEAR),
    (NaiveBayes(epsilon=1), YES_NO),
    (LogisticRegression(epsilon=1), YES_NO),
    (KMeans(3, epsilon=1, random_state=0), LINEAR),
    (FuzzyCMeans(3, epsilon=1, random_state=0), LINEAR),
    (
        GradientBoostingClassifier(
            5,
            epsilon=1,
            random_state=0,
            settings=BoostingSettings(splits="random", rows="all"),
        ),
        YES_NO,
    ),
]


def learned(model):
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and isinstance(value, np.ndarray | float)
    }


@pytest.mark.parametrize(("model", "domain"), MODELS, ids=lambda m: type(m).__name__)
def test_without_noise_models_are_those_of_the_pooled_table(model, domain):
    target = domain.target if model._needs_target else None
    far = FederatedTable(federation(PARTS, domain, noise=False))
    near = dp.Table(columns(POOLED, domain), domain, simulate(noise=False))
    # The known variance of the noise shrinks models: three silos have three times it.
    alone = FederatedTable({"all": silo(POOLED, domain, simulate(noise=False))})
    first = learned(model.fit(near, target))
    second = learned(model.fit(alone, target))
    assert first.keys() == second.keys()
    assert all(np.array_equal(first[n], second[n]) for n in first)
    several = learned(model.fit(far, target))
    assert several.keys() == first.keys()


def test_sums_of_silos_are_exact():
    far = FederatedTable(federation(PARTS, noise=False))
    near = dp.Table(columns(POOLED, LINEAR), LINEAR, simulate(noise=False))
    for ask in (
        lambda t: dp.stats.count(t, epsilon=1),
        lambda t: dp.stats.mean(t, "days", epsilon=1),
        lambda t: dp.stats.variance(t, "paid", epsilon=1),
        lambda t: dp.stats.histogram(t, "left", bins=5, epsilon=1),
    ):
        assert np.array_equal(np.asarray(ask(far).value), np.asarray(ask(near).value))


def test_each_silo_is_charged_the_cost_of_a_fit():
    ledgers = [simulate(k) for k in range(3)]
    silos = {f"{k}": silo(p, ledger=ledgers[k]) for k, p in enumerate(PARTS)}
    model = KMeans(2, epsilon=1, random_state=0).fit(FederatedTable(silos))
    assert all(ledger.spent() == Cost.of(1) for ledger in ledgers)
    assert model.privacy_.cost == Cost.of(1)
    assert model.privacy_.simulated


def test_the_noise_of_all_silos_is_known():
    """The error bar of a count from many silos covers it, and is not far too wide."""
    table = FederatedTable(federation(parts(0, [100] * 7)))
    counts = [dp.stats.count(table, epsilon="1/10") for _ in range(150)]
    values = np.array([float(one.value) for one in counts]) - 700
    spread = np.sqrt(7 * 2) * 10
    assert 0.8 < np.sqrt((values**2).mean()) / spread < 1.25
    widths = [float(one.high - one.low) / spread for one in counts]
    assert 3.9 < np.median(widths) < 4.4


def test_choices_are_made_from_noisy_counts_or_refused():
    ledgers = [simulate(k) for k in range(3)]
    table = FederatedTable(
        {f"{k}": silo(p, YES_NO, ledgers[k]) for k, p in enumerate(PARTS)}
    )
    for ask in (
        lambda: dp.stats.median(table, "days", epsilon=1),
        lambda: dp.stats.mode(table, "late", epsilon=1),
        lambda: table.answers(
            [dp.stats.Count(), dp.stats.Quantile("days", Fraction(1, 2))], epsilon=1
        ),
        lambda: table.train(None, ""),
    ):
        with pytest.raises(ParameterError):
            ask()
    assert not any(ledger.entries() for ledger in ledgers)
    nearest = Choice(RowsInReach(NAMES, "late", ((0.0,) * 4,), 0.5), ReachVotes(1, 2))
    gate = table.gate()
    with pytest.raises(ParameterError, match="NaiveBayes"):
        gate.select(nearest, Cost.of(1), "votes")
    with pytest.raises(ParameterError):
        gate.randomise(Randomise("late", "response"), Cost.of(1), "rows")
    assert not any(ledger.entries() for ledger in ledgers)


def test_a_silo_without_budget_is_found_before_others_pay(tmp_path):
    rich = dp.Ledger(tmp_path / "rich.ledger", epsilon=3)
    poor = dp.Ledger(tmp_path / "poor.ledger", epsilon="0.5")
    table = FederatedTable(
        {"rich": silo(PARTS[0], ledger=rich), "poor": silo(PARTS[1], ledger=poor)}
    )
    with pytest.raises(BudgetError, match="poor"):
        LinearRegression(epsilon=1).fit(table, "balance")
    assert not rich.spent()
    assert not poor.spent()
    LinearRegression(epsilon="0.4").fit(table, "balance")
    assert rich.spent() == poor.spent() == Cost.of("0.4")


def test_a_budget_that_runs_out_in_the_middle(tmp_path):
    """Somebody else spends while we ask: refused, and all that was answered is paid."""
    ledger = dp.Ledger(tmp_path / "one.ledger", epsilon=1)
    one = silo(PARTS[0], ledger=ledger)
    real, asked = one.answer, []

    def answer(message, partner=""):
        if message["kind"] == "measure":
            asked.append(real(message, partner))
            if len(asked) == 1:
                ledger.charge(Cost.of("0.9"), "somebody else")
            return asked[-1]
        return real(message, partner)

    one.answer = answer
    table = FederatedTable({"one": one})
    with pytest.raises(BudgetError):
        KMeans(2, epsilon="0.5", random_state=0).fit(table)
    answered = [reply for reply in asked if reply["kind"] == "release"]
    assert ledger.spent().epsilon <= 1
    assert len(ledger.entries()) == 1 + len(answered)


def test_policies_hold_for_tables_too():
    strict = Policy(questions=("Ones",))
    table = FederatedTable({"strict": silo(PARTS[0], policy=strict)})
    assert dp.stats.count(table, epsilon=1).simulated
    with pytest.raises(dp.DiscretoError, match="does not answer"):
        dp.stats.mean(table, "days", epsilon=1)


def test_neighbours_must_be_of_one_kind():
    fixed = LINEAR.with_(neighbours="replace", rows=40)
    mixed = Federation({"a": silo(PARTS[0], fixed), "b": silo(PARTS[1])})
    with pytest.raises(DomainError):
        FederatedTable(mixed)
    both = FederatedTable(
        {
            "a": silo(PARTS[0], fixed),
            "b": silo(PARTS[1], fixed.with_(rows=60)),
        }
    )
    assert both.domain.rows == 100


def test_trees_that_share_rows_out_are_refused_before_a_charge():
    ledger = simulate(0)
    table = FederatedTable({"one": silo(PARTS[0], YES_NO, ledger)})
    settings = BoostingSettings(rows="disjoint")
    model = GradientBoostingClassifier(5, epsilon=1, settings=settings)
    with pytest.raises(ParameterError, match="rows"):
        model.fit(table, "late")
    assert not ledger.entries()
