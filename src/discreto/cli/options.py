"""Options that several commands share, and groups of options that open a table.

A command that takes a group has one parameter with the type of the group, and is
decorated with ``grouped``, which puts the options of the group in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from discreto.cli import files
from discreto.cli.question_words import from_words
from discreto.core.documents import read_json
from discreto.core.domain.domain import Domain
from discreto.core.ledger import Ledger
from discreto.errors import ParameterError
from discreto.session.plan import Statistic
from discreto.stats.text import KINDS
from discreto.table.table import Table

# The options that `query` and `plan` share.
StatWord = Annotated[
    str,
    typer.Argument(
        metavar="STAT",
        help=f"One of: {', '.join(KINDS)}; or a sentence: 'mean(kg / m ** 2) where "
        "age >= 65 by region'.",
    ),
]
OptionalStat = Annotated[
    str | None,
    typer.Argument(
        metavar="STAT",
        help=f"One of: {', '.join(KINDS)}; or a sentence: 'mean(kg / m ** 2) where "
        "age >= 65 by region'. Not with --batch.",
    ),
]
ColumnWords = Annotated[
    list[str] | None,
    typer.Argument(metavar="COLUMN", help="Columns that the statistic is about."),
]
ByWords = Annotated[
    list[str] | None,
    typer.Option("--by", help="Answer for each group of this category column."),
]
BinsWord = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        help="Histogram: a number of equal bins, or cuts: 18,40,65. For one of several "
        "columns: age=18,40,65, as often as needed.",
    ),
]
ProbabilityWord = Annotated[
    str | None,
    typer.Option("--probability", help="Quantile: one, or several: 0.1,0.5,0.9"),
]
DeltaWord = Annotated[
    str,
    typer.Option("--delta", help="Above 0: Gaussian noise; the ledger needs a delta."),
]
# The options of commands that open a table, or pay.
DataWord = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Parquet, CSV (also .gz), Arrow or Excel: a file, folder or pattern.",
    ),
]
DialectWords = Annotated[
    list[str] | None,
    typer.Option(
        "--dialect",
        metavar="NAME=VALUE",
        help="How DATA is written, if the domain file does not say: separator=; "
        "decimal=, thousands=. encoding=latin-1 missing=NA|-9 sheet=NAME dates=dmy "
        "quoted=true symbols=€|% brackets=true.",
    ),
]
DomainFile = Annotated[Path, typer.Option("--domain", help="The domain file.")]
TargetWord = Annotated[
    str | None, typer.Option("--target", help="The column to predict.")
]
LedgerFile = Annotated[Path, typer.Option("--ledger", help="The ledger that pays.")]
BudgetWord = Annotated[
    str | None,
    typer.Option("--budget", help="Make the ledger, with this total epsilon."),
]
BudgetDeltaWord = Annotated[
    str | None, typer.Option("--budget-delta", help="Total delta of the new ledger.")
]
AnotherFlag = Annotated[
    bool,
    typer.Option(
        "--another-ledger",
        help="Allow a second ledger for DATA. The costs of both add up.",
    ),
]
AcceptFlag = Annotated[
    bool,
    typer.Option(
        "--accept-unchecked",
        help="Read a text file whose owner has not recorded a check.",
    ),
]
AnalystWord = Annotated[
    str | None, typer.Option("--analyst", help="Also charge this analyst's budget.")
]
AnchorFile = Annotated[
    Path | None,
    typer.Option(
        "--anchor",
        help="File on another disk that receives the hash of every entry.",
    ),
]
ChainKey = Annotated[
    Path | None,
    typer.Option(
        "--chain-key",
        envvar="DISCRETO_CHAIN_KEY",
        help="File with the secret key of the ledger's hash chain.",
    ),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """The options of a command that reads a table of a known domain."""

    data: DataWord
    domain: DomainFile
    dialect: DialectWords = None

    def known(self) -> Domain:
        """Return the domain; refuse a file that is not filled in."""
        return files.read_domain(self.domain, self.dialect)


@dataclass(frozen=True, kw_only=True)
class Payment:
    """The options of a command that asks a private table, and its ledger pays."""

    data: DataWord
    ledger: LedgerFile
    dialect: DialectWords = None
    budget: BudgetWord = None
    budget_delta: BudgetDeltaWord = None
    another: AnotherFlag = False
    accept: AcceptFlag = False
    analyst: AnalystWord = None
    anchor: AnchorFile = None
    chain_key: ChainKey = None

    def open_ledger(self, known: Domain) -> Ledger:
        """Open the ledger; make it only if there is a budget.

        A table that can be refused is refused before a ledger file is made.
        """
        return files.open_ledger_for(
            self.data,
            known,
            self.ledger,
            another=self.another,
            budget=self.budget,
            budget_delta=self.budget_delta,
            anchor=self.anchor,
            chain_key=self.chain_key,
        )

    def table(self, known: Domain, book: Ledger, data: str | None = None) -> Table:
        """Open the table, or another file; the analyst pays, if there is one."""
        return Table(
            self.data if data is None else data,
            known,
            book.analyst(self.analyst) if self.analyst else book,
            another_ledger=self.another,
            accept_unchecked=self.accept,
        )


@dataclass(frozen=True, kw_only=True)
class PaidSource(Payment, SourceOptions):
    """The options of a command that needs a domain, a table and a ledger."""


@dataclass(frozen=True, kw_only=True)
class LedgerToRead:
    """The options of a command that opens a ledger file."""

    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger file.")]
    chain_key: ChainKey = None

    def open(self) -> Ledger:
        """Open the ledger, to write into it."""
        return files.open_ledger(self.ledger, **self._proofs())

    def readable(self) -> AbstractContextManager[Ledger]:
        """Open the ledger, or a copy of it where this user cannot write."""
        return files.readable_ledger(self.ledger, **self._proofs())

    def _proofs(self) -> dict[str, Any]:
        return {"chain_key": self.chain_key}


@dataclass(frozen=True, kw_only=True)
class AnchoredLedger(LedgerToRead):
    """The options of a command that also compares a ledger with its anchor."""

    anchor: Annotated[
        Path | None,
        typer.Option("--anchor", help="Also compare with this anchor file."),
    ] = None

    def _proofs(self) -> dict[str, Any]:
        return {"chain_key": self.chain_key, "anchor": self.anchor}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """Statements of people about a model, for its card."""

    purpose: Annotated[
        str, typer.Option("--purpose", help="For the card: what the model is for.")
    ] = ""
    author: Annotated[
        str, typer.Option("--author", help="For the card: the person responsible.")
    ] = ""
    about: Annotated[
        str, typer.Option("--about", help="For the card: what the rows are.")
    ] = ""
    prior: Annotated[
        str,
        typer.Option(
            "--prior", help="For the card: prior probability of the attacker."
        ),
    ] = "0.1"

    def said(self) -> dict[str, str]:
        """Return the arguments of ``model_page``."""
        said = {"purpose": self.purpose, "author": self.author, "data": self.about}
        return said | {"prior": self.prior}


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """The options that say which statistic is asked, beside its name and columns."""

    by: ByWords = None
    bins: BinsWord = None
    probability: ProbabilityWord = None

    def statistic(self, name: str, columns: Sequence[str] | None) -> Statistic:
        """Return the statistic with these options."""
        return from_words(name, columns, **vars(self))


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of a group in the place of a parameter with its type.

    Parameters
    ----------
    command
        A function whose parameters are options, or groups of options: dataclasses
        whose fields are annotated as options of ``typer``.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {
        name: kind for name, kind in hints.items() if is_dataclass(kind)
    }
    expanded: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        found = _options_of(groups[name]) if name in groups else [parameter]
        for one in found:
            kind = hints.get(one.name, one.annotation)
            expanded[one.name] = one.replace(kind=one.KEYWORD_ONLY, annotation=kind)

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            taken = {one.name: given.pop(one.name) for one in fields(group)}
            given[name] = group(**taken)
        command(**given)

    run.__signature__ = inspect.Signature(list(expanded.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in expanded.values()}
    del run.__wrapped__
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    """Return the fields of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in fields(group)
    ]


def value(text: str) -> Any:
    """Return the value of a setting: written as in JSON or Python, else a text.

    >>> [value(text) for text in ("3", "0.5", ".5", "true", "False", "None", "auto")]
    [3, 0.5, 0.5, True, False, None, 'auto']
    """
    plain = text.strip()
    known = {"true": True, "false": False, "none": None, "null": None}
    if plain.lower() in known:
        return known[plain.lower()]
    with suppress(ParameterError):
        return read_json(plain)
    for kind in (int, float):
        with suppress(ValueError):
            return kind(plain)
    return plain
