"""The rows of the calibration table in terms of our questions, and the gate's losses.

A loss is the largest log likelihood ratio of what ``Gate.measure`` releases on
neighbouring tables: exact, from the sums and the noise law that the gate used.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from brute import ADD, REPLACE, X, Z, check_sum, movement

from discreto.core import gate as module
from discreto.core.charge import Simulation
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain, Number
from discreto.core.gate import Noise
from discreto.core.maps import Bernstein, Bins, Categories, Ranks, Values
from discreto.core.noise.gaussian import delta_of
from discreto.core.query import Block, Everyone, Ones, Sum, bind
from discreto.table.table import Table
from discreto.testing import SimulationLedger, simulate

EPSILON = Fraction(1, 2)
HOSTILE = {
    "x": [-2.0, 6.0, 1e200, math.nan],
    "z": [100.0, 101.0, -math.inf, math.nan],
    "c": ["u", "v", "?"],
}


class Silent:
    """A sampler that adds nothing and remembers which noise was asked for."""

    def __init__(self):
        self.asked = []

    def laplace(self, scale, count):
        self.asked.append(("laplace", scale, count))
        return np.zeros(count, dtype=np.int64)

    def gaussian(self, variance, count):
        self.asked.append(("gaussian", variance, count))
        return np.zeros(count, dtype=np.int64)


def _released(query, cost, domain, column, values):
    """What a gate releases on these values: the exact sums, and the noises on them."""
    silent = Silent()
    data = {name: ["u" if name in "cd" else 0.0] * len(values) for name in domain}
    data[column] = list(values)
    if column == "c":
        data["c"] = np.array(values, dtype=object)
    if domain.neighbours == "replace":
        domain = domain.with_(rows=len(values))
    table = Table(data, domain, SimulationLedger(Simulation(silent)))
    answer = table.gate().measure(query, cost, "q")
    # The noise that was drawn is the noise that is reported, and covers every number.
    assert [kind[:2] for kind in silent.asked] == [
        (noise.law, noise.amount * 4**noise.bits) for noise in answer.noises
    ]
    assert [kind[2] for kind in silent.asked] == [t.size for t in answer.tables]
    return answer


def _neighbours(values, relation, rows):
    for size in range(rows):
        for base in itertools.combinations_with_replacement(values, size):
            for one in values:
                if relation == "add-remove":
                    yield base, (*base, one)
                else:
                    for two in values:
                        yield (*base, one), (*base, two)


def loss(query, cost, domain, column, rows=3) -> Fraction:
    """The worst exact loss of a measurement with Laplace noise.

    The log ratio at output o is the sum of (|o - b| - |o - a|) / scale, and is largest
    at one of the two exact answers, coordinate by coordinate.
    """
    cache, worst = {}, Fraction(0)

    def answer(values):
        key = repr(values)
        if key not in cache:
            cache[key] = _released(query, cost, domain, column, values)
        return cache[key]

    for one, two in _neighbours(HOSTILE[column], domain.neighbours, rows):
        a, b = answer(one), answer(two)
        assert a.noises == b.noises, "the noise depends on rows"
        total = Fraction(0)
        for left, right, noise in zip(a.tables, b.tables, a.noises, strict=True):
            for p, q in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True):
                total += max(abs(o - q) - abs(o - p) for o in (p, q)) / noise.amount
        worst = max(worst, total)
    return worst


def pure(query, domain, column="x", **options) -> Fraction:
    """The worst loss over what was paid."""
    return loss(query, Cost(epsilon=EPSILON), domain, column, **options) / EPSILON


# The whole gate: (question, column, domain, loss over epsilon)

COUNT = Sum(Everyone(), (Block(Ones()),))
HISTOGRAM = Sum(Categories(("c",)), (Block(Ones()),))
MEAN = Sum(Everyone(), (Block(Values(("x",)), "pair"),))
VARIANCE = Sum(Everyone(), (Block(Bernstein(("x",), 2)),))
GATE = {
    "row 4: count": (COUNT, "x", ADD, 1),
    "count, public rows": (COUNT, "x", REPLACE, 0),
    "row 7: histogram": (HISTOGRAM, "c", ADD, 1),
    "row 7: histogram, replace": (HISTOGRAM, "c", REPLACE, 1),
    "bins": (Sum(Bins("x", 2), (Block(Ones()),)), "x", REPLACE, 1),
    "row 6: mean": (MEAN, "x", ADD, 1),
    "row 6: mean, replace": (MEAN, "x", REPLACE, 1),
    "row 5: sum from zero": (
        Sum(Everyone(), (Block(Values(("z",), origin="zero")),)),
        "z",
        ADD,
        1,
    ),
    "row 2: centred sum, replace": (
        Sum(Everyone(), (Block(Values(("z",))),)),
        "z",
        REPLACE,
        1,
    ),
    "variance": (VARIANCE, "x", ADD, 1),
    "variance, replace": (VARIANCE, "x", REPLACE, 1),
}


@pytest.mark.parametrize(
    ("query", "column", "domain", "wanted"), GATE.values(), ids=GATE
)
def test_the_gate_loses_exactly_epsilon(query, column, domain, wanted):
    assert pure(query, domain, column) == wanted


def test_blocks_share_epsilon():
    blocks = (
        Block(Ones(), share=Fraction(1, 4)),
        Block(Values(("x",)), "linear", Fraction(3, 4)),
    )
    assert pure(Sum(Everyone(), blocks), ADD) == 1


@pytest.mark.parametrize("domain", [ADD, REPLACE], ids=["add", "replace"])
@pytest.mark.parametrize("query", [HISTOGRAM, MEAN], ids=["histogram", "mean"])
def test_gaussian_noise_costs_no_more_than_rho(query, domain):
    rho = Fraction(1, 8)
    column = "c" if query is HISTOGRAM else "x"
    cost, worst = Cost(rho=rho), Fraction(0)
    for one, two in _neighbours(HOSTILE[column], domain.neighbours, 3):
        a, b = (_released(query, cost, domain, column, v) for v in (one, two))
        gap = a.tables[0].astype(object) - b.tables[0].astype(object)
        worst = max(worst, Fraction(int((gap * gap).sum())) / (2 * a.noises[0].amount))
    assert worst == rho


def _law(noise, reach=60):
    """The chance of each whole number, from the discrete Gaussian behind the noise."""
    fine = min(noise.bits, 12)  # 2^12 steps show what 2^20 do, and fit in memory
    deviation = math.sqrt(float(noise.amount)) * 2**fine
    k = np.arange(-(reach << fine), (reach << fine) + 1)
    weights = np.exp(-0.5 * (k / deviation) ** 2)
    whole = (k + (1 << fine >> 1)) >> fine
    return np.bincount(whole + reach + 1, weights / weights.sum())


@pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(1, 4), 1, 4])
def test_counts_are_gaussian_private(rho):
    """The hockey-stick divergence of neighbouring counts, summed up by brute force."""
    (noise,) = module.noises_for(
        bind(Sum(Everyone(), (Block(Ones()),)), ADD), Cost(rho=Fraction(rho))
    )
    mu = math.sqrt(2 * rho)

    def worst(law):
        gaps = []
        for epsilon in np.linspace(0, rho + 5 * mu, 40):
            one, two = law[1:], law[:-1]
            lost = np.maximum(one - math.exp(epsilon) * two, 0).sum()
            gaps.append(lost - delta_of(epsilon, mu))
        return max(gaps)

    assert noise.bits >= 20
    assert worst(_law(noise)) <= 1e-6
    # A planted bug: whole-number noise of a small deviation is not Gaussian enough.
    if rho >= 1:
        assert worst(_law(dataclasses.replace(noise, bits=0))) > 1e-3


# Planted bugs in the gate: the same measure of loss sees them.


def test_half_the_noise_is_caught(monkeypatch):
    real = module.noises_for
    monkeypatch.setattr(
        module,
        "noises_for",
        lambda *a: tuple(Noise(n.law, n.amount / 2) for n in real(*a)),
    )
    assert pure(COUNT, ADD) == 2


def test_a_histogram_with_one_under_replace_is_caught(monkeypatch):
    monkeypatch.setattr(Block, "_sensitivity", lambda *facts: 1)
    assert pure(HISTOGRAM, REPLACE, "c") == 2


def test_a_domain_fitted_to_the_data_is_caught():
    """Row 2: bounds from data give other sums for other rows, so no bound at all."""

    def fitted(values):
        finite = [v for v in values if math.isfinite(v)] or [0.0]
        column = Number(min(finite) - 1e-3, max(finite) + 1e-3)
        domain = Domain({"x": column})
        table = Table({"x": list(values)}, domain, simulate(noise=False))
        answer = table.gate().measure(
            Sum(Everyone(), (Block(Values(("x",), origin="zero")),)),
            Cost(epsilon=EPSILON),
            "q",
        )
        step = max(abs(column.lower), abs(column.upper)) / (1 << 30)
        return answer.tables[0][0, 0] * step, float(answer.noises[0].amount) * step

    (sum_one, wide), (sum_two, narrow) = fitted((4, 2, 7, 1)), fitted((4, 2, 1))
    losses = [
        abs(o - sum_two) / narrow - abs(o - sum_one) / wide + math.log(narrow / wide)
        for o in (14, 60, 200)
    ]
    # The figures of the table (1.2, 6.1, 21) at epsilon 1: half the slopes here.
    at_one = [
        2 * (x - math.log(narrow / wide)) + math.log(narrow / wide) for x in losses
    ]
    assert at_one == pytest.approx([1.19, 6.12, 21.12], abs=0.02)
    assert losses[2] > 10 * EPSILON


# Sensitivities in real units


def _real(features, domain, half):
    block = Block(features)
    return block.bind(domain, 1).sensitivity * half / (1 << features.bits)


def test_row_2_and_5_sums():
    largest = max(abs(Z.lower), abs(Z.upper))
    assert _real(Values(("z",), origin="zero"), ADD, largest) == 101
    assert _real(Values(("z",)), ADD, Z.half) == 0.5  # centred, plus a noisy count
    assert _real(Values(("z",)), REPLACE, Z.half) == 1  # U - L
    # Row 5's claim, U - L under add-remove, is 101 times too small for [100, 101].
    moved = movement(
        Sum(Everyone(), (Block(Values(("z",), bits=20, origin="zero")),)), ADD
    )
    assert moved[0][0].l1 * largest / (1 << 20) == pytest.approx(101)


def test_row_6_mean():
    """A pair moves by 2M in all: half the noise of a count and a sum apart."""
    block = Block(Values(("x",), bits=6), "pair")
    (moved,) = check_sum(Sum(Everyone(), (block,)), ADD)
    assert moved.l1 == 2 << 6
    (moved,) = check_sum(Sum(Everyone(), (block,)), REPLACE)
    assert moved.l1 == 4 << 6


def test_row_9_quantiles():
    for part, whole in ((1, 2), (1, 4), (9, 10)):
        alpha = Fraction(part, whole)
        score = Ranks((part,), whole)
        assert Fraction(score.sensitivity("add-remove"), whole) == max(alpha, 1 - alpha)
        assert score.sensitivity("replace") == whole


@pytest.mark.parametrize("width", [1, 2, 3])
def test_row_11_gram_lemma(width):
    """All entries of z z' move by at most m^2, the upper triangle by m (m + 1) / 2."""
    corners = np.array(list(itertools.product((-1, -0.5, 0, 0.5, 1), repeat=width)))
    outer = np.einsum("ri,rj->rij", corners, corners)
    gaps = np.abs(outer[:, None] - outer[None, :])
    assert gaps.sum(axis=(2, 3)).max() == width**2
    upper = np.triu_indices(width)
    assert gaps[:, :, upper[0], upper[1]].sum(axis=2).max() == width * (width + 1) / 2
    names = ("x", "y", "z")[:width]
    block = Block(Values(names, bits=15), "gram")
    for domain in (ADD, REPLACE):
        assert block.bind(domain, 1).sensitivity == width * (width + 1) // 2 << 30


