"""A PostgreSQL server of a test's own: on a socket in a folder, killed and started.

The programs are those of the machine, or of the wheel ``pgserver``. PostgreSQL does not
run as root, so root starts it as another user.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from discreto.service.scratch import scratch


def programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``, if there is one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    if shutil.which("initdb"):
        return Path(str(shutil.which("initdb"))).resolve().parent
    wheel = find_spec("pgserver")
    if wheel is not None and wheel.origin:
        folder = Path(wheel.origin).parent / "pginstall" / "bin"
        return folder if (folder / "initdb").exists() else None
    return None


class Postgres:
    """A server with one database, ``discreto``; ``url`` reaches it."""

    def __init__(self) -> None:
        self._bin = programs()
        self._folder = contextlib.ExitStack()
        around = self._folder.enter_context(scratch("discreto-pg-"))
        around.chmod(0o755)  # the server's user passes through it
        self._home = around / "home"
        self._home.mkdir(mode=0o700)
        self._user = "postgres" if _exists("postgres") else "nobody"
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://postgres@/discreto?host={self._home}"
        if os.getuid() == 0:
            shutil.chown(self._home, self._user)
        words = ["-D", self._data, "-U", "postgres", "-A", "trust", "-N"]
        self._run("initdb", *words, "--encoding=UTF8")
        self.start()
        self._run("createdb", "-h", str(self._home), "-U", "postgres", "discreto")

    @property
    def _data(self) -> str:
        return str(self._home / "data")

    def _options(self) -> dict[str, object]:
        out: dict[str, object] = {"cwd": self._home, "env": {"LC_ALL": "C"}}
        return out | ({"user": self._user} if os.getuid() == 0 else {})

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._bin / program), *words]  # type: ignore[operator]
        subprocess.run(command, check=True, capture_output=True, **self._options())

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._server = subprocess.Popen(
            [
                *(str(self._bin / "postgres"), "-D", self._data),  # type: ignore[operator]
                *("-k", str(self._home), "-c", "listen_addresses="),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._options(),
        )
        ask = [str(self._bin / "pg_isready"), "-q", "-h", str(self._home)]  # type: ignore[operator]
        end = time.monotonic() + 300
        while subprocess.run(ask, check=False).returncode != 0:
            assert time.monotonic() < end, "PostgreSQL does not start"
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """The process that starts all others."""
        assert self._server is not None
        return self._server.pid

    def kill(self) -> None:
        """Kill -9 all of it, as a crash of the machine would."""
        assert self._server is not None
        children = Path(f"/proc/{self._server.pid}/task/{self._server.pid}/children")
        pids = [int(pid) for pid in children.read_text().split()]
        for pid in (self._server.pid, *pids):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._server.wait()

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGQUIT)  # its folder goes anyway
            self._server.wait(timeout=300)
        self._folder.close()


def _exists(user: str) -> bool:
    try:
        return bool(pwd.getpwnam(user))
    except KeyError:
        return False
