"""The guarantee of a run across silos, and its limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreto.core.cost import Amount, Cost, show
from discreto.core.steps import steps_for
from discreto.errors import ParameterError
from discreto.session.parameters import MANY, whole
from discreto.text.language import mark, number, tr

_FEW = 100  # client-level noise drowns an update among fewer silos than this


@dataclass(frozen=True)
class Guarantee:
    """The (epsilon, delta) of each silo's rows, against everybody outside of that silo.

    It holds against readers of all messages: the coordinator, a relay, the other silos
    together, the public. Passing on or mixing releases does not make it better.

    Parameters
    ----------
    silos
        What each silo was charged.
    simulated
        True for a simulation, which protects no person.
    trusted
        Whom the guarantee relies on.
    warning
        What a reader should know besides.
    protect
        ``"row"`` or ``"silo"``.

    Examples
    --------
    >>> both = Guarantee({"a": Cost.of(1), "b": Cost.of("0.5")})
    >>> both.one_silo, both.several(["a", "b"])
    ((1.0, 0.0), (1.5, 0.0))
    """

    silos: Mapping[str, Cost]
    simulated: bool = False
    trusted: str = mark("nobody")  # whom the guarantee relies on
    warning: str = ""
    protect: str = "row"

    def of(self, name: str) -> tuple[float, float]:
        """Epsilon and delta of one silo's rows.

        Parameters
        ----------
        name
            A silo.
        """
        cost = self.silos[name]
        if cost.rho:
            raise ParameterError(f"silo {name!r} is charged in rho: {cost}.")
        return float(cost.epsilon + cost.block_epsilon), float(cost.delta)

    @property
    def one_silo(self) -> tuple[float, float]:
        """For a person whose rows are in one silo only: the worst silo's."""
        pairs = [self.of(name) for name in self.silos]
        return max(e for e, _ in pairs), max(d for _, d in pairs)

    def several(self, names: Iterable[str]) -> tuple[float, float]:
        """For a person with a row in each of these silos: epsilons and deltas add.

        Parameters
        ----------
        names
            The silos in which a person has a row.
        """
        pairs = [self.of(name) for name in names]
        return math.fsum(e for e, _ in pairs), math.fsum(d for _, d in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "silos": {name: cost.to_dict() for name, cost in self.silos.items()},
            "simulated": self.simulated,
            "trusted": self.trusted,
            "warning": self.warning,
            "protect": self.protect,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Guarantee:
        """Return the inverse of ``to_dict``.

        Parameters
        ----------
        data
            What ``to_dict`` returned.
        """
        silos = {name: Cost.from_dict(c) for name, c in data["silos"].items()}
        texts = [data[name] for name in ("trusted", "warning", "protect")]
        plain = isinstance(data["simulated"], bool)
        if not plain or not all(isinstance(text, str) for text in texts):
            raise ParameterError("this is not a guarantee: it was changed.")
        return cls(silos, data["simulated"], *texts)

    def __str__(self) -> str:
        stamp = f"{tr('SIMULATED')} " if self.simulated else ""
        if any(cost.infinite for cost in self.silos.values()):
            return stamp + tr("no privacy")
        (one, delta), (all_, more) = self.one_silo, self.several(self.silos)
        if self.protect == "silo":
            whole = tr(
                "{stamp}(ε {one}, δ {delta}) for a whole silo; trusted: {trusted}.",
                stamp=stamp,
                one=number(show(one)),
                delta=number(show(delta)),
                trusted=tr(self.trusted),
            )
            return f"{whole} {self.warning}".strip()
        return tr(
            "{stamp}(ε {one}, δ {delta}) for a row in one silo; (ε {all}, δ {more}) "
            "for a person with a row in each of {count}; trusted: {trusted}",
            stamp=stamp,
            one=number(show(one)),
            delta=number(show(delta)),
            all=number(show(all_)),
            more=number(show(more)),
            count=len(self.silos),
            trusted=tr(self.trusted),
        )


@dataclass(frozen=True)
class ClientLevel:
    """Protecting a whole silo instead of a row: how much noise that would take.

    ``noise`` is the standard deviation on each coordinate of the mean update, in
    multiples of the norm to which updates are clipped.
    """

    silos: int
    noise: float

    @property
    def warning(self) -> str:
        """Why this is not usable, if it is not."""
        if self.silos >= _FEW:
            return ""
        return (
            f"with {self.silos} silos the noise is {self.noise:.2g} times the largest "
            "update: hiding a whole silo takes hundreds of silos. Protect rows instead."
        )


def client_level(
    epsilon: Amount, delta: Amount, rounds: int, silos: int
) -> ClientLevel:
    """The noise that hides whether a silo took part at all (a trusted server adds it).

    Parameters
    ----------
    epsilon, delta
        What the run may cost a silo that takes part.
    rounds
        How many.
    silos
        How many.

    Examples
    --------
    >>> round(client_level(1, "1e-5", 10, 7).noise, 1)
    1.7
    """
    silos = whole(silos, "silos", most=MANY)
    noise = steps_for(epsilon, delta, rounds).noise
    return ClientLevel(silos, float(noise / Fraction(silos)))
