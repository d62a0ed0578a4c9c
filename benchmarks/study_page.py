"""Put the findings and pictures of a study into docs/study.md.

    discreto study all --out study
    python benchmarks/study_page.py study

Only what stands between the two marks of the page is written anew, and the pictures
docs/pictures/study-*.svg. All numbers come from the folder; experiments that it lacks,
or has in part only, stay as they are.
"""

from __future__ import annotations

import json
import shutil
import sys
from itertools import chain
from pathlib import Path
from typing import Any

from discreto.lab.study import experiments

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "study.md"
START, END = "<!-- findings: start -->", "<!-- findings: end -->"
SIGNS = {True: "agrees", False: "**differs**", None: "no claim"}
# The pictures that the page shows: experiment, picture, name in docs/pictures.
PICTURES = (
    ("s2-figure-1", "figure-1", "study-boosting-printed"),
    ("s2-figure-1", "figure-1-corrected", "study-boosting-corrected"),
    ("s3-federated", "final-errors", "study-federated"),
    ("s3-table-4-2", "table-4-2", "study-penalty"),
    ("s4-naive-bayes", "accuracy", "study-naive-bayes"),
)


def main(out: Path) -> None:
    """Write the part between the marks; what the folder lacks stays as it is."""
    whole = read(out / "manifest.json")
    parts = [read(out / name / "manifest.json") for name in whole["experiments"]]
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(START)[0], page.split(END)[1]
    known = sections(page.split(START)[1].split(END)[0])
    for part in parts:
        if part["quick"] or part["done"] < part["cells"]:
            print(
                f"{part['name']}: {part['done']} of {part['cells']} cells; left alone"
            )
        else:
            known[part["title"]] = section(part)
    titles = {one.title: name for name, one in experiments().items()}
    kept = sorted((t for t in known if t in titles), key=lambda t: titles[t])
    lines = [f"{len(kept)} experiments; discreto {whole['discreto']}."]
    text = "\n".join([START, "", *lines, *chain(*map(known.get, kept)), "", END])
    PAGE.write_text(before + text + after, encoding="utf-8")
    for experiment, picture, name in PICTURES:
        source = out / experiment / "pictures" / f"{picture}.svg"
        if source.exists():
            shutil.copy(source, ROOT / "docs" / "pictures" / f"{name}.svg")
        else:
            print(f"no {source}")


def sections(text: str) -> dict[str, list[str]]:
    """The lines of each experiment on the page as it is, by title."""
    found: dict[str, list[str]] = {}
    for part in text.split("\n### ")[1:]:
        title, *rest = part.rstrip("\n").split("\n")
        found[title] = ["", f"### {title}", *rest]
    return found


def section(part: dict[str, Any]) -> list[str]:
    """An experiment's claims as a table."""
    out = ["", f"### {part['title']}", "", f"{part['source']}. {part['shows']}"]
    if part["findings"]:
        out += ["", "| the source | here | | why |", "| --- | --- | --- | --- |"]
    for found in part["findings"]:
        cells = [found["claim"], found["seen"], SIGNS[found["agrees"]], found["why"]]
        out.append("| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |")
    return out


def read(path: Path) -> dict[str, Any]:
    """A JSON file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
