"""An attacker's success on a real table, compared with the bound of epsilon.

``canary`` fits a model many times with and without one row, and lets an attacker who
knows everything else guess which it was. ``membership`` attacks one fitted model: are
training rows easier for it than others? Both read rows in the clear, so both are
simulations: they tell how exposed rows *like these* would be.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, norm

from discreto.audit.bounds import find_events
from discreto.audit.mechanisms import mechanism_of
from discreto.audit.neighbours import Data, Row, hostile_rows
from discreto.audit.output_features import stack
from discreto.audit.repeat import Runs, bar
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain
from discreto.errors import ParameterError, UnsafeError


@dataclass(frozen=True)
class Exposure:
    """The success of an attacker.

    Parameters
    ----------
    subject, attack
        Who was attacked, and how.
    advantage, advantage_low, advantage_high
        True minus false positive rate, with its interval.
    auc, auc_low, auc_high
        The area under the ROC curve, with its interval.
    bound
        The most that the claimed (epsilon, delta) allows any attacker.
    epsilon, delta
        What the subject claims.
    trials
        How many guesses were made.
    confidence
        Each interval holds with this probability.
    simulated
        Whether the runs were simulations, as they have to be.
    """

    subject: str
    attack: str
    advantage: float
    advantage_low: float
    advantage_high: float
    auc: float
    auc_low: float
    auc_high: float
    bound: float
    epsilon: float
    delta: float
    trials: int
    confidence: float = 0.95
    simulated: bool = True

    @property
    def violation(self) -> bool:
        """True if even the low end of the interval is above the bound."""
        return self.advantage_low > self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return asdict(self) | {"violation": self.violation}

    def __str__(self) -> str:
        return (
            f"SIMULATED {self.attack} attack on {self.subject}: advantage "
            f"{self.advantage:.3f} ({self.advantage_low:.3f} to "
            f"{self.advantage_high:.3f}), AUC {self.auc:.3f}; ε {self.epsilon:.4g} "
            f"allows {self.bound:.3f} at most"
        )


def allowed_advantage(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest advantage that (epsilon, delta)-privacy allows.

    Parameters
    ----------
    epsilon, delta
        What is claimed.

    Examples
    --------
    >>> round(allowed_advantage(1), 3), allowed_advantage(0)
    (0.462, 0.0)
    """
    if epsilon > 700:
        return 1.0
    return min(1.0, (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1))


