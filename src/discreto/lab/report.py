"""The page of a study: every figure and table of an output folder, on one page."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreto.core import documents
from discreto.errors import ParameterError
from discreto.lab.study.words import in_words
from discreto.report.markup import (
    Html,
    Measured,
    facts,
    figure,
    join,
    note,
    table,
    tag,
    text,
)
from discreto.report.page import Page, anchor
from discreto.text.language import language, mark, speaking, tr

HEADS = (
    mark("experiment"),
    mark("what"),
    mark("source"),
    mark("cells"),
    mark("skipped"),
)
NO_DATA = mark(
    "Some cells were skipped because their public data sets are not on "
    "this machine: put them into a folder and name it with "
    "DISCRETO_DATA. What depends on them is left out here."
)
AGREES = {True: mark("agrees"), False: mark("differs"), None: mark("no claim")}


def study_page(folder: str | Path, *, lang: str = "") -> Page:
    """A page about an output folder of ``discreto study run``, in a language."""
    try:
        with speaking(lang):
            return _page(Path(folder))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{str(folder)!r} is not the output folder of a study: a manifest is "
            "malformed."
        ) from None


def _page(root: Path) -> Page:
    whole = read_json(root / "manifest.json")
    names = [str(name) for name in whole.get("experiments", [])]
    parts = [(root / name, read_json(root / name / "manifest.json")) for name in names]
    if not parts:
        raise ParameterError(f"{str(root)!r} holds no experiments of a study.")
    lead = tr("{count} experiments, computed again from the sources.", count=len(parts))
    if whole.get("quick"):
        lead += " " + tr("A quick run: fewer repeats, smaller sets.")
    page = Page(tr("The study"), lead, simulated=bool(whole.get("simulated", True)))
    page.section(tr("At a glance"), *_glance(parts))
    for path, manifest in parts:
        page.section(_title(manifest), *_experiment(path, manifest), simulated=True)
    page.section(tr("Made with"), *_versions(parts))
    return page


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a file."""
    try:
        data = documents.read_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise ParameterError(f"{str(path)!r} cannot be read as JSON.") from None
    if not isinstance(data, dict):
        raise ParameterError(f"{str(path)!r} holds no JSON object.")
    return data


def _glance(parts: list[Any]) -> list[Html]:
    found = [f for _, manifest in parts for f in manifest.get("findings", [])]
    differs = sum(f.get("agrees") is False for f in found)
    failed = sum(len(manifest.get("failed", [])) for _, manifest in parts)
    shown = {
        tr("experiments"): len(parts),
        tr("cells"): sum(int(manifest.get("done", 0)) for _, manifest in parts),
        tr("claims checked"): sum(f.get("agrees") is not None for f in found),
        tr("differ from the source"): differs,
        tr("one core's work"): _duration(sum(m.get("seconds", 0) for _, m in parts)),
    }
    lines = [
        [
            tag("a", manifest["name"], href=f"#{anchor(_title(manifest))}"),
            tr(str(manifest["title"])),
            in_words(str(manifest.get("source", ""))),
            tr(
                "{done} of {cells}",
                done=manifest.get("done", 0),
                cells=manifest.get("cells", 0),
            ),
            len(manifest.get("skipped", [])),
        ]
        for _, manifest in parts
    ]
    blocks = [facts(shown), table([tr(head) for head in HEADS], lines)]
    if any(manifest.get("skipped") for _, manifest in parts):
        blocks.append(note(tr(NO_DATA)))
    if failed:
        blocks.append(
            note(
                tr("{failed} cell(s) failed; see their sections.", failed=failed),
                kind="warn",
            )
        )
    return blocks


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _title(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['name']}: {tr(str(manifest['title']))}"


def _experiment(path: Path, manifest: Mapping[str, Any]) -> list[Html]:
    blocks = [text(tr(str(manifest["shows"])))] if manifest.get("shows") else []
    found = manifest.get("findings", [])
    if found:
        blocks.append(_findings(found))
    again = _drawn_again(path, manifest)
    for picture in manifest.get("pictures", []):
        blocks.append(_picture(path, picture, again))
    for entry in manifest.get("tables", []):
        blocks.append(_table(path, entry))
    for failure in manifest.get("failed", []):
        blocks.append(note(tr("Failed: {failure}", failure=failure), kind="warn"))
    skipped = manifest.get("skipped", [])
    if skipped:
        found = dict.fromkeys(str(one.get("why", "")) for one in skipped)
        reasons = list(map(in_words, found))
        blocks.append(
            note(
                tr(
                    "Skipped {count}: {names}",
                    count=len(skipped),
                    names="; ".join(reasons[:5]),
                )
            )
        )
    return blocks


def _findings(found: list[Any]) -> Html:
    lines = []
    for finding in found:
        agrees = finding.get("agrees")
        kind = {True: "yes", False: "no"}.get(agrees, "")
        word = tag("span", tr(AGREES.get(agrees, "?")), class_=kind)
        lines.append(
            [
                in_words(str(finding.get("claim", ""))),
                in_words(str(finding.get("seen", ""))),
                word,
                in_words(str(finding.get("why", ""))),
            ]
        )
    return table([tr("the source says"), tr("seen here"), "", tr("why")], lines)


def _drawn_again(path: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Pictures in the language of the page, if those of the folder have another."""
    if not manifest.get("pictures") or manifest.get("language", "en") == language():
        return {}
    from discreto.lab.study.runner import pictures_of

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about cells that were skipped
            return pictures_of(path, manifest)
    except ImportError:  # no matplotlib: the pictures of the folder are shown
        return {}


def _picture(path: Path, entry: Mapping[str, Any], again: Mapping[str, str]) -> Html:
    title = in_words(str(entry.get("title", "")))
    caption = join([title, _tail(entry)])
    try:
        file = _inside(path, entry)
        svg = again.get(file.name) or file.read_text(encoding="utf-8")
        return figure(svg, caption=caption, alt=title)
    except (OSError, UnicodeDecodeError, ParameterError):
        return note(
            tr("The picture {file} cannot be shown.", file=repr(entry.get("file"))),
            kind="warn",
        )


def _table(path: Path, entry: Mapping[str, Any]) -> Html:
    try:
        data = read_json(_inside(path, entry))
        columns = [in_words(str(column)) for column in data["columns"]]
        rows = [[_cell(cell) for cell in row] for row in data["rows"]]
        caption = join([in_words(str(data.get("title", ""))), _tail(data)])
        return table(columns, rows, caption=caption)
    except (ParameterError, KeyError, TypeError, ValueError):
        return note(
            tr("The table {file} cannot be shown.", file=repr(entry.get("file"))),
            kind="warn",
        )


def _inside(path: Path, entry: Mapping[str, Any]) -> Path:
    """A file of the folder, and of no other one."""
    file = (path / str(entry.get("file", ""))).resolve()
    if not file.is_relative_to(path.resolve()):
        raise ParameterError("a manifest names a file outside of its folder.")
    return file


def _tail(entry: Mapping[str, Any]) -> str:
    return f". {in_words(str(entry['note']))}" if entry.get("note") else ""


def _cell(cell: Any) -> Any:
    if isinstance(cell, Mapping):
        return Measured(float(cell["mean"]), float(cell["spread"]))
    return in_words(cell) if isinstance(cell, str) else cell


def _versions(parts: list[Any]) -> list[Html]:
    versions: dict[str, str] = {}
    for _, manifest in parts:
        versions |= manifest.get("versions", {})
    return [table([tr("package"), tr("version")], sorted(versions.items()))]
