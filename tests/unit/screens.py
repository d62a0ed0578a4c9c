"""The command line as a person sees it."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from discreto.cli import app


def run(*args: object) -> Result:
    """What a command does."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def flat(done: Result) -> str:
    """Screen text without borders and line ends."""
    return " ".join(done.output.replace("│", " ").split())
