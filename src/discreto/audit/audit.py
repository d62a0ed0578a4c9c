"""Both audits of one subject: replay first, then the black box on the worst pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreto.audit.adapters import work_of
from discreto.audit.blackbox import epsilon as black_box
from discreto.audit.findings import Finding
from discreto.audit.mechanisms import mechanism_of
from discreto.audit.neighbours import Pair
from discreto.audit.neighbours import pairs as hostile_pairs
from discreto.audit.transcripts import transcript
from discreto.core.cost import Amount, Cost
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError


def examine(
    subject: Any,
    domain: Domain,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    pairs: Sequence[Pair] | None = None,
    runs: int = 20_000,
    confidence: float = 0.999,
    workers: int = 1,
    replicates: bool = True,
    progress: bool = False,
    name: str = "",
) -> list[Finding]:
    """Audit a model or a statistic over a domain, both ways.

    The transcript audit finds the pair of tables on which most is really lost; the
    black box runs on that pair.

    Parameters
    ----------
    subject
        A model or a statistic.
    domain
        The public description of the columns.
    epsilon, delta
        What a statistic is asked at; a model has its own.
    pairs
        Neighbouring tables; by default :func:`discreto.audit.pairs` of the domain.
    runs
        Runs of the black box on each table; 0 leaves it out.
    confidence
        The chance that an honest subject is *not* accused.
    workers
        Processes.
    replicates
        ``False`` fits again for every run instead of drawing noise again.
    progress
        Whether a bar is shown.
    name
        What the finding calls the subject.

    Returns
    -------
    list of Finding
        One for each of the two audits.
    """
    epsilon = getattr(subject, "epsilon", epsilon)
    delta = getattr(subject, "delta", delta)
    if epsilon is None:
        raise ParameterError("a statistic is audited at an epsilon. Got none.")
    Cost.of(epsilon, delta)
    name = name or type(subject).__name__
    near = list(hostile_pairs(domain) if pairs is None else pairs)
    work = work_of(subject, epsilon=epsilon, delta=delta)
    seen = transcript(work, domain, pairs=near, name=name)
    if not runs:
        return [seen]
    box = mechanism_of(
        subject, domain, epsilon=epsilon, delta=delta, replicates=replicates
    )
    shown = black_box(
        box,
        claimed=float(epsilon),
        delta=float(delta),
        pairs=[worst_pair(seen, near)],
        runs=runs,
        confidence=confidence,
        workers=workers,
        progress=progress,
        name=name,
    )
    return [seen, shown]


def worst_pair(seen: Finding, near: list[Pair]) -> Pair:
    """Return the pair that a finding is about."""
    for pair in near:
        if seen.pair in (pair.name, pair.swapped().name):
            return pair
    raise ParameterError(f"{seen.pair!r} is not one of these pairs.")
