"""Half of the noise on the public path: ``python benchmarks/audit/public.py [NAMES]``.

Every statistic, model and silo runs as anybody runs it, with a real ledger and the
system's noise: once as it is, once with noise drawn at half its size while all claims
stay. Prints a Markdown table: runs a side, what is shown with 99.9 % confidence, and
how many fits the law of the noise needs. ``--law`` does the last only.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "audit"))

import public_subjects as subjects
import pytest
from halved import halve_noise

from discreto.audit.noise_distribution import noise_law
from discreto.audit.public_path import Listener, listen


def bound(subject: subjects.Subject, *, half: bool) -> str:
    """The lower bound on epsilon that these runs show."""
    with pytest.MonkeyPatch.context() as patch:
        if half:
            halve_noise(patch)
        found = listen(
            subject.run,
            subject.domain,
            *subject.tables,
            claimed=subject.claimed,
            delta=subject.delta,
            runs=subject.runs,
            group=subject.group,
        )
    return f"{'**' if found.violation else ''}≥ {found.shown:.2f}" + (
        "**" if found.violation else ""
    )


def law(subject: subjects.Subject) -> str:
    """How many fits the law of the noise takes to see half of it."""
    with pytest.MonkeyPatch.context() as patch:
        halve_noise(patch)
        table = subject.plain
        listener = Listener(subject.run, subject.domain, table, table, 1, subject.delta)
        answers, fits = [], 0
        while fits < 6000:
            more = max(1, fits // 3)
            answers += listener.answers(more)
            fits += more
            if any(one.known for one in answers) and noise_law(answers).violation:
                return str(fits)
    return "-"


def main(words: list[str]) -> None:
    """Print the table."""
    quick = "--law" in words
    words = [word for word in words if word != "--law"]
    print("| subject | runs | rows | half noise | as it is | law: fits | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for subject in subjects.everything():
        if words and not any(word in subject.name for word in words):
            continue
        start = time.process_time()
        row = [subject.name, str(subject.runs), str(subject.group)]
        if not quick:
            row += [bound(subject, half=True), bound(subject, half=False)]
        row.append(law(subject))
        row.append(f"{time.process_time() - start:.0f}")
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
