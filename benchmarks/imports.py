"""What it costs to import the package, next to numpy: ``python benchmarks/imports.py``.

CPU seconds of new processes, the least of several, without the start of Python itself.
"""

from __future__ import annotations

import resource
import subprocess
import sys

CODES = {
    "import numpy": "import numpy",
    "import discreto": "import discreto",
    "a table and statistics": "import discreto as dp; dp.Table, dp.Ledger, dp.stats",
    "models": "import discreto.models",
    "the command line": "import discreto.cli",
}


def seconds(code: str) -> float:
    """The CPU time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(used)


def main() -> None:
    """Print the table."""
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    start = min(seconds("pass") for _ in range(tries))
    found = {name: min(seconds(c) for _ in range(tries)) for name, c in CODES.items()}
    numpy = found["import numpy"] - start
    print("| what | CPU s | x numpy |\n| --- | ---: | ---: |")
    for name, used in found.items():
        print(f"| {name} | {used - start:.3f} | {(used - start) / numpy:.2f} |")


if __name__ == "__main__":
    main()
