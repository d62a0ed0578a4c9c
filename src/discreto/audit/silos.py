"""A silo under audit: is what it refuses the same whatever its rows are?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreto.audit.findings import Finding
from discreto.audit.neighbours import hostile_rows, table_of, typical_rows
from discreto.audit.refusals import Answer, Message, refusals
from discreto.core.cost import Cost
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.ledger import Ledger
from discreto.core.maps import Bins, Categories, Gradients, Grid, Nearest, Tree, Values
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.regression import Scaled
from discreto.core.query import Block, Everyone, Ones, Sum
from discreto.federated import Silo, messages
from discreto.federated.messages import Terms
from discreto.table.table import Table

EPSILON = "1/1000"  # of a message: noise hides everything but refusals
_ROWS = 6
_COUNT = (Block(Ones()),)


def silo(domain: Domain, *, name: str = "silo", **options: Any) -> Finding:
    """Send hostile messages to silos over hostile neighbours of a domain.

    Parameters
    ----------
    domain
        The public description of the columns.
    name
        What the finding calls the subject.
    options
        Further parameters of :func:`refusals`.

    Examples
    --------
    >>> from discreto import Domain, Number
    >>> silo(Domain({"age": Number(0, 120)})).verdict
    'holds'
    """
    rows, few = hostile_rows(domain).values(), typical_rows(domain, _ROWS)
    none, some = table_of([], domain), table_of(few, domain)
    near = [(none, table_of([row], domain)) for row in rows]
    near += [(some, table_of([*few, row], domain)) for row in rows]
    given: dict[str, Any] = {"claimed": 1e-3, "texts": tuple(domain.columns), **options}

    def silo_of(data: Any) -> Answer:
        ledger = Ledger(epsilon=1, delta="1e-3")
        return Silo(Table(data, domain, ledger), rows=_ROWS).answer

    return refusals(silo_of, hostile_messages(domain), near, name=name, **given)


def hostile_messages(domain: Domain) -> Iterator[Message]:
    """Yield a message of each kind that a silo of this domain answers."""
    schema = messages.schema_of(domain)
    for place, query in enumerate(_sums(domain)):
        cost = Cost.of(EPSILON)
        yield messages.measure(query, cost, "a sum", f"q{place}", schema)
    gradient = _gradient(domain)
    if gradient is None:
        return
    query = Sum(Everyone(), (Block(gradient),))
    for move in (
        {"kind": "sums"},
        {"kind": "steps", "rate": 0.01},
        {"kind": "proximal", "mu": 1.0, "rows": float(_ROWS)},
    ):
        terms = Terms.of(EPSILON, "1e-6", 1)
        yield messages.training_round(query, terms, "run", 0, schema, move)


def _sums(domain: Domain) -> Iterator[Sum]:
    yield Sum(Everyone(), _COUNT)
    for name, column in domain.columns.items():
        if isinstance(column, Number):
            yield Sum(Bins(name, 4), _COUNT)
            yield Sum(Nearest((name,), ((0.0,), (0.5,))), _COUNT)
            yield Sum(Everyone(), (Block(Values((name,))),))
        elif isinstance(column, Category):
            yield Sum(Categories((name,)), _COUNT)
    loss, features = _loss(domain), _features(domain)
    if loss and features:
        cuts = tuple(
            (domain.number(name).centre,) if isinstance(domain[name], Number) else ()
            for name in features
        )
        grid = Grid(features, cuts)
        route = (0,) + (1,) * (max(grid.sizes(domain)) - 1)
        tree = Tree((0,), (route,), ((0.0,), (0.5,)))
        trees = Gradients(grid, str(domain.target), loss, (0.0,), (tree, tree))  # type: ignore[arg-type]
        yield Sum(Everyone(), (Block(trees),))


def _gradient(domain: Domain) -> ClippedGradient | None:
    loss = _loss(domain)
    names = tuple(n for n in _features(domain) if isinstance(domain[n], Number))
    if not loss or not names:
        return None
    size = len(names) + 1
    of = Scaled(names, (0.0,) * len(names), (1.0,) * len(names), 1.0, 1.0)
    basis = tuple(tuple(float(i == j) for j in range(size)) for i in range(size))
    start = (0.0,) * size
    return ClippedGradient(of, str(domain.target), start, 1.0, loss, basis)  # type: ignore[arg-type]


def _features(domain: Domain) -> tuple[str, ...]:
    kinds = (Number, Category)
    return tuple(
        name
        for name, column in domain.columns.items()
        if name != domain.target and isinstance(column, kinds)
    )


def _loss(domain: Domain) -> str:
    if domain.target is None:
        return ""
    column = domain[domain.target]
    if isinstance(column, Number):
        return "squared"
    two = isinstance(column, Category) and len(column.categories) == 2
    return "logistic" if two else ""


__all__ = ["hostile_messages", "silo"]
