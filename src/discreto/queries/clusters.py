"""Row maps around points: the nearest of some centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreto.errors import ParameterError
from discreto.kernel.domain import Domain
from discreto.kernel.query import Batch, Floats, Ints
from discreto.queries._names import check_names

GRID = float(1 << 15)  # steps to which rows and points are rounded


@dataclass(frozen=True, slots=True)
class Nearest:
    """One cell for each centre, with the rows that are nearest to it.

    Centres are points on [-1, 1], where columns are measured from the middle of their
    range. A missing value counts as the middle.
    """

    names: tuple[str, ...]
    centres: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_names(self.names)
        check_points(self.centres, len(self.names))

    def count(self, domain: Domain) -> int:
        return len(self.centres)

    def codes(self, batch: Batch, domain: Domain) -> Ints:
        # Whole numbers make the product exact: which cell a row falls in must not
        # depend, not even in the last bit, on the rows that stand next to it.
        x = np.rint(unit_rows(self.names, batch, domain) * GRID)
        points = np.rint(np.array(self.centres) * GRID)
        # |x - c|^2 without |x|^2, which is the same for all centres.
        far = -2 * (points @ x) + (points**2).sum(axis=1)[:, None]
        return far.argmin(axis=0)

    def columns(self) -> tuple[str, ...]:
        return self.names


def unit_rows(names: tuple[str, ...], batch: Batch, domain: Domain) -> Floats:
    """The columns on [-1, 1], one row for each, missing values at 0."""
    out = np.empty((len(names), len(batch[names[0]])))
    for i, name in enumerate(names):
        column = domain.number(name)
        np.subtract(batch[name], column.centre, out=out[i])
        out[i] /= column.half
    np.copyto(out, 0.0, where=np.isnan(out))
    return np.clip(out, -1, 1, out=out)


def check_points(points: object, width: int) -> None:
    """Refuse anything but a tuple of points with ``width`` finite numbers each."""
    good = isinstance(points, tuple) and 1 <= len(points) <= 1 << 16
    for point in points if good else ():  # type: ignore[attr-defined]
        good = good and isinstance(point, tuple) and len(point) == width
        good = good and all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= 1e6
            for v in (point if good else ())
        )
    if not good:
        raise ParameterError(f"points need {width} finite coordinates each.")
