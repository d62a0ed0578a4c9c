"""A service in processes of its own, as its owner would start it, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from discreto.service import Service, read_config
from discreto.service.demo import write_demo

COMMAND = "from discreto.cli import main; main()"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Served:
    """The demo's service in a folder, started by ``discreto serve``."""

    def __init__(
        self,
        folder: Path,
        *,
        rows: int = 500,
        workers: int = 1,
        edit: dict[str, str] | None = None,
        more: str = "",
        port: int = 0,
    ) -> None:
        self.config, self.workers = write_demo(folder, rows=rows), workers
        text = self.config.read_text()
        for old, new in (edit or {}).items():
            assert old in text
            text = text.replace(old, new)
        self.config.write_text(text + more)
        service = Service(read_config(self.config))
        people = [person.name for person in service.state.people()]
        self.tokens = {name: service.add_token(name)["token"] for name in people}
        self.links = {name: service.link(name) for name in people}
        service.close()
        self.log = folder / "service.log"
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        words = ["serve", "--config", str(self.config), "--port", str(self.port)]
        words += ["--workers", str(self.workers)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMAND, *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait()

    def wait(self, seconds: float = 90) -> float:
        """Wait until it answers; how long that took."""
        start = time.monotonic()
        while time.monotonic() < start + seconds:
            try:
                if httpx.get(f"{self.url}/ready", timeout=5).status_code == 200:
                    return time.monotonic() - start
            except httpx.HTTPError:
                pass
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.log.read_text()}")

    def client(self, name: str = "", **options: Any) -> httpx.Client:
        """Requests in the name of somebody."""
        headers = {"authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return httpx.Client(
            base_url=f"{self.url}/api/v1", headers=headers, timeout=300, **options
        )

    def worker_pids(self) -> list[int]:
        """The processes that answer."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(pid) for pid in Path(path).read_text().split()]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it; its exit code."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        return self.process.wait(timeout=300)
