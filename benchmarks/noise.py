"""How fast noise is drawn, and whether the time of a draw tells its size.

Run: python benchmarks/noise.py

Prints draws per second of ours against numpy (fast, and unsafe: floats) and opendp
(exact, measured on fewer draws), and the rank correlation of the time of a single draw
with the size of the noise. Targets: Laplace at least 50 times opendp at 10^6 draws;
rank correlation within 0.05 of zero.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import stats

from discreto.core.noise.entropy import Entropy
from discreto.core.noise.sampler import Sampler

DRAWS = 10**6
THEIRS = 20_000  # opendp takes a quarter of a minute for 10^6
SINGLE = 20_000
OURS = Sampler(Entropy())


def rate(draw: Callable[[int], object], count: int, repeats: int = 3) -> float:
    """Draws per second, the best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        draw(count)
        best = min(best, time.perf_counter() - start)
    return count / best


def opendp_vector(kind: str, scale: float) -> Callable[[int], object]:
    """opendp's integer noise on a vector of zeros."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "laplace":
        make = dp.m.make_laplace(space, dp.l1_distance(T="i64"), scale=scale)
    else:
        make = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
    return lambda count: make(np.zeros(count, dtype=np.int64))


def opendp_single(scale: float) -> Callable[[], int]:
    """opendp's integer Laplace noise, one draw."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space, metric = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    make = dp.m.make_laplace(space, metric, scale=scale)
    return lambda: int(make(0))


def speeds() -> None:
    """The table of draws per second."""
    coins = np.random.default_rng()
    lines = [
        (f"Laplace, scale {name}", "laplace", scale)
        for name, scale in (("10", 10), ("2^20", 1 << 20), ("2^30", 1 << 30))
    ] + [
        ("Gaussian, sigma 10", "gaussian", 10),
        ("Gaussian, 2^30", "gaussian", 1 << 30),
    ]
    print(f"{'':24}{'ours/s':>10}{'opendp/s':>10}{'numpy/s':>10}{'x opendp':>10}")
    for name, kind, scale in lines:
        if kind == "laplace":
            ours = rate(lambda n, s=scale: OURS.laplace(Fraction(s), n), DRAWS)
            plain = rate(lambda n, s=scale: coins.laplace(scale=s, size=n), DRAWS)
        else:
            ours = rate(lambda n, s=scale: OURS.gaussian(Fraction(s) ** 2, n), DRAWS)
            plain = rate(lambda n, s=scale: coins.normal(scale=s, size=n), DRAWS)
        theirs = rate(opendp_vector(kind, float(scale)), THEIRS)
        print(
            f"{name:24}{ours / 1e6:>9.1f}M{theirs / 1e3:>9.0f}k{plain / 1e6:>9.1f}M"
            f"{ours / theirs:>10.0f}"
        )
    scores = np.zeros((1000, 1000), dtype=np.int64)
    ours = rate(lambda n: OURS.noisy_max(scores, Fraction(10)), DRAWS)
    plain = rate(
        lambda n: (scores + coins.gumbel(scale=10, size=scores.shape)).argmax(axis=1),
        DRAWS,
    )
    print(
        f"{'noisy max of 1,000':24}{ours / 1e6:>9.1f}M{'-':>10}{plain / 1e6:>9.1f}M"
        f"{'-':>10}   candidates/s"
    )


def timing(name: str, draw: Callable[[], int]) -> None:
    """The rank correlation of a draw's time with its size, and two medians."""
    sizes, times = np.empty(SINGLE), np.empty(SINGLE)
    for _ in range(500):
        draw()
    gc.disable()  # a collection in the middle of a draw is not the draw's time
    for i in range(SINGLE):
        start = time.perf_counter_ns()
        value = draw()
        times[i] = time.perf_counter_ns() - start
        sizes[i] = abs(value)
    gc.enable()
    rank = stats.spearmanr(times, sizes).statistic
    small, large = (np.median(times[part]) for part in (sizes < 5, sizes >= 40))
    print(
        f"{name:32}{rank:>+8.3f}   median {small / 1e3:.1f} µs for |noise| < 5, "
        f"{large / 1e3:.1f} µs for |noise| >= 40"
    )


def main() -> None:
    """Both tables."""
    speeds()
    print("\nrank correlation of time and |noise| (0 is best)")
    timing("ours, Laplace 10", lambda: int(OURS.laplace(Fraction(10), 1)[0]))
    timing("ours, Gaussian 20", lambda: int(OURS.gaussian(Fraction(400), 1)[0]))
    timing("opendp, Laplace 10", opendp_single(10.0))


if __name__ == "__main__":
    main()
