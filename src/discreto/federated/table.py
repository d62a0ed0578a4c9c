"""One table made of many silos: questions go to all of them, releases are added up."""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreto.core.charge import Charger, Event, Receipt, Reservation, Simulation
from discreto.core.cost import Cost
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, view_domain
from discreto.core.gate import Measurement, Noise, Selection, bind, scale_for
from discreto.core.query import Bound, Choice, Ints, Randomise, Sum
from discreto.errors import DomainError, ParameterError, UnsafeError
from discreto.federated.federation import Channel, Federation
from discreto.federated.silo import Silo
from discreto.release.release import Release
from discreto.session.plan import Plan, Statistic, plan_of
from discreto.table.table import Table


class FederatedTable(Table):
    """Silos as one table: statistics and sum-shaped models run on it unchanged.

    Every question is answered, noised and charged by each silo on its own; this only
    adds up what they release. So a row in one silo is protected by that silo's charge,
    and the noise has the variance of all silos' noise together.

    Statistics that are sums work (counts, means, variances, histograms, correlations),
    and so do the models made of them: ``NaiveBayes``, ``LinearRegression``,
    ``LogisticRegression``, ``KMeans``, ``FuzzyCMeans``, boosting with random splits and
    all rows in every tree.
    Where a model lets the gate choose among counts, the silos release the counts and
    the choice is made from their sum. Statistics whose error bar rests on a choice
    (quantiles, modes) and choices that are not made of counts (neighbours) are refused.

    Parameters
    ----------
    silos
        A :class:`~discreto.federated.Federation`, or silos by name.

    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> def silo(*ages):
    ...     return Silo(dp.Table({"age": list(ages)}, domain, dp.Ledger(epsilon=1)))
    >>> table = FederatedTable({"north": silo(40, 50), "south": silo(60)})
    >>> dp.stats.count(table, epsilon="0.5").cost
    Cost(ε 0.5)
    """

    only_sums = True  # choices that are not made of counts are refused

    def __init__(self, silos: Federation | Mapping[str, Silo] | Channel) -> None:
        self.silos = silos if isinstance(silos, Federation) else Federation(silos)
        self.domain = _domain_of(self.silos)
        self.ledger, self.name = _Promise(self.silos), ""
        self._plans = {}

    def answer(self, statistic: Statistic, **options: Any) -> Release:
        """Ask one statistic, if it is made of sums.

        Parameters
        ----------
        statistic
            Such as ``stats.Mean("age")``.
        options
            ``epsilon``, ``delta`` and ``key``, as for a :class:`~discreto.Table`.
        """
        cost = Cost.of(options["epsilon"], options.get("delta", 0))
        _only_sums(self._plan(statistic, cost)[0])
        return super().answer(statistic, **options)

    def answers(self, several: Iterable[Statistic], **options: Any) -> list[Release]:
        """Ask several statistics for one cost, if all are made of sums.

        Parameters
        ----------
        several
            Statistics, such as ``[stats.Mean("age"), stats.Count()]``.
        options
            ``epsilon`` and ``delta``, as for a :class:`~discreto.Table`.
        """
        wanted = list(several)
        cost = Cost.of(options["epsilon"], options.get("delta", 0))
        _only_sums(plan_of(self.domain, wanted, cost, 0))
        return super().answers(wanted, **options)

    def gate(self, ledger: Charger | None = None) -> Any:
        """Return all silos' gates as one; each silo pays by its own ledger.

        Parameters
        ----------
        ledger
            Not used.
        """
        return _Gates(self.silos, self.domain, self.view)

    def seen(self, step: Step) -> FederatedTable:
        """Return a view of every silo's table, worked out by the silos.

        Parameters
        ----------
        step
            ``WithColumns``, ``Where`` or ``Select`` of ``discreto.core.expressions``.
        """
        out = copy.copy(self)
        out.domain = view_domain(step, self.domain)
        out._plans, out.view = {}, (*self.view, step)
        return out

    def train(self, *args: Any, **options: Any) -> Any:
        """Refused: training across silos is what learners are for.

        Parameters
        ----------
        args, options
            Not used.
        """
        raise ParameterError(
            "a FederatedTable answers single questions. Train across silos with "
            "Federation.fit(FederatedAveraging(...), target)."
        )

    def __repr__(self) -> str:
        return f"FederatedTable({', '.join(self.silos.names)}; {self.domain!r})"


