"""Hidden runs: what the best of a random part of them gives away, by brute force.

Each run has a few outcomes, each with a score; neighbours give them other chances, as
far as a run may. The chances of what leaves are worked out exactly over all parts.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import discreto as dp
from discreto.core import hidden_runs
from discreto.core.charge import Receipt, Reservation
from discreto.core.cost import Cost, epsilon_for
from discreto.core.hidden_runs import ODDS, HiddenRuns
from discreto.core.maps.row_partition import HashParts, Parts
from discreto.errors import BudgetError, ParameterError
from discreto.testing import simulate


def shown(runs, chances, scores):
    """The chance of every (run, outcome), summed over all parts of the runs."""
    weights = runs.weights()
    out = {}
    for size in range(1, runs.count + 1):
        parts = list(itertools.combinations(range(runs.count), size))
        for part in parts:
            for found in itertools.product(*(range(len(chances[i])) for i in part)):
                chance = Fraction(weights[size - 1], sum(weights) * len(parts))
                for i, o in zip(part, found, strict=True):
                    chance *= chances[i][o]
                got = [scores[i][o] for i, o in zip(part, found, strict=True)]
                place = got.index(max(got))
                key = part[place], found[place]
                out[key] = out.get(key, 0) + chance
    return out


def private_pair(rng, outcomes, ratio):
    """Chances of outcomes for two neighbours, as far apart as ``ratio`` allows."""
    one = [Fraction(int(rng.integers(1, 200)), 1000) for _ in range(outcomes - 1)]
    lift = [ratio if rng.random() < 0.5 else 1 / ratio for _ in one]
    two = [a * b for a, b in zip(one, lift, strict=True)]
    rest = 1 - sum(one), 1 - sum(two)
    if min(rest) <= 0 or not 1 / ratio <= rest[1] / rest[0] <= ratio:
        return private_pair(rng, outcomes, ratio)
    return [*one, rest[0]], [*two, rest[1]]


def loss(runs, pairs, scores):
    one = shown(runs, [p[0] for p in pairs], scores)
    two = shown(runs, [p[1] for p in pairs], scores)
    assert sum(one.values()) == sum(two.values()) == 1
    ratios = [float(one[key] / two[key]) for key in one if one[key] or two[key]]
    return max(abs(math.log(ratio)) for ratio in ratios)


def worst_loss(runs, ratio):
    """Rare outcomes that all become likelier, below one that makes room for them."""
    found = 0.0
    for rare in (Fraction(1, 1000), Fraction(1, 50), Fraction(1, 5)):
        one = [rare, rare, 1 - 2 * rare]
        two = [rare * ratio, rare * ratio, 1 - 2 * rare * ratio]
        for scores in itertools.permutations(range(3)):
            pairs = [(one, two)] * runs.count
            found = max(found, loss(runs, pairs, [scores] * runs.count))
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_pure_runs_lose_no_more_than_they_cost(count):
    rng, runs = np.random.default_rng(count), HiddenRuns(count)
    for ratio in (Fraction(11, 10), Fraction(3, 2), Fraction(4)):
        each = math.log(ratio)
        for _ in range(25):
            pairs = [private_pair(rng, 3, ratio) for _ in range(count)]
            scores = [rng.integers(0, 3, 3).tolist() for _ in range(count)]
            assert loss(runs, pairs, scores) <= float(2 + ODDS) * each + 1e-12


def test_many_pure_runs_come_close_to_what_they_cost():
    """With the same runs over and over, the chance of being best has a closed form."""
    runs = HiddenRuns(64)
    weights = np.array(runs.weights(), dtype=float)
    weights /= weights.sum()
    sizes = np.arange(1, 65)
    # E[k choose] as polynomials: drawing k of 64 equal runs, all others are worse.
    slope = lambda f: float(np.sum(weights * sizes * f ** (sizes - 1)))  # noqa: E731
    epsilon, most = 0.2, 0.0
    for f in np.linspace(0.3, 0.95, 300):
        higher = 1 - math.exp(-epsilon) * (1 - f)
        most = max(most, epsilon + math.log(slope(higher) / slope(f)))
    assert 2.3 * epsilon < most <= float(2 + ODDS) * epsilon


def test_other_weights_would_lose_more(monkeypatch):
    """The search can see a wrong distribution: always all of the runs."""
    runs, ratio = HiddenRuns(4), Fraction(3, 2)
    allowed = float(2 + ODDS) * math.log(ratio)
    assert worst_loss(runs, ratio) <= allowed
    monkeypatch.setattr(HiddenRuns, "weights", lambda self: [0, 0, 0, 1])
    assert worst_loss(runs, ratio) > allowed


@pytest.mark.parametrize("count", [1, 2, 7, 32, 400])
def test_chances_fall_as_the_proof_needs(count):
    weights = HiddenRuns(count).weights()
    assert len(weights) == count
    assert weights[-1] > 0
    assert sum(weights) < 1 << 63
    for k, (one, next_) in enumerate(itertools.pairwise(weights), start=1):
        assert next_ * (k + 1) <= one * (k + ODDS)
        assert next_ * (k + 1) >= one * (k + ODDS) - (k + 1)  # and no further


def gaussian_pair(mu, cuts):
    """Chances of the bins between cuts for N(0, 1) and N(mu, 1)."""
    below = [[NormalDist(m).cdf(c) for c in cuts] for m in (0, mu)]
    return [np.diff([0, *part, 1]) for part in below]


def hockey_stick(runs, pairs, scores, epsilon):
    """The delta of what is shown; chances by a polynomial in the number of runs."""
    weights = np.array(runs.weights(), dtype=float) / sum(runs.weights())
    count, total = runs.count, 0.0
    sides = []
    for side in (0, 1):
        chances = {}
        for i in range(count):
            for o, chance in enumerate(pairs[i][side]):
                key = scores[i][o]
                poly = np.array([1.0])  # by how many others are drawn
                for j in range(count):
                    if j == i:
                        continue
                    worse = sum(
                        q
                        for s, q in zip(scores[j], pairs[j][side], strict=True)
                        if s < key or (s == key and i < j)
                    )
                    poly = np.convolve(poly, [1.0, worse])
                each = [
                    weights[n] / math.comb(count, n + 1) * poly[n] for n in range(count)
                ]
                chances[i, o] = chance * sum(each)
        sides.append(chances)
    for key, one in sides[0].items():
        total += max(one - math.exp(epsilon) * sides[1][key], 0)
    return total


@pytest.mark.parametrize("delta", ["1e-2", "1e-5"])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_gaussian_runs_lose_no_more_than_they_cost(count, delta):
    rng, runs = np.random.default_rng(count), HiddenRuns(count)
    for mu in (0.2, 0.8):
        each = Cost(rho=Fraction(mu * mu / 2))
        epsilon = float(runs.total(each, Fraction(delta)).block_epsilon)
        cuts = np.linspace(-4, 5, 19)
        for trial in range(12):
            pairs = [gaussian_pair(mu, cuts)[:: 1 - 2 * (trial % 2)]] * count
            order = [np.arange(20), -np.arange(20), rng.permutation(20)][trial % 3]
            several = [order.tolist()] * count
            if trial >= 6:
                several = [rng.permutation(20).tolist() for _ in range(count)]
            assert hockey_stick(runs, pairs, several, epsilon) <= float(Fraction(delta))


def test_without_either_part_delta_would_be_exceeded(monkeypatch):
    """A search that can see what the change of ranks and the mean number pay for."""
    mu, runs, delta = 0.4, HiddenRuns(12), Fraction(1, 1000)
    cuts = np.linspace(-4, 4, 99)
    pair, middles = gaussian_pair(mu, cuts), np.append(cuts, 5.0)
    # Low outcomes, likeliest under the first, are beaten by high ones alone, which the
    # second makes likelier.
    order = np.where(middles < -1.2, 200, np.where(middles > 0.8, 300, 100))
    behind = order + np.arange(100) / 100

    def found(scores):
        several = [scores.tolist()] * 12
        epsilon = float(runs.total(Cost(rho=Fraction(mu**2 / 2)), delta).block_epsilon)
        return hockey_stick(runs, [pair] * 12, several, epsilon)

    assert max(found(behind), found(-middles)) <= float(delta)
    monkeypatch.setattr(hidden_runs, "_rank_slope", lambda count: 0.0)
    assert found(behind) > float(delta) > found(-middles)
    monkeypatch.setattr(HiddenRuns, "mean", lambda self: Fraction(1))
    assert found(-middles) > float(delta)


def test_the_delta_is_shared_by_the_runs_that_are_drawn():
    runs, delta, rho = HiddenRuns(12), Fraction(1, 1000), Fraction(1, 800)
    assert 5 < runs.mean() < 7
    rank = 0.05 * hidden_runs._rank_slope(12)
    alone = float(runs.total(Cost(rho=rho), delta).block_epsilon) - rank
    assert alone >= epsilon_for(rho, delta / runs.mean())


@pytest.mark.parametrize("count", [1, 3, 40])
def test_every_term_of_the_theorem_is_paid_for(count):
    """The loss of a run, the change of ranks, and the grid of the noise, 1 + eta times.

    The least of the change of ranks is searched for here, on a finer grid.
    """
    runs, rho, delta = HiddenRuns(count), Fraction(1, 2), Fraction(1, 10**5)
    odds, law = 0.7, NormalDist()
    places = np.linspace(0, 8, 20001)
    heights = [law.pdf(z) - z * law.cdf(-z) for z in places]
    slopes = (1 + odds) * places + (count + odds) * np.array(heights)
    spare = delta / math.ceil(runs.mean())
    needed = epsilon_for(rho, spare) + float(slopes.min())  # mu is 1
    needed += (1 + odds) * float(rho) / 1000
    paid = float(runs.total(Cost(rho=rho), delta).block_epsilon)
    assert needed <= paid <= needed * 1.0001


def test_a_run_may_cost_what_all_of_them_pay_for():
    runs = HiddenRuns(32)
    for epsilon, delta in ((Fraction(1), 0), (Fraction(2), Fraction("1e-5"))):
        each = runs.each(epsilon, Fraction(delta))
        whole = runs.total(each, Fraction(delta))
        assert Fraction(999, 1000) * epsilon < whole.total(Fraction(delta)) <= epsilon
    with pytest.raises(ParameterError):
        runs.total(Cost(rho=Fraction(1)))
    with pytest.raises(ParameterError):
        HiddenRuns(0)


def reservation(cost, seed=0):
    ledger = simulate(seed)
    return Reservation(ledger, ledger.charge(cost, "runs"))


def test_more_than_was_paid_is_refused_before_a_run():
    def work(number, payers):
        pytest.fail("a run was made")

    runs, cost = HiddenRuns(4), Cost(epsilon=Fraction(1))
    with pytest.raises(ParameterError, match="more than was paid"):
        runs.best([reservation(cost)], [cost], work)


def test_a_run_cannot_spend_more_than_its_part():
    def work(number, payers):
        payers[0].charge(Cost(epsilon=Fraction(1)), "all that a run has")
        with pytest.raises(BudgetError):
            payers[0].charge(Cost(epsilon=Fraction(1, 100)), "more")
        assert isinstance(payers[0].receipt, Receipt)
        return number, number

    runs = HiddenRuns(3)
    each = Cost(epsilon=Fraction(1))
    runs.best([reservation(runs.total(each))], [each], work)


def test_runs_are_paid_for_once():
    from discreto.errors import BudgetError

    runs, each = HiddenRuns(3), Cost(epsilon=Fraction(1))
    paid = reservation(runs.total(each) + Cost(epsilon=Fraction(1, 10)))
    runs.best([paid], [each], lambda i, payers: (i, i))
    paid.charge(Cost(epsilon=Fraction(1, 10)), "what is left")
    for again in (
        lambda: runs.best([paid], [each], lambda i, payers: (i, i)),
        lambda: paid.charge(Cost(epsilon=Fraction(1, 10**9)), "more"),
    ):
        with pytest.raises(BudgetError):
            again()


def test_every_table_pays_for_its_runs():
    runs, each = HiddenRuns(3), Cost(epsilon=Fraction(1))
    enough, little = reservation(runs.total(each)), reservation(each)
    for paid in ([enough, little], [little, enough]):
        with pytest.raises(ParameterError, match="more than was paid"):
            runs.best(paid, [each, each], lambda i, payers: pytest.fail("a run"))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_part_whose_rows_may_be_replaced_has_no_runs_with_a_delta(neighbours):
    """Two parts change together: their two losses are more than the proof allows."""
    runs, delta = HiddenRuns(3), Fraction(1, 10**5)
    domain = dp.Domain(
        {"x": dp.Number(0, 1), "c": dp.Category(["a", "b"])},
        neighbours=neighbours,
        rows=4,
    )
    rows = {"x": [0.1, 0.2, 0.3, 0.4], "c": list("abab")}
    gate = dp.Table(rows, domain, simulate(1)).gate()
    partition = Parts(HashParts(("c",), (1, 1)))
    for each, spare in ((Cost(epsilon=Fraction(1)), 0), (Cost(rho=Fraction(1)), delta)):
        whole = runs.total(each, Fraction(spare))
        part = gate.parts(partition, whole, "parts")[0]
        made = []

        def run(number, payers, made=made):
            made.append(number)
            return number, number

        if neighbours == "replace" and spare:
            with pytest.raises(ParameterError, match="part of a table"):
                runs.best([part.ledger], [each], run)
            assert not made
        else:
            runs.best([part.ledger], [each], run)
            assert made == [0, 1, 2]


def test_runs_of_two_kinds_are_refused():
    part = Fraction(1, 10)
    for each in (
        Cost(epsilon=part, rho=part),
        Cost(epsilon=part, block_epsilon=part),
        Cost(block_epsilon=part, delta=part),
        Cost.leak(),
        Cost(),
    ):
        with pytest.raises(ParameterError, match="one kind"):
            HiddenRuns(3).total(each, Fraction(1, 1000))


def test_the_part_is_drawn_as_its_weights_say():
    """Runs of rising score: the winner is the largest number that was drawn."""
    runs, each = HiddenRuns(3), Cost(epsilon=Fraction(1))
    paid, draws = reservation(runs.total(each), seed=5), 4000
    counts = np.zeros(3)
    for _ in range(draws):
        fresh = Reservation(paid.ledger, paid.receipt)
        counts[runs.best([fresh], [each], lambda i, payers: (i, i))] += 1
    weights = [Fraction(w, sum(runs.weights())) for w in runs.weights()]
    top = weights[0] / 3 + weights[1] * Fraction(2, 3) + weights[2]
    middle = weights[0] / 3 + weights[1] / 3
    expected = np.array([1 - top - middle, middle, top], dtype=float) * draws
    assert ((counts - expected) ** 2 / expected).sum() < 40  # 2 degrees: 2e-9


@pytest.mark.parametrize("z", [0.0, 0.5, 2.0, 7.9])
def test_tangents_of_the_gaussian_profile(z):
    law = NormalDist()
    exact = law.pdf(z) - z * law.cdf(-z)
    assert exact <= hidden_runs._height(z) <= exact + 2e-12
