"""Which model at which epsilon is worth it? All suitable ones on a table, simulated.

The rows are used freely here: cross-validation with seeded noise shows what each model
would do, not what it may tell. So the outcome is as private as the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto import models
from discreto.compare import reference as unprotected
from discreto.compare.comparison import (
    Advice,
    CandidateModel,
    CandidateScore,
    Comparison,
)
from discreto.compare.metrics import judge, read_metric
from discreto.compare.seeds import generator_for, ledger_for, seed_for
from discreto.core.cost import Amount, read_amount
from discreto.core.domain.domain import Category, Column, Domain, Number
from discreto.data.frames import open_frame
from discreto.errors import DomainError, ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Ready
from discreto.models.base.kinds import PrivateClassifier, PrivateRegressor
from discreto.models.boosting.settings import ASSUMED_ROWS
from discreto.models.neighbors.pay_per_prediction import Voters
from discreto.session.plan import Plan
from discreto.table.table import Table
from discreto.text.language import number, tr

Array = NDArray[Any]
Columns = dict[str, Array]
Progress = Callable[[int, int], None]
EPSILONS = ("0.5", "1", "2", "4", "8")
# When models tie, the first of these is advised; others come after all of them.
SIMPLEST = (
    "NaiveBayes",
    "LinearRegression",
    "LogisticRegression",
    "CellNeighborsClassifier",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
)
ENOUGH = 0.75  # of what the best one gains over the baseline
# Models that another one of the list covers.
COVERED = {"GaussianNB": "NaiveBayes", "CategoricalNB": "NaiveBayes"}


def candidates(
    domain: Domain, target: str
) -> tuple[list[CandidateModel], dict[str, str]]:
    """Return every model that suits the domain, and why the others do not."""
    wanted = (
        PrivateClassifier if isinstance(domain[target], Category) else PrivateRegressor
    )
    suited, left_out = [], {}
    for name in models.__all__:
        kind = getattr(models, name)
        if not isinstance(kind, type) or not issubclass(kind, PrivateEstimator):
            continue
        if not issubclass(kind, wanted):
            continue
        if name in COVERED:
            left_out[name] = tr(
                "{model} is the same with all kinds of columns.", model=COVERED[name]
            )
            continue
        if issubclass(kind, Voters):
            left_out[name] = tr(
                "Every prediction costs; CellNeighborsClassifier pays once."
            )
            continue
        found = _suit(name, domain, target)
        if isinstance(found, str):
            left_out[name] = found
        else:
            suited.append(found)
    if not suited:
        raise DomainError(f"no model suits the target {target!r} and these columns.")
    return suited, left_out


def _suit(name: str, domain: Domain, target: str) -> CandidateModel | str:
    """Return the model with as many columns as it takes, or why it takes none."""
    features = [f for f in domain.with_(target=target).features() if f != target]
    parts = {
        "": features,
        "numbers": [f for f in features if isinstance(domain[f], Number)],
        "categories": [f for f in features if isinstance(domain[f], Category)],
    }
    why = tr("it needs a column.")
    for part, names in parts.items():
        if not names:
            continue
        candidate = CandidateModel(name, tuple(names), part)
        try:
            _plan(candidate, domain, target, "1", "0")
        except (DomainError, ParameterError) as error:
            why = str(error)
            continue
        return candidate
    return why


def _plan(
    candidate: CandidateModel,
    domain: Domain,
    target: str,
    epsilon: Amount,
    delta: Amount,
) -> Plan:
    part = domain.select([*candidate.features, target])
    plan: Plan = candidate.make(epsilon, delta).plan(part, target)
    return plan


def unknown_rows() -> str:
    """Return a note for a domain without a row count."""
    return tr(
        "The domain does not say how many rows there are, so gradient boosting plans "
        "for {rows}. If that number or its order is public, declare it: models that "
        "plan with it do better.",
        rows=number(ASSUMED_ROWS, ","),
    )


def compare(
    data: Any,
    domain: Domain,
    target: str | None = None,
    *,
    epsilons: Iterable[Amount] = EPSILONS,
    delta: Amount = 0,
    folds: int = 5,
    repeats: int = 2,
    seed: int = 0,
    metric: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Cross-validate every suitable model at every epsilon, under simulation ledgers.

    Parameters
    ----------
    data, domain
        What a Table takes. The rows are used freely: this is a simulation.
    target
        The column to predict; by default the domain's.
    epsilons, delta
        What a fit may cost.
    folds, repeats
        Each repeat cuts the rows anew; a score is over all folds of all repeats.
    metric
        ``"accuracy"`` (the default), ``"auc"``, ``"f1"`` or ``"log_loss"`` of classes;
        ``"rmse"`` of numbers.
    progress
        Called with the number of fits that are done, and of all.
    """
    target = target or domain.target
    if target is None:
        raise ParameterError("compare needs a target: the column to predict.")
    if folds < 2 or repeats < 1:
        raise ParameterError("compare needs at least 2 folds and 1 repeat.")
    prices = [str(e) for e in epsilons if read_amount(e, "epsilon")]
    metric = read_metric(metric, domain[target])
    suited, left_out = candidates(domain, target)
    rows = LoadedRows.read(data, domain)
    known = [value is not None and value == value for value in rows.values[target]]
    if sum(known) < 2 * folds or len(set(rows.people[known])) < 2 * folds:
        raise ParameterError(
            f"compare with {folds} folds needs {2 * folds} people whose {target!r} is "
            "known."
        )
    cuts = list(_cuts(rows.people, folds, repeats, seed))
    contest = _Contest(rows, domain, target, delta, seed, metric)
    scores = contest.scores(suited, prices, cuts, progress)
    plain = unprotected.scores(rows.values, domain, target, cuts, metric)
    reference, baseline = (_score(name, None, got) for name, got in plain)
    out = Comparison(
        target=target,
        metric=metric,
        unit=getattr(domain[target], "unit", ""),
        scores=scores,
        reference=reference,
        baseline=baseline,
        candidates=tuple(suited),
        left_out=left_out,
        rows=len(rows.people),
        folds=folds,
        repeats=repeats,
        delta=str(delta),
        remark="" if domain.rows else unknown_rows(),
    )
    return replace(out, advice=_advice(out, domain))


