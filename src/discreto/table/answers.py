"""Asking a table: plans, one answer, several for one cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from discreto.core.charge import Charger
from discreto.core.cost import Amount, Cost
from discreto.core.expressions import Where, view_to_json
from discreto.core.gate import Gate
from discreto.core.query import Bound
from discreto.core.query_json import digest
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.session.parameters import refuse
from discreto.session.perform import Kept, choosy_gate, perform
from discreto.session.plan import (
    Plan,
    Statistic,
    cost_of,
    plan_of,
    split_of,
    statistics,
    together,
)
from discreto.session.shares import Split
from discreto.session.work_limits import work_limits
from discreto.table.views import TableViews


class TableAnswers(TableViews):
    """Rows that answer statistics, each charged before a row is read."""

    choosy = False  # whether its engine refuses what others can answer

    def gate(self, ledger: Charger | None = None) -> Gate:
        """The gate to these rows."""
        raise NotImplementedError

    def _facts(self, key: str | None) -> dict[str, Any]:
        """What a charge says about the table, so that a key cannot mean another."""
        if key is not None and not isinstance(key, str):
            raise refuse(key, "key", "a text")
        if key is not None and not self.name:
            raise ParameterError(
                "a key stands for one answer about one table, so the table needs a "
                "name: Table(data, domain, ledger, name='patients 2024')."
            )
        named = {"table": self.name} if self.name else {}
        seen = {"view": view_to_json(self.view)} if self.view else {}
        return {"domain": self.domain.fingerprint} | named | seen

    def _named_release(self, release: Release, statistic: Statistic) -> Release:
        """The answer, with what its keys are values of."""
        columns = getattr(statistic, "by", ()) or getattr(statistic, "columns", ())
        if self.view:
            release = replace(release, label=self._label(release.label))
        return release.named(columns) if columns and not release.names else release

    def _stamped(self, release: Release) -> Release:
        """The answer, marked if nobody has checked how the texts are read."""
        return release if self.checked else replace(release, checked=False)

    def _label(self, text: str) -> str:
        """What is asked, and of which rows."""
        if not self.view:
            return text
        conditions = [str(step) for step in self.view if isinstance(step, Where)]
        return ", ".join([text, *conditions])

    def plan(
        self,
        wanted: Statistic | Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        rows: int | None = None,
        split: Split = "equal",
        precision: Sequence[Amount | None] | None = None,
    ) -> Plan:
        """What asking would cost and how exact it would be; spends nothing.

        Parameters
        ----------
        wanted
            A statistic, such as ``stats.Mean("age")``, or several.
        epsilon : int, float, str or Fraction
            What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
            same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        rows : int, optional
            A guess of how many rows there are; it moves expected errors only.
        split : str or list of numbers
            How the cost is shared: ``"equal"``; ``"weighed"``, so that the expected
            errors, each against its wanted precision, add up to the least; or a number
            for each, to which the shares are in proportion.
        precision : list of numbers, optional
            With ``"weighed"``: the 95 % error that is wanted of each, or None. Without
            it, errors count against the size that is expected of an answer.

        Returns
        -------
        Plan
            The questions, their cost, and the expected errors.
        """
        return statistics(
            self.domain,
            wanted,
            epsilon=epsilon,
            delta=delta,
            rows=rows,
            split=split,
            precision=precision,
        )

    def answer(
        self,
        statistic: Statistic,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        key: str | None = None,
    ) -> Release:
        """Ask one statistic.

        Parameters
        ----------
        statistic
            Such as ``stats.Mean("age")``.
        epsilon : int, float, str or Fraction
            What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
            same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        key : str, optional
            A name for this request. Asked again under its key it gets the stored answer
            and costs nothing more; another request under the same key is refused. The
            table needs a name (files have their path).

        Returns
        -------
        Release
            The answer with its error bar and its receipt.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The cost is charged before a row is read. See the statistic for what is asked
        and how far a row can move it.
        """
        cost, relation = cost_of([statistic], epsilon, delta), self.domain.neighbours
        plan, name, known = self._plan(statistic, cost)
        cost = plan.total
        facts = self._facts(key) | {"statistic": name}
        kept = Kept(
            key,
            lambda release, receipt: release.paid(receipt, cost, relation).to_json(),
            lambda text: Release.from_dict(json.loads(text)),
        )
        done = perform(
            self,
            lambda ask: self._named_release(statistic.learn(ask), statistic),
            cost,
            self._label(statistic.label),
            plan=plan,
            facts=facts,
            kept=kept,
            known=known,
        )
        return self._stamped(done.result.paid(done.receipt, cost, relation))

    def _plan(
        self, statistic: Statistic, cost: Cost
    ) -> tuple[Plan, str, tuple[Bound, ...]]:
        """A statistic's plan, digest and sums, kept for when it is asked again."""
        limits = work_limits()  # a plan under others is no plan under these
        kept = self._plans.get((statistic, cost, limits))
        if kept is None:
            if len(self._plans) >= 64:
                self._plans.clear()
            gate, sums = choosy_gate(self), list[Bound]()
            plan = plan_of(self.domain, [statistic], cost, 0, gate=gate, ahead=sums)
            kept = plan, _digest(statistic), tuple(sums)
            self._plans[statistic, cost, limits] = kept
        return kept

    def answers(
        self,
        several: Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        split: Split = "equal",
        precision: Sequence[Amount | None] | None = None,
        rows: int | None = None,
    ) -> list[Release]:
        """Ask several statistics for one cost, all or nothing.

        Parameters
        ----------
        several
            Statistics, such as ``[stats.Mean("age"), stats.Count()]``.
        epsilon : int, float, str or Fraction
            What all of them cost together, as pure ε: ``"1/2"``, ``0.5`` and
            ``Fraction(1, 2)`` are the same.
        delta : int, float, str or Fraction
            Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
        split : str or list of numbers
            How the cost is shared: ``"equal"``; ``"weighed"``, so that the expected
            errors, each against its wanted precision, add up to the least; or a number
            for each, to which the shares are in proportion.
        precision : list of numbers, optional
            With ``"weighed"``: the 95 % error that is wanted of each, or None. Without
            it, errors count against the size that is expected of an answer.
        rows : int, optional
            With ``"weighed"``: a guess of how many rows there are.

        Returns
        -------
        list of Release
            One for each statistic, in order.

        Raises
        ------
        BudgetError
            The ledger has less left. Nothing was charged.

        Privacy
        -------
        The cost is charged before a row is read. How it is shared follows from the
        domain and from the guess of ``rows``, never from the rows themselves.

        Examples
        --------
        >>> import discreto as dp
        >>> domain = dp.Domain({"age": dp.Number(0, 120)})
        >>> table = dp.Table({"age": [40, 50, 60]}, domain, dp.Ledger(epsilon=1))
        >>> both = table.answers([dp.stats.Count(), dp.stats.Mean("age")], epsilon=1)
        >>> [release.cost for release in both]
        [Cost(ε 0.5), Cost(ε 0.5)]
        """
        wanted = list(several)
        cost, domain = cost_of(wanted, epsilon, delta), self.domain
        shares = split_of(domain, wanted, cost, split, precision, rows)
        label = ", ".join(statistic.label for statistic in wanted)
        facts = self._facts(None)
        done = perform(
            self, together(wanted, shares), cost, self._label(label), facts=facts
        )
        return [
            self._stamped(self._named_release(release, statistic)).paid(
                done.receipt, cost * share, domain.neighbours
            )
            for release, statistic, share in zip(
                done.result, wanted, shares, strict=True
            )
        ]


def _digest(statistic: Statistic) -> str:
    """A short name for exactly this statistic; a home-made one has its label only."""
    if not is_dataclass(statistic):
        return statistic.label
    return digest(statistic)
