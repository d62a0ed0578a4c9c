"""S2's future work: other encodings of categories than one-hot columns.

Categories become numbers by public rules (one-hot, binary, ordinal codes, hashing), or
by the share of the first class among a category's rows, which must be paid for. Two
learners get them, both with everything paid for: DPBoost as corrected, and our default.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreto import models, stats
from discreto.compare.seeds import ledger_for, seed_for
from discreto.core.domain.domain import Category, Domain, Number
from discreto.lab import boosting_presets
from discreto.lab.study.boosting_data import TITLES, Prepared, prepare
from discreto.lab.study.experiment import (
    Experiment,
    Picture,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.figures import curves, legend_below, panels
from discreto.lab.study.results import Results
from discreto.lab.study.scores import score_table
from discreto.table.table import Table as Rows
from discreto.text.language import mark

NATIVE, ONE_HOT, BINARY = "native", "one-hot", "binary"
CODES, HASHED, TARGET = "codes", "hashing", "target (paid for)"
ENCODINGS = (NATIVE, ONE_HOT, BINARY, CODES, HASHED, TARGET)
PAPER, OURS = "DPBoost, corrected", "ours"
BUCKETS = 32
TARGET_SHARE = Fraction(1, 5)  # of ε, for the shares of the target encoding
SETS = ("mushroom", "adult")
EPSILONS = (0.5, 2.0, 8.0)

Columns = dict[str, Any]


def binary(codes: Any, many: int) -> list[Any]:
    """The bits of a code, the lowest first.

    >>> [bits.tolist() for bits in binary(np.array([0, 1, 2]), 3)]
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    width = max(1, (many - 1).bit_length())
    return [((codes.astype(int) >> bit) & 1).astype(float) for bit in range(width)]


def bucket(column: str, value: Any) -> int:
    """The bucket of a value: a public hash of its column and itself."""
    return zlib.crc32(f"{column}={value}".encode()) % BUCKETS


def _parts(encoding: str, codes: Any, many: int, shares: Any) -> list[Any]:
    """The columns that a column of codes becomes."""
    if encoding == ONE_HOT:
        return [(codes == i).astype(float) for i in range(many)]
    if encoding == BINARY:
        return binary(codes, many)
    if encoding == TARGET:
        return [np.asarray(shares)[codes.astype(int)]]
    return [codes]


def encode(encoding: str, data: Prepared, shares: Any = None) -> tuple[Columns, Domain]:
    """All rows in an encoding, with the public domain of the new columns."""
    columns: Columns = {}
    domain: dict[str, Any] = {}
    hashed = np.zeros((BUCKETS, len(data.y)))
    wide = 0
    for name in data.domain.features():
        kind, values = data.domain[name], data.columns[name]
        if name == data.target or not isinstance(kind, Category) or encoding == NATIVE:
            columns[name], domain[name] = values, kind
            continue
        places = {value: i for i, value in enumerate(kind.categories)}
        codes = np.array([places.get(v, 0) for v in values.tolist()], float)
        many = len(places)
        if encoding == HASHED:
            buckets = np.array([bucket(name, v) for v in kind.categories])
            hashed[buckets[codes.astype(int)], np.arange(len(codes))] += 1
            wide += 1
            continue
        new = _parts(encoding, codes, many, None if shares is None else shares[name])
        top = many - 1 if encoding == CODES else 1
        for i, part in enumerate(new):
            columns[f"{name}_{i}"] = part
            domain[f"{name}_{i}"] = Number(0, max(top, 1), integer=encoding != TARGET)
    if wide:
        for i, part in enumerate(hashed):
            columns[f"bucket_{i}"] = part
            domain[f"bucket_{i}"] = Number(0, wide, integer=True)
    columns[data.target], domain[data.target] = data.y, data.domain[data.target]
    return columns, Domain(domain, target=data.target, rows=data.domain.rows)


def target_shares(
    data: Prepared, train: Any, epsilon: Fraction, ledger: Any
) -> Columns:
    """The share of the first class in each category, from noisy counts."""
    rows = {name: values[train] for name, values in data.columns.items()}
    table = Rows(rows, data.domain, ledger)
    names = [n for n in data.domain.features() if n != data.target]
    asked = [n for n in names if isinstance(data.domain[n], Category)]
    shares: Columns = {}
    for name in asked:
        by = [name, data.target]
        found = stats.count(table, by=by, epsilon=epsilon / len(asked))
        many = len(data.domain.category(name).categories)
        counts = np.maximum(np.reshape(found.value, (many, -1)), 0.0)
        shares[name] = (counts[:, 0] + 1) / (counts.sum(axis=1) + 2)
    return shares


