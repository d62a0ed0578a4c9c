"""Files of questions: many statistics of one table for one cost, written as TOML.

epsilon = 1
split = "weighed"
rows = 20000

[columns]
bmi = "kg / m ** 2"

[[question]]
ask = "mean(bmi) by region"
where = "age >= 65"
precision = 0.5
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreto.core.documents import known_part, read_toml
from discreto.core.expressions import Named, Step, Where, WithColumns
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.plan import Plan, Statistic
from discreto.stats.text import sentence
from discreto.stats.views import Viewed
from discreto.table.expression_text import parse
from discreto.table.table import Table

_KNOWN = ("epsilon", "delta", "split", "rows", "columns", "where", "question")
_PARTS = ("ask", "where", "precision", "share")
_LONGEST = 1 << 20
MOST_QUESTIONS = 1000


@dataclass(frozen=True)
class Batch:
    """Questions about one table, and how they share a cost.

    Parameters
    ----------
    view
        Derived columns and a filter that all questions share.
    statistics
        What is asked.
    options
        ``epsilon``, ``delta``, ``split``, ``precision`` and ``rows`` of ``answers``.
    """

    view: tuple[Step, ...]
    statistics: tuple[Statistic, ...]
    options: Mapping[str, Any]

    def seen(self, table: Table) -> Table:
        """Return the table with the batch's columns and filter.

        Parameters
        ----------
        table
            The table that the batch is about.
        """
        for step in self.view:
            table = table.seen(step)
        return table

    def plan(self, table: Table, **options: Any) -> Plan:
        """Return the cost and the expected errors of the questions; spends nothing.

        Parameters
        ----------
        table
            The table that the batch is about.
        options
            Options in place of the file's, such as ``epsilon``.
        """
        merged = self._options(options)
        return self.seen(table).plan(self.statistics, **merged)

    def answers(self, table: Table, **options: Any) -> list[Release]:
        """Ask all of it for one cost, all or nothing.

        Parameters
        ----------
        table
            The table that the batch is about.
        options
            Options in place of the file's, such as ``epsilon``.
        """
        merged = self._options(options)
        return self.seen(table).answers(self.statistics, **merged)

    def _options(self, more: Mapping[str, Any]) -> dict[str, Any]:
        merged = dict(self.options) | {k: v for k, v in more.items() if v is not None}
        if "epsilon" not in merged:
            raise ParameterError("a batch needs an epsilon, in its file or beside it.")
        return merged


def read_batch(path: str | Path) -> Batch:
    """Read a file of questions.

    Parameters
    ----------
    path
        A TOML file; ``docs/batches.md`` says what may be in it.

    Returns
    -------
    Batch
        The questions; nothing has been asked.

    Raises
    ------
    ParameterError
        The file cannot be read; the message says which part.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ParameterError(f"there is no file {str(path)!r}.") from None
    except (OSError, ValueError):
        raise ParameterError(f"{str(path)!r} is not a readable TOML file.") from None
    if len(text) > _LONGEST:
        raise ParameterError(f"{str(path)!r} is too long for a file of questions.")
    try:
        data = read_toml(text)
    except ParameterError as error:
        raise ParameterError(f"{str(path)!r} is not a TOML file: {error}") from None
    return batch_of(data)


def batch_of(data: Mapping[str, Any]) -> Batch:
    """Return the questions of a file's data.

    Parameters
    ----------
    data
        What the file says, as plain data.
    """
    data = known_part(data, _KNOWN, "a batch")
    asked = data.get("question")
    if not isinstance(asked, list) or not 1 <= len(asked) <= MOST_QUESTIONS:
        raise ParameterError("a batch has questions: [[question]] with ask = '...'.")
    statistics = tuple(_question(part, place) for place, part in enumerate(asked, 1))
    options: dict[str, Any] = {
        name: data[name]
        for name in ("epsilon", "delta", "split", "rows")
        if name in data
    }
    for name, kinds in (("split", str | list), ("rows", int)):
        if not isinstance(options.get(name), kinds | None):
            raise ParameterError(f"a batch's {name!r} is of the wrong kind.")
    shares = [part.get("share") for part in asked]
    if any(share is not None for share in shares):
        if "split" in options:
            raise ParameterError("a batch has a split, or a share for questions.")
        options["split"] = [1 if share is None else share for share in shares]
    precision = [part.get("precision") for part in asked]
    if any(wanted is not None for wanted in precision):
        options |= {"precision": precision, "split": options.get("split", "weighed")}
    return Batch(_view(data), statistics, options)


def _view(data: Mapping[str, Any]) -> tuple[Step, ...]:
    columns, condition = data.get("columns", {}), data.get("where")
    if not isinstance(columns, Mapping) or not isinstance(condition, str | None):
        raise ParameterError("a batch's columns are [columns] name = 'expression'.")
    steps: list[Step] = []
    for name, text in columns.items():  # one after the other: later ones use earlier
        steps.append(WithColumns((Named(name, parse(text)),)))
    if condition is not None:
        steps.append(Where(parse(condition)))
    return tuple(steps)


def _question(part: Any, place: int) -> Statistic:
    if not isinstance(part, Mapping) or not isinstance(part.get("ask"), str):
        raise ParameterError(f"question {place} of the batch lacks ask = '...'.")
    part = known_part(part, _PARTS, f"question {place} of the batch")
    try:
        statistic = sentence(part["ask"])
        if "where" in part:
            statistic = Viewed(statistic, (Where(parse(part["where"])),))
    except ParameterError as error:
        raise ParameterError(f"question {place} of the batch: {error}") from None
    return statistic
