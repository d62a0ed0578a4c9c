"""Known bugs over seeds: ``python benchmarks/audit/known_bugs.py [seeds] [first]``.

Every planted bug must be caught and no honest twin accused, whatever the seed.
"""

from __future__ import annotations

import sys
import time

from discreto.lab.known_bugs import PLANTED_BUGS


def main(seeds: int, first: int) -> int:
    """Count misses and false accusations."""
    start, wrong = time.perf_counter(), 0
    shown: dict[str, list[float]] = {
        planted_bug.name: [] for planted_bug in PLANTED_BUGS
    }
    for seed in range(first, first + seeds):
        for planted_bug in PLANTED_BUGS:
            bug, twin = (
                planted_bug.audit(seed, honest=honest) for honest in (False, True)
            )
            shown[planted_bug.name].append(bug.shown)
            for found, bad in ((bug, not bug.violation), (twin, twin.violation)):
                if bad:
                    wrong += 1
                    print(f"seed {seed}: WRONG about {found}", flush=True)
        print(f"seed {seed}: {time.perf_counter() - start:.0f} s", flush=True)
    for name, values in shown.items():
        print(f"| {name} | {min(values):.3g} | {max(values):.3g} |")
    print(f"{len(PLANTED_BUGS)} planted bugs, {seeds} seeds, {wrong} wrong judgements")
    return wrong


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    count = numbers[0] if numbers else 20
    sys.exit(bool(main(count, numbers[1] if len(numbers) > 1 else 1000)))
