"""Runs a page as it is printed: its files, its commands and its Python, in order."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import discreto
from discreto.client import Remote

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
PORT = "8000"  # as pages print it


@dataclass
class Printed:
    """A page that is being followed, and what each of its steps showed."""

    folder: Path
    text: str
    port: str
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    shown: list[str] = field(default_factory=list)
    server: subprocess.Popen[bytes] | None = None

    def follow(self) -> None:
        """Do every step of the page."""
        for block in BLOCK.finditer(self.text):
            kind, body = block[1], block[2].replace(PORT, self.port)
            if kind in ("toml", "json"):
                name = re.findall(rf"[\w.-]+\.{kind}\b", self.text[: block.start()])[-1]
                (self.folder / name).write_text(body, encoding="utf-8")
            elif kind == "text":
                for line in _commands(body):
                    self._run(line)
            elif kind == "python":
                self._python(body)
            elif kind == "pycon":
                self._python(re.sub(r"^(>>>|\.\.\.) ?", "", body, flags=re.M))

    def _python(self, code: str) -> None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "page", "exec"), self.names)
        self.shown.append(out.getvalue())

    def _run(self, line: str) -> None:
        if line.startswith("pip "):
            return
        if re.fullmatch(r"discreto serve --config \S+", line):
            self._serve(line)
            return
        done = subprocess.run(
            line, shell=True, cwd=self.folder, capture_output=True, text=True,
            env=_environment(self.folder), timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        self.shown.append(done.stdout)

    def _serve(self, line: str) -> None:
        log = self.folder / "service.log"
        with log.open("wb") as file:
            self.server = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {line} --port {self.port}"],
                cwd=self.folder,
                env=_environment(self.folder),
                stdout=file,
                stderr=file,
            )
        for _ in range(600):
            with (
                contextlib.suppress(OSError),
                urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as reply,
            ):
                if reply.status == 200:
                    return
            assert self.server.poll() is None, log.read_text()
            time.sleep(0.1)
        raise AssertionError(log.read_text())


@contextlib.contextmanager
def page(name: str, folder: Path) -> Iterator[Printed]:
    """A page that was followed from its first step to its last, in a new folder."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    text = (DOCS / name).read_text(encoding="utf-8")
    followed, here = Printed(folder, text, port), Path.cwd()
    os.chdir(folder)
    try:
        followed.follow()
        yield followed
    finally:
        os.chdir(here)
        for value in followed.names.values():
            remote = getattr(value, "_remote", value)
            if isinstance(remote, Remote):
                remote.close()
        if followed.server is not None:
            followed.server.send_signal(signal.SIGTERM)
            followed.server.wait(timeout=60)


def _commands(body: str) -> list[str]:
    joined = body.replace("\\\n", " ")
    return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]


def _environment(folder: Path) -> dict[str, str]:
    """An environment whose ``discreto`` and ``python`` are those under test."""
    programs = folder / ".programs"
    if not programs.exists():
        programs.mkdir()
        for name, words in {"discreto": "-m discreto ", "python": ""}.items():
            path = programs / name
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words}"$@"\n')
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
    plain = {"PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "100"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LC_")}
    source = str(Path(discreto.__file__).resolve().parents[1])
    return kept | plain | {"LANG": "C.UTF-8", "PYTHONPATH": source}
