"""All experiments, by name."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable

import discreto.lab.study
from discreto.errors import ParameterError
from discreto.lab.study.experiment import Experiment


def experiments() -> dict[str, Experiment]:
    """Every experiment, in the order of the sources."""
    found: dict[str, Experiment] = {}
    for module in sorted(
        m.name for m in pkgutil.iter_modules(discreto.lab.study.__path__)
    ):
        if re.match(r"s\d", module):
            whole = importlib.import_module(f"discreto.lab.study.{module}")
            found |= {one.name: one for one in whole.EXPERIMENTS}
    return found


def find(names: Iterable[str]) -> list[Experiment]:
    """The experiments with these names; ``s2`` means all whose name starts so."""
    known = experiments()
    chosen: dict[str, Experiment] = {}
    for name in names:
        found = {
            k: v for k, v in known.items() if k == name or k.startswith(f"{name}-")
        }
        if not found:
            raise ParameterError(
                f"there is no experiment {name!r}. Known: {', '.join(known)}. "
                "The first part of a name, such as s2, means all that begin with it."
            )
        chosen |= found
    return list(chosen.values())
