"""Groups of options: declared once, the same in every command that takes them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from discreto.cli import app, options

PAID = ("query", "fit", "evaluate", "synthesize")


def parameters(name: str) -> dict[str, Any]:
    command: Any = get_command(app)
    return {one.name: one for one in command.commands[name].params}


@pytest.mark.parametrize("command", PAID)
def test_commands_that_pay_have_the_same_options(command: str) -> None:
    shown, expected = parameters(command), parameters("query")
    for field in fields(options.Payment):
        option = shown[field.name]
        assert option.help == expected[field.name].help
        assert option.opts == expected[field.name].opts
        assert option.required == (field.name in ("data", "ledger"))


@dataclass(frozen=True, kw_only=True)
class Colours:
    pale: Annotated[str, typer.Option("--pale", help="A pale one.")]
    dark: Annotated[str, typer.Option("--dark", help="A dark one.")] = "blue"


def made(seen: list[Any]) -> typer.Typer:
    made = typer.Typer()

    @made.command()
    @options.grouped
    def paint(
        what: Annotated[str, typer.Argument()],
        colours: Colours,
        *,
        coats: Annotated[int, typer.Option("--coats")] = 1,
    ) -> None:
        """Paint."""
        seen.append((what, colours, coats))

    return made


def test_a_group_arrives_as_one_argument() -> None:
    seen: list[Any] = []
    line = ["wall", "--pale", "white", "--coats", "2"]
    done = CliRunner().invoke(made(seen), line)
    assert done.exit_code == 0, done.output
    assert seen == [("wall", Colours(pale="white", dark="blue"), 2)]


def test_a_required_option_of_a_group_is_required() -> None:
    seen: list[Any] = []
    assert CliRunner().invoke(made(seen), ["wall"]).exit_code == 2
    assert seen == []
