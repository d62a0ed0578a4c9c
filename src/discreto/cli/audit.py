"""``discreto audit``: try to break a model, a statistic, or the audits themselves."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreto.cli import options, terminal
from discreto.cli.files import read_domain, refuse_existing
from discreto.cli.fit import configured
from discreto.cli.question_words import from_words
from discreto.errors import ParameterError, UnsafeError
from discreto.stats.text import KINDS
from discreto.text.language import number, tr

EXAMPLE = """Examples:

`discreto audit NaiveBayes --domain d.json --epsilon 1 --out audit.html`

`discreto audit mean age --domain d.json --epsilon 0.1`

`discreto audit silo --domain d.json`: hostile messages to a silo.

`discreto audit known-bugs`: planted bugs, all of which must be caught.
"""

SubjectWord = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model, a statistic, 'silo' or 'known-bugs'."
    ),
]
RunsWord = Annotated[
    int,
    typer.Option(
        "--runs", help="Runs of the black-box audit on each table; 0 for none."
    ),
]
SettingWords = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the model: n_clusters=3"),
]


def audit(
    subject: SubjectWord,
    columns: options.ColumnWords = None,
    *,
    target: options.TargetWord = None,
    domain: Annotated[
        Path | None, typer.Option("--domain", help="The domain file (JSON).")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Epsilon that it claims to cost.")
    ] = None,
    delta: options.DeltaWord = "0",
    runs: RunsWord = 20_000,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence level of the lower bound.")
    ] = 0.999,
    workers: Annotated[int, typer.Option("--workers", help="Processes.")] = 2,
    seed: Annotated[int, typer.Option("--seed", help="Seed of known-bugs.")] = 0,
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit the model again in every run (slow).")
    ] = False,
    settings: SettingWords = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A new file for the page (HTML).")
    ] = None,
    as_json: options.JsonFlag = False,
) -> None:
    """Try to show that a model or a statistic loses more than it claims.

    Needs the domain only: it uses synthetic worst-case tables. The first audit replays
    noisy answers on neighbouring tables, the second runs the whole thing many times
    and bounds epsilon from below. Exit code 6 means that a claim is broken.
    """
    if out is not None:
        refuse_existing(out)
    planted = subject in ("known-bugs", "museum")  # its name in 0.1
    if planted:
        findings = _known_bugs(seed, runs)
    elif subject == "silo":
        findings = _silo(domain)
    else:
        findings = _examine(
            _subject(subject, columns, settings or [], epsilon, delta),
            domain,
            target,
            runs=runs,
            confidence=confidence,
            workers=workers,
            replicates=not refit,
            progress=not as_json,
            epsilon=epsilon,
            delta=delta,
            name=" ".join([subject, *(columns or [])]),
        )
    _tell(findings, out, as_json=as_json, planted=planted)


def _tell(
    findings: list[Any], out: Path | None, *, as_json: bool, planted: bool
) -> None:
    """Print and write what was found; a broken claim ends in an error."""
    if out is not None:
        from discreto.report import audit_page

        audit_page(findings).save(out)
    _print(findings, out, as_json=as_json, planted=planted)
    # A planted bug must be a violation; its honest twin, or anything else, must not.
    wrong = [
        finding.subject
        for finding in findings
        if finding.violation != (planted and finding.subject.endswith("planted"))
    ]
    if wrong:
        verb = "judged wrongly" if planted else "shown to break its claim"
        raise UnsafeError(f"{verb}: {', '.join(wrong)}.")


def _known_bugs(seed: int, runs: int) -> list[Any]:
    bugs = importlib.import_module("discreto.lab.known_bugs").PLANTED_BUGS

    out = []
    for bug in bugs:
        with terminal.working(tr("looking at: {name}", name=bug.name)):
            for honest in (False, True):
                out.append(bug.audit(seed, honest=honest, runs=runs or 20_000))
    return out


def _silo(path: Path | None) -> list[Any]:
    from discreto.audit import silo

    if path is None:
        raise ParameterError("an audit needs --domain, the public facts of the rows.")
    known = read_domain(path)
    with terminal.working(tr("sending hostile messages")):
        return [silo(known)]


def _examine(
    subject: Any, path: Path | None, target: str | None, **options: Any
) -> list[Any]:
    from discreto.audit import examine

    if path is None:
        raise ParameterError("an audit needs --domain, the public facts of the rows.")
    with terminal.working(tr("replaying answers on hostile neighbours")):
        known = read_domain(path)
        known = known if target is None else known.with_(target=target)
    return examine(subject, known, **options)


def _subject(
    name: str,
    columns: list[str] | None,
    settings: list[str],
    epsilon: str | None,
    delta: str,
) -> Any:
    from discreto import models

    if epsilon is None:
        raise ParameterError("an audit needs --epsilon, the claim to break.")
    if name in KINDS:
        return from_words(name, columns)
    kind: Any = getattr(models, name, None)
    if not isinstance(kind, type) or not hasattr(kind, "fit"):
        known = [n for n in models.__all__ if hasattr(getattr(models, n), "fit")]
        raise ParameterError(
            f"there is no model or statistic {name!r}. Models: {', '.join(known)}."
        )
    return configured(kind, settings, epsilon=epsilon, delta=delta)


def _print(
    findings: list[Any], out: Path | None, *, as_json: bool, planted: bool
) -> None:
    if as_json:
        terminal.print_json({"findings": [f.to_dict() for f in findings]})
        return
    console = terminal.out()
    console.print(_planted_table(findings) if planted else _table(findings))
    if not planted:
        for line in "\n".join(map(str, findings)).splitlines():
            console.print(terminal.plain(line), soft_wrap=True)
    if out is not None:
        console.print(terminal.plain(tr("wrote {out}", out=out)), soft_wrap=True)


def _table(findings: list[Any]) -> Table:
    table = Table(title=tr("audit, SIMULATED"), title_justify="left")
    for head in (tr("subject"), tr("method"), tr("verdict"), tr("claims"), tr("shown")):
        table.add_column(head)
    for one in findings:
        claim = f"{one.unit} {number(one.claimed, '.3g')}"
        cells = (one.subject, one.method, tr(one.verdict), claim, _number(one.shown))
        table.add_row(*map(terminal.plain, cells))
    return table


def _planted_table(findings: list[Any]) -> Table:
    """Return one line for each planted bug and its honest twin."""
    title = tr("planted bugs, SIMULATED")
    table = Table(title=title, title_justify="left")
    for head in (
        tr("planted bug"),
        tr("audit"),
        tr("shown"),
        tr("caught"),
        tr("twin"),
        tr("what it saw"),
    ):
        table.add_column(head)
    for bug, twin in zip(findings[::2], findings[1::2], strict=True):
        cells = (
            bug.subject.removesuffix(", planted"),
            bug.method,
            _number(bug.shown),
            tr("yes") if bug.violation else tr("MISSED"),
            tr("ACCUSED") if twin.violation else tr("clear"),
            bug.event[:60],
        )
        table.add_row(*map(terminal.plain, cells))
    return table


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else number(value, ".3g")
