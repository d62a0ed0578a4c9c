"""Our own statistics and models as black boxes, the quick way or the slow one.

The quick way takes the questions of one conversation, sums them exactly on each table
once, and draws the noise of n conversations at once. Where no question depends on an
earlier answer that is the same as n fits; elsewhere it audits one path of questions,
each of which must be private. The outputs are the noisy answers themselves, which show
at least as much as anything that is made of them. The slow way fits n times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.audit.adapters import is_sanitizer, probes, seeded, work_of
from discreto.audit.losses import log_probabilities, log_softmax
from discreto.audit.neighbours import Data
from discreto.audit.output_features import Matrix
from discreto.audit.recorded import Diverged, RecordedRelease
from discreto.audit.recorder import Recorder, WatchedTable
from discreto.audit.transcripts import Work
from discreto.core.cost import Amount
from discreto.core.domain.domain import Domain
from discreto.core.gate import Noise
from discreto.core.noise.sampler import Sampler
from discreto.core.query import Ints
from discreto.errors import ParameterError
from discreto.testing import simulate

_DRAWS = 1 << 22  # noise numbers held at a time


def mechanism_of(
    subject: Any,
    domain: Domain,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    replicates: bool = True,
) -> Any:
    """Return a black box of a model or statistic over rows of a domain.

    What perturbs rows one by one is always run again.

    Parameters
    ----------
    subject
        A model or a statistic.
    domain
        The public description of the columns.
    epsilon, delta
        What a statistic is asked at; a model has its own.
    replicates
        ``False`` fits again for every run instead of drawing noise again.

    Returns
    -------
    callable
        Takes a dict of columns, as :func:`discreto.audit.pairs` makes them.
    """
    if replicates and not is_sanitizer(subject):
        return Replicates(work_of(subject, epsilon=epsilon, delta=delta), domain)
    return _Repeated(subject, domain, epsilon, delta)


class Replicates:
    """Many independent answers to the questions that some work asks of a table.

    The first table decides the questions; others are asked the same.

    Parameters
    ----------
    work
        Gets a dict of columns and a :class:`Recorder`; see :func:`work_of`.
    domain
        The public description of the columns.
    """

    def __init__(self, work: Work, domain: Domain) -> None:
        self._work, self._domain = work, domain
        self._script: list[RecordedRelease] | None = None
        self._asked: dict[int, tuple[Data, list[RecordedRelease]]] = {}
        self._sampler = simulate(None).simulation.sampler

    def __call__(self, data: Data) -> Any:
        return self.many(data, 1)[0]

    def many(self, data: Data, count: int) -> Matrix:
        """``count`` releases, one a row.

        Parameters
        ----------
        data
            A dict of columns.
        count
            How many releases.
        """
        parts = [
            redraw(release, count, self._sampler) for release in self._releases(data)
        ]
        return np.hstack(parts)

    def ratio(self, first: Data, second: Data) -> Any:
        """Return the best attack there is: the log-likelihood ratio of the noise.

        Parameters
        ----------
        first, second
            Two neighbouring tables, dicts of columns.
        """
        return Ratio(self._releases(first), self._releases(second))

    def _releases(self, data: Data) -> list[RecordedRelease]:
        """Return the questions with their exact answers on this table."""
        if id(data) in self._asked:
            return self._asked[id(data)][1]
        recorder = Recorder(_sized(self._domain, data), 0, self._script)
        try:
            self._work(data, recorder)
            recorder.finish()
        except Diverged as gap:
            raise ParameterError(
                f"its questions depend on rows ({gap}): the transcript audit shows it."
            ) from None
        self._script = self._script or recorder.releases
        self._asked[id(data)] = (data, recorder.releases)
        return recorder.releases


class Ratio:
    """The log-likelihood ratio of each output, of the second table to the first."""

    def __init__(
        self, first: list[RecordedRelease], second: list[RecordedRelease]
    ) -> None:
        self._pairs = list(zip(first, second, strict=True))

    def __call__(self, outputs: Matrix) -> Any:
        score, start = np.zeros(len(outputs)), 0
        for one, two in self._pairs:
            if one.door == "select":
                scale = one.noises[0].amount
                for a, b in zip(one.exact[0], two.exact[0], strict=True):
                    probabilities = log_softmax if one.cost.rho else log_probabilities
                    gain = probabilities(b, scale) - probabilities(a, scale)
                    score += gain[outputs[:, start].astype(np.int64)]
                    start += 1
                continue
            for distribution, a, b in zip(
                one.noises, one.exact, two.exact, strict=True
            ):
                seen = outputs[:, start : start + a.size]
                score += _log_ratio(distribution, seen, a, b)
                start += a.size
        return score


def _log_ratio(distribution: Noise, seen: Matrix, first: Ints, second: Ints) -> Any:
    far, near = (np.abs(seen - part.reshape(1, -1)) for part in (first, second))
    amount = float(distribution.amount)
    if distribution.law == "gaussian":
        return ((far - near) * (far + near)).sum(axis=1) / (2 * amount)
    if distribution.law == "cube":
        far, near = (
            p.reshape(len(p), -1, distribution.width).max(axis=2) for p in (far, near)
        )
    return (far - near).sum(axis=1) / amount


def redraw(release: RecordedRelease, count: int, sampler: Sampler) -> Matrix:
    """``count`` independent answers to the question of a release."""
    if release.door == "select":
        scores, scale = release.exact[0], release.noises[0].amount
        batch = max(1, _DRAWS // max(scores.size, 1))
        out = []
        for start in range(0, count, batch):
            size = min(batch, count - start)
            draw = sampler.gumbel_max if release.cost.rho else sampler.noisy_max
            chosen = draw(np.tile(scores, (size, 1)), scale)
            out.append(chosen.reshape(size, -1))
        return np.vstack(out).astype(np.float64)
    blocks = []
    for exact, distribution in zip(release.exact, release.noises, strict=True):
        batch = max(1, _DRAWS // max(exact.size, 1))
        rows = []
        for start in range(0, count, batch):
            size = min(batch, count - start)
            noise = distribution.draw(sampler, size * exact.size).reshape(size, -1)
            rows.append(exact.reshape(1, -1) + noise)
        blocks.append(np.vstack(rows))
    return np.hstack(blocks).astype(np.float64)


class _Repeated:
    """Asks or fits again and again, each time with fresh simulated noise.

    An output is all that was answered on the way, and what was made of it.
    """

    def __init__(
        self, subject: Any, domain: Domain, epsilon: Amount | None, delta: Amount
    ) -> None:
        fits = hasattr(subject, "fit")
        self._subject, self._domain = seeded(subject) if fits else subject, domain
        self._epsilon, self._delta = epsilon, delta
        self._tables: dict[int, tuple[Data, WatchedTable]] = {}

    def _table(self, data: Data) -> WatchedTable:
        """Return a watched table with fresh noise; the rows are read once."""
        if id(data) not in self._tables:
            if len(self._tables) > 8:
                self._tables.clear()
            recorder = Recorder(_sized(self._domain, data), None)
            table = WatchedTable(data, recorder.domain, recorder)
            self._tables[id(data)] = (data, table)
        return self._tables[id(data)][1].watched_by(
            Recorder(_sized(self._domain, data), None)
        )

    def __call__(self, data: Data) -> Any:
        table = self._table(data)
        output = self._output(table)
        return {"answer": [t.answer for t in table.recorder.releases], "result": output}

    def _output(self, table: WatchedTable) -> Any:
        if hasattr(self._subject, "learn"):
            epsilon = 1 if self._epsilon is None else self._epsilon
            return table.answer(self._subject, epsilon=epsilon, delta=self._delta)
        if is_sanitizer(self._subject):
            return self._subject.fit().transform(table)
        fitted = self._subject.fit(table, table.domain.target)
        if fitted.privacy_.cost:
            return fitted  # predictions are made of its attributes
        return fitted.predict(probes(table.domain, fitted))


def _sized(domain: Domain, data: Data) -> Domain:
    if domain.neighbours != "replace":
        return domain
    return domain.with_(rows=len(next(iter(data.values()))))
