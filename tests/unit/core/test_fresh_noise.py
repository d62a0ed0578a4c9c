"""Every number that leaves has noise of its own, of the law that was paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreto import Category, Domain, Ledger, Number, Table
from discreto.core.cost import Cost
from discreto.core.gate import Noise
from discreto.core.maps import Bins, Categories, Largest, Values
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.query import Block, Choice, Everyone, Ones, Sum
from discreto.testing import simulate

UNIT = Number(-1, 1, missing=False)
COLUMNS = {"x": UNIT, "y": UNIT, "c": Category(("u", "v"), missing=False)}
DOMAIN = Domain(COLUMNS)
EMPTY = {"x": np.empty(0), "y": np.empty(0), "c": np.empty(0, dtype=object)}
QUARTER = Fraction(1, 4)
# Without rows the exact sums are 0, so an answer is its noise and nothing else.
COSTS = {
    "laplace": (Cost(epsilon=Fraction(1, 10**6)), "laplace"),
    "cube": (Cost(epsilon=Fraction(1, 10**5)), "cube"),
    "gaussian": (Cost(rho=Fraction(1, 10**6)), "laplace"),
}


def equal_blocks(noise):
    """Blocks that differ in nothing, then two with more cells or numbers."""
    value = Values(("x",))
    blocks = [Block(value, share=QUARTER, noise=noise) for _ in range(3)]
    return (*blocks, Block(Values(("x", "y")), "pair", QUARTER, noise))


def gate(ledger=None):
    ledger = ledger or Ledger(epsilon=1, delta="1e-5")
    return Table(EMPTY, DOMAIN, ledger).gate()


@pytest.mark.parametrize("kind", COSTS)
@pytest.mark.parametrize("cells", [Everyone(), Bins("x", 3)], ids=["one", "cells"])
def test_no_two_numbers_share_a_draw(cells, kind):
    """Real noise: 42 numbers of a spread above 10^11 differ but for 1 in 10^9 runs.

    Two draws of such a spread are equal, or each other's negative, with a chance
    below 10^-12, and there are 861 pairs.
    """
    cost, noise = COSTS[kind]
    query = Sum(cells, equal_blocks(noise))
    ours = gate()
    answers = [ours.measure(query, cost, "q"), gate().measure(query, cost, "q")]
    for measured in answers:
        assert all(noise.variance > 1e22 for noise in measured.noises)
    numbers = np.concatenate([t.ravel() for a in answers for t in a.tables])
    assert np.unique(np.abs(numbers)).size == numbers.size


def test_two_answers_of_one_gate_share_nothing():
    """Chance of failing below 10^-12, as above."""
    ours, query = gate(), Sum(Everyone(), (Block(Values(("x",))),))
    first, second = (
        int(ours.measure(query, COSTS["laplace"][0], "q").tables[0][0, 0])
        for _ in range(2)
    )
    assert abs(first) != abs(second)


class Spy:
    """A sampler that notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def gaussian(self, variance, count):
        self.asked.append((variance, count))
        return np.arange(count, dtype=np.int64) * 7 - 9


@pytest.mark.parametrize("bits", [0, 1, 20, 26])
def test_fine_noise_is_as_large_as_coarse_noise(bits):
    spy, variance = Spy(), Fraction(10, 3)
    drawn = Noise("gaussian", variance, bits=bits).draw(spy, 5)
    assert spy.asked == [(variance * 4**bits, 5)]
    exact = [Fraction(k * 7 - 9, 2**bits) for k in range(5)]
    assert all(abs(d - e) <= Fraction(1, 2) for d, e in zip(drawn, exact, strict=True))


MODE = Choice(Sum(Categories(("c",)), (Block(Ones()),)), Largest())


@pytest.mark.parametrize(
    ("cost", "law"),
    [(Cost(rho=Fraction(1, 50)), "gumbel_max"), (Cost.of("0.1"), "noisy_max")],
)
def test_a_choice_has_the_law_that_its_cost_pays_for(cost, law):
    ours = gate(simulate(5))
    chosen = [ours.select(MODE, cost, "q") for _ in range(60)]
    again = Sampler(Entropy(b"5"))
    scores = np.zeros((1, 2), dtype=np.int64)
    wanted = [int(getattr(again, law)(scores, chosen[0].scale)[0]) for _ in range(60)]
    assert [int(c.indices[0]) for c in chosen] == wanted
