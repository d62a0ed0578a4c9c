"""Modules, and names in them, of version 0.1 under their old names, for one release."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OLD = {
    "discreto.accounting": "discreto.core.steps",
    "discreto.audit.museum": "discreto.lab.known_bugs",
    "discreto.datasets": "discreto.data.datasets",
    "discreto.engines": "discreto.data.engines",
    "discreto.frames": "discreto.data.frames",
    "discreto.kernel": "discreto.core",
    "discreto.ledger": "discreto.core.ledger",
    "discreto.planning": "discreto.plan",
    "discreto.published": "discreto.lab.published",
    "discreto.queries": "discreto.core.maps",
    "discreto.study": "discreto.lab.study",
}


class _Finder(MetaPathFinder, Loader):
    """Asked last, for names that no file has: gives the module of today."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in OLD else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = OLD[spec.name]
        warnings.warn(
            f"{spec.name} is called {new} since 0.2.", DeprecationWarning, stacklevel=4
        )
        module = importlib.import_module(new)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the old one there


def install() -> None:
    """Let old names be found."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


def renamed(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """A ``__getattr__`` for a module in which these names have changed."""

    def getattr_(name: str) -> Any:
        if name not in new_names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        new = new_names[name]
        warnings.warn(
            f"{module}.{name} is called {new} since 0.2.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], new)

    return getattr_
