"""What a review runs, part by part."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BRUTE = (  # of a quick review
    "tests/properties/test_sensitivity.py",
    "tests/properties/test_calibrations.py",
    "tests/properties/test_calibrated_noise.py",
)
FEW_MUTANTS = (
    "laplace-forgets-shares",
    "rho-without-the-two",
    "rows-before-the-charge",
    "one-draw-for-a-block",
    "pure-after-gaussian-adds-up",
    "one-row-more-for-everybody",
)
LAST = 60  # lines of what a part printed


@dataclass(frozen=True)
class Part:
    """One command and what it is for."""

    name: str
    says: str
    line: tuple[str, ...]


def parts_of(*, quick: bool) -> list[Part]:
    """The four parts, whole or in little."""
    mutants = ["benchmarks/mutants", "--narrow", "--jobs", "2"]
    messages = "1000" if quick else "100000"
    brute = BRUTE if quick else ("tests/properties", "tests/unit/core/test_budget.py")
    return [
        Part(
            "brute",
            "losses of every neighbour on small domains, exactly",
            ("-m", "pytest", "-q", "-p", "no:cacheprovider", *brute),
        ),
        Part(
            "mutants",
            "planted bugs that the tests must catch",
            (*mutants, *(["--only", *FEW_MUTANTS] if quick else [])),
        ),
        Part(
            "fuzz",
            f"{messages} hostile messages",
            ("benchmarks/fuzz.py", "--messages", messages),
        ),
        Part(
            "audit",
            "attacks from outside, on planted bugs and their honest twins",
            ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/audit")
            if not quick
            else ("-m", "discreto", "audit", "known-bugs"),
        ),
    ]


def run_part(part: Part, folder: Path) -> dict[str, Any]:
    """Run a part; all that it printed is kept in a file beside the report."""
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, *part.line],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    )
    (folder / f"{part.name}.log").write_text(done.stdout, encoding="utf-8")
    lines = done.stdout.rstrip().splitlines()
    return {
        "name": part.name,
        "about": part.says,
        "command": " ".join(("python", *part.line)),
        "exit_code": done.returncode,
        "result": "passed" if done.returncode == 0 else "FAILED",
        "seconds": round(time.monotonic() - begun),
        "printed": lines[-LAST:],
    }
