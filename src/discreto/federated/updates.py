"""What is done with gradients: one definition for silos, coordinators and simulations.

All of it works on released numbers. Element by element, no BLAS: the same numbers give
the same weights, bit for bit, wherever they are worked out.
"""

from __future__ import annotations

from collections.abc import Callable

from discreto.core.query import Floats, Ints

FARTHEST = 1e9
Measure = Callable[[Floats, int], Ints]  # noisy gradient sums at these weights
Scale = float | Floats  # one number, or one for each line of weights


def descend(weights: Floats, sums: Ints, unit: Scale, rate: Scale) -> Floats:
    """One step down: sums are in grid steps of ``unit``, ``rate`` has the 1 / rows.

    Weights stay where a question can hold them, however wrong the rate is.
    """
    moved = weights - (rate * unit) * sums
    return moved.clip(-FARTHEST, FARTHEST, out=moved)


def local_steps(
    measure: Measure, weights: Floats, count: int, unit: Scale, rate: Scale
) -> list[Ints]:
    """The gradient sums of ``count`` steps, each taken where the last one led."""
    taken = [measure(weights, 0)]
    for number in range(1, count):
        weights = descend(weights, taken[-1], unit, rate)
        taken.append(measure(weights, number))
    return taken


def follow(weights: Floats, taken: Ints, unit: Scale, rate: Scale) -> Floats:
    """Where local steps led, from their sums (seeds, silos, steps, width)."""
    for number in range(taken.shape[2]):
        weights = descend(weights, taken[:, :, number], unit, rate)
    return weights


def average(points: Floats, shares: list[float]) -> Floats:
    """The weighted mean over silos, the second axis, added up in a fixed order."""
    total = points[:, 0] * shares[0]
    for place, share in enumerate(shares[1:], start=1):
        total += points[:, place] * share
    return total