def _cells(quick: bool) -> list[dict[str, Any]]:
    sets, epsilons, folds = (SETS[:1], (2.0,), 1) if quick else (SETS, EPSILONS, 3)
    return [
        {"data": data, "learner": who, "encoding": how, "epsilon": e, "fold": fold}
        for data in sets
        for who in (PAPER, OURS)
        for how in ENCODINGS
        for e in epsilons
        for fold in range(folds)
    ]


def _measure(
    *, data: str, learner: str, encoding: str, epsilon: float, fold: int
) -> dict[str, Any]:
    prepared = prepare(data)
    train = prepared.train(fold)
    facts = ("s2-encodings", data, learner, encoding, epsilon, fold)
    ledger, left, shares = ledger_for(*facts), Fraction(epsilon), None
    if encoding == TARGET:
        cost = left * TARGET_SHARE
        shares, left = target_shares(prepared, train, cost, ledger), left - cost
    columns, domain = encode(encoding, prepared, shares)
    model = _model(learner, encoding, left, seed_for(*facts))
    rows = {name: values[train] for name, values in columns.items()}
    model.fit(Rows(rows, domain, ledger), prepared.target)
    names = model.space_.features
    unseen = np.column_stack([columns[name][~train] for name in names])
    return {
        "accuracy": prepared.score(model.predict(unseen), ~train),
        "columns": len(names),
        "spent": float(ledger.spent().epsilon),
    }


def _model(learner: str, encoding: str, epsilon: Any, seed: int) -> Any:
    kind = models.GradientBoostingClassifier
    if learner == OURS:
        return kind(epsilon=epsilon, random_state=seed)
    make: Callable[..., Any] = boosting_presets.DPBoost
    if encoding == NATIVE:
        make = boosting_presets.PrivCatBoost
    return make(kind, epsilon=epsilon, random_state=seed)


def _tables(results: Results) -> Iterator[ResultTable]:
    yield score_table(
        results,
        "accuracy",
        "columns",
        "spent",
        groups=("data", "learner", "encoding", "epsilon"),
        title="Accuracy by encoding",
        note=f"Target encoding pays a fifth of ε for its shares; {BUCKETS} buckets.",
    )


def _pictures(results: Results) -> Iterator[Picture]:
    sets, learners = results.unique("data"), results.unique("learner")
    figure, axes = panels(len(sets), len(learners), sharey="row")
    for row, data in zip(axes, sets, strict=True):
        for axis, who in zip(row, learners, strict=True):
            some = results.where(data=data, learner=who)
            title = f"{TITLES[data]}, {who}"
            curves(axis, some, "epsilon", "accuracy", "encoding", title=title)
    legend_below(figure, axes, wide=1.8)
    yield Picture("encodings", "Encodings of categories", figure)


def _findings(results: Results) -> Iterator[StudyFinding]:
    for (data, who), some in results.by("data", "learner").items():
        means = {how: g.mean("accuracy") for (how,), g in some.by("encoding").items()}
        ranked = sorted(means, key=lambda how: -means[how])
        near = some.where(encoding=NATIVE).margin(0.01, 3 * len(EPSILONS))
        yield StudyFinding(
            f"(future work of the source) {TITLES[data]}, {who}: native splits beat "
            "one-hot columns",
            "best first: " + ", ".join(f"{how} {means[how]:.3f}" for how in ranked),
            agrees=bool(means[NATIVE] > means[ONE_HOT] - near),
        )


EXPERIMENTS = (
    Experiment(
        name="s2-encodings",
        title=mark("Other encodings of categories"),
        source="S2, section 6, future work",
        shows=mark(
            "Only one-hot columns are compared; other encodings are left for later."
        ),
        cells=_cells,
        measure=_measure,
        repeats=("fold",),
        weight=lambda cell: 1.0 if cell["data"] == "adult" else 0.5,
        tables=_tables,
        pictures=_pictures,
        findings=_findings,
    ),
)
