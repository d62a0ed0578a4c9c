"""Facts of a deployment from its ledger and domain, for outside readers.

``registry_entry`` fills a record of the public registry of deployments of differential
privacy (github.com/opendp/deployments-registry-data) as far as facts go; what only
people can say is marked ``TODO``. The checklist is in :mod:`discreto.report.checklist`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreto import __version__
from discreto.core.cost import Cost, show
from discreto.core.domain.domain import Domain
from discreto.errors import ParameterError
from discreto.text.language import mark, speaking, tr

TODO = "TODO"
_NOISE = {
    ("measure", "pure"): mark("integer Laplace (or cube) noise on exact sums"),
    ("measure", "rho"): mark("discrete Gaussian noise on exact sums"),
    ("select", "pure"): mark("permute-and-flip choice"),
    ("select", "rho"): mark("exponential mechanism with bounded range"),
    ("step", "rho"): mark("discrete Gaussian noise on each step of a training"),
    ("randomise", "pure"): mark(
        "randomised response, Laplace or staircase for each row"
    ),
    ("discover", "block"): mark("thresholded counts of values that were not declared"),
}


@dataclass(frozen=True)
class Deployment:
    """The facts of one ledger."""

    ledger: Any
    domain: Domain | None
    entries: tuple[dict[str, Any], ...]

    @property
    def charged(self) -> list[dict[str, Any]]:
        """The entries that cost something."""
        return [entry for entry in self.entries if entry["cost"]]

    @property
    def spent(self) -> Cost:
        """What was spent on the population."""
        cost: Cost = self.ledger.spent()
        return cost

    @property
    def doors(self) -> Counter[tuple[str, str]]:
        """The number of questions by way out of the gate and kind of cost."""
        return Counter(
            (question["door"], _kind(question.get("cost") or entry["cost"]))
            for entry in self.charged
            for question in _questions(entry.get("event"))
        )

    @property
    def mechanisms(self) -> list[str]:
        """In words, which noise was used how often."""
        return [
            tr(
                "{noise}: {times} question(s)",
                noise=tr(_NOISE.get(key, f"{key[0]} under {key[1]}")),
                times=times,
            )
            for key, times in sorted(self.doors.items())
        ]

    @property
    def variant(self) -> str:
        """The kind of guarantee, in the registry's words."""
        spent = self.spent
        if spent == Cost(epsilon=spent.epsilon):
            return "Pure DP"
        if spent == Cost(rho=spent.rho):
            return "Zero-concentrated DP"
        return "Approximate DP"

    @property
    def parameters(self) -> dict[str, float]:
        """What the guarantee is, of all that was spent."""
        found = {"epsilon": float(self.ledger.total())}
        if self.variant != "Pure DP":
            found["delta"] = float(self.ledger.delta)
        if self.variant == "Zero-concentrated DP":
            found["rho"] = float(self.spent.rho)
        return found

    @property
    def asked_under_this_domain(self) -> int:
        """How many entries name the domain's fingerprint."""
        if self.domain is None:
            return 0
        print_ = self.domain.fingerprint
        return sum(print_ in json.dumps(e.get("event")) for e in self.charged)

    @property
    def unit(self) -> tuple[str, str]:
        """Who is protected: in short, and in full."""
        if self.domain is None:
            return TODO, tr(
                "{todo}: give the domain file; the ledger does not name it.", todo=TODO
            )
        domain = self.domain
        if domain.person:
            rows = tr("up to {rows} row(s)", rows=domain.rows_per_person)
            short = tr(
                "Person-level ({rows} of one id in {person})",
                rows=rows,
                person=repr(domain.person),
            )
            who = tr(
                "all rows of one person, {rows}; further rows are left out", rows=rows
            )
        else:
            short, who = (
                tr("Row-level"),
                tr("one row; a person with several has several"),
            )
        how = (
            tr("added or removed")
            if domain.neighbours == "add-remove"
            else tr(
                "replaced, with {rows} rows in all, which is public", rows=domain.rows
            )
        )
        return short, tr("Adjacent tables differ in {who}, {how}.", who=who, how=how)


