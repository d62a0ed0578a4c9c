"""Running a service: a parent that starts workers anew when they die.

The parent loads the program once, opens nothing but the port, and forks. A worker that
is killed is replaced within a fraction of a second; what it had under way was charged,
and is asked again for free.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from discreto.service.metrics_folder import scratch

_GRACE = 30  # seconds for what is under way when the service is stopped
_PAUSE = 0.5  # seconds before a worker that ended at once is started again


def serve(config: Path, *, host: str, port: int, workers: int) -> None:
    """Serve until stopped.

    Parameters
    ----------
    config
        The TOML file.
    host, port
        Where to listen. Put a proxy with TLS in front of anything but loopback.
    workers
        Processes that share the port, the state and the ledgers.
    """
    # Before the first import of the metrics: several workers add theirs up from files.
    with scratch("discreto-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        import discreto.report  # noqa: F401 - loaded once, for all workers
        from discreto.service import app  # noqa: F401

        Supervisor(config, _listen(host, port), workers).run()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wire = socket.socket(family, socket.SOCK_STREAM)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    wire.bind((host, port))
    wire.listen(2048)
    return wire


class Supervisor:
    """Keeps a number of workers alive, and ends them on a signal."""

    def __init__(self, config: Path, wire: socket.socket, workers: int) -> None:
        self._config, self._wire, self._count = config, wire, workers
        self._born: dict[int, float] = {}
        self._ending = False

    def run(self) -> None:
        """Run until SIGTERM or SIGINT; workers then finish their requests."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        while not self._ending:
            while len(self._born) < self._count:
                self._fork()
            self._bury(block=True)
        deadline = time.monotonic() + _GRACE + 5
        while self._born and time.monotonic() < deadline:
            self._bury(block=False)
            time.sleep(0.05)
        for pid in self._born:
            os.kill(pid, signal.SIGKILL)

    def _end(self, *_: Any) -> None:
        self._ending = True
        for pid in self._born:
            os.kill(pid, signal.SIGTERM)

    def _bury(self, *, block: bool) -> None:
        try:
            pid, _ = os.waitpid(-1, 0 if block else os.WNOHANG)
        except (ChildProcessError, InterruptedError):
            return
        born = self._born.pop(pid, 0.0)
        if pid and not self._ending and time.monotonic() - born < _PAUSE:
            time.sleep(_PAUSE)

    def _fork(self) -> None:
        pid = os.fork()
        if pid:
            self._born[pid] = time.monotonic()
            if self._ending:  # a signal came while forking
                os.kill(pid, signal.SIGTERM)
            return
        code = 1
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            _work(self._config, self._wire)
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)


def _work(config: Path, wire: socket.socket) -> None:
    """Run one worker process, with its log on the standard output."""
    import uvicorn

    from discreto.service.app import make_app
    from discreto.service.config import read_config
    from discreto.service.slow_clients import line_of

    log = logging.getLogger("discreto.service")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    known = read_config(config)
    settings = uvicorn.Config(
        make_app(known),
        http=line_of(known.limits.seconds),
        access_log=False,  # ours has public facts only
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=1 << 14,
    )
    uvicorn.Server(settings).run(sockets=[wire])
