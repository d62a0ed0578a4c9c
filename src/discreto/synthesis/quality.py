"""Quality of synthetic rows: the error of every marginal of one and two columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discreto.core.domain.domain import Domain
from discreto.core.maps import Categories
from discreto.core.query import Block, Ones, Sum
from discreto.data.native_frames import new_frame
from discreto.errors import UnsafeError
from discreto.synthesis._columns import codings, fine, view
from discreto.synthesis._junction_tree import Floats
from discreto.synthesis.synthesizer import Synthesizer
from discreto.table.table import Table
from discreto.testing import simulate
from discreto.text.html import html_table
from discreto.text.language import mark, number, tr

Names = tuple[str, ...]
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class Quality:
    """Total variation errors of marginals: 0 is exact, 1 has nothing in common.

    Parameters
    ----------
    errors
        The error of each marginal by the names of its columns.
    kind
        ``"expected"``, or ``"measured"`` in a simulation.
    rows
        How many rows were compared.
    """

    errors: dict[Names, float]
    kind: str
    rows: int

    @property
    def one_way(self) -> float:
        """The mean error of single columns."""
        return self._mean(1)

    @property
    def two_way(self) -> float:
        """The mean error of pairs of columns."""
        return self._mean(2)

    def _mean(self, columns: int) -> float:
        found = [e for names, e in self.errors.items() if len(names) == columns]
        return float(np.mean(found)) if found else 0.0

    def worst(self, count: int = _SHOWN) -> list[tuple[Names, float]]:
        """Return the marginals with the largest errors.

        Parameters
        ----------
        count
            How many of them.
        """
        ranked = sorted(self.errors.items(), key=lambda item: (-item[1], item[0]))
        return ranked[:count]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return {
            "kind": self.kind,
            "rows": self.rows,
            "one_way": self.one_way,
            "two_way": self.two_way,
            "errors": [[list(names), e] for names, e in self.errors.items()],
        }

    def to_frame(self, library: str | None = None) -> Any:
        """Return one row for each marginal.

        Parameters
        ----------
        library
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
        """
        names = [" × ".join(columns) for columns in self.errors]
        return new_frame(
            {"columns": names, "error": list(self.errors.values())}, library
        )

    def __str__(self) -> str:
        lines = [
            tr(
                "{kind} total variation error for {rows} rows: {one} of single "
                "columns, {two} of pairs",
                kind=tr(self.kind),
                rows=self.rows,
                one=number(self.one_way, ".3f"),
                two=number(self.two_way, ".3f"),
            )
        ]
        worst = self.worst()
        lines += [f"  {number(e, '.3f')}  {' × '.join(names)}" for names, e in worst]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Quality({self.kind}: {self.one_way:.3f}, {self.two_way:.3f})"

    def _repr_html_(self) -> str:
        rows = [(" × ".join(names), f"{e:.3f}") for names, e in self.worst()]
        caption = f"{self.kind} error of marginals; mean of pairs {self.two_way:.3f}"
        return html_table(["columns", "total variation"], rows, caption=caption)


def expected(model: Synthesizer, *, seed: int = 0) -> Quality:
    """Return the expected quality of a synthesizer's rows, without private rows.

    Rows drawn from the model stand for the private ones: they are synthesized again in
    a simulation with the same parameters, and their marginals are compared. Relations
    that the model has missed are missed here as well.

    Parameters
    ----------
    model
        A fitted synthesizer.
    seed
        Of the rows and of the simulated noise.

    Returns
    -------
    Quality
        The expected error of every marginal of one and of two columns.

    Privacy
    -------
    Nothing is asked and nothing is spent.
    """
    check_is_fitted(model, "space_")
    domain = _plain(model.space_.domain, model)
    drawn = model.sample(random_state=seed)
    again: Synthesizer = clone(model).set_params(domain=None, ledger=None)
    again.fit(Table(drawn, domain, simulate(seed)), model.space_.target)
    made = again.sample(len(drawn), random_state=seed)
    return _compare(again, domain, drawn, made, mark("expected"))


def measured(model: Synthesizer, rows: Any, *, n: int | None = None) -> Quality:
    """Return the quality of a synthesizer's rows, in a simulation.

    Parameters
    ----------
    model
        A synthesizer that was fitted with a simulation ledger.
    rows
        The rows that it was fitted to, as a frame.
    n
        The number of synthetic rows to compare; by default as many as ``rows``.

    Returns
    -------
    Quality
        The error of every marginal of one and of two columns.

    Raises
    ------
    UnsafeError
        The synthesizer was fitted for real: then this would be one more release.

    Privacy
    -------
    A simulation protects no person: it is for rows that are public.
    """
    check_is_fitted(model, "space_")
    if not model.privacy_.simulated:
        raise UnsafeError(
            "comparing with private rows tells about them. Measure in a simulation, or "
            "see expected()."
        )
    domain = _plain(model.space_.domain, model)
    made = model.sample(len(rows) if n is None else n, random_state=0)
    return _compare(model, domain, rows, made, mark("measured"))


def _plain(domain: Domain, model: Synthesizer) -> Domain:
    """The domain of drawn rows: one row is one person; their number is unknown."""
    names = [
        n for n in domain.columns if n in (*model.space_.features, model.space_.target)
    ]
    names += [n for n in model.derived or {} if n not in names]
    order = [n for n in domain.columns if n in names]
    plain = domain.with_(person=None, rows_per_person=1, neighbours="add-remove")
    return plain.with_(rows=None).select(order)


def _compare(
    model: Synthesizer, domain: Domain, rows: Any, made: Any, kind: str
) -> Quality:
    names = list(domain.columns)
    true, false = (_marginals(model, domain, names, part) for part in (rows, made))
    errors = {key: float(np.abs(true[key] - false[key]).sum()) / 2 for key in true}
    return Quality(errors, kind, len(rows))


def _marginals(
    model: Synthesizer, domain: Domain, names: list[str], rows: Any
) -> dict[Names, Floats]:
    """Exact shares of all cells of all marginals, of rows that are public."""
    ledger = simulate(0, noise=False)
    bins = {k: v for k, v in (model.bins or {}).items() if k in names}
    known = codings(domain, names, bins)
    step = view(known, [fine(coding) for coding in known])
    table = Table(rows, domain, ledger)
    gate = (table if step is None else table.seen(step)).gate()
    out = {}
    wanted: list[Names] = [(name,) for name in names]
    for key in [*wanted, *combinations(names, 2)]:
        query = Sum(Categories(key), (Block(Ones()),))
        answer = gate.measure(query, _cost(), "shares")
        counts = answer.tables[0][:, 0].astype(float)
        out[key] = counts / max(counts.sum(), 1.0)
    return out


def _cost() -> Any:
    from discreto.core.cost import Cost

    return Cost.of(1)
