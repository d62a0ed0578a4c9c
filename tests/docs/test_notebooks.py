"""The notebooks run, and each has the same cells as its script."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
EACH = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
CELL = re.compile(r"^# %%( \[markdown\])?\n(.*?)(?=^# %%|\Z)", re.M | re.S)


def cells(script: Path) -> list[tuple[str, str]]:
    """The cells of a script in the percent form."""
    out = []
    for prose, body in CELL.findall(script.read_text(encoding="utf-8")):
        text = body.strip("\n")
        if prose:
            text = re.sub(r"^# ?", "", text, flags=re.M)
        out.append(("markdown" if prose else "code", text))
    return out


def test_there_are_five_stories() -> None:
    assert len(SCRIPTS) == 5
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {p.stem for p in SCRIPTS}


@EACH
def test_a_notebook_has_the_cells_of_its_script(script: Path) -> None:
    book = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    stored = [(c["cell_type"], "".join(c["source"])) for c in book["cells"]]
    assert stored == cells(script)
    assert book["metadata"]["jupytext"]["formats"] == "ipynb,py:percent"


@EACH
def test_a_notebook_runs_from_top_to_bottom(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "notebook"}
    for kind, text in cells(script):
        if kind == "code":
            exec(compile(text, str(script), "exec"), names)


@EACH
def test_stored_outputs_show_no_failure(script: Path) -> None:
    book = json.loads(script.with_suffix(".ipynb").read_text(encoding="utf-8"))
    outputs = [out for c in book["cells"] for out in c.get("outputs", [])]
    assert outputs
    assert not [out for out in outputs if out["output_type"] == "error"]
    assert "Traceback" not in json.dumps(outputs)
