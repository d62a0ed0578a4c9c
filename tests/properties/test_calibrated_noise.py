"""What all blocks of a question lose together is what it costs, grid included."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from brute import ADD, REPLACE, TWICE, Raw, neighbours, tables, to_batch, universe
from scipy import stats

from discreto.core import aggregate
from discreto.core.cost import Cost, epsilon_for
from discreto.core.domain.domain import Domain
from discreto.core.maps import Bins, Categories, Values
from discreto.core.noise.calibration import Noise, noises_for
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.gaussian import epsilon_of, fine_bits, log_tail
from discreto.core.noise.sampler import Sampler
from discreto.core.query import Block, Everyone, Ones, Sum, bind, inside
from discreto.core.steps import steps_for
from discreto.errors import ParameterError

DOMAINS = [ADD, REPLACE, TWICE]
IDS = ["add", "replace", "two"]
THIRD, SIXTH = Fraction(1, 3), Fraction(1, 6)
QUESTIONS = {
    "one": Sum(Everyone(), (Block(Ones()),)),
    "several": Sum(
        Bins("x", 3),
        (
            Block(Ones(), share=THIRD),
            Block(Values(("x",), bits=3), "pair", SIXTH, "cube"),
            Block(Values(("x", "y"), bits=3), "gram", SIXTH),
            Block(Values(("x", "y"), bits=3), "linear", SIXTH, "cube"),
            Block(Raw(("x", "y"), 5, total=6), "linear", SIXTH),
        ),
    ),
}


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
def test_the_blocks_of_a_question_cost_epsilon_together(query, domain):
    cost, cells = Cost.of("0.3"), query.cells.count(domain)
    lost = Fraction(0)
    for block, noise in zip(
        query.blocks, noises_for(inside(query, domain), cost), strict=True
    ):
        cube = noise.law == "cube"
        far = (
            block.bind(domain, 2).reach
            if cube
            else block.bind(domain, cells).sensitivity
        )
        assert cube == (block.noise == "cube")
        assert noise.width == (block.bind(domain, 2).width if cube else 1)
        lost += far / noise.amount
    assert lost == cost.epsilon


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
def test_the_blocks_of_a_question_cost_rho_together(query, domain):
    cost = Cost(rho=Fraction(1, 70))
    noises = noises_for(inside(query, domain), cost)
    assert {noise.law for noise in noises} == {"gaussian"}
    pairs = zip(query.blocks, noises, strict=True)
    lost = sum(b.bind(domain, 2).square / (2 * n.amount) for b, n in pairs)
    assert lost == cost.rho


@pytest.mark.parametrize("query", QUESTIONS.values(), ids=QUESTIONS)
def test_the_blocks_of_a_step_cost_one_step_together(query):
    steps = steps_for(1, "1e-5", 40)
    noises = steps.noises(inside(query, ADD))
    pairs = zip(query.blocks, noises, strict=True)
    assert sum(b.bind(ADD, 2).square / n.amount for b, n in pairs) <= (
        1 / steps.noise**2
    )


def test_shares_add_up_to_one():
    for shares in ((1, 1), (THIRD, THIRD), (Fraction(2, 3), Fraction(2, 3))):
        blocks = tuple(Block(Ones(), share=Fraction(share)) for share in shares)
        with pytest.raises(ParameterError):
            bind(Sum(Everyone(), blocks), DOMAINS[0])


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
@pytest.mark.parametrize("form", ["linear", "pair"])
def test_the_reach_is_the_largest_move_of_each_cell_added_up(form, domain):
    """What cube noise has to cover, over all small tables of as many rows."""
    block = Block(Values(("y",), bits=3), form, noise="cube")
    query, largest = Sum(Categories(("c",)), (block,)), domain.rows_per_person + 1
    rows = universe(query.columns())
    sums = np.array(
        [
            aggregate.fold(
                inside(query, domain),
                to_batch([rows[i] for i in t], query.columns()),
                len(t),
            )[0]
            for t in tables(len(rows), largest)
        ]
    )
    relation, more = domain.neighbours, domain.rows_per_person
    one, two = neighbours(len(rows), largest, relation, more).T
    far = np.abs(sums[one] - sums[two]).max(axis=2).sum(axis=1).max()
    assert far == block.bind(domain, 2).reach


# The grid: how much the loss of integer noise exceeds that of real-valued noise.


def lost_on_the_grid(deviation):
    """The most that two log-densities of a number move when it is put on the grid.

    Spread over its grid cell, a number at y within 12 deviations has the density at
    the cell's middle instead of that at y; so it is for both neighbours.
    """
    return 2 * (12 * deviation + 0.25) / (2 * deviation**2)


def test_the_loss_on_the_grid_is_that_of_the_densities():
    deviation = 40.0
    y = np.linspace(-12 * deviation, 12 * deviation, 96_001)
    gap = np.abs(y * y - np.rint(y) ** 2) / (2 * deviation**2)
    assert 0.99 < 2 * gap.max() / lost_on_the_grid(deviation) <= 1


def most_touched(query, domain):
    """How many numbers really differ between neighbours, over all small tables."""
    names, largest = query.columns() or ("c",), domain.rows_per_person + 1
    rows = universe(names)
    answers = []
    for table in tables(len(rows), largest):
        batch = to_batch([rows[i] for i in table], names)
        answers.append(
            aggregate.fold(inside(query, domain), batch, len(table))[0].ravel()
        )
    sums = np.array(answers)
    relation, more = domain.neighbours, domain.rows_per_person
    one, two = neighbours(len(rows), largest, relation, more).T
    return int((sums[one] != sums[two]).sum(axis=1).max())


TOUCHED = [
    Sum(Categories(("c",)), (Block(Ones()),)),
    Sum(Categories(("c",)), (Block(Values(("y",), bits=3), "pair"),)),
    Sum(Bins("y", 4), (Block(Raw(("y",), 5)),)),
    Sum(Categories(("c",)), (Block(Values(("y",), bits=3, constant=True), "gram"),)),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
@pytest.mark.parametrize("query", TOUCHED)
def test_no_more_numbers_differ_than_are_counted(query, domain):
    found = most_touched(query, domain)
    assert found <= query.blocks[0].bind(domain, 2).touched
    if isinstance(query.blocks[0].features, Ones):  # 1, 2 cells, 2 rows
        assert (
            found
            == query.blocks[0].bind(domain, 2).touched
            == (1 if domain is ADD else 2)
        )


@pytest.mark.parametrize("rho", ["1/2", "1e-3", "1e-5", "1e-7"])
@pytest.mark.parametrize("domain", DOMAINS, ids=IDS)
def test_the_grid_loses_a_thousandth_of_rho(domain, rho):
    cost = Cost(rho=Fraction(rho))
    for query in (*QUESTIONS.values(), *TOUCHED):
        noises = noises_for(inside(query, domain), cost)
        lost = sum(
            block.bind(domain, 2).touched
            * lost_on_the_grid(math.sqrt(noise.amount) * 2**noise.bits)
            for block, noise in zip(query.blocks, noises, strict=True)
        )
        assert lost <= cost.rho / 1000


@pytest.mark.parametrize("rho", ["1/100", "3", "200", "5000", "999999"])
@pytest.mark.parametrize("numbers", [1, 7, 10**6])
def test_the_grid_loses_a_thousandth_where_neighbours_are_far_apart(rho, numbers):
    """Sum up both changes of density over all outcomes, as drawn on the grid."""
    rho = Fraction(rho)
    mu = math.sqrt(2 * rho)
    variance = 1 / (2 * rho)
    bits = fine_bits(variance, numbers, rho / 1000, mu / 2)
    sigma = math.sqrt(variance) * 2.0**bits
    outcomes = np.linspace(-12 * sigma, 12 * sigma, 4001)
    other = np.round(outcomes) - mu * sigma  # seen from the neighbour's mean

    def changed(near, real):
        return np.abs(near**2 - real**2).max() / (2 * sigma**2)

    own = changed(np.round(outcomes), outcomes)
    both = own + changed(other, outcomes - mu * sigma)
    assert numbers * both <= rho / 1000
    assert numbers * own <= rho / 2000


@pytest.mark.parametrize("factor", [1.0, 1.2, 1.4, 1.6, 1.8])
def test_sampled_steps_with_little_noise_are_drawn_finely(factor):
    pytest.importorskip("dp_accounting", reason="dp-accounting is absent")
    steps = steps_for(40, "1e-5", 2, "9/10")
    block = Block(Ones())
    wide = replace(block.bind(ADD, 1), touched=int(10**8 * factor))
    noise = steps._noise(wide)
    sigma = math.sqrt(noise.amount) * 2**noise.bits
    # Either neighbour's means lie within 12 deviations and one move of an outcome.
    far = max(13, 12 + 1 / float(steps.noise))
    assert steps.count * wide.touched * far / sigma <= 40 / 1000


@pytest.mark.parametrize("count", [1, 1000, 10**5])
@pytest.mark.parametrize("epsilon", ["1", "1/4"])
def test_the_grid_loses_a_thousandth_of_a_block(epsilon, count):
    steps = steps_for(epsilon, "1e-5", count)
    for query in QUESTIONS.values():
        noises = steps.noises(inside(query, ADD))
        lost = sum(
            block.bind(ADD, 2).touched
            * count
            * lost_on_the_grid(math.sqrt(noise.amount) * 2**noise.bits)
            for block, noise in zip(query.blocks, noises, strict=True)
        )
        assert lost <= Fraction(epsilon) / 1000


@pytest.mark.parametrize("rho", ["1/100", "1/2", "20"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
def test_what_the_grid_loses_is_in_epsilon_and_delta(rho, delta):
    rho, delta = Fraction(rho), Fraction(delta)
    kept = float(delta) * 0.999 * math.exp(-float(rho) / 2000)
    real = epsilon_of(math.sqrt(2 * rho), kept)
    assert epsilon_for(rho, delta) >= real + float(rho) / 1000
    assert real > epsilon_of(math.sqrt(2 * rho), float(delta))


@pytest.mark.parametrize("x", [-8.0, -1.0, 0.0, 3.0, 24.9, 25.0, 40.0, 1e3, 1e6])
def test_tails_of_the_normal_law(x):
    assert log_tail(x) == pytest.approx(stats.norm.logsf(x), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize("count", [1, 30, 1000])
def test_what_the_grid_loses_is_kept_of_a_block(count):
    steps = steps_for("0.7", "1e-5", count)
    mu = math.sqrt(count) / float(steps.noise)
    assert epsilon_of(mu, 0.999e-5) <= 0.7 - mu**2 / 2000


def test_samples_are_accounted_with_their_rate_and_number():
    pld = pytest.importorskip("dp_accounting.pld", reason="dp-accounting is absent")
    from dp_accounting import dp_event

    steps = steps_for(1, "1e-5", 30, "1/10")
    one = dp_event.GaussianDpEvent(float(steps.noise))
    event = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(0.1, one), 30)
    accountant = pld.PLDAccountant(value_discretization_interval=1e-3)
    kept = 0.999e-5 * math.exp(-1 / 2000)
    assert accountant.compose(event).get_epsilon(kept) <= 0.999


@pytest.mark.parametrize("numbers", [1, 3, 1000])
def test_gaussian_noise_is_fine_enough_at_every_variance(numbers):
    """Its deviation, in steps of the draw, is 13 times what may differ, or more."""
    allowance = Fraction(1, 100)
    needed = Fraction(13 * numbers) / allowance
    for power in range(-12, 40):
        variance = Fraction(2) ** power * Fraction(7, 5)
        bits = fine_bits(variance, numbers, allowance, 0.0)
        assert variance * 4**bits >= needed**2


def test_rounded_gaussian_noise_leans_to_neither_side():
    noise = Noise("gaussian", Fraction(1, 2), bits=24)
    draws = noise.draw(Sampler(Entropy(b"lean")), 20_000)
    assert abs(draws.mean()) < 5 * math.sqrt(noise.variance / 20_000)


def test_the_largest_number_of_a_cube_fits_too():
    """A scale that fits by itself is refused where the sum of its draws would not."""
    names = tuple(f"x{i}" for i in range(8))
    cube = Sum(Everyone(), (Block(Values(names, bits=3), noise="cube"),))
    bound = bind(cube, Domain.cube(8))
    for epsilon in (Fraction(bound.blocks[0].reach, 1 << k) for k in range(40, 60)):
        cost = Cost(epsilon=epsilon)
        if Fraction(bound.blocks[0].reach) / epsilon * 9 < 1 << 54:
            assert noises_for(bound, cost)[0].law == "cube"
        else:
            with pytest.raises(ParameterError, match="too large"):
                noises_for(bound, cost)