def _score(model: str, epsilon: str | None, values: Sequence[float]) -> CandidateScore:
    mean, spread = float(np.mean(values)), float(np.std(values))
    return CandidateScore(model, epsilon, mean, spread, len(values))


@dataclass(frozen=True)
class LoadedRows:
    """The rows of a table: as they are, in the terms of the domain, and whose."""

    values: Columns
    terms: Columns
    people: Array

    @classmethod
    def read(cls, data: Any, domain: Domain) -> LoadedRows:
        """Everything, into memory."""
        frame = open_frame(data, domain)
        asked = [n for n in domain if isinstance(domain[n], Number | Category)]
        terms = {name: frame.column(name) for name in asked}
        values = {name: _plain(terms[name], domain[name]) for name in asked}
        if domain.person is None:
            return cls(values, terms, np.arange(frame.length()))
        ids = frame.raw(domain.person)
        people = np.unique(ids.astype(str), return_inverse=True)[1]
        return cls({**values, domain.person: ids}, terms, people)


def _plain(terms: Array, column: Column) -> Array:
    if not isinstance(column, Category):
        return terms
    # What is missing or not in the list takes the place behind its end.
    return np.array([*column.categories, None], dtype=object)[np.maximum(terms, -1)]


def _cuts(
    groups: Array, folds: int, repeats: int, seed: int
) -> Iterator[tuple[Array, Array]]:
    """Rows to fit and rows to test; the rows of a person stay together."""
    many = int(groups.max()) + 1
    for repeat in range(repeats):
        order = generator_for("folds", seed, repeat).permutation(many)
        fold = (order % folds)[groups]
        for place in range(folds):
            yield np.flatnonzero(fold != place), np.flatnonzero(fold == place)


@dataclass(frozen=True)
class _Contest:
    """The common settings of a comparison's fits."""

    rows: LoadedRows
    domain: Domain
    target: str
    delta: Amount
    seed: int
    metric: str

    def scores(
        self,
        suited: list[CandidateModel],
        prices: list[str],
        cuts: list[tuple[Array, Array]],
        progress: Progress | None,
    ) -> tuple[CandidateScore, ...]:
        work = list(product(enumerate(cuts), suited, prices))
        found: dict[tuple[str, str], list[float]] = {}
        for done, ((place, cut), candidate, price) in enumerate(work, start=1):
            facts = (self.seed, place, candidate.label, price)
            score = self.one(candidate, price, cut, facts)
            found.setdefault((candidate.label, price), []).append(score)
            if progress:
                progress(done, len(work))
        return tuple(_score(name, price, got) for (name, price), got in found.items())

    def one(
        self,
        candidate: CandidateModel,
        price: str,
        cut: tuple[Array, Array],
        facts: Any,
    ) -> float:
        """Return the score of one simulated fit on rows it has not seen."""
        train, test = cut
        part = self.domain.select([*candidate.features, self.target])
        if part.neighbours == "replace":
            part = part.with_(rows=len(train))
        values, terms = self.rows.values, self.rows.terms
        rows = {name: values[name][train] for name in part}
        table = Table(rows, part, ledger_for(*facts))
        model = candidate.make(price, self.delta, random_state=seed_for(*facts))
        model.fit(table, self.target)
        unseen = Ready({n: terms[n][test] for n in candidate.features}, len(test))
        truth = values[self.target][test]
        return judge(self.metric, model, unseen, truth, self.domain[self.target])


def _advice(comparison: Comparison, domain: Domain) -> Advice | None:
    """Return the cheapest candidate that gains nearly as much as the best one."""
    best = max(comparison.scores, key=comparison.gain)
    gain = comparison.gain(best)
    if gain <= best.spread / np.sqrt(best.count):
        return None
    enough = [s for s in comparison.scores if comparison.gain(s) >= ENOUGH * gain]
    cheapest = min(score.price for score in enough)
    cheap = [score for score in enough if score.price == cheapest]
    first = max(cheap, key=comparison.gain)
    # One standard error is as much as chance moves a mean: the simplest of those wins.
    level = comparison.gain(first) - first.standard_error
    tied = [score for score in cheap if comparison.gain(score) >= level]
    chosen = min(tied, key=lambda score: (_simplicity(score.model), -score.mean))
    ties = tuple(score.model for score in tied if score is not chosen)
    who = next(c for c in comparison.candidates if c.label == chosen.model)
    price = chosen.epsilon or "1"
    plan = _plan(who, domain, comparison.target, price, comparison.delta)
    reason = tr(
        "the cheapest that gains at least {share} of what the best one "
        "({model} at ε {epsilon}) gains over the baseline",
        share=number(ENOUGH, ".0%"),
        model=best.model,
        epsilon=number(best.epsilon),
    )
    if ties:
        reason += tr(
            "; within one standard error of {names}: the simplest",
            names=", ".join(ties),
        )
    return Advice(who, chosen, plan, reason, ties)


def _simplicity(label: str) -> int:
    """Where a model stands among those that are easier to explain."""
    name = label.split(" ")[0]
    return SIMPLEST.index(name) if name in SIMPLEST else len(SIMPLEST)