def deployment_of(ledger: Any, domain: Domain | None = None) -> Deployment:
    """Return the facts of a ledger that has paid for something."""
    if getattr(ledger, "simulation", None) is not None:
        raise ParameterError(
            "a simulation gives no protection: it has no deployment to describe."
        )
    return Deployment(ledger, domain, tuple(ledger.entries()))


def _kind(cost: Mapping[str, Any]) -> str:
    if "rho" in cost:
        return "rho"
    return "block" if "block_epsilon" in cost or "delta" in cost else "pure"


def _questions(event: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(event, Mapping):
        if "door" in event:
            yield event
        for part in event.values():
            yield from _questions(part)
    elif isinstance(event, list):
        for part in event:
            yield from _questions(part)


def registry_entry(
    ledger: Any,
    domain: Domain | None = None,
    *,
    purpose: str = "",
    author: str = "",
    data: str = "",
) -> dict[str, Any]:
    """Return a record for the public registry of deployments, as far as facts go.

    Parameters
    ----------
    ledger
        A :class:`~discreto.Ledger`.
    domain
        The domain of its tables: it says who is protected and what is public.
    purpose, author, data
        What only people know: the use, who fills in this record, what the product is.

    Returns
    -------
    dict
        The record; what is still to be said begins with ``TODO``.

    Examples
    --------
    >>> import discreto as dp
    >>> ledger = dp.Ledger(epsilon=1)
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40, 50]}, domain, ledger)
    >>> _ = dp.stats.count(table, epsilon="0.5")
    >>> record = registry_entry(ledger, domain)["deployment"]
    >>> record["privacy_loss"]["privacy_parameters"]
    {'epsilon': 0.5}
    """
    with speaking("en"):  # what the registry reads
        return _record(deployment_of(ledger, domain), purpose, author, data)


def _record(found: Deployment, purpose: str, author: str, data: str) -> dict[str, Any]:
    return {
        "url_slug": f"{TODO}: letters and hyphens",
        "status": "Draft",
        "tier": 3 if found.domain is not None else 2,
        "deployment": {
            "basic": _basic(found, purpose, data),
            "dp_variant": _variant(found),
            "privacy_loss": _loss(found),
            "deployment_model": _model(found),
            "accounting": {
                "post_processing": "Everything after the noise: intervals, rounding, "
                "models as functions of released sums. No row is read for it.",
                "composition": _composition(found),
            },
            "implementation": _implementation(found),
            "administrative": {
                "sources": f"{TODO}: where the product and its description are",
                "registry_authors": [author or f"{TODO}: who filled this in"],
            },
        },
    }


def _basic(found: Deployment, purpose: str, data: str) -> dict[str, Any]:
    fits = [e["label"] for e in found.charged if e["label"].startswith("fit ")]
    product = "Machine learning model" if fits else "Summary statistics"
    first = found.charged[0]["time"] if found.charged else None
    day = datetime.fromtimestamp(first, UTC).date().isoformat() if first else TODO
    name = found.ledger.population
    return {
        "name": name or f"{TODO}: the name of the product",
        "data_curators": [
            {
                "data_curator_name": f"{TODO}: who publishes it",
                "data_curator_type": f"{TODO}: for example Nonprofit",
            }
        ],
        "intended_use": purpose or f"{TODO}: what it is for",
        "data_product_type": product,
        "data_product_region": f"{TODO}: whose data, or whose law",
        "description": data or f"{TODO}: what was published",
        "publication_date": day,
        "data_product_sector": f"{TODO}: for example Healthcare",
    }


def _variant(found: Deployment) -> dict[str, str]:
    domain = found.domain
    if domain is None:
        described = f"{TODO}: give the domain file"
        public = described
    else:
        described = f"Tables with the columns {', '.join(domain)}: {domain!r}"
        public = (
            f"The number of rows ({domain.rows}). "
            if domain.neighbours == "replace"
            else "No statistic of the rows. "
        ) + (
            "Public by declaration: names and types of columns, bounds, categories. "
            f"{TODO}: say that they do not come from the rows."
        )
    return {
        "variant_name": found.variant,
        "data_domain": described,
        "unprotected_quantities": public,
    }


def _loss(found: Deployment) -> dict[str, Any]:
    short, full = found.unit
    budget = f"The ledger allows ε {show(found.ledger.epsilon)}"
    if found.ledger.delta:
        budget += f" at δ {show(found.ledger.delta)}"
    return {
        "privacy_unit": short,
        "privacy_unit_details": full,
        "privacy_parameters": found.parameters,
        "privacy_parameters_details": f"{budget} in all; spent are {found.spent} in "
        f"{len(found.charged)} entries. What is stated above is what was spent.",
    }


def _model(found: Deployment) -> dict[str, str]:
    analysts = sorted({e["analyst"] for e in found.entries} - {""})
    many = len(found.charged) != 1
    doors = {door for door, _ in found.doors}
    return {
        "model_name": "Local" if doors == {"randomise"} else "Central",
        "model_name_details": f"{TODO}: say Federated if this is the ledger of a silo",
        "actors": "The owner of the rows runs the library and is trusted with them; "
        "readers of releases are not trusted, whatever else they know. "
        f"{TODO}: name them.",
        "release_type": "Many releases" if many else "One release",
        "release_type_details": "One budget for all of them, without a refill by "
        "time: the ledger refuses what does not fit; raising it is an entry.",
        "data_source_type": f"{TODO}: Static or Dynamic",
        "access_type": "Interactive" if analysts else "Non-interactive",
        "access_type_details": (
            f"Analysts with limits of their own: {', '.join(analysts)}; the budget of "
            "the population holds if they share answers."
            if analysts
            else "Only the owner asks."
        ),
    }


def _composition(found: Deployment) -> str:
    if found.variant == "Pure DP":
        return "Sequential: exact fractions of ε add up; a filter for adaptive use."
    return (
        "A privacy filter for adaptive use: pure ε and blocks add up, Gaussian costs "
        "add up as ρ and convert to ε at what is left of δ."
    )


def _implementation(found: Deployment) -> dict[str, str]:
    listed = "".join(f"- {line}\n" for line in found.mechanisms) or "- none\n"
    return {
        "preprocessing_and_hyperparameter_tuning": "Values are clipped to the declared "
        f"bounds row by row. {TODO}: say what was done to the rows before, and whether "
        "models or settings were compared on them without a charge.",
        "mechanisms": f"{listed}- discreto {__version__}: values are rounded to a grid "
        "and clamped as integers, sums are exact, noise is integer noise decided "
        "exactly, from AES-256 keyed by the operating system; noise takes constant "
        "work; every charge is on disk, in a hash chain, before a row is read. "
        f"{TODO}: access control and protection of the rows at rest.",
        "justification": f"{TODO}: why these parameters",
    }


def to_yaml(data: Any, indent: int = 0) -> str:
    """Return nested mappings and lists as YAML: every scalar is written as JSON.

    Examples
    --------
    >>> print(to_yaml({"a": [1, {"b": "c: d"}], "e": {}}), end="")
    a:
      - 1
      -
        b: "c: d"
    e: {}
    """
    space = "  " * indent
    lines = []
    pairs = data.items() if isinstance(data, Mapping) else ((None, one) for one in data)
    for name, value in pairs:
        head = f"{space}- " if name is None else f"{space}{name}: "
        if isinstance(value, Mapping | list) and value:
            lines.append(f"{head.rstrip()}\n{to_yaml(value, indent + 1)}")
        else:
            lines.append(f"{head}{json.dumps(value, ensure_ascii=False)}\n")
    return "".join(lines)