def test_row_11b_intercept():
    """With an intercept and a target the columns are (1, x, y): m = 3."""
    block = Block(Values(("x", "y"), bits=4, constant=True), "gram")
    (moved,) = check_sum(Sum(Everyone(), (block,)), REPLACE)
    assert moved.l1 <= 6 << 8
    (moved,) = check_sum(Sum(Everyone(), (block,)), ADD)
    assert moved.l1 == 6 << 8


def test_row_15_naive_bayes():
    """Counts, centred sums, squares by class: one class moves, two on replace."""
    blocks = (
        Block(Ones(), share=Fraction(1, 3)),
        Block(Values(("x",), bits=6), share=Fraction(1, 3)),
        Block(Values(("x",), bits=6), "gram", Fraction(1, 3)),
    )
    query = Sum(Categories(("c",)), blocks)
    added = check_sum(query, ADD)
    replaced = check_sum(query, REPLACE)
    assert [moved.l1 for moved in added] == [1, 1 << 6, 1 << 12]
    assert [moved.l1 for moved in replaced] == [2, 2 << 6, 2 << 12]


def test_row_16_k_means():
    """Counts and d centred coordinates: 1 and d r / 2 per row, twice on replace."""
    blocks = (
        Block(Ones(), share=Fraction(1, 2)),
        Block(Values(("x", "y"), bits=4), share=Fraction(1, 2)),
    )
    query = Sum(Bins("x", 2), blocks)
    assert [moved.l1 for moved in check_sum(query, ADD)] == [1, 2 << 4]
    assert [moved.l1 for moved in check_sum(query, REPLACE)] == [2, 4 << 4]
    assert _real(Values(("x",)), ADD, X.half) == (X.upper - X.lower) / 2
