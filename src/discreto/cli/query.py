"""``discreto query``: ask private statistics and pay for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import Ledger, Release, Table
from discreto.cli import options, terminal
from discreto.cli.files import open_ledger_for, read_domain
from discreto.core.cost import show
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.release.labels import label_in_words
from discreto.session.plan import statistics
from discreto.stats.batches import read_batch
from discreto.text.language import number, tr

EXAMPLE = """Examples:

`discreto query patients.parquet mean age --by sex --epsilon 0.1 --domain d.json
--ledger patients.ledger --budget 3`

`discreto query patients.parquet quantile age --probability 0.1,0.5,0.9 --epsilon 0.2
--domain d.json --ledger patients.ledger --json`

`discreto query patients.parquet --batch questions.toml --domain d.json
--ledger patients.ledger`
"""


EpsilonWord = Annotated[
    str | None, typer.Option("--epsilon", help="What this may cost.")
]
DeltaWord = Annotated[
    str | None,
    typer.Option("--delta", help="Above 0: Gaussian noise; the ledger needs a delta."),
]
BatchFile = Annotated[
    Path | None,
    typer.Option("--batch", help="A TOML file of questions, for one cost."),
]
PlanFlag = Annotated[
    bool, typer.Option("--plan", help="With --batch: show the plan, ask nothing.")
]


def query(
    data: options.DataWord,
    stat: options.OptionalStat = None,
    columns: options.ColumnWords = None,
    *,
    domain: options.DomainFile,
    dialect: options.DialectWords = None,
    ledger: options.LedgerFile,
    epsilon: EpsilonWord = None,
    delta: DeltaWord = None,
    batch: BatchFile = None,
    only_plan: PlanFlag = False,
    budget: options.BudgetWord = None,
    budget_delta: options.BudgetDeltaWord = None,
    another: options.AnotherFlag = False,
    accept: options.AcceptFlag = False,
    by: options.ByWords = None,
    bins: options.BinsWord = None,
    probability: options.ProbabilityWord = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="Asked again, it gives the same answer for free."),
    ] = None,
    analyst: options.AnalystWord = None,
    anchor: options.AnchorFile = None,
    chain_key: options.ChainKey = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Ask a private statistic, or a file of them, and pay for it from the ledger.

    The charge is written down before any row is read, and nothing is given back. Use
    `discreto plan` (or `--plan` with a file) to see the cost and the error first.
    """
    known = read_domain(domain, dialect)
    flags: Any = {"another_ledger": another, "accept_unchecked": accept}

    def open_book() -> Ledger:
        given: Any = {"budget": budget, "budget_delta": budget_delta}
        given |= {"anchor": anchor, "chain_key": chain_key, "another": another}
        return open_ledger_for(data, known, ledger, **given)

    if batch is not None:
        if stat or columns or by or bins or probability or key:
            raise ParameterError("--batch says it all: leave out STAT and its options.")
        asked = Request(batch, data, known, epsilon, delta, analyst, flags)
        asked.run(open_book, only_plan=only_plan, as_json=as_json)
        return
    if stat is None or epsilon is None or only_plan:
        raise ParameterError("give STAT and --epsilon, or --batch FILE.")
    wanted = options.statistic(stat, columns, by=by, bins=bins, probability=probability)
    label, interval = label_in_words(wanted.label), options.kind_of(stat).interval
    delta = "0" if delta is None else delta
    # Refuse whatever can be refused before a new ledger file is made.
    statistics(known, wanted, epsilon=epsilon, delta=delta, rows=1)
    book = open_book()
    payer = book.analyst(analyst) if analyst else book
    with terminal.working(tr("asking for the {label}", label=label)):
        table = Table(data, known, payer, **flags)
        release = table.answer(wanted, epsilon=epsilon, delta=delta, key=key)
    if as_json:
        terminal.print_json(release.to_dict() | {"left": left_of(book, analyst)})
    else:
        terminal.say_unchecked(table, data)
        _print(release, known, book, analyst, interval=interval)


def left_of(book: Ledger, analyst: str | None) -> dict[str, float]:
    """What is left in a ledger, and for an analyst."""
    left = {"epsilon": book.remaining(), "of": float(book.epsilon)}
    left |= {"delta": float(book.delta)} if book.delta else {}
    return left | ({"analyst": book.remaining(analyst)} if analyst else {})


def _print(
    release: Release,
    known: Domain,
    book: Ledger,
    analyst: str | None,
    *,
    interval: bool,
) -> None:
    console = terminal.out()
    console.print(terminal.show_release(release, interval=interval))
    if release.note:
        console.print(
            terminal.plain(tr("note      {note}", note=label_in_words(release.note)))
        )
    seq = release.receipt.seq if release.receipt else "?"
    console.print(
        tr(
            "cost      {cost} (entry {seq} of the ledger)",
            cost=number(release.cost),
            seq=seq,
        )
    )
    print_left(known, book, analyst)


def print_left(known: Domain, book: Ledger, analyst: str | None) -> None:
    """What is protected, and what is left to spend."""
    console = terminal.out()
    console.print(terminal.protects(known))
    console.print(
        tr(
            "left      ε {remaining} of {epsilon}",
            remaining=number(show(book.remaining())),
            epsilon=number(show(book.epsilon)),
        )
    )
    if analyst:
        left = number(show(book.remaining(analyst)))
        console.print(
            terminal.plain(
                tr(
                    "          ε {left} for analyst {analyst}",
                    left=left,
                    analyst=analyst,
                )
            )
        )


@dataclass(frozen=True)
class Request:
    """A file of questions and what it is asked of."""

    path: Path
    data: str
    domain: Domain
    epsilon: str | None
    delta: str | None
    analyst: str | None
    flags: dict[str, bool]

    def run(
        self, open_book: Callable[[], Ledger], *, only_plan: bool, as_json: bool
    ) -> None:
        """Show the plan, or pay, ask and show the answers."""
        batch = read_batch(self.path)
        options = {"epsilon": self.epsilon, "delta": self.delta}
        # A plan reads no row; it refuses whatever can be refused.
        unasked = Table(self.data, self.domain, Ledger(epsilon=1))
        plan = batch.plan(unasked, **options)
        if only_plan:
            if as_json:
                terminal.print_json(plan.to_dict())
            else:
                terminal.out().print(terminal.plain_lines(str(plan)))
            return
        book = open_book()
        payer = book.analyst(self.analyst) if self.analyst else book
        with terminal.working(
            tr("asking {count} questions", count=len(batch.statistics))
        ):
            flags: Any = self.flags
            table = Table(self.data, self.domain, payer, **flags)
            found = batch.answers(table, **options)
        if as_json:
            releases = [release.to_dict() for release in found]
            left = left_of(book, self.analyst)
            terminal.print_json({"releases": releases, "left": left})
            return
        terminal.say_unchecked(table, self.data)
        for release in found:
            terminal.out().print(terminal.show_release(release))
            if release.note:
                terminal.out().print(
                    terminal.plain(
                        tr("note      {note}", note=label_in_words(release.note))
                    )
                )
        entry = found[0].receipt.seq if found[0].receipt else "?"
        terminal.out().print(
            tr(
                "cost      {cost} (entry {seq} of the ledger)",
                cost=number(plan.total),
                seq=entry,
            )
        )
        print_left(self.domain, book, self.analyst)
