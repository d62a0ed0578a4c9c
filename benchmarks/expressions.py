"""Many random expressions on hostile rows, against a plain interpreter.

Run: python benchmarks/expressions.py 100000

Runs the property tests of ``tests/properties/test_expressions.py`` with this many
examples: no exception, no value outside of its bounds, no row that depends on others,
no sum that moves by more than its bound when a row comes, goes or changes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Run the tests; their exit code."""
    count = sys.argv[1] if len(sys.argv) > 1 else "100000"
    command = [sys.executable, "-m", "pytest", "-q", "--durations", "0"]
    command += [
        "tests/properties/test_expressions.py",
        "-k",
        "agrees or beside or neighbours",
    ]
    more = os.environ | {"DISCRETO_EXPRESSIONS": count}
    return subprocess.run(command, cwd=ROOT, env=more).returncode


if __name__ == "__main__":
    sys.exit(main())
