"""Output on the terminal: tables, errors without values, a spinner for long work."""

from __future__ import annotations

import importlib
import json
import math
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup
from typer.main import get_group

from discreto.cli import signals as interrupt
from discreto.cli.error_words import shell_words
from discreto.cli.help_text import chosen_language, translate_help
from discreto.core.cost import read_amount, show
from discreto.core.domain.dates import is_date_unit, show_date
from discreto.core.domain.domain import Domain
from discreto.core.domain.html import column_words, unit_of_privacy
from discreto.core.ledger import Ledger
from discreto.errors import DiscretoError
from discreto.release.labels import label_in_words
from discreto.release.release import Release
from discreto.release.text import key_in_words
from discreto.text.error_messages import error_in_words
from discreto.text.language import number, tr

MOST_ROWS = 100  # of a printed answer
BAR = 40  # characters
NO_BREAK = "\N{NO-BREAK SPACE}"  # stands before : and ; in French
AMOUNTS = ("epsilon", "rho", "block_epsilon", "delta")  # of a cost, in JSON


def out() -> Console:
    """Return the screen for answers."""
    return Console()


def err() -> Console:
    """Return the screen for everything that is not an answer."""
    return Console(stderr=True)


def moves(console: Console) -> bool:
    """Return True if lines can be overwritten: a terminal, not a pipe with colours."""
    return console.is_terminal and console.file.isatty()


def plain(text: object) -> Text:
    """Return text from a file as it is: no mark-up, no control characters."""
    safe = (c if c.isprintable() or c == NO_BREAK else repr(c)[1:-1] for c in str(text))
    return Text("".join(safe), overflow="fold")


