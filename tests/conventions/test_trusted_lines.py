"""The page says how many lines must be believed, and their number only falls."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from discreto.core import maps
from discreto.core.row_program import RowCells, RowCodes, RowFeatures

ROOT = Path(__file__).resolve().parents[2]
MOST = 17_100  # lower it with the count; the target is 7,500


def counter() -> Any:
    path = ROOT / "scripts" / "trusted_lines.py"
    spec = spec_from_file_location("trusted_lines", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_count_of_today() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert counter().written(page) == page, "run scripts/trusted_lines.py --write"


def test_the_lines_that_must_be_believed_do_not_grow() -> None:
    assert counter().total() <= MOST


def test_maps_that_are_not_counted_are_row_functions() -> None:
    """None of them has a loop over rows of its own: the core runs all of them."""
    ours = {f"discreto.core.maps.{name}" for name in counter().ROW_FUNCTIONS}
    seen = set()
    for kind in maps.KINDS.values():
        if kind.__module__ not in ours:
            continue
        seen.add(kind.__module__)
        if issubclass(kind, RowCells):
            assert kind.codes is RowCells.codes, kind.__name__
        else:
            assert issubclass(kind, RowFeatures | RowCodes), kind.__name__
            assert kind.rows in (RowFeatures.rows, RowCodes.rows), kind.__name__
            assert kind.__dict__.get("of_rows") is None, kind.__name__
    assert seen == ours - {"discreto.core.maps._distances"}


def test_lines_of_code_are_counted_without_words() -> None:
    text = '"""Words."""\n\n# more words\nx = 1  # and more\n\ndef f():\n    "Words."\n'
    assert counter().code_lines(text + "    return (\n        1\n    )\n") == 5
