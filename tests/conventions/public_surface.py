"""The public surface: every exported name and the public members of every class."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from discreto.text import wrong_calls

MODULES = (
    "discreto",
    "discreto.audit",
    "discreto.data.datasets",
    "discreto.data.engines",
    "discreto.errors",
    "discreto.federated",
    "discreto.local",
    "discreto.meaning",
    "discreto.mlflow",
    "discreto.models",
    "discreto.plan",
    "discreto.plots",
    "discreto.preprocessing",
    "discreto.report",
    "discreto.stats",
    "discreto.synthesis",
    "discreto.testing",
)


def exported() -> Iterator[tuple[str, Any]]:
    """Every exported name with what it stands for, modules included."""
    for name in MODULES:
        module = importlib.import_module(name)
        for part in module.__all__:
            yield f"{name}.{part}", getattr(module, part)


def ours(member: Any) -> bool:
    """Whether this package wrote it: scikit-learn documents its own methods."""
    return str(getattr(member, "__module__", "")).startswith("discreto")


def members(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, those of its bases included."""
    for part in dir(kind):
        if part.startswith("_"):
            continue
        member = inspect.getattr_static(kind, part)
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        if isinstance(member, property):
            member = member.fget
        elif isinstance(member, functools.cached_property):
            member = member.func
        elif isinstance(member, wrong_calls.Readable):
            member = member.__wrapped__
        if not inspect.isfunction(member):
            continue
        if ours(member):
            yield f"{name}.{part}", member


def surface() -> Iterator[tuple[str, Any]]:
    """Every exported name that is ours and no module, and its public members."""
    for name, found in exported():
        if inspect.ismodule(found) or not ours(found):
            continue
        yield name, found
        if inspect.isclass(found):
            yield from members(name, found)


def names() -> list[str]:
    """The names of the whole surface, sorted."""
    found = {name for name, _ in exported()} | {name for name, _ in surface()}
    return sorted(found)


if __name__ == "__main__":
    print("\n".join(names()))
