"""The page of the command line, from the parser that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from discreto import cli

HEAD = """# Command line

Every command, as `discreto COMMAND --help` prints it. {codes}

"""


def page() -> str:
    """All commands with their arguments and options."""
    root: Any = typer.main.get_command(cli.app)
    codes = cli.EXIT_CODES.rstrip()
    parts = list(_commands(root, typer.Context(root, info_name="discreto")))
    contents = "".join(
        f"* [`{name}`](#{name.replace(' ', '-')})\n" for name, _ in parts
    )
    return HEAD.format(codes=codes) + contents + "".join(text for _, text in parts)


def names() -> list[str]:
    """Every command, as it is typed."""
    root: Any = typer.main.get_command(cli.app)
    context = typer.Context(root, info_name="discreto")
    return [name for name, _ in _commands(root, context)]


def _commands(group: Any, context: Any) -> Iterator[tuple[str, str]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "commands"):
            yield from _commands(command, inner)
        else:
            yield inner.command_path, _section(command, inner)


def _section(command: Any, context: Any) -> str:
    usage = command.get_usage(context).removeprefix("Usage: ")
    usage = " ".join(usage.split())
    text = f"\n## {context.command_path}\n\n```text\n{usage}\n```\n\n"
    text += f"{_prose(command.help or '')}\n\n"
    shown = [p for p in command.params if not getattr(p, "hidden", False)]
    rows = [_row(p, context) for p in shown if p.name != "help"]
    if rows:
        text += "| argument or option | meaning |\n| --- | --- |\n" + "".join(rows)
    if command.epilog:
        text += f"\n{_prose(command.epilog)}\n"
    return text


def _row(param: Any, context: Any) -> str:
    names = [o for o in (*param.opts, *param.secondary_opts) if o.startswith("-")]
    record = param.get_help_record(context)
    called = ", ".join(names) if names else (param.metavar or param.name.upper())
    said = record[1] if record else (param.help or "")
    return f"| `{_cell(called)}` | {_cell(_prose(said))} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _prose(text: str) -> str:
    """Help for a terminal as Markdown: marks that would be read as HTML are kept."""
    text = text.replace("\b", "")
    return re.sub(r"(?<!`)<(\w+)>(?!`)", r"`\1`", text).strip()
