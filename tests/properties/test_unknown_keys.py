"""Values that nobody has listed: the exact loss by brute force, and what is shown."""

from __future__ import annotations

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto.core import unknown_keys
from discreto.core.cost import Cost
from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler
from discreto.core.unknown_keys import (
    Keys,
    KeysNoise,
    end_chance,
    keys_noise,
    shown_keys,
)
from discreto.errors import DomainError, ParameterError
from discreto.testing import simulate

OPEN = {"t": dp.OpenText()}
COSTS = [("1", "1e-2"), ("1/2", "1e-3"), ("2", "1e-5"), ("1/10", "1e-2")]


def law(count: int, noise: KeysNoise) -> dict[int | None, float]:
    """The probabilities of what is shown for a value; None: nothing."""
    if count == 0:
        return {None: 1.0}
    sizes = range(-noise.reach, noise.reach + 1)
    weights = {z: math.exp(-abs(z) / float(noise.scale)) for z in sizes}
    whole, out = sum(weights.values()), {}
    for z, weight in weights.items():
        shown = count + z if count + z > noise.reach else None
        out[shown] = out.get(shown, 0.0) + weight / whole
    return out


def joint(counts: tuple[int, ...], noise: KeysNoise) -> dict[tuple, float]:
    laws = [law(count, noise) for count in counts]
    return {
        tuple(key for key, _ in several): math.prod(p for _, p in several)
        for several in itertools.product(*[one.items() for one in laws])
    }


def sides(noise: KeysNoise) -> list[tuple[float, KeysNoise]]:
    """Both sides of the public coin, with their chances."""
    shorter = noise.shorter / 2**40
    long = KeysNoise(noise.scale, noise.reach)
    return [(1 - shorter, long), (shorter, KeysNoise(noise.scale, noise.reach - 1))]


def loss(first: dict, second: dict, epsilon: float) -> float:
    """The least delta at this epsilon."""
    return sum(
        max(p - math.exp(epsilon) * second.get(k, 0.0), 0.0) for k, p in first.items()
    )


@pytest.mark.parametrize(("epsilon", "delta"), COSTS)
def test_no_row_loses_more(epsilon, delta):
    noise = keys_noise(Fraction(epsilon), Fraction(delta), dp.Domain(OPEN))
    worst, rate = 0.0, float(Fraction(epsilon))
    for count in range(3 * noise.reach + 2):
        for way in (1, -1):
            found = 0.0
            for chance, side in sides(noise):
                pair = (law(count, side), law(count + 1, side))[::way]
                found += chance * loss(*pair, rate)
            worst = max(worst, found)
    assert worst <= float(Fraction(delta)) * (1 + 1e-9)
    assert worst >= float(Fraction(delta)) * (1 - 1e-9)  # and no less than was paid for


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_person_loses_more(rows, neighbours):
    """Up to two rows of a person, of the same value or of two; replaced or not."""
    if neighbours == "replace" and rows > 1:
        return
    more = {"rows": 9} if neighbours == "replace" else {}
    people = {"person": "p", "rows_per_person": rows} if rows > 1 else {}
    domain = dp.Domain(
        OPEN | {"p": dp.Opaque()}, neighbours=neighbours, **more, **people
    )
    noise = keys_noise(Fraction(2), Fraction(1, 100), domain)
    changes = [(1, 0), (0, 1)] if rows == 1 else [(1, 1), (2, 0), (0, 2)]
    if neighbours == "replace":
        changes = [(1, -1), (-1, 1)]
    worst = 0.0
    for start in itertools.product(range(2 * noise.reach + 2), (0, 1, noise.reach)):
        for change in changes:
            end = tuple(a + b for a, b in zip(start, change, strict=True))
            if min(end) < 0:
                continue
            for way in (1, -1):
                found = 0.0
                for chance, side in sides(noise):
                    pair = (joint(start, side), joint(end, side))[::way]
                    found += chance * loss(*pair, 2.0)
                worst = max(worst, found)
    assert 1 / 2000 <= worst <= 1 / 100 * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), COSTS)
def test_the_reach_is_the_least_that_is_safe(epsilon, delta):
    rate = Fraction(epsilon)
    noise = keys_noise(rate, Fraction(delta), dp.Domain(OPEN))
    assert float(end_chance(rate, noise.reach)) <= float(Fraction(delta))
    assert float(end_chance(rate, noise.reach - 1)) > float(Fraction(delta))


