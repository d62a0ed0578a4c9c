"""A Dask cluster that the owner of the data runs."""

from __future__ import annotations

import hashlib
from typing import Any

from discreto.data.engines.executor import SILENCE, ExecutorEngine
from discreto.errors import MissingExtraError, ParameterError
from discreto.text.install_commands import install_command

_LONG = 1 << 14  # letters of a text that is worth a way of its own to all workers


def dask(
    cluster: Any, *, parts: int | None = None, silence: float = SILENCE
) -> ExecutorEngine:
    """An engine on a Dask cluster.

    Parameters
    ----------
    cluster
        The address of a scheduler (``"tcp://10.0.0.1:8786"``) or a ``Client``, for
        example one with TLS. Workers need discreto and must see the files under the
        same paths.
    parts
        Into how many tasks a table is cut, at most. By default four for each thread,
        of 8 to 256 MB each.
    silence
        After so many seconds in which no task was done, the answer is a fault.

    Notes
    -----
    Workers read the files. Rows in memory stay in this process, and so do tables in
    which a person may have several rows.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError(
            f"discreto.data.engines.dask needs Dask: {install_command('cluster')}"
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
    return _DaskEngine(cluster, parts, silence)


class _DaskEngine(ExecutorEngine):
    """Tasks on a Dask cluster; long questions and domains go to each worker once."""

    def __init__(self, client: Any, parts: int | None, silence: float) -> None:
        # Not pure: asking twice must read the files twice. Dask starts the tasks of a
        # lost worker again by itself.
        executor = client.get_executor(pure=False)
        super().__init__(executor, parts=parts, files_only=True, silence=silence)
        if parts is None:
            self.parts = 4 * max(1, sum(client.nthreads().values()))
        self._client = client
        self._domain: tuple[str, Any] = ("", "")  # the last one, and where it is

    def _sent(self, question: tuple[str, str]) -> tuple[Any, Any]:
        texts, domain = question
        if self._domain[0] != domain:
            self._domain = domain, self._scattered(domain)
        return self._scattered(texts), self._domain[1]

    def _scattered(self, text: str) -> Any:
        """A handle for a long text; a short one goes with its tasks.

        It is the result of a task, so that Dask makes it again if its worker dies; what
        a client scatters is lost then, and may be waited for without an end.
        """
        if len(text) < _LONG:
            return text
        # By content: a text that workers have is not sent again.
        name = f"discreto-{hashlib.sha256(text.encode()).hexdigest()}"
        return self._client.submit(str, text, key=name)
