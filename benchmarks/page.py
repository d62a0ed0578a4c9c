"""Run benchmarks, keep what they print, and write the page about them.

    python benchmarks/page.py list
    python benchmarks/page.py run noise import
    python benchmarks/page.py write

A result (benchmarks/results/NAME.json) has the command, the date, the versions, the
machine and its load. The page docs/benchmarks.md is made of results alone.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
import tomllib
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import discreto

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PACKAGES = (
    "numpy", "scipy", "pyarrow", "scikit-learn", "numba", "pandas", "polars", "opendp",
)  # fmt: skip
HEAD = """# Benchmarks

Written by `python benchmarks/page.py write` from `benchmarks/results/`; no figure is
typed by hand. One command runs one benchmark and keeps what it printed:
`python benchmarks/page.py run NAME`. Figures are those of the version, the machine and
the load that stand beside them: on a busy machine trust ratios, not times.

| name | what | command | takes about | last run |
| --- | --- | --- | --- | --- |
"""


def catalogue() -> dict[str, dict[str, str]]:
    """Every benchmark by name."""
    with (HERE / "catalogue.toml").open("rb") as file:
        found: dict[str, dict[str, str]] = tomllib.load(file)
    return found


def run(name: str) -> dict[str, Any]:
    """Run one, and keep what it printed if it did not fail."""
    command = catalogue()[name]["command"]
    begun, load = time.monotonic(), os.getloadavg()[0]
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"{name} failed with exit code {done.returncode}.")
    result = {
        "name": name,
        "command": f"python {command}",
        "date": datetime.now(UTC).date().isoformat(),
        "version": discreto.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": _versions(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "seconds": round(time.monotonic() - begun),
        "printed": done.stdout.rstrip(),
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False)
    (RESULTS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return result


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip()


def _versions() -> dict[str, str]:
    out = {}
    for name in PACKAGES:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out


def page() -> str:
    """The page, from the results that are kept."""
    results = {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(RESULTS.glob("*.json"))
    }
    text = HEAD
    for name, entry in catalogue().items():
        if name in results:
            last = f"[{results[name]['date']}](#{name})"
        else:
            last = f"[its page]({entry['page']})" if "page" in entry else "not kept"
        cells = (f"`{name}`", entry["title"], f"`python {entry['command']}`")
        text += f"| {' | '.join((*cells, entry['time'], last))} |\n"
    for name, entry in catalogue().items():
        if name in results:
            text += _section(name, entry["title"], results[name])
    return text


def _section(name: str, title: str, result: dict[str, Any]) -> str:
    versions = ", ".join(f"{n} {v}" for n, v in result["packages"].items())
    before, after = result["load"]
    printed = result["printed"]
    if not re.match(r"\|.*\|\n\| ?-", printed):
        printed = f"```text\n{printed}\n```"
    return (
        f"\n## {name}\n\n{title}. {result['date']}, discreto {result['version']} "
        f"({result['commit']}), Python {result['python']}, {result['machine']}, load "
        f"{before} to {after}, {result['seconds']} s. {versions}.\n\n{printed}\n"
    )


def main() -> None:
    """Read the command line."""
    words = sys.argv[1:]
    if words[:1] == ["list"]:
        for name, entry in catalogue().items():
            print(f"{name:14} {entry['time']:12} {entry['title']}")
    elif words[:1] == ["run"] and set(words[1:]) <= set(catalogue()):
        for name in words[1:]:
            print(f"{name}: {run(name)['seconds']} s")
    elif words == ["write"]:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
