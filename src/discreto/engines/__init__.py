"""Engines fold exact sums inside one owner's boundary; they never see noise."""

from discreto.engines.local import LocalEngine, fold_all

__all__ = ["LocalEngine", "fold_all"]
