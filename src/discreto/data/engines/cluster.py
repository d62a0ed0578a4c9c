"""A Dask cluster that the owner of the data runs."""

from __future__ import annotations

from typing import Any

from discreto.data.engines.executor import ExecutorEngine
from discreto.errors import MissingExtraError, ParameterError


def dask(cluster: Any, *, parts: int | None = None) -> ExecutorEngine:
    """An engine on a Dask cluster.

    Parameters
    ----------
    cluster
        The address of a scheduler (``"tcp://10.0.0.1:8786"``) or a ``Client``, for
        example one with TLS. Workers need discreto and must see the files under the
        same paths.
    parts
        Into how many tasks a table is cut, at most; four for each thread by default.

    Notes
    -----
    Workers read the files. Rows in memory stay in this process, and so do tables in
    which a person may have several rows.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError(
            'discreto.data.engines.dask needs Dask: pip install "discreto[cluster]"'
        ) from None
    if isinstance(cluster, str):
        try:
            cluster = Client(cluster, set_as_default=False, timeout=10)
        except (OSError, ValueError):
            raise ParameterError(
                f"no Dask scheduler answers at {cluster!r}. Start one with: dask "
                "scheduler"
            ) from None
    if not isinstance(cluster, Client):
        raise ParameterError(
            "dask needs the address of a scheduler or a distributed.Client."
        )
    if parts is None:
        parts = 4 * max(1, sum(cluster.nthreads().values()))
    # Not pure: asking twice must read the files twice. Dask starts the tasks of a lost
    # worker again by itself.
    executor = cluster.get_executor(pure=False)
    return ExecutorEngine(executor, parts=parts, files_only=True)
