"""Engines fold exact sums inside one owner's boundary; they never see noise."""

from discreto.core.fold import fold_all
from discreto.data.engines.cluster import dask
from discreto.data.engines.database import DatabaseEngine
from discreto.data.engines.executor import ExecutorEngine
from discreto.data.engines.local import LocalEngine

__all__ = ["DatabaseEngine", "ExecutorEngine", "LocalEngine", "dask", "fold_all"]