def canary(
    model: Any,
    data: Data,
    domain: Domain,
    *,
    row: int | Row | None = None,
    runs: int = 1000,
    confidence: float = 0.95,
    workers: int = 1,
    progress: bool = False,
) -> Exposure:
    """Can an attacker see from the fitted model whether one row was there?

    Parameters
    ----------
    model
        An unfitted model of this package. It is fitted ``2 * runs`` times under
        simulation ledgers, whatever ledger it has.
    data, domain
        The real table as a dict of columns.
    row
        The number of a row to leave out; or a row (a dict) to put in; by default the
        row at the upper corner of the domain. With ``neighbours="replace"`` it takes
        the place of the first row.
    runs
        Fits on each table.
    confidence
        Each interval of the result holds with this probability.
    workers
        Processes.
    progress
        Whether a bar is shown.
    """
    first, second = _with_and_without(data, domain, row)
    cost = Cost.of(model.epsilon, model.delta)
    mechanism = mechanism_of(model, domain, replicates=False)
    with Runs(mechanism, workers) as source, bar("canary", progress) as tick:
        parts = [source.draw(table, runs, tick) for table in (first, second)]
        both = stack([*parts[0], *parts[1]])
        names = source.names(both.shape[1])
    sides = (both[:runs], both[runs:])
    half = runs // 2
    learn = (sides[0][: half // 2], sides[1][: half // 2])
    choose = (sides[0][half // 2 : half], sides[1][half // 2 : half])
    events = find_events(learn, choose, names, 0.0, 0.5, advantage=True)
    event = events[-1]  # likelier with the row than without it
    scores = [event.sign * event.scorer(side[half:]) for side in sides]
    known = float(model.epsilon), float(model.delta or 0)
    return _exposure(
        type(model).__name__,
        "canary",
        scores[1],
        scores[0],
        event.edge,
        allowed_advantage(*known) if not cost.infinite else 1.0,
        known,
        confidence,
    )


def membership(
    fitted: Any,
    members: Data,
    outsiders: Data,
    *,
    confidence: float = 0.95,
) -> Exposure:
    """Does a fitted model treat its training rows better than others?

    Half of the rows choose the threshold, the others are guessed. Between a member and
    an outsider one row is replaced, so add-remove privacy of epsilon allows the
    advantage of 2 epsilon.

    Parameters
    ----------
    fitted
        A model that was fitted under a simulation ledger.
    members
        A dict of columns with the target: rows that were in the training table.
    outsiders
        The same of rows that were not.
    confidence
        Each interval of the result holds with this probability.

    Raises
    ------
    UnsafeError
        The model was fitted under a real ledger.
    """
    if not fitted.privacy_.simulated:
        raise UnsafeError(
            "membership reads training rows in the clear. Fit the model again with "
            "ledger=discreto.testing.simulate() on rows that may be looked at."
        )
    inside, outside = (_ease(fitted, rows) for rows in (members, outsiders))
    if min(len(inside), len(outside)) < 8:
        raise ParameterError("membership needs at least 8 rows of each kind.")
    edges = np.unique(np.concatenate([inside[::2], outside[::2]]))
    gains = [
        (inside[::2] >= edge).mean() - (outside[::2] >= edge).mean() for edge in edges
    ]
    edge = float(edges[int(np.argmax(gains))])
    known = float(fitted.epsilon), float(fitted.delta or 0)
    twice = 1 if fitted.privacy_.neighbours == "replace" else 2
    bound = allowed_advantage(twice * known[0], _grouped(known, twice))
    return _exposure(
        type(fitted).__name__,
        "membership",
        inside[1::2],
        outside[1::2],
        edge,
        bound,
        known,
        confidence,
    )


def _grouped(known: tuple[float, float], twice: int) -> float:
    """Return the delta of two rows: delta + e^epsilon delta."""
    epsilon, delta = known
    return delta if twice == 1 else min(1.0, delta * (1 + math.exp(min(epsilon, 700))))


def _with_and_without(
    data: Data, domain: Domain, row: int | Row | None
) -> tuple[Data, Data]:
    data = {name: np.asarray(data[name], dtype=object) for name in domain.columns}
    rows = len(next(iter(data.values())))
    if isinstance(row, int):
        if not 0 <= row < rows:
            raise ParameterError(f"the table has no row {row}.")
        kept = np.arange(rows) != row
        if domain.neighbours == "replace":
            raise ParameterError("with neighbours='replace', give a row to put in.")
        return {name: column[kept] for name, column in data.items()}, data
    extra = hostile_rows(domain)["high corner"] if row is None else row
    keep = 1 if domain.neighbours == "replace" else 0
    added = {}
    for name, column in data.items():
        new = np.empty(1, dtype=object)
        new[0] = "the canary" if name == domain.person else extra[name]
        added[name] = np.concatenate([new, column[keep:]])
    return data, added


def _ease(fitted: Any, rows: Data) -> Any:
    """Return a score for each row: larger for rows that the model has seen."""
    space = fitted.space_
    table = np.column_stack([np.asarray(rows[n], dtype=object) for n in space.features])
    if space.target is None:
        return -np.min(fitted.distances(table), axis=1)
    truth = np.asarray(rows[space.target], dtype=object)
    if not isinstance(space.domain[space.target], Category):
        return -((truth.astype(float) - fitted.predict(table)) ** 2)
    probabilities = fitted.predict_proba(table)
    place = {kind: i for i, kind in enumerate(fitted.classes_.tolist())}
    return np.array([probabilities[i, place[value]] for i, value in enumerate(truth)])


def _exposure(
    subject: str,
    attack: str,
    inside: Any,
    outside: Any,
    edge: float,
    bound: float,
    known: tuple[float, float],
    confidence: float,
) -> Exposure:
    hits, false = int((inside >= edge).sum()), int((outside >= edge).sum())
    ends = [_ends(k, len(s), confidence) for k, s in ((hits, inside), (false, outside))]
    auc, spread = _auc(inside, outside)
    far = float(norm.ppf((1 + confidence) / 2)) * spread
    return Exposure(
        subject,
        attack,
        hits / len(inside) - false / len(outside),
        ends[0][0] - ends[1][1],
        ends[0][1] - ends[1][0],
        auc,
        max(auc - far, 0.0),
        min(auc + far, 1.0),
        bound,
        *known,
        trials=len(inside) + len(outside),
        confidence=confidence,
    )


def _ends(hits: int, runs: int, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; each of two rates may fail half as often."""
    alpha = (1 - confidence) / 2
    low = float(beta.ppf(alpha / 2, hits, runs - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - alpha / 2, hits + 1, runs - hits)) if hits < runs else 1.0
    return low, high


def _auc(inside: Any, outside: Any) -> tuple[float, float]:
    """Return the probability that a member scores higher, and its deviation."""
    ordered = np.sort(outside)
    below = np.searchsorted(ordered, inside, side="left")
    not_above = np.searchsorted(ordered, inside, side="right")
    auc = float((below + not_above).mean() / 2 / len(outside))
    q1, q2 = auc / (2 - auc), 2 * auc * auc / (1 + auc)
    n1, n2 = len(inside), len(outside)
    spread = auc * (1 - auc) + (n1 - 1) * (q1 - auc**2) + (n2 - 1) * (q2 - auc**2)
    return auc, math.sqrt(max(spread, 0.0) / (n1 * n2))
