"""A change of the public surface is a change of a file that somebody reads."""

from __future__ import annotations

from pathlib import Path

import public_surface

KEPT = Path(__file__).with_name("exported_names.txt")
COMMAND = (
    "python tests/conventions/public_surface.py > tests/conventions/exported_names.txt"
)


def test_the_public_names_are_the_listed_ones() -> None:
    listed, found = KEPT.read_text().splitlines(), public_surface.names()
    new, gone = sorted({*found} - {*listed}), sorted({*listed} - {*found})
    assert listed == found, f"new: {new}, gone: {gone}. If meant so, run: {COMMAND}"
