"""The algorithms as printed under the black box: ``python .../audit/published.py``.

Prints a Markdown table: what is claimed, what is true, what 20,000 runs a side show
with 99.9 % confidence. ``--whole`` makes all the runs, also where a violation is
certain before; other words choose the cases that have one of them in their name.
"""

from __future__ import annotations

import sys
import time

import cases

from discreto.audit import epsilon


def main(words: list[str]) -> None:
    """Audit every case whose name has one of the words."""
    early = "--whole" not in words
    words = [word for word in words if word != "--whole"]
    print(
        "| algorithm as printed | neighbours | claimed | true | shown | verdict | s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for case in [*cases.statistics(), *cases.learners()]:
        if words and not any(word in case.name for word in words):
            continue
        start = time.process_time()
        found = epsilon(
            case.run,
            case.first,
            case.second,
            claimed=case.claimed,
            delta=case.delta,
            runs=case.runs,
            early=early,
            name=case.name,
        )
        used = time.process_time() - start
        claim = f"{case.claimed:.3g}" + (f", δ {case.delta:g}" if case.delta else "")
        print(
            f"| {case.name} | {case.relation} | {claim} | {case.true} | "
            f"≥ {found.shown:.2f} ({found.runs} runs) | {found.verdict} | {used:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