def plain_lines(text: str) -> Text:
    """Return several lines of plain text."""
    return Text("\n").join(map(plain, text.splitlines()))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Yield a spinner with a clock on a terminal; nothing in a pipe."""
    console = err()
    if not moves(console):
        yield
        return
    # How long it takes is all that is shown: how much was read says how many rows.
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(escape(plain(what).plain), total=None)
        yield


class SafeGroup(TyperGroup):
    """Commands whose errors are one clean panel and never show a row.

    ``lazy`` commands are imported when they are asked for: the laboratory is not part
    of what everybody loads.
    """

    lazy: ClassVar[dict[str, str]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *self.lazy]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        group = get_group(importlib.import_module(self.lazy[cmd_name]).app)
        group.name = cmd_name
        translate_help(group, ctx.find_root().obj or "en")
        return group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.parent is None:
            args = _language_first(args)
            ctx.obj = chosen_language(args)
            translate_help(self, ctx.obj)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DiscretoError as error:
            _complain(type(error).__name__, str(error))
            raise typer.Exit(error.exit_code) from None
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            interrupt.say()
            raise typer.Exit(interrupt.CODE) from None
        except Exception as error:
            if hasattr(error, "show"):  # a wrong option: it prints itself
                raise
            _complain(*_unexpected(error))
            raise typer.Exit(1) from None


def _language_first(words: list[str]) -> list[str]:
    """Return the words with ``--lang`` moved to the front.

    >>> _language_first(["report", "model.json", "--lang", "pt"])
    ['--lang', 'pt', 'report', 'model.json']
    """
    for place, word in enumerate(words):
        if word == "--":
            break
        if word == "--lang" and place + 1 < len(words):
            rest = words[:place] + words[place + 2 :]
            return [*words[place : place + 2], *rest]
        if word.startswith("--lang="):
            return [word, *words[:place], *words[place + 1 :]]
    return words


def _complain(title: str, message: str) -> None:
    words = plain(error_in_words(shell_words(message)))
    err().print(Panel(words, title=title, title_align="left", border_style="red"))


def _unexpected(error: Exception) -> tuple[str, str]:
    """Return a title and a text for an unexpected error.

    Its own message is not printed: readers of files like to quote what they read.
    """
    if isinstance(error, OSError) and error.errno:
        where = f": {error.filename!r}" if error.filename else ""
        return "Trouble with a file", f"{os.strerror(error.errno)}{where}."
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "Unexpected", (
        f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}. "
        "Its message is hidden because it could show values of the data. If the files "
        "are in order, this is a bug: please report this line."
    )


def print_json(data: Any) -> None:
    """Print JSON for a program, with every amount as a number."""
    typer.echo(json.dumps(as_numbers(data), ensure_ascii=False))


def as_numbers(data: Any) -> Any:
    """Return exact fractions, which files keep as text, as numbers.

    >>> as_numbers({"cost": {"epsilon": "1/10"}, "label": "1/10", "n": [1]})
    {'cost': {'epsilon': 0.1}, 'label': '1/10', 'n': [1]}
    """
    if isinstance(data, dict):
        return {
            name: float(read_amount(part, name, zero=True))
            if name in AMOUNTS and isinstance(part, str)
            else as_numbers(part)
            for name, part in data.items()
        }
    return [as_numbers(part) for part in data] if isinstance(data, list) else data


# Answers


def say_unchecked(table: Any, data: str) -> None:
    """Print in the first line that texts are read as numbers without a check."""
    if table.checked:
        return
    text = tr(
        "NOT CHECKED: {data} is text. Values that cannot be read as numbers or dates "
        "count as missing, and its owner has not recorded a check: discreto domain "
        "check FILE --data {data} --owner --record (or --accept-unchecked).",
        data=data,
    )
    out().print(plain(text), style="yellow")


def show_release(release: Release, *, interval: bool = True) -> Table:
    """Return a release as a table with one line for each number."""
    title = plain(label_in_words(release.label))
    table = Table(title=title, title_justify="left", min_width=min(len(title), 70))
    if release.keys:
        table.add_column("")
    table.add_column(tr("value"), justify="right", style="bold")
    if interval:
        table.add_column(tr("95 % interval"), justify="right")
    for key, value, span in _lines(release)[:MOST_ROWS]:
        cells = [plain(key)] if release.keys else []
        unit = "" if is_date_unit(release.unit) else release.unit
        cells.append(plain(f"{value} {unit}".strip()))
        table.add_row(*cells, *([plain(span)] if interval else []))
    more = len(release.keys) - MOST_ROWS
    if more > 0:
        table.caption = tr(
            "... {more} more lines; --json prints all of them", more=more
        )
    return table


def _lines(release: Release) -> list[tuple[str, str, str]]:
    if isinstance(release.value, str):
        return [("", release.value, "")]
    parts = [
        np.ravel(part).tolist() for part in (release.value, release.low, release.high)
    ]
    keys = release.keys or ("",)
    if is_date_unit(release.unit):
        texts = [[show_date(number, release.unit) for number in part] for part in parts]
        return [
            (key_in_words(key), value, tr("{low} to {high}", low=low, high=high))
            for key, value, low, high in zip(keys, *texts, strict=True)
        ]
    return [
        (key_in_words(key), *one_line(value, low, high))
        for key, value, low, high in zip(keys, *parts, strict=True)
    ]


def one_line(value: float, low: float, high: float) -> tuple[str, str]:
    """Format a value and its interval, rounded to the precision of the error."""
    whole = all(float(part).is_integer() for part in (value, low, high))
    digits = 0 if whole else digits_for((high - low) / 2, value)
    spec = f".{digits}f"
    low_end, high_end = number(low, spec), number(high, spec)
    return number(value, spec), tr("{low} to {high}", low=low_end, high=high_end)


def digits_for(error: float, value: float = 0.0) -> int:
    """Return the decimals that show two digits of the error, or four if it is 0."""
    exact = not error or not math.isfinite(error)
    size, wanted = (abs(value) or 1.0, 3) if exact else (error, 1)
    return min(max(wanted - math.floor(math.log10(size)), 0), 12)


def show_domain(domain: Domain, stored: dict[str, str] | None = None) -> Table:
    """Return the columns of a domain; with ``stored``, how the data file holds them."""
    table = Table(title=tr("domain"), title_justify="left")
    for name in (tr("column"), tr("type"), tr("values"), tr("may be missing")):
        table.add_column(name)
    if stored is not None:
        table.add_column(tr("in the data"))
    for name, column in domain.columns.items():
        found = [] if stored is None else [plain(stored.get(name, tr("(absent)")))]
        table.add_row(plain(name), *map(plain, column_words(column)), *found)
    return table


def protects(domain: Domain) -> Text:
    """Return the line that says what the declared guarantee protects."""
    return plain(
        tr(
            "protects  {unit} ({neighbours})",
            unit=unit_of_privacy(domain),
            neighbours=domain.neighbours,
        )
    )


def print_left(domain: Domain, ledger: Ledger, analyst: str | None = None) -> None:
    """Print what is protected, and what is left to spend."""
    console = out()
    console.print(protects(domain))
    console.print(
        tr(
            "left      ε {remaining} of {epsilon}",
            remaining=number(show(ledger.remaining())),
            epsilon=number(show(ledger.epsilon)),
        )
    )
    if analyst:
        left = number(show(ledger.remaining(analyst)))
        console.print(
            plain(
                tr(
                    "          ε {left} for analyst {analyst}",
                    left=left,
                    analyst=analyst,
                )
            )
        )


def budget_line(ledger: Ledger, analyst: str = "") -> Text:
    """Return a bar of what is spent, and the numbers."""
    spent, left = ledger.total(analyst), ledger.remaining(analyst)
    limit = spent + left if analyst else float(ledger.epsilon)
    filled = min(BAR, round(BAR * spent / limit)) if limit else BAR
    bar = Text("█" * filled, style="blue") + Text("░" * (BAR - filled), style="dim")
    at = f" (δ {number(show(ledger.delta))})" if ledger.delta else ""
    words = tr(
        "ε {spent} of {limit} spent, {left} left",
        spent=number(show(spent)),
        limit=number(show(limit)),
        left=number(show(left)),
    )
    by = " " + tr("by {analyst}", analyst=analyst) if analyst else ""
    return bar + Text(f" {words}{at}") + plain(by)
