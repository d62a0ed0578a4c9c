"""Engines fold exact sums inside one owner's boundary; they never see noise."""

from discreto.engines.cluster import dask
from discreto.engines.executor import ExecutorEngine
from discreto.engines.local import LocalEngine, fold_all

__all__ = ["ExecutorEngine", "LocalEngine", "dask", "fold_all"]
