"""Tables for which the intervals of several quantiles fail most often.

    python benchmarks/quantile_tables.py 4000 --tables 60

An end of an interval moves inward until an edge is doubtful. It is wrong most often if
rows make everything before the quantile clear and nothing behind it: two crowds, with
at most one row between them. This tries such tables, with many noises each, prints
those that fail most, and repeats the worst by way of `stats.quantiles`; last come
spread rows.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import discreto as dp
from discreto.core.gate import Noise
from discreto.stats._cumulative_counts import _ranks, strides_of
from discreto.stats._quantile_grid import place_grid
from discreto.stats.quantiles import Quantiles, _descend
from discreto.testing import simulate

Counts = np.ndarray
DOMAIN = dp.Domain({"x": dp.Number(0, 100)})
PLACES = place_grid("x", DOMAIN)
BINS, STRIDES = PLACES.bins, strides_of(PLACES.bins)
CROWD = 10_000
FAR = (1, 2, 4, 8, 16, 30, 100, 256, 600, 1400)


def noises(law: str, count: int, coins: np.random.Generator) -> Counts:
    """Noise on the ranks of all edges, that of a whole ε of 1 (or ρ of 1/6)."""
    levels = len(STRIDES)
    shapes = [(count, -(-BINS // stride)) for stride in STRIDES]
    if law == "laplace":
        return _ranks([coins.laplace(0, levels, shape) for shape in shapes])
    return _ranks([coins.normal(0, levels, shape) for shape in shapes])


def crowds(coins: np.random.Generator, chance: float) -> Iterator[tuple[str, Counts]]:
    """Tables of two crowds: the rows of each place."""
    total = CROWD / max(chance, 1 - chance)
    while True:
        place = int(coins.integers(max(FAR) + 1, BINS - max(FAR) - 1))
        left, right = (int(coins.choice(FAR)) for _ in range(2))
        one = int(coins.integers(0, 2))
        rows = np.zeros(BINS)
        below, above = round(total * chance), round(total * (1 - chance))
        if one:  # a row between crowds is the quantile
            rows[place - left], rows[place], rows[place + right] = below, 1, above
        elif coins.integers(0, 2):  # the quantile is the last row of the left crowd
            rows[place], rows[place + right] = below, above
        else:  # the first one of the right crowd
            rows[place - left], rows[place] = below - 1, above + 1
        yield f"place {place}, crowds {left} and {right} away, {one} between", rows


def misses(rows: Counts, chance: float, noise: Noise, drawn: Counts) -> float:
    """How often the interval of this table misses the quantile."""
    true = np.concatenate([[0.0], np.cumsum(rows)])
    cell = int(np.argmax(true[1:] >= chance * true[-1] - 1e-6))
    found = (_descend(chance, true + one, noise) for one in drawn)
    return float(np.mean([not low <= cell < high for _, low, high in found]))


def confirmed(rows: Counts, chance: float, count: int) -> float:
    """The same by way of real answers, whose noise is only seeded."""
    x = np.repeat(PLACES.centres(), rows.astype(int))
    true = float(np.quantile(x, chance, method="inverted_cdf"))
    wrong = 0
    for seed in range(count):
        table = dp.Table({"x": x}, DOMAIN, simulate(seed))
        answer = table.answer(Quantiles("x", (Fraction(str(chance)),)), epsilon=1)
        low, high = np.ravel(answer.low)[0], np.ravel(answer.high)[0]
        wrong += not low <= true <= high
    return wrong / count


def main() -> None:
    """The worst tables of each noise and probability."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("noises", type=int, nargs="?", default=4000)
    parser.add_argument("--tables", type=int, default=60)
    parser.add_argument("--confirm", type=int, default=500)
    args = parser.parse_args()
    for law in ("laplace", "gaussian"):
        amount = Fraction(len(STRIDES)) ** (1 if law == "laplace" else 2)
        noise = Noise(law, amount)
        coins = np.random.default_rng(0)
        drawn = noises(law, args.noises, coins)
        for chance in (0.5, 0.1, 0.9):
            tables = [next(crowds(coins, chance)) for _ in range(args.tables)]
            found = sorted(
                (
                    (misses(rows, chance, noise, drawn), name, rows)
                    for name, rows in tables
                ),
                key=lambda one: -one[0],
            )
            error = math.sqrt(0.05 * 0.95 / args.noises)
            print(f"{law}, {chance}: covers at least (± {error:.4f})")
            for missed, name, _ in found[:3]:
                print(f"    {1 - missed:.4f}  {name}")
            if law == "laplace" and args.confirm:
                again = 1 - confirmed(found[0][2], chance, args.confirm)
                print(
                    f"    {again:.4f}  the first one again, {args.confirm} real answers"
                )
            for count in (120, 250, 1000, 2500, 10_000):
                x = np.clip(coins.normal(45, 15, count), 0, 100)
                rows = np.histogram(x, PLACES.edges)[0].astype(float)
                missed = misses(rows, chance, noise, drawn)
                print(f"    {1 - missed:.4f}  {count} spread rows", flush=True)


if __name__ == "__main__":
    main()
