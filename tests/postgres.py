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

from discreto.service.metrics_folder import scratch


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
        self.home = around / "home"
        self.home.mkdir(mode=0o700)
        self.user = "postgres" if _exists("postgres") else "nobody"
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://postgres@/discreto?host={self.home}"
        if os.getuid() == 0:
            shutil.chown(self.home, self.user)
        words = ["-D", self._data, "-U", "postgres", "-A", "trust", "-N"]
        self._run("initdb", *words, "--encoding=UTF8")
        self.start()
        self._run("createdb", "-h", str(self.home), "-U", "postgres", "discreto")

    @property
    def _data(self) -> str:
        return str(self.home / "data")

    def options(self) -> dict[str, object]:
        """Return how a program of this server is started."""
        out: dict[str, object] = {"cwd": self.home, "env": {"LC_ALL": "C"}}
        return out | ({"user": self.user} if os.getuid() == 0 else {})

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._bin / program), *words]  # type: ignore[operator]
        subprocess.run(command, check=True, capture_output=True, **self.options())

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._server = subprocess.Popen(
            [
                *(str(self._bin / "postgres"), "-D", self._data),  # type: ignore[operator]
                *("-k", str(self.home), "-c", "listen_addresses="),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.options(),
        )
        ask = [str(self._bin / "pg_isready"), "-q", "-h", str(self.home)]  # type: ignore[operator]
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


def pooler() -> str | None:
    """Return the path of ``pgbouncer``, if it is installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Pooler:
    """PgBouncer before a server: two sessions, lent for one transaction at a time."""

    def __init__(self, server: Postgres) -> None:
        home = server.home / "pooler"
        home.mkdir()
        config = home / "pgbouncer.ini"
        config.write_text(
            "[databases]\n"
            f"discreto = host={server.home} dbname=discreto user=postgres\n"
            "[pgbouncer]\n"
            "pool_mode = transaction\ndefault_pool_size = 2\nauth_type = any\n"
            f"unix_socket_dir = {home}\nlisten_addr =\nlisten_port = 6432\n",
            encoding="utf-8",
        )
        if os.getuid() == 0:
            shutil.chown(home, server.user)
        self.url = f"postgresql://postgres@/discreto?host={home}&port=6432"
        self._program = subprocess.Popen(
            [str(pooler()), "-q", str(config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **server.options(),
        )
        end = time.monotonic() + 60
        while not (home / ".s.PGSQL.6432").exists():
            assert self._program.poll() is None, "PgBouncer does not start"
            assert time.monotonic() < end, "PgBouncer does not start"
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop it."""
        self._program.kill()
        self._program.wait()


def _exists(user: str) -> bool:
    try:
        return bool(pwd.getpwnam(user))
    except KeyError:
        return False
