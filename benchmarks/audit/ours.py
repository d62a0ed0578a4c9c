"""Our own under both audits: ``python benchmarks/audit/ours.py [runs] [--refit]``.

Prints a Markdown table: the largest true loss that replaying showed, and the bound that
the black box showed on that pair. ``--refit`` fits anew for every run.
"""

from __future__ import annotations

import sys
import time

import cases

from discreto.audit import examine


def main(runs: int, *, refit: bool, words: list[str]) -> None:
    """Audit every statistic and model for both neighbour relations."""
    print("| ours | neighbours | claimed | true loss, replayed | shown | verdict | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for relation in (cases.ADD, cases.REPLACE):
        for name, subject, domain in cases.ours(relation):
            if words and name not in words:
                continue
            start = time.perf_counter()
            replayed, shown = examine(
                subject,
                domain,
                epsilon=1,
                runs=runs,
                replicates=not refit,
                workers=2 if refit else 1,
                name=name,
            )
            used = time.perf_counter() - start
            verdict = "VIOLATION" if replayed.violation or shown.violation else "holds"
            print(
                f"| {name} | {relation} | 1 | {replayed.shown:.3f} | "
                f"≥ {shown.shown:.2f} | {verdict} | {used:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    options = sys.argv[1:]
    numbers = [int(word) for word in options if word.isdigit()]
    names = [word for word in options if not word.isdigit() and word != "--refit"]
    main(numbers[0] if numbers else 20_000, refit="--refit" in options, words=names)
