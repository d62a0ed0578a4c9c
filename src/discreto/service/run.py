"""Running a service: worker processes, their log, a graceful end."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

import uvicorn

from discreto.service.app import CONFIG

_GRACE = 30  # seconds for what is under way when the service is stopped


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
    os.environ[CONFIG] = str(config.absolute())
    if workers > 1:  # their counters are added up from files
        folder = tempfile.mkdtemp(prefix="discreto-metrics-")
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    uvicorn.run(
        "discreto.service.run:worker",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        access_log=False,  # ours has public facts only
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=_GRACE,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=1 << 14,
    )


def worker() -> object:
    """The application of one worker process, with its log on the standard output."""
    from discreto.service.app import from_environment

    log = logging.getLogger("discreto.service")
    log.setLevel(logging.INFO)
    if not log.handlers:
        handler = logging.StreamHandler(sys.stdout)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        log.addHandler(handler)
    log.propagate = False
    return from_environment()
