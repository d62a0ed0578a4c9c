"""The meaning of an epsilon: odds, beliefs, and an attacker's success.

The attacker wants to know whether one person took part (whatever the guarantee
protects: a row, or all rows of a person), knows everything else, and sees the release.
Three statements follow from the guarantee alone, whatever was released:

* **odds**: the odds that the person took part rise by a factor of e^ε at most;
* **belief**: an attacker who believed it with probability ``prior`` then believes it
  with at most ``prior e^ε / (prior e^ε + 1 - prior)``;
* **success**: a guess is right with a probability of at most ``success``.

With a δ the first two hold for all releases but rare ones, so what is stated is how
many people an attacker can find (``hits``) who may raise so many false alarms.
``docs/choosing-epsilon.md`` shows where each formula comes from.

>>> print(explain(1, prior=0.1))
ε 1, and a prior belief of 10 % that a person took part
  odds      rise by a factor of 2.72 at most
  belief    10 % becomes 23.2 % at most
  guessing  is right with probability 90 % at most; 90 % without the release
  hits      at most 2.72 % of those who took part, with 1 % false alarms
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount, Cost, epsilon_for, read_amount, read_delta, show
from discreto.errors import ParameterError
from discreto.text.html import html_table
from discreto.text.language import language, mark, number, tr

ALARMS = 0.01  # the default rate of false alarms at which hits are given
_RATES = (0.001, 0.01, 0.1)  # false positive rates for which JSON has the true ones
_LARGEST = 700.0  # e^700 is a number, e^710 is none
_DELTAS = tuple(Fraction(1, 10**power) for power in (1, 2, 3, 4, 5, 6, 8, 10, 12))


@dataclass(frozen=True)
class Meaning:
    """The meaning of a guarantee for one person, at a stated prior.

    Parameters
    ----------
    guarantee
        The guarantee in words, such as "ε 1".
    points
        Pairs (ε, δ), all of which hold.
    prior
        The probability that the attacker gave beforehand to "this person took part".

    Examples
    --------
    >>> round(explain("ln 3", prior=0.5).posterior, 12)
    0.75
    """

    guarantee: str
    points: tuple[tuple[float, float], ...]
    prior: float = 0.5

    @property
    def odds(self) -> float | None:
        """The most by which odds can rise; None with a δ, where no release is sure."""
        pure = [epsilon for epsilon, delta in self.points if not delta]
        return _exp(min(pure)) if pure else None

    @property
    def posterior(self) -> float | None:
        """The strongest belief that any release can cause; None with a δ."""
        if self.odds is None:
            return None
        return self._belief(self.odds)

    @property
    def success(self) -> float:
        """The largest probability of a right guess, with the release and the prior."""
        return min(_success(self.prior, *point) for point in self.points)

    @property
    def baseline(self) -> float:
        """The probability of a right guess without the release."""
        return max(self.prior, 1 - self.prior)

    def hits(self, false_alarms: float = ALARMS) -> float:
        """Return the largest share of those who took part that an attacker can find.

        Parameters
        ----------
        false_alarms
            The share of those who did not take part that may be accused.

        Examples
        --------
        >>> round(explain(1, "1e-5").hits(0.01), 4)
        0.0272
        """
        rate = _share(false_alarms, "false_alarms")
        return min(_hits(rate, *point) for point in self.points)

    def precision(self, false_alarms: float = ALARMS) -> float:
        """Return the largest probability that an accused person did take part.

        Parameters
        ----------
        false_alarms
            The share of those who did not take part that may be accused.

        Examples
        --------
        >>> round(explain(1, prior=0.1).precision(0.01), 3)
        0.232
        """
        rate = _share(false_alarms, "false_alarms")
        return self._belief(self.hits(rate) / rate) if rate else 1.0

    def _belief(self, factor: float) -> float:
        """Return the prior after its odds rose by a factor."""
        if math.isinf(factor):
            return 1.0 if self.prior else 0.0
        return self.prior * factor / (self.prior * factor + 1 - self.prior)

    def lines(self) -> list[tuple[str, str]]:
        """Return pairs of a word and the rest of a sentence."""
        prior, alarms = _percent(self.prior), _percent(ALARMS)
        if self.odds is None or self.posterior is None:
            after = _percent(self.precision())
            sentence = tr(
                "{prior} becomes {after} at most, for an attacker with {alarms} "
                "false alarms",
                prior=prior,
                after=after,
                alarms=alarms,
            )
            beliefs = [(tr("belief"), sentence)]
        else:
            beliefs = [
                (
                    tr("odds"),
                    tr("rise by a factor of {odds} at most", odds=_up(self.odds)),
                ),
                (
                    tr("belief"),
                    tr(
                        "{prior} becomes {posterior} at most",
                        prior=prior,
                        posterior=_percent(self.posterior),
                    ),
                ),
            ]
        success, without = _percent(self.success), _percent(self.baseline)
        hits = _percent(self.hits())
        guessing = tr(
            "is right with probability {success} at most; {without} without the"
            " release",
            success=success,
            without=without,
        )
        found = tr(
            "at most {hits} of those who took part, with {alarms} false alarms",
            hits=hits,
            alarms=alarms,
        )
        return [*beliefs, (tr("guessing"), guessing), (tr("hits"), found)]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "guarantee": self.guarantee,
            "points": [list(point) for point in self.points],
            "prior": self.prior,
            "odds": self.odds,
            "posterior": self.posterior,
            "success": self.success,
            "without": self.baseline,
            "false_alarms": ALARMS,
            "hits": self.hits(),
            "precision": self.precision(),
            "rates": [[rate, self.hits(rate)] for rate in _RATES],
        }

    def __str__(self) -> str:
        guarantee, prior = number(self.guarantee), _percent(self.prior)
        head = tr(
            "{guarantee}, and a prior belief of {prior} that a person took part",
            guarantee=guarantee,
            prior=prior,
        )
        lines = self.lines()
        wide = max(
            len("guessing ") if language() == "en" else 0, *(len(w) for w, _ in lines)
        )
        return "\n".join([head, *(f"  {word:<{wide}} {rest}" for word, rest in lines)])

    def _repr_html_(self) -> str:
        guarantee = number(self.guarantee)
        caption = tr(
            "{guarantee}, prior belief {prior}",
            guarantee=guarantee,
            prior=_percent(self.prior),
        )
        return html_table(["", tr("at most")], self.lines(), caption=caption)


@dataclass(frozen=True)
class PublishedEpsilon:
    """An ε that was published for a system in use.

    Parameters
    ----------
    who
        Who, and for what.
    epsilon
        The ε, as published.
    unit
        What is protected, and by whom the noise is added.
    source
        Where the figure is from.
    """

    who: str
    epsilon: float
    unit: str
    source: str


_LIST = "list of real-world uses of differential privacy (desfontain.es)"
_PRESS = "a press report of 2017 on a study of Apple's systems, as a lecture quotes it"
_DAY = mark("a person's day, on their own device")
_UNTOLD = mark("on their own device; for how long is not told")
DEPLOYMENTS = (
    PublishedEpsilon(
        mark("Wikimedia, page views by country"),
        1.0,
        mark("a device's day, first 10 pages (ρ 0.015; δ 1e-7)"),
        "the data set's own page (analytics.wikimedia.org)",
    ),
    PublishedEpsilon(mark("Apple, health types"), 2.0, _DAY, _LIST),
    PublishedEpsilon(mark("Apple, emoji"), 4.0, _DAY, _LIST),
    PublishedEpsilon(mark("macOS"), 6.0, _UNTOLD, _PRESS),
    PublishedEpsilon(mark("Apple, lookup hints; Safari domains"), 8.0, _DAY, _LIST),
    PublishedEpsilon(mark("iOS 10"), 14.0, _UNTOLD, _PRESS),
    PublishedEpsilon(mark("Apple, new words"), 16.0, _DAY, _LIST),
    PublishedEpsilon(mark("a beta of iOS 11"), 43.0, _UNTOLD, _PRESS),
)


def deployments_near(epsilon: Amount) -> tuple[PublishedEpsilon, ...]:
    """Return the published values just below and just above an ε.

    Parameters
    ----------
    epsilon : int, float, str or Fraction
        The ε to compare.

    Returns
    -------
    tuple of PublishedEpsilon
        One, two, or several of the same value. What they protect differs: read it.

    Examples
    --------
    >>> [one.epsilon for one in deployments_near(3)]
    [2.0, 4.0]
    """
    value = float(read_amount(epsilon, "epsilon"))
    known = sorted({one.epsilon for one in DEPLOYMENTS})
    below = [e for e in known if e <= value][-1:]
    above = [e for e in known if e > value][:1]
    return tuple(one for one in DEPLOYMENTS if one.epsilon in (*below, *above))


def explain(epsilon: Amount, delta: Amount = 0, *, prior: Amount = 0.5) -> Meaning:
    """Return what (ε, δ) means for one person, whatever mechanism keeps it.

    Parameters
    ----------
    epsilon : int, float, str or Fraction
        The ε; ``"ln 3"`` is possible.
    delta : int, float, str or Fraction
        The δ; 0 for pure ε.
    prior
        How probable an attacker thinks beforehand that the person took part.

    Returns
    -------
    Meaning
        Odds, beliefs and rates of success; print it.

    Examples
    --------
    >>> round(explain(1).success, 3)
    0.731
    """
    amount, chance = read_amount(epsilon, "epsilon"), read_delta(delta)
    words = f"ε {show(amount)}" + (f", δ {show(chance)}" if chance else "")
    return Meaning(words, ((float(amount), float(chance)),), _share(prior, "prior"))


def explain_cost(cost: Cost, *, prior: Amount = 0.5) -> Meaning:
    """Return what a charge means for one person; ρ keeps many (ε, δ) at once.

    Parameters
    ----------
    cost
        What was charged, such as ``release.cost`` or ``ledger.spent()``.
    prior
        How probable an attacker thinks beforehand that the person took part.

    Returns
    -------
    Meaning
        Odds, beliefs and rates of success; print it.

    Examples
    --------
    >>> gaussian = explain_cost(Cost.of(1, "1e-5"))
    >>> gaussian.success < explain(1, "1e-5").success
    True
    """
    share = _share(prior, "prior")
    if cost.infinite:
        return Meaning(str(cost), ((_LARGEST, 1.0),), share)
    fixed = float(cost.epsilon + cost.block_epsilon), float(cost.delta)
    if not cost.rho:
        return Meaning(str(cost), (fixed,), share)
    # The parts add up at every delta, so all of these hold at the same time.
    points = [
        (fixed[0] + epsilon_for(cost.rho, delta), fixed[1] + float(delta))
        for delta in _DELTAS
    ]
    return Meaning(str(cost), tuple(points), share)


def _exp(epsilon: float) -> float:
    return math.exp(epsilon) if epsilon < _LARGEST else math.inf


def _hits(alarms: float, epsilon: float, delta: float) -> float:
    """Return the most hits at a rate of false alarms, for both directions of (ε, δ)."""
    epsilon = min(epsilon, _LARGEST)
    direct = math.exp(epsilon) * alarms + delta
    reverse = 1 - math.exp(-epsilon) * (1 - delta - alarms)
    return max(0.0, min(1.0, direct, reverse))


def _success(prior: float, epsilon: float, delta: float) -> float:
    """Return the success of the best guess: a corner of what (ε, δ) allows."""
    wrong = math.exp(-min(epsilon, _LARGEST))
    middle = (1 - delta) * wrong / (1 + wrong)
    corners = (0.0, middle, 1 - delta)
    return max(
        prior * _hits(a, epsilon, delta) + (1 - prior) * (1 - a) for a in corners
    )


def _share(value: Any, name: str) -> float:
    try:
        found = float(read_amount(value, name, zero=True))
    except ParameterError:
        found = math.nan
    if not 0 <= found <= 1:
        raise ParameterError(f"{name} must be a number from 0 to 1. Got {value!r}.")
    return found


def _percent(share: float) -> str:
    return f"{_up(min(100 * share, 100))} %"


def _up(value: float) -> str:
    """Return a bound with three digits, rounded up."""
    if value <= 0 or math.isinf(value):
        return f"{value:g}".replace("inf", "∞")
    scale = 10.0 ** (2 - math.floor(math.log10(value)))
    return number(math.ceil(value * scale - 1e-6) / scale, ".3g")


__all__ = [
    "DEPLOYMENTS",
    "Meaning",
    "PublishedEpsilon",
    "deployments_near",
    "explain",
    "explain_cost",
]
