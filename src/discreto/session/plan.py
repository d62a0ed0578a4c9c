"""Plans: what a request would ask, spend and be worth, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy as np

from discreto.core.cost import Amount, Cost, read_amount, read_delta, show
from discreto.core.domain.dates import difference_unit
from discreto.core.domain.domain import Domain
from discreto.core.gate import Gate
from discreto.core.query import Bound
from discreto.errors import ParameterError
from discreto.release.labels import label_in_words
from discreto.release.release import Release
from discreto.session.dry_run import assumption, dry_run_gate, worst_error
from discreto.session.parameters import MANY, whole
from discreto.session.rehearsal import every_way
from discreto.session.session import Ask, Question, Session
from discreto.session.shares import Split, shares_of
from discreto.text.html import html_table
from discreto.text.language import number, tr

TYPICAL_ROWS = 1000  # for expected errors, if no row count is given
T = TypeVar("T")


class Statistic(Protocol):
    """Anything that can be asked of a table and planned before."""

    @property
    def label(self) -> str:
        """Name of the question in a ledger and in a release."""

    def learn(self, ask: Ask) -> Release:
        """Ask, and make a release of the answers.

        Parameters
        ----------
        ask
            The session that puts the questions.
        """


@dataclass(frozen=True, repr=False)
class Plan:
    """The questions of a request and their cost. Nothing has been spent yet.

    Parameters
    ----------
    questions
        What would be asked, in order.
    total
        What all of it would cost.
    rows
        How many rows the expected errors assume.
    expected
        Releases of a dry run: their errors are the expected ones, their values mean
        nothing.
    others
        Where a release decides how to go on: what would be asked on the other ways.
    numbers
        How many numbers would be released, at most.

    Examples
    --------
    >>> from discreto import Domain, plan, stats
    >>> found = plan.statistics(Domain.cube(1), stats.Count(), epsilon=1)
    >>> len(found), found.total
    (1, Cost(ε 1))
    """

    questions: tuple[Question, ...]
    total: Cost
    rows: int
    expected: tuple[Release, ...] = ()
    others: tuple[tuple[Question, ...], ...] = ()
    numbers: int = field(default=0, compare=False)

    @property
    def forms(self) -> tuple[tuple[Question, ...], ...]:
        """All that may be asked, each form within the same total."""
        return (self.questions, *self.others)

    @property
    def beliefs(self) -> tuple[str, ...]:
        """Beliefs that the sensitivities rest on besides the clamp, with proofs."""
        found = [b for form in self.forms for asked in form for b in asked.beliefs]
        return tuple(dict.fromkeys(found))

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "total": self.total.to_dict(),
            "rows": self.rows,
            "questions": [question.to_dict() for question in self.questions],
            "expected": [
                {"label": r.label, "error": worst_error(r), "unit": r.unit}
                for r in self.expected
            ],
        } | ({"others": list(map(len, self.others))} if self.others else {})

    def __str__(self) -> str:
        facts = {"total": number(self.total), "count": len(self.questions)}
        lines = [tr("plan: {total} in {count} question(s)", **facts)]
        for question in self.questions:
            noise = ", ".join(number(ratio, ".3g") for ratio in question.ratios())
            lines.append(
                f"  {question.door:<8} {label_in_words(question.label):<32} "
                f"{number(question.cost)}, "
                + tr("noise {noise} x a row's reach", noise=noise)
            )
        if self.others:
            sizes = sorted(map(len, self.others))
            ways = {"count": len(sizes), "least": sizes[0], "most": sizes[-1]}
            way = tr(
                "  or, as a release decides, in one of {count} other ways, with "
                "{least} to {most} questions, for the same total",
                **ways,
            )
            lines.append(way)
        if self.beliefs:
            names = ", ".join(belief.partition(":")[0] for belief in self.beliefs)
            lines.append(tr("  rests on proofs of: {names}", names=names))
        for release in self.expected:
            unit = f" {difference_unit(release.unit)}".rstrip()
            error = worst_error(release)
            lines.append(
                tr(
                    "  expected error of {label}: ± {error}{unit} (95 %) if there are "
                    "{rows} rows, spread evenly over the domain",
                    label=label_in_words(release.label),
                    error=number(error, ".3g"),
                    unit=unit,
                    rows=self.rows,
                )
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Plan({self.total} in {len(self.questions)} question(s))"

    def _repr_html_(self) -> str:
        rows = [
            (
                question.door,
                question.label,
                str(question.cost),
                ", ".join(f"{r:.3g}" for r in dict.fromkeys(question.ratios())),
            )
            for question in self.questions
        ]
        errors = [
            f"expected error of {release.label}: ± {worst_error(release):.3g} "
            f"{release.unit}".strip()
            for release in self.expected
        ]
        errors += [assumption(self.rows)] if errors else []
        caption = "; ".join([f"Plan: {self.total}", *errors])
        heads = ["how", "question", "cost", "noise / a row's reach"]
        return html_table(heads, rows, caption=caption)


def statistics(
    domain: Domain,
    wanted: Statistic | Iterable[Statistic],
    *,
    epsilon: Amount,
    delta: Amount = 0,
    rows: int | None = None,
    split: Split = "equal",
    precision: Sequence[Amount | None] | None = None,
) -> Plan:
    """Return the plan for a statistic, or for several that share the cost.

    Parameters
    ----------
    domain
        The public description; no rows are needed.
    wanted
        A statistic, such as ``stats.Mean("age")``, or several.
    epsilon : int, float, str or Fraction
        What it costs, as pure ε: ``"1/2"``, ``0.5`` and ``Fraction(1, 2)`` are the
        same.
    delta : int, float, str or Fraction
        Above 0 the noise is Gaussian, and the charge is the rho that (ε, δ) allows.
    rows : int, optional
        A guess of how many rows there are; it moves expected errors, and shares that
        are weighed.
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

    Examples
    --------
    >>> from discreto import Domain, stats
    >>> found = statistics(Domain.cube(1), stats.Mean("x0"), epsilon="1/2", rows=10_000)
    >>> float(found.expected[0].error) < 0.01
    True
    """
    is_one = isinstance(wanted, str) or not isinstance(wanted, Iterable)
    several: list[Any] = [wanted] if is_one else list(wanted)  # type: ignore[arg-type]
    cost, number = cost_of(several, epsilon, delta), guess_rows(domain, rows)
    shares = split_of(domain, several, cost, split, precision, number)
    return plan_of(domain, several, cost, number, shares)


def guess_rows(domain: Domain, rows: int | None) -> int:
    """Return the row count that a plan is for."""
    if rows is None:
        return domain.rows or TYPICAL_ROWS
    return whole(rows, "rows", most=MANY)


def split_of(
    domain: Domain,
    several: Sequence[Statistic],
    cost: Cost,
    split: Split,
    precision: Sequence[Amount | None] | None,
    rows: int | None,
) -> list[Fraction]:
    """Return the shares of statistics that are asked together (``session.shares``)."""
    if not several:
        raise ParameterError("there is nothing to ask.")
    return shares_of(several, split, domain, cost, guess_rows(domain, rows), precision)


def cost_of(several: Sequence[Statistic], epsilon: Amount, delta: Amount) -> Cost:
    """Return the cost of statistics: pure epsilon, rho, or a block if one needs it."""
    for one in several:
        if isinstance(one, type) or not hasattr(one, "learn"):
            way = "stats.Mean('age'), or as a sentence stats.sentence('mean(age)')"
            raise ParameterError(f"{one!r} is no statistic. Write {way}.")
    blocks = [getattr(statistic, "block", False) for statistic in several]
    if not any(blocks):
        return Cost.of(epsilon, delta)
    if len(several) > 1:
        named = several[blocks.index(True)].label
        raise ParameterError(f"{named!r} costs a block of (ε, δ): ask it by itself.")
    return Cost(block_epsilon=read_amount(epsilon, "epsilon"), delta=read_delta(delta))


def plan_of(
    domain: Domain,
    several: Sequence[Statistic],
    cost: Cost,
    rows: int,
    shares: Sequence[Fraction] | None = None,
    gate: Gate | None = None,
    ahead: list[Bound] | None = None,
) -> Plan:
    """Return the plan for statistics that share ``cost``, by default equally.

    With ``rows=0`` the questions are right but expected errors mean nothing.
    """
    work = together(several, shares)
    plan, expected = rehearse(domain, work, cost, rows, gate, ahead)
    return replace(plan, expected=tuple(expected))


def together(
    several: Sequence[Statistic], shares: Sequence[Fraction] | None = None
) -> Callable[[Session], list[Release]]:
    """Return one function of a session for statistics that share its cost."""
    if not several:
        raise ParameterError("there is nothing to ask.")
    parts = shares or [Fraction(1, len(several))] * len(several)

    def learn(ask: Session) -> list[Release]:
        ask.limit_answer()
        if len(several) == 1:
            return [several[0].learn(ask)]
        pairs = zip(several, parts, strict=True)
        return [statistic.learn(ask.sharing(share)) for statistic, share in pairs]

    return learn


def rehearse(
    domain: Domain,
    work: Callable[[Session], T],
    cost: Cost,
    rows: int = 0,
    gate: Gate | None = None,
    ahead: list[Bound] | None = None,
) -> tuple[Plan, T]:
    """Return the plan of ``work``, and its result for synthetic rows.

    Everything that can be refused is refused here, and nothing is spent; with a
    ``gate`` also what the engine behind it refuses. Sums that can be folded before
    there is an answer are added to ``ahead``.
    """
    several = every_way(
        dry_run_gate(domain, rows, gate),
        lambda: dry_run_gate(domain, 0, gate),
        work,
        cost,
    )
    session, result = next(several)
    if ahead is not None:
        ahead += session.ahead
    ways = [other for other, _ in several]
    others = tuple(tuple(other.asked) for other in ways)
    numbers = max([way.numbers for way in (session, *ways)])
    asked = tuple(session.asked)
    return Plan(asked, cost, rows, others=others, numbers=numbers), result


def epsilon_for(
    domain: Domain,
    wanted: Statistic,
    *,
    error: float,
    rows: int | None = None,
    delta: Amount = 0,
) -> Fraction:
    """Return the smallest epsilon (to 1 %) with a 95 % error of at most ``error``.

    Parameters
    ----------
    domain
        The public description; no rows are needed.
    wanted
        A statistic, such as ``stats.Mean("age")``.
    error
        The 95 % error that is good enough, in the units of the statistic.
    rows : int, optional
        A guess of how many rows there are.
    delta : int, float, str or Fraction
        Above 0 plans for Gaussian noise.

    Returns
    -------
    Fraction
        An epsilon that can be given to ``stats.mean`` and the others.

    Raises
    ------
    ParameterError
        No epsilon up to 10000 is enough.

    Examples
    --------
    >>> from discreto import Domain, Number
    >>> from discreto.stats import Count, Mean
    >>> domain = Domain({"age": Number(0, 120)})
    >>> float(epsilon_for(domain, Mean("age"), error=1, rows=10_000)) < 0.05
    True
    """
    target = float(read_amount(error, "error"))
    # Whatever is wrong with the request itself shows here, not as "not enough".
    trial = statistics(domain, wanted, epsilon=1, delta=delta, rows=rows)
    if not np.any(trial.expected[0].error):
        raise ParameterError(f"{wanted.label!r} has no error bar to plan for.")

    def enough(epsilon: Fraction) -> bool:
        try:
            plan = statistics(domain, wanted, epsilon=epsilon, delta=delta, rows=rows)
        except ParameterError:
            return False
        return worst_error(plan.expected[0]) <= target

    low = Fraction(0)
    for high in (Fraction(10) ** power for power in range(-6, 5)):
        if enough(high):
            break
        low = high
    else:
        raise ParameterError(
            f"{wanted.label!r} cannot reach an error of {show(target)} with epsilon up "
            "to 10000: its grid or the number of rows does not allow it."
        )
    while high - low > high / 100:
        middle = _short((low + high) / 2)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _short(value: Fraction) -> Fraction:
    """Return a value rounded to three digits, which are enough to be typed."""
    return Fraction(f"{float(value):.3g}")


__all__ = ["Plan", "Question", "Statistic", "epsilon_for", "statistics"]
