"""``discreto report``: one HTML page for a study, a model, a ledger or an audit."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreto.cli import options, terminal
from discreto.cli.evaluate import kept_scores
from discreto.cli.files import read_domain, readable_ledger
from discreto.core.documents import read_json
from discreto.errors import ParameterError
from discreto.text.language import tr

if TYPE_CHECKING:
    from discreto.report import Page

EXAMPLE = """Examples:

`discreto report patients.ledger --out ledger.html`

`discreto report patients.ledger --checklist --domain d.json`: the hazards of NIST SP
800-226, filled in.

`discreto report patients.ledger --registry --domain d.json`: an entry for the public
registry of deployments (YAML).

`discreto report model.json`, `discreto report study-results/`,
`discreto report findings.json`
"""
KINDS = (
    "a ledger file, a model file (of a federation, too), the output folder of a study, "
    "or the findings of an audit (JSON)"
)


@options.grouped
def report(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help=f"{KINDS}.")],
    stated: options.Statement,
    out: Annotated[
        Path | None, typer.Option("--out", help="The page; by default beside SOURCE.")
    ] = None,
    chain_key: options.ChainKey = None,
    domain: Annotated[
        Path | None,
        typer.Option("--domain", help="With --checklist or --registry: the domain."),
    ] = None,
    checklist: Annotated[
        bool,
        typer.Option(
            "--checklist", help="Of a ledger: the hazards of NIST SP 800-226."
        ),
    ] = False,
    registry: Annotated[
        bool,
        typer.Option(
            "--registry", help="Of a ledger: an entry for the registry (YAML)."
        ),
    ] = False,
) -> None:
    """Write one self-contained HTML page: no network, light and dark, ready to print.

    SOURCE is a ledger file, a model file, the output folder of a study, or the findings
    of an audit as JSON.
    """
    beside = source / "report.html" if source.is_dir() else source.with_suffix(".html")
    if checklist or registry:
        if checklist and registry:
            raise ParameterError("--checklist and --registry are two files: ask twice.")
        words = {k: v for k, v in stated.said().items() if k != "prior"}
        path = _evidence(source, domain, chain_key, out, words if registry else None)
        terminal.out().print(
            terminal.plain(tr("wrote {out}", out=path)), soft_wrap=True
        )
        return
    with terminal.working(tr("writing the page")):
        path = page_of(source, chain_key, stated.said()).save(out or beside)
    terminal.out().print(terminal.plain(tr("wrote {out}", out=path)), soft_wrap=True)


def _evidence(
    source: Path,
    domain: Path | None,
    chain_key: Path | None,
    out: Path | None,
    words: Mapping[str, str] | None,
) -> Path:
    """Write the checklist of a ledger, or with words its entry for the registry."""
    from discreto.report import checklist_page, registry_entry
    from discreto.report.deployment import to_yaml

    if not _is_ledger(source):
        raise ParameterError(f"{str(source)!r} is not a ledger file.")
    described = None if domain is None else read_domain(domain)
    with readable_ledger(source, chain_key=chain_key) as book:
        if words is None:
            page = checklist_page(book, described)
            return Path(page.save(out or source.with_suffix(".checklist.html")))
        entry = registry_entry(book, described, **words)
    path = out or source.with_suffix(".registry.yaml")
    path.write_text(to_yaml(entry), encoding="utf-8")
    return path


def _is_ledger(source: Path) -> bool:
    if not source.is_file():
        return False
    with source.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def page_of(
    source: Path,
    chain_key: Path | None = None,
    said: Mapping[str, Any] | None = None,
) -> Page:
    """Return the page of whatever a file or folder holds."""
    from discreto.report import ledger_page

    if source.is_dir():
        page: Page = importlib.import_module("discreto.lab.report").study_page(source)
        return page
    if not source.is_file():
        raise ParameterError(f"there is no file or folder {str(source)!r}.")
    if _is_ledger(source):
        with readable_ledger(source, chain_key=chain_key) as book:
            return ledger_page(book)
    return _json_page(source, said or {})


def _json_page(source: Path, said: Mapping[str, Any]) -> Page:
    import discreto.synthesis  # noqa: F401  (so that its files are known)
    from discreto.models.interop.json import loads
    from discreto.report import audit_page, model_page

    try:
        text = source.read_text(encoding="utf-8")
        data: Any = read_json(text)
    except (OSError, ValueError):
        raise ParameterError(f"{str(source)!r} is not {KINDS}.") from None
    if isinstance(data, dict) and "discreto_model" in data:
        return model_page(loads(text), evaluation=kept_scores(source), **said)
    if isinstance(data, dict) and "discreto_federated" in data:
        from discreto.federated.model import FederatedModel
        from discreto.report import federated_page

        return federated_page(FederatedModel.from_dict(data))
    several = data.get("findings", [data]) if isinstance(data, dict) else data
    listed = isinstance(several, list) and several
    if listed and all(isinstance(f, dict) and "violation" in f for f in several):
        return audit_page(several)
    raise ParameterError(f"{str(source)!r} is not {KINDS}.")
