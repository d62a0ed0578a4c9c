"""How many values that nobody has listed are found, against other methods.

Run: python benchmarks/unknown_keys.py

Zipf's law over 10^5 values, one row a person. Recall is the share of the values that
occur, and of the rows, whose value is shown: ours (exact, from its law), the optimal
chances of Desfontaines and others (2022), which show no counts, and Laplace noise with
a threshold, which is what most libraries do. Prints one line for each (epsilon, delta).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import discreto as dp
from discreto.core.unknown_keys import keys_noise

VALUES, ROWS = 100_000, 1_000_000
SETTINGS = (
    ("1/10", "1e-6"),
    ("1/2", "1e-6"),
    ("1", "1e-6"),
    ("1", "1e-8"),
    ("2", "1e-8"),
)


def best(epsilon: float, delta: float, most: int) -> np.ndarray:
    """The largest chance to be shown that any method can give n rows."""
    out = [0.0]
    for _ in range(most):
        p = out[-1]
        up = math.exp(epsilon) * p + delta
        down = 1 - math.exp(-epsilon) * (1 - p - delta)
        out.append(min(up, down, 1.0))
    return np.array(out)


def ours(epsilon: Fraction, delta: Fraction, most: int) -> np.ndarray:
    """The chance that n + Z is above the reach."""
    noise = keys_noise(epsilon, delta, dp.Domain({"t": dp.OpenText()}))
    shorter = noise.shorter / 2**40
    out = np.zeros(most + 1)
    for reach, chance in ((noise.reach, 1 - shorter), (noise.reach - 1, shorter)):
        z = np.arange(-reach, reach + 1)
        weights = np.exp(-np.abs(z) / float(noise.scale))
        above = np.cumsum(weights[::-1]) / weights.sum()  # P[Z >= reach - i]
        places = np.minimum(np.arange(1, most + 1) - 1, 2 * reach)
        out[1:] += chance * above[places]
    return out


def laplace(epsilon: float, delta: float, most: int) -> np.ndarray:
    """Laplace noise of scale 1 / epsilon, shown above 1 + ln(1 / 2 delta) / epsilon."""
    threshold = 1 - math.log(2 * delta) / epsilon
    away = (np.arange(most + 1) - threshold) * epsilon
    tail = np.where(away < 0, np.exp(np.minimum(away, 0)) / 2, 1 - np.exp(-away) / 2)
    return np.where(np.arange(most + 1) == 0, 0.0, tail)


def main() -> None:
    """Print the recall of each method."""
    coins = np.random.default_rng(1)
    ranks = coins.choice(VALUES, ROWS, p=(w := 1 / np.arange(1, VALUES + 1)) / w.sum())
    counts = np.bincount(ranks)
    counts = counts[counts > 0]
    most = int(counts.max())
    for epsilon, delta in SETTINGS:
        e, d = Fraction(epsilon), Fraction(delta)
        shown = {
            "ours": ours(e, d, most),
            "optimal": best(float(e), float(d), most),
            "Laplace": laplace(float(e), float(d), most),
        }
        texts = [
            f"{name} {p[counts].mean():.4f} of values, "
            f"{(p[counts] * counts).sum() / counts.sum():.4f} of rows"
            for name, p in shown.items()
        ]
        print(f"({epsilon}, {delta}): {'; '.join(texts)}")


if __name__ == "__main__":
    main()
