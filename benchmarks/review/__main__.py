"""The reviewer's kit: everything that tries to break the library, and a signed report.

    python benchmarks/review [--quick] [--out review] [--key KEY.pem]
    python benchmarks/review --check review/review.json

Four parts: brute force (every neighbour on small domains), mutants (planted bugs that
the tests must catch), fuzz (hostile messages) and audits (attacks from outside). Each
runs whatever happened before it. The report names the version, the commit, a hash of
the source, the machine, every command with its exit code, its time and the end of what
it printed. It is signed with the reviewer's Ed25519 key; without ``--key`` one is made.
The exit code is 1 if a part failed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from parts import parts_of, run_part
from signed import check, facts, write_signed


def main() -> int:
    """Run the parts that were asked for, or check a report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="minutes, not hours")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART")
    parser.add_argument("--out", type=Path, default=Path("review"))
    parser.add_argument("--key", type=Path, help="your private key (PEM, Ed25519)")
    parser.add_argument("--check", type=Path, metavar="REPORT")
    asked = parser.parse_args()
    if asked.check:
        return check(asked.check)
    asked.out.mkdir(parents=True, exist_ok=True)
    report = facts(quick=asked.quick)
    for part in parts_of(quick=asked.quick):
        if not asked.only or part.name in asked.only:
            print(f"{part.name}: {part.says} ...", flush=True)
            found = run_part(part, asked.out)
            print(f"  {found['result']} in {found['seconds']} s", flush=True)
            report["parts"].append(found)
    path = write_signed(report, asked.out, asked.key)
    failed = [p["name"] for p in report["parts"] if p["exit_code"]]
    print(f"{path}: {'failed: ' + ', '.join(failed) if failed else 'all passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
