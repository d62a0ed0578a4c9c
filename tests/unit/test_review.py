"""The reviewer's report: what it names exists, and a changed one does not pass."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def module(name: str) -> ModuleType:
    path = ROOT / "benchmarks" / "review" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"review_{name}", path)
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


PARTS, SIGNED = module("parts"), module("signed")


@pytest.mark.parametrize("quick", [True, False])
def test_a_review_has_four_parts_that_exist(quick: bool) -> None:
    parts = PARTS.parts_of(quick=quick)
    assert [part.name for part in parts] == ["brute", "mutants", "fuzz", "audit"]
    for part in parts:
        for word in part.line:
            if "/" in word:
                assert (ROOT / word).exists(), word


def test_the_few_mutants_are_in_the_list() -> None:
    lists = (ROOT / "benchmarks" / "mutants").glob("*.toml")
    text = "".join(path.read_text(encoding="utf-8") for path in lists)
    for name in PARTS.FEW_MUTANTS:
        assert f'"{name}"' in text, name


def test_a_part_that_fails_is_said_to_have_failed(tmp_path: Path) -> None:
    good = PARTS.run_part(PARTS.Part("a", "", ("-c", "print('yes')")), tmp_path)
    bad = PARTS.run_part(PARTS.Part("b", "", ("-c", "raise SystemExit(3)")), tmp_path)
    assert (good["result"], good["printed"]) == ("passed", ["yes"])
    assert (bad["result"], bad["exit_code"]) == ("FAILED", 3)
    assert (tmp_path / "a.log").read_text().strip() == "yes"


def test_a_report_is_checked_by_its_signature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = SIGNED.facts(quick=True)
    report["parts"] = [
        {"name": "brute", "result": "passed", "command": "python", "exit_code": 0}
    ]
    path = SIGNED.write_signed(report, tmp_path, None)
    assert SIGNED.check(path) == 0
    assert "source is that of" in capsys.readouterr().out
    again = SIGNED.write_signed(report, tmp_path, tmp_path / "reviewer.pem")
    assert SIGNED.check(again) == 0
    path.write_text(path.read_text().replace('"quick": true', '"quick": false'))
    assert SIGNED.check(path) == 1
    assert "NOT the one" in capsys.readouterr().out
    report["parts"][0]["exit_code"] = 1
    assert SIGNED.check(SIGNED.write_signed(report, tmp_path, None)) == 1
    with pytest.raises(SystemExit):
        SIGNED.write_signed(report, tmp_path, tmp_path / "none.pem")
