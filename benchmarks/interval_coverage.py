"""How often the intervals of statistics hold the truth, over many simulated tables.

    python benchmarks/interval_coverage.py 2000
    python benchmarks/interval_coverage.py 500 --first 1500 --setting 2   a piece

Prints a line for each size and budget: the share of tables in which the 95 % interval
held the truth; of the population for differences and trends, of the table for the
others; and how often a test of independence at 5 % was silent, rightly.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

import discreto as dp
from discreto.stats import sentence
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "x": dp.Number(0, 10),
        "y": dp.Number(0, 50),
        "g": dp.Category(["a", "b"]),
        "h": dp.Category(["u", "v", "w"]),
        "w": dp.Number(0, 3),
    }
)
SETTINGS = ((500, 1, 0), (2000, 0.5, 0), (5000, 1, 0), (2000, 1, 1e-5))
POINTS = (2.0, 4.0, 6.0)
QUESTIONS = {
    "difference": "mean_difference(x, g)",
    "share difference": "proportion_difference(x > 5, g)",
    "median difference": "quantile_difference(x, g)",
    "trend": "trend(y, x)",
    "correlation": "correlation_test(x, y)",
    "proportion": "proportion(x > 5)",
    "ratio": "ratio(y, x)",
    "weighted mean": "weighted_mean(x, w)",
    "distribution": "distribution(x, [2, 4, 6])",
    "gini": "gini(y)",
    "lorenz": "lorenz(y)",
    "independence": "independence(g, h)",
    "std by group": "std(x) by g",
    "median by group": "median(x) by g",
}


POPULATION = (
    "difference",
    "share difference",
    "median difference",
    "trend",
    "correlation",
)


def made(seed: int, rows: int) -> dict[str, np.ndarray]:
    """A table from a population that is known."""
    coins = np.random.default_rng(seed)
    g = coins.integers(0, 2, rows)
    x = np.clip(coins.normal(4 + 0.3 * g, 1.5, rows), 0, 10)
    y = np.clip(3 * x + 5 + coins.normal(0, 4, rows), 0, 50)
    return {
        "x": x,
        "y": y,
        "g": np.array(["a", "b"])[g],
        "h": coins.choice(["u", "v", "w"], rows, p=[0.5, 0.3, 0.2]),
        "w": coins.uniform(0.2, 2.5, rows),
    }


def truths(data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is true of the rows themselves."""
    x, y, second = data["x"], data["y"], data["g"] == "b"
    v, n = np.sort(y), len(y)
    gini = 2 * (np.arange(1, n + 1) * v).sum() / (n * v.sum()) - (n + 1) / n
    parts = x[~second], x[second]
    shares = [(part > 5).mean() for part in parts]
    return {
        "difference": np.array([parts[1].mean() - parts[0].mean()]),
        "share difference": np.array([shares[1] - shares[0]]),
        "median difference": np.array([np.median(parts[1]) - np.median(parts[0])]),
        "trend": np.polyfit(x, y, 1),
        "correlation": np.array([np.corrcoef(x, y)[0, 1]]),
        "proportion": np.array([(x > 5).mean()]),
        "ratio": np.array([y.sum() / x.sum()]),
        "weighted mean": np.array([np.average(x, weights=data["w"])]),
        "distribution": np.array([(x <= p).mean() for p in POINTS]),
        "gini": np.array([gini]),
        "lorenz": np.interp(
            np.arange(1, 10) / 10,
            np.arange(n + 1) / n,
            np.r_[0, np.cumsum(v)] / v.sum(),
        ),
        "std by group": np.array([part.std() for part in parts]),
        "median by group": np.array([np.median(part) for part in parts]),
    }


def counted(
    setting: tuple[int, float, float],
    seeds: range,
    population: dict[str, np.ndarray],
    only: str,
) -> Counter[str]:
    """In how many tables each interval held the truth."""
    rows, epsilon, delta = setting
    inside: Counter[str] = Counter()
    for seed in seeds:
        data = made(seed, rows)
        here = truths(data)
        for name in POPULATION:
            here[name] = population[name]
        table = dp.Table(data, DOMAIN, simulate(seed))
        for name, text in QUESTIONS.items():
            if only not in name:
                continue
            found = table.answer(sentence(text), epsilon=epsilon, delta=delta)
            if name == "independence":
                inside[name] += float(np.ravel(found.value)[1] > 0.05)
                continue
            wanted = here[name]
            low, high = np.ravel(found.low), np.ravel(found.high)
            held = (low[: wanted.size] <= wanted) & (wanted <= high[: wanted.size])
            inside[name] += float(held.mean())
    return inside


def main() -> None:
    """Print how often truths were covered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=int, nargs="?", default=2000)
    parser.add_argument("--first", type=int, default=0, help="the first table's seed")
    parser.add_argument("--setting", type=int, choices=range(len(SETTINGS)))
    parser.add_argument("--only", default="", help="intervals with this in their name")
    given = parser.parse_args()
    population = truths(made(10**6, 2_000_000))
    seeds = range(given.first, given.first + given.tables)
    for number, setting in enumerate(SETTINGS):
        if given.setting not in (None, number):
            continue
        inside = counted(setting, seeds, population, given.only)
        rows, epsilon, delta = setting
        shown = [f"{name} {inside[name] / given.tables:.4f}" for name in inside]
        print(f"{rows} rows, ({epsilon}, {delta}): {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
