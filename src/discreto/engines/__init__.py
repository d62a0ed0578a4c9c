"""Engines fold exact sums inside one owner's boundary; they never see noise."""

from discreto.engines.local import LocalEngine

__all__ = ["LocalEngine"]