@pytest.mark.parametrize(("epsilon", "delta"), COSTS)
def test_both_sides_of_the_coin_together_have_what_is_allowed(epsilon, delta):
    """In 60 digits: the coin is rounded down, by at most two of its 2^40 sides."""
    rate, allowed = Fraction(epsilon), Fraction(delta)
    noise = keys_noise(rate, allowed, dp.Domain(OPEN))
    far, near = (
        Fraction(end_chance(rate, noise.reach - less)) * (1 - Fraction(1, 10**39))
        for less in (0, 1)
    )
    for more, fits in ((0, True), (2, False)):
        shorter = Fraction(noise.shorter + more, 2**40)
        assert ((1 - shorter) * far + shorter * near <= allowed) is fits


def test_the_reach_is_shorter_as_often_as_the_coin_says():
    sampler = Sampler(Entropy(b"coin"))
    noise = KeysNoise(Fraction(1), 10, 2**40 // 10)
    reaches = [noise.settled(sampler).reach for _ in range(4000)]
    assert set(reaches) == {9, 10}
    assert 300 < reaches.count(9) < 500  # 400, give or take 5 deviations of 19
    assert {KeysNoise(Fraction(1), 10).settled(sampler).reach for _ in range(50)} == {
        10
    }


@pytest.mark.parametrize(("side", "reach"), [(4, 9), (5, 10)])
def test_the_coin_has_exactly_so_many_short_sides(side, reach):
    class Side:
        """A sampler whose coin shows one side of 2^40."""

        def __init__(self):
            self.entropy = self

        def below(self, sides, count):
            assert sides == 2**40
            return np.full(count, side)

    assert KeysNoise(Fraction(1), 10, 5).settled(Side()).reach == reach


def test_draws_have_the_law_that_is_claimed():
    """A seeded chi-square over all values of the noise; also for a wrong scale."""
    noise = KeysNoise(Fraction(3, 2), 4)
    draws = noise.draw(Sampler(Entropy(b"keys")), 40_000)
    counts = np.array([(draws == z).sum() for z in range(-4, 5)])
    assert counts.sum() == 40_000

    def distance(scale):
        weights = np.exp(-np.abs(np.arange(-4, 5)) / scale)
        wanted = 40_000 * weights / weights.sum()
        return ((counts - wanted) ** 2 / wanted).sum()

    assert distance(1.5) < 45  # 1e-6 of chi-square with 8 degrees of freedom
    assert distance(1.5 * 1.1) > 45


def test_the_order_tells_nothing_but_what_is_shown():
    texts = np.array(["b"] * 50 + ["a"] * 50 + ["c"] * 60 + [None] * 90, dtype=object)
    noise = KeysNoise(Fraction(1), 10)
    keys, counts = shown_keys(texts, noise, None)
    assert keys == ("c", "a", "b")
    assert counts.tolist() == [60, 50, 50]
    again = shown_keys(texts[::-1], noise, None)
    assert again[0] == keys
    assert shown_keys(np.array([], dtype=object), noise, None)[0] == ()
    numbers = shown_keys(np.array([7] * 20 + [5] * 30), noise, None)
    assert numbers[0] == ("5", "7")


def table(rows, **options):
    domain = dp.Domain(OPEN | {"x": dp.Number(0, 9, missing=False)})
    data = {"t": rows, "x": np.arange(len(rows)) % 10}
    return dp.Table(data, domain, options.pop("ledger", simulate(noise=False)))


def test_views_show_the_values_of_their_rows():
    whole = table(["u", "v"] * 200)
    view = whole.where("x < 5").with_columns(y="x + 1")
    found = dp.stats.unknown_keys(view, "t", epsilon=1, delta="1e-4")
    assert dict(found.items()) == {"u": 120, "v": 80}
    assert dp.stats.unknown_keys(whole, "t", 1, epsilon=1, delta="1e-4").keys == ("u",)


def test_files_and_domain_files(tmp_path):
    (tmp_path / "t.csv").write_text("t\n" + "é\n" * 90 + '"a,b"\n' * 80 + "\n")
    domain = dp.Domain.from_dict(dp.Domain(OPEN).to_dict())
    assert domain == dp.Domain(OPEN)
    scanned = dp.Table(str(tmp_path / "t.csv"), domain, simulate(noise=False))
    found = dp.stats.unknown_keys(scanned, "t", epsilon=1, delta="1e-4")
    assert dict(found.items()) == {"é": 90, "a,b": 80}


def test_what_cannot_be_asked_is_refused_for_free():
    ledger = dp.Ledger(epsilon=5, delta="1e-3")
    asked = table(["u"] * 99, ledger=ledger)
    with pytest.raises(ParameterError, match="above 0"):
        dp.stats.unknown_keys(asked, "t", epsilon=1, delta=0)
    with pytest.raises(DomainError, match="nobody has listed"):
        dp.stats.unknown_keys(asked, "x", epsilon=1, delta="1e-5")
    with pytest.raises(ParameterError, match="by itself"):
        asked.answers([dp.stats.Count(), dp.stats.UnknownKeys("t")], epsilon=1)
    with pytest.raises(ParameterError, match="one block"):
        asked.gate().discover(Keys("t"), Cost.of(1), "keys")
    with pytest.raises(DomainError, match="not a Category"):
        dp.stats.histogram(asked, "t", epsilon=1)
    assert ledger.total() == 0
    found = dp.stats.unknown_keys(asked, "t", epsilon=1, delta="1e-5")
    assert found.cost == Cost(block_epsilon=Fraction(1), delta=Fraction("1e-5"))


def test_intervals_cover_what_is_shown():
    """Of what is shown at least 95 % is covered, for few rows and for many."""
    noise = keys_noise(Fraction(1), Fraction("1e-3"), dp.Domain(OPEN))
    from discreto.stats.unknown_keys import _interval

    for count in (1, 3, noise.reach, noise.reach + 4, 50):
        shown = {v: p for v, p in law(count, noise).items() if v is not None}
        inside = 0.0
        for v, p in shown.items():
            low, high = _interval(v, noise)
            inside += p * (low <= count <= high)
        assert inside / sum(shown.values()) >= 0.95


def _ends(noise: KeysNoise) -> Fraction:
    """The chance of the ends of the noise that is drawn, over the public coin."""
    found = Fraction(0)
    for chance, side in sides(noise):
        found += Fraction(chance) * Fraction(end_chance(1 / side.scale, side.reach))
    return found


@pytest.mark.parametrize(
    "epsilon", [0.1 + 0.2, "0.99999999999999999", "1/3", 0.7, "123456789/10000000007"]
)
@pytest.mark.parametrize("rows", [1, 3])
def test_the_end_of_the_noise_that_is_drawn_has_its_delta(epsilon, rows):
    # Of an epsilon of many digits the scale is rounded up, which lifts the ends.
    more = {"person": "p", "rows_per_person": rows} if rows > 1 else {}
    domain = dp.Domain({**OPEN, "p": dp.Opaque()}, **more)
    cost = Cost.of(epsilon)
    noise = keys_noise(cost.epsilon, Fraction(1, 10**5), domain)
    assert noise.scale >= rows / cost.epsilon
    each = math.exp(1 / noise.scale)
    total = sum(each**i for i in range(rows))
    assert float(_ends(noise)) <= 1e-5 / total * (1 + 1e-9)


def test_the_digits_of_a_caller_play_no_part():
    domain = dp.Domain(OPEN)
    found = set()
    for digits in (28, 3, 1):
        with decimal.localcontext() as context:
            context.prec = digits
            unknown_keys._reach.cache_clear()
            found.add(keys_noise(Fraction(1), Fraction(1, 10**5), domain))
    assert len(found) == 1


def test_the_reach_is_for_the_scale_that_is_drawn():
    """Scales are rounded up by less than 1e-14, which one of 2^40 coins can tell."""
    domain = dp.Domain({**OPEN, "p": dp.Opaque()}, person="p", rows_per_person=3)
    epsilon, delta = Fraction("9.0798225075830827"), Fraction(1, 10**12)
    noise = keys_noise(epsilon, delta, domain)
    assert noise.scale > 3 / epsilon
    found = (noise.reach, noise.shorter)
    assert found == unknown_keys._reach(1 / noise.scale, delta, 3)
    assert found != unknown_keys._reach(epsilon / 3, delta, 3)
