"""Run experiments: what is missing is measured, then everything is written anew."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from discreto import __version__
from discreto.lab.study.experiment import Cell, Experiment
from discreto.lab.study.figures import save
from discreto.lab.study.results import Results, summary
from discreto.lab.study.store import Folder, Record, key_of, versions, write_json
from discreto.lab.study.workers import run_apart, run_here
from discreto.session.parameters import whole
from discreto.text.language import language

NEEDS_ALL = "it needs cells that were skipped"


class Watch(Protocol):
    """Told how a run goes."""

    def begin(self, experiment: Experiment, total: float, done: float) -> None:
        """An experiment has this much work (in weights), of which some is done."""

    def cell(self, experiment: Experiment, weight: float, error: str | None) -> None:
        """A cell was measured, or failed."""

    def end(self, outcome: Outcome) -> None:
        """All cells of an experiment are done and its folder is written."""


class _Nobody:
    """Does not care."""

    def begin(self, experiment: Experiment, total: float, done: float) -> None: ...
    def cell(
        self, experiment: Experiment, weight: float, error: str | None
    ) -> None: ...
    def end(self, outcome: Outcome) -> None: ...


@dataclass
class Outcome:
    """How an experiment went."""

    experiment: Experiment
    folder: Path
    cells: int
    ran: int = 0
    failed: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)  # data is not to be had
    done: int = 0  # with a result, those of earlier runs included
    seconds: float = 0.0  # of a core's work, that of earlier runs included
    surprises: list[dict[str, Any]] = field(default_factory=list)  # findings that fail


def run(
    chosen: Iterable[Experiment],
    out: str | Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
) -> list[Outcome]:
    """Run experiments, keep every finished cell, and write their folders.

    Parameters
    ----------
    chosen
        The experiments; see :func:`discreto.lab.study.find`.
    out
        The output folder. Cells that are in it already are not run again.
    quick
        The small set of cells, to see that everything works.
    jobs
        Processes; as many as there are cores unless said otherwise. A script that calls
        this needs ``if __name__ == "__main__":`` because processes import it.
    fresh
        Forget what is in the folder.
    watch
        Told about every cell.
    """
    jobs = whole(os.cpu_count() or 1 if jobs is None else jobs, "jobs")
    start, watch = time.perf_counter(), watch or _Nobody()
    several = [_Run(one, Path(out), quick, fresh, watch) for one in chosen]
    tasks = chain.from_iterable(one.tasks() for one in several)
    by_name = {one.experiment.name: one for one in several}
    going = run_here(tasks) if jobs == 1 else run_apart(tasks, jobs)
    outcomes = [one.close() for one in several if not one.left]
    for (experiment, cell), done in going:
        one = by_name[experiment.name]
        one.take(cell, done)
        if not one.left:
            outcomes.append(one.close())
    _write_manifest(Path(out), quick, jobs, time.perf_counter() - start)
    return outcomes


class _Run:
    """One experiment while it runs."""

    def __init__(
        self, experiment: Experiment, out: Path, quick: bool, fresh: bool, watch: Watch
    ) -> None:
        self.experiment, self.quick, self.watch = experiment, quick, watch
        self.folder = Folder(out, experiment)
        if fresh:
            self.folder.forget()
        cells = list(experiment.cells(quick))
        self.cells = {key_of(cell): cell for cell in cells}
        self.records = self.folder.finished()
        missing = [cell for key, cell in self.cells.items() if key not in self.records]
        # Long ones first: both cores then finish at about the same time.
        self.missing = sorted(missing, key=experiment.weight, reverse=True)
        self.left = len(missing)
        self.outcome = Outcome(experiment, self.folder.path, len(self.cells))
        total = sum(map(experiment.weight, self.cells.values()))
        watch.begin(experiment, total, total - sum(map(experiment.weight, missing)))

    def tasks(self) -> Iterable[tuple[Experiment, Cell]]:
        return [(self.experiment, cell) for cell in self.missing]

    def take(self, cell: Cell, done: Record) -> None:
        """A cell came back."""
        error = done.get("error")
        if error is not None:
            self.outcome.failed.append({"cell": dict(cell), "error": error})
        elif "missing" in done:
            why = {"cell": dict(cell), "why": done["missing"]}
            self.outcome.skipped.append(why)
        else:
            self.folder.keep(cell, done)
            self.records[key_of(cell)] = done
        self.outcome.ran += 1
        self.left -= 1
        self.watch.cell(self.experiment, self.experiment.weight(cell), error)

    def close(self) -> Outcome:
        """Write the folder."""
        done = {key: self.records[key] for key in self.cells if key in self.records}
        self.outcome.done = len(done)
        self.outcome.seconds = sum(record["seconds"] for record in done.values())
        results = _results(self.cells, done, self.quick)
        _write(self.folder, results, list(self.cells.values()), self)
        self.watch.end(self.outcome)
        return self.outcome


def _results(
    cells: Mapping[str, Cell], done: Mapping[str, Record], quick: bool
) -> Results:
    """What was measured, with the parameters of each cell."""
    lines = [dict(cells[key]) | line for key in done for line in done[key]["lines"]]
    return Results(lines, quick)


def pictures_of(path: Path, manifest: Mapping[str, Any]) -> dict[str, str]:
    """The pictures of an experiment's folder, drawn again in the language in use.

    Parameters
    ----------
    path
        The folder of one experiment.
    manifest
        Its manifest.

    Returns
    -------
    dict
        SVG by name of file; nothing where the cells are those of another version.
    """
    from discreto.lab.study.registry import experiments

    experiment = experiments().get(path.name)
    if experiment is None:
        return {}
    quick, records = (
        bool(manifest.get("quick")),
        Folder(path.parent, experiment).finished(),
    )
    cells = {key_of(cell): cell for cell in experiment.cells(quick)}
    done = {key: records[key] for key in cells if key in records}
    if len(done) != manifest.get("done"):
        return {}
    out = {}
    for picture in experiment.pictures(_results(cells, done, quick)):
        file = BytesIO()
        save(picture.figure, file)
        out[f"{picture.name}.svg"] = file.getvalue().decode()
    return out


def _write(folder: Folder, results: Results, cells: Sequence[Cell], one: _Run) -> None:
    experiment, outcome = folder.experiment, one.outcome
    parameters = list(dict.fromkeys(name for cell in cells for name in cell))
    groups = [name for name in parameters if name not in experiment.repeats]
    folder.write_parquet("results.parquet", results.rows)
    short = summary(results, groups, experiment.repeats)
    folder.write_parquet("summary.parquet", short)
    made = {"tables": _tables, "pictures": _pictures, "findings": _findings}
    parts: dict[str, list[dict[str, Any]]] = {name: [] for name in made}
    if results.rows:  # else all of its data is missing: there is nothing to show
        for name, step in made.items():
            parts[name] = _try(name, step, folder, results, outcome)
    outcome.surprises = [one for one in parts["findings"] if is_surprise(one)]
    folder.write_json(
        "manifest.json",
        {
            "name": experiment.name,
            "title": experiment.title,
            "source": experiment.source,
            "shows": experiment.shows,
            "simulated": True,
            "language": language(),  # of its pictures
            "quick": one.quick,
            "cells": len(cells),
            "done": outcome.done,
            "failed": outcome.failed,
            "skipped": outcome.skipped,
            "seconds": round(outcome.seconds, 2),
            "parameters": parameters,
            "repeats": [name for name in parameters if name in experiment.repeats],
            "measurements": [
                name
                for name in dict.fromkeys(name for row in results for name in row)
                if name not in parameters
            ],
            **parts,
            "versions": versions(),
        },
    )


def _try(
    name: str,
    step: Callable[[Folder, Results], list[dict[str, Any]]],
    folder: Folder,
    results: Results,
    outcome: Outcome,
) -> list[dict[str, Any]]:
    """A drawing that fails because cells failed must not lose the other results.

    What is drawn from a part of the cells may lack what it needs: where data was not to
    be had, that is no failure, and numpy's warnings about empty means say nothing new.
    """
    try:
        with warnings.catch_warnings():
            if outcome.skipped:
                warnings.simplefilter("ignore")
            return step(folder, results)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if outcome.skipped:
            outcome.skipped.append({"cell": {"step": name}, "why": NEEDS_ALL})
        else:
            outcome.failed.append({"cell": {"step": name}, "error": said})
        return []


def _tables(folder: Folder, results: Results) -> list[dict[str, Any]]:
    folder.subfolder("tables")
    out = []
    for table in folder.experiment.tables(results):
        file = f"tables/{table.name}.json"
        folder.write_json(file, table.to_dict())
        out.append({"file": file, "title": table.title, "note": table.note})
    return out


def _pictures(folder: Folder, results: Results) -> list[dict[str, Any]]:
    folder.subfolder("pictures")
    out = []
    for picture in folder.experiment.pictures(results):
        file = f"pictures/{picture.name}.svg"
        save(picture.figure, folder.path / file)
        out.append({"file": file, "title": picture.title, "note": picture.note})
    return out


def _findings(folder: Folder, results: Results) -> list[dict[str, Any]]:
    found = [finding.to_dict() for finding in folder.experiment.findings(results)]
    return [_measured(finding) for finding in found]


def is_surprise(finding: Mapping[str, Any]) -> bool:
    """Whether a finding's verdict is not that of ``docs/study.md``."""
    agrees = finding["agrees"]
    return agrees is not None and agrees is not finding.get("expected", True)


def _measured(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding; one that has no number behind it agrees and differs with nothing."""
    if not re.search(r"\bnan\b", str(finding.get("seen", ""))):
        return finding
    return finding | {"seen": "not measured: its data is not here", "agrees": None}


def _write_manifest(out: Path, quick: bool, jobs: int, seconds: float) -> None:
    """The manifest of the whole folder, earlier experiments included."""
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(path.parent.name for path in out.glob("*/manifest.json"))
    content = {
        "simulated": True,
        "discreto": __version__,
        "quick": quick,
        "experiments": names,
        "jobs": jobs,
        "seconds": round(seconds, 2),
    }
    write_json(out / "manifest.json", content)