class _Promise:
    """Stands where a table has its ledger: silos charge, this only asks if they can.

    The charges of a conversation add up to its cost at every silo.
    """

    def __init__(self, silos: Federation) -> None:
        self._silos = silos
        self._spent = Cost()

    @property
    def simulation(self) -> Simulation | None:
        return None

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Refuse what some silo cannot pay; the silos themselves charge."""
        if cost.infinite:
            raise UnsafeError(f"{label!r} is not private: no silo answers it.")
        if key is not None:
            raise ParameterError("questions to several silos take no key.")
        for question in (event or {}).get("questions", ()):
            if not question.get("sums", True):
                raise ParameterError(_REFUSED.format(question["label"]))
            if question["door"] == "parts":
                raise ParameterError(
                    f"{label!r} shares rows out among its trees, which silos cannot "
                    'count as one charge. Let every tree see all rows: rows="all".'
                )
        self._silos.check_budget(cost, label)
        self._spent += cost
        name = hashlib.sha256(label.encode()).hexdigest()
        return Receipt(0, label, cost, name, self._silos.simulated)

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Nothing has a key here."""
        return answer

    def fault(self, label: str) -> None:
        """Silos shut themselves."""

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Check a whole plan at once."""
        return Reservation(self, self.charge(cost, label, event))

    def spent(self) -> Cost:
        """Return the cost of all questions to every silo through this table."""
        return self._spent


class _Gates:
    """All silos' gates as one."""

    part = None  # silos are whole

    def __init__(
        self, silos: Federation, domain: Domain, view: tuple[Step, ...] = ()
    ) -> None:
        self._silos, self.domain, self._view = silos, domain, view

    def seen(self, step: Step) -> _Gates:
        """Return the gates to a view."""
        domain = view_domain(step, self.domain)
        return _Gates(self._silos, domain, (*self._view, step))

    def check(self, query: Sum | Choice | Bound, label: str) -> Bound:
        """Return the question, bound to what the silos' domains have in common."""
        return bind(query, self.domain)

    def measure(
        self, query: Sum | Bound, cost: Cost, label: str, key: str | None = None
    ) -> Measurement:
        """Return the sum of what every silo releases."""
        bound = self.check(query, label)
        several = range(len(bound.blocks))
        short, view = label[:100], self._view
        asked = self._silos.measure(bound.query, cost, short, view=view)
        parts = list(asked.values())
        tables = tuple(_added([part.tables[i] for part in parts]) for i in several)
        noises = tuple(_together([part.noises[i] for part in parts]) for i in several)
        return Measurement(tables, noises, replace(parts[0].receipt, label=label))

    def select(
        self, query: Choice | Bound, cost: Cost, label: str, key: Any = None
    ) -> Any:
        """A choice from the sum of the silos' noisy counts, for the same cost."""
        bound = self.check(query, label)
        choice: Choice = bound.query
        if not isinstance(choice.tally, Sum):
            raise ParameterError(_REFUSED.format(label))
        answer = self.measure(choice.tally, cost, label)
        scores = choice.score.scores(answer.tables[0], self.domain)
        scale = scale_for(bound, cost, whole=True)
        return Selection(scores.argmax(axis=1), scale, answer.receipt)

    def randomise(self, query: Randomise, cost: Cost, label: str) -> Ints:
        """Refused: silos send no rows, not even randomised ones."""
        raise ParameterError(f"{label!r} asks for rows. Silos only send sums.")


_REFUSED = (
    "{!r} is a choice that cannot be made from sums of several silos. Statistics that "
    "are sums work, and NaiveBayes, LinearRegression, LogisticRegression, KMeans, "
    "FuzzyCMeans and boosting with random splits."
)


def _only_sums(plan: Plan) -> None:
    for question in plan:
        if question.door != "measure":
            raise ParameterError(_REFUSED.format(question.label))


def _added(tables: list[Ints]) -> Ints:
    total = tables[0].copy()
    for table in tables[1:]:
        if table.shape != total.shape:
            raise ParameterError("a silo sent sums of another shape.")
        total += table
    return total


def _together(noises: list[Noise]) -> Noise:
    """Noise of one distribution with the variance of all parts.

    A sum of Laplace noise has lighter tails than one Laplace of its variance, so 95 %
    intervals made from this one are a little too wide, never too narrow.
    """
    first = noises[0]
    if any(noise.law != first.law for noise in noises):
        raise ParameterError("silos used different distributions of noise.")
    if len(noises) == 1:
        return first
    if first.law == "gaussian":
        return replace(first, amount=sum((n.amount for n in noises), Fraction(0)))
    squares = math.fsum(float(n.amount) ** 2 for n in noises)
    return replace(first, amount=Fraction(math.sqrt(squares)).limit_denominator(10**9))


def _domain_of(silos: Federation) -> Domain:
    """The domain of all rows: public counts are added up if every silo has one."""
    domains = [Domain.from_dict(fact["domain"]) for fact in silos.facts().values()]
    kinds = {domain.neighbours for domain in domains}
    if len(kinds) > 1:
        raise DomainError(
            "some silos protect added rows and some replaced rows. A FederatedTable "
            "needs one kind of neighbours."
        )
    if kinds == {"replace"}:
        return domains[0].with_(rows=sum(domain.rows or 0 for domain in domains))
    return domains[0].with_(rows=None)
