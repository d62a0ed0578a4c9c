"""A model file is read whole or not at all; a broken one is refused when it is read.

``benchmarks/model_files.py`` does the same for many more changes.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import model_files
import numpy as np
import pandas as pd
import pytest

import discreto as dp
from discreto import models
from discreto.core.documents import CHECKSUM, sealed
from discreto.errors import LedgerError, ParameterError
from discreto.models.base.estimator import PrivateEstimator
from discreto.models.interop import json as persist
from discreto.models.interop import state as _state
from discreto.synthesis import Synthesizer

NAMES = list(model_files.CASES)


def test_every_model_declares_its_state_or_cannot_be_saved() -> None:
    found = {getattr(models, name) for name in models.__all__}
    kinds = {
        k for k in found if isinstance(k, type) and issubclass(k, PrivateEstimator)
    }
    names = {kind.__name__ for kind in kinds} | set(persist.OTHERS)
    assert names - set(_state.STATE) == {
        "KNeighborsClassifier",  # they answer from rows
        "RadiusNeighborsClassifier",
    }
    cases = {json.loads(model_files.saved(name))["model"] for name in NAMES}
    assert cases == set(_state.STATE)


@pytest.mark.parametrize("name", NAMES)
def test_no_change_of_one_digit_is_read_as_another_model(name: str) -> None:
    text = model_files.saved(name)
    found = {
        model_files.verdict(name, one) for one in model_files.flips(text, 40, seed=1)
    }
    assert found <= {"refused", "same"}


@pytest.mark.parametrize("name", NAMES)
def test_damaged_bytes_are_refused(name: str, tmp_path: Path) -> None:
    path, found = tmp_path / "model.json", []
    for raw in model_files.damages(model_files.saved(name), 30, seed=2):
        path.write_bytes(raw)
        try:
            found.append(model_files.says(models.load(path)))
        except ParameterError:
            continue
    assert all(said == model_files.truth(name) for said in found)


@pytest.mark.parametrize("name", NAMES)
def test_broken_structures_are_refused_by_the_table_of_state(name: str) -> None:
    """Every checksum is made to fit, so nothing but the declared state can refuse."""
    refused = 0
    for i, (what, data) in enumerate(model_files.structures(model_files.saved(name))):
        if i % 3:
            continue
        said = model_files.verdict(name, model_files.resealed(data))
        assert said in ("refused", "same"), what
        refused += said == "refused"
    assert refused > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_part_is_refused_in_files_without_a_checksum(name: str) -> None:
    data = json.loads(model_files.saved(name)) | {"discreto_model": 1}
    del data[CHECKSUM]
    assert model_files.verdict(name, json.dumps(data)) == "same"
    optional = {
        key
        for key, part in _state.table_of(persist.loads(json.dumps(data))).items()
        if part.optional and not key.startswith("vote_")
    }
    for key in set(data["state"]) - optional:
        state = {k: v for k, v in data["state"].items() if k != key}
        said = model_files.verdict(name, json.dumps(data | {"state": state}))
        assert said == "refused", key


def test_a_checksum_can_be_neither_dropped_nor_exchanged() -> None:
    data = json.loads(model_files.saved("KMeans"))
    other = json.loads(model_files.saved("GaussianNB"))
    without = {k: v for k, v in data.items() if k != CHECKSUM}
    for changed in (
        without,
        data | {CHECKSUM: other[CHECKSUM]},
        data | {CHECKSUM: None},
        data | {CHECKSUM: "é"},
        data | {"discreto_model": 1},
        sealed(without | {"discreto_model": 1}),
        data | {"discreto_model": True},
        data | {"note": "more"},
    ):
        assert model_files.verdict("KMeans", json.dumps(changed)) == "refused"


def test_a_checksum_holds_when_the_text_is_written_anew() -> None:
    data = json.loads(model_files.saved("NaiveBayes"))
    text = json.dumps(data, indent=2, sort_keys=True, ensure_ascii=True)
    assert model_files.verdict("NaiveBayes", text) == "same"


def _table(domain: dp.Domain, rows: int = 300) -> dp.Table:
    draw, data = np.random.default_rng(3), {}
    for name, column in domain.columns.items():
        if isinstance(column, dp.Category):
            values = np.array(column.categories, dtype=object)
            data[name] = values[draw.integers(len(values), size=rows)]
        elif isinstance(column, dp.Date):
            days = draw.integers(int(column.lower), int(column.upper), rows)
            data[name] = days.astype("datetime64[D]")
        else:
            data[name] = draw.uniform(column.lower, column.upper, rows)
    return dp.Table(data, domain, dp.testing.simulate(3))


WIDE = dp.Category([f"v{i}" for i in range(120)])
MIXED = {
    "a": dp.Number(0, 10, missing=False),
    "b": dp.Number(-1e-9, 1e9, integer=False),
    "c": dp.Category(["p", "q"], missing=False),
    "w": WIDE,
}
DOMAINS = {
    "two classes": dp.Domain(MIXED | {"y": dp.Category(["n", "y"])}, target="y"),
    "one class": dp.Domain(MIXED | {"y": dp.Category(["n"])}, target="y"),
    "classes of numbers": dp.Domain(MIXED | {"y": dp.Category([1, 2, 5])}, target="y"),
    "truths": dp.Domain({"a": dp.Number(0, 1), "y": dp.Boolean()}, target="y"),
    "categories": dp.Domain(
        {"c": dp.Category(["p", "q"]), "y": dp.Category(["n", "y"])}, target="y"
    ),
    "many classes": dp.Domain(
        {"a": dp.Number(0, 1), "y": dp.Category(list(range(12)))}, target="y"
    ),
    "dates": dp.Domain(
        {
            "d": dp.Date("2020-01-01", "2024-12-31"),
            "a": dp.Number(0, 1),
            "y": dp.Category(["n", "y"]),
        },
        target="y",
    ),
    "public rows": dp.Domain(
        MIXED | {"y": dp.Category(["n", "y"])},
        target="y",
        neighbours="replace",
        rows=300,
    ),
    "people": dp.Domain(
        MIXED | {"y": dp.Category(["n", "y"]), "p": dp.Category(list(range(50)))},
        target="y",
        person="p",
        rows_per_person=3,
    ),
}
CLASSIFIERS = [
    models.AutoClassifier,
    models.CategoricalNB,
    models.CellNeighborsClassifier,
    models.GaussianNB,
    models.GradientBoostingClassifier,
    models.LogisticRegression,
    models.NaiveBayes,
]


def _again(model: Any) -> None:
    """Check that a fitted model is read back, by files and for predictions."""
    text = persist.dumps(model)
    for values in (True, False):
        assert model_says(persist.loads(text, values=values)) == model_says(model)


def model_says(model: Any) -> list[Any]:
    if isinstance(model, Synthesizer):
        return [str(model.sample(20, random_state=1).to_dict("list"))]
    space, said = model.space_, []
    rows = {}
    for name in space.features:
        column = space.domain[name]
        if isinstance(column, dp.Category):
            rows[name] = np.resize(np.array(column.categories, dtype=object), 40)
        elif isinstance(column, dp.Date):
            days = np.linspace(column.lower, column.upper, 40).astype(int)
            rows[name] = days.astype("datetime64[D]")
        else:
            rows[name] = np.linspace(column.lower, column.upper, 40)
    for way in ("predict", "predict_proba", "transform"):
        if hasattr(model, way):
            said.append(np.asarray(getattr(model, way)(rows)).tolist())
    return [*said, str(model.privacy_)]


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("epsilon", "delta"), [("0.01", 0), ("1", "1e-6"), ("100", 0)])
def test_classifiers_are_read_back(kind, domain, epsilon, delta) -> None:
    known = DOMAINS[domain]
    drop = {models.CategoricalNB: dp.Number, models.GaussianNB: dp.Category}.get(kind)
    keep = [
        n
        for n, c in known.columns.items()
        if n in (known.target, known.person) or not (drop and isinstance(c, drop))
    ]
    features = [n for n in keep if n not in (known.target, known.person)]
    if not features:
        pytest.skip("this model takes none of these columns")
    if kind is models.GaussianNB and known.person:
        pytest.skip("the column of persons is a Category here")
    _again(kind(epsilon=epsilon, delta=delta).fit(_table(known.select(keep))))


NUMBERS = dp.Domain(
    {"a": dp.Number(0, 10), "c": dp.Category(["p", "q"]), "y": dp.Number(0, 9)},
    target="y",
)
PLAIN = dp.Domain({"a": dp.Number(0, 10), "y": dp.Category(["n", "y"])}, target="y")
OTHERS: dict[str, Any] = {
    "linear auto": (lambda e: models.LinearRegression(epsilon=e), NUMBERS),
    "linear weighted": (
        lambda e: models.LinearRegression(epsilon=e, method="weighted"),
        NUMBERS,
    ),
    "linear functional": (
        lambda e: models.LinearRegression(
            epsilon=e, method="functional", fit_intercept=False
        ),
        NUMBERS,
    ),
    "auto": (lambda e: models.AutoRegressor(epsilon=e), NUMBERS),
    "trees": (lambda e: models.GradientBoostingRegressor(epsilon=e), NUMBERS),
    "poisson": (
        lambda e: models.GradientBoostingRegressor(epsilon=e, loss="poisson"),
        NUMBERS,
    ),
    "quantile": (
        lambda e: models.GradientBoostingRegressor(
            epsilon=e, loss="quantile", quantile=0.9
        ),
        NUMBERS,
    ),
    "kmeans": (lambda e: models.KMeans(4, epsilon=e), NUMBERS.with_(target=None)),
    "kmeans from": (
        lambda e: models.KMeans(2, epsilon=e, init=[[1.0], [9.0]]),
        dp.Domain({"a": dp.Number(0, 10)}),
    ),
    "cmeans": (lambda e: models.FuzzyCMeans(4, epsilon=e), NUMBERS.with_(target=None)),
    "textbook Bayes": (lambda e: models.NaiveBayes(epsilon=e, shrink=False), PLAIN),
    "priors": (lambda e: models.NaiveBayes(epsilon=e, priors=[0.3, 0.7]), PLAIN),
    "gradient": (
        lambda e: models.LogisticRegression(epsilon=e, method="gradient"),
        PLAIN,
    ),
    "functional": (
        lambda e: models.LogisticRegression(epsilon=e, method="functional"),
        PLAIN,
    ),
    "tables": (lambda e: models.CellNeighborsClassifier(3, 2, epsilon=e), PLAIN),
    "weights of classes": (
        lambda e: models.GradientBoostingClassifier(epsilon=e, class_weight=[1, 3]),
        PLAIN,
    ),
    "synthesizer": (lambda e: Synthesizer(epsilon=e), NUMBERS),
    "tree synthesizer": (lambda e: Synthesizer(epsilon=e, structure="tree"), PLAIN),
    "one column": (lambda e: Synthesizer(epsilon=e), dp.Domain({"a": dp.Number(0, 1)})),
    "labels": (lambda e: Synthesizer(epsilon=e, labels="model"), PLAIN),
    "labels of numbers": (lambda e: Synthesizer(epsilon=e, labels="model"), NUMBERS),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("epsilon", ["0.01", "1", "100"])
def test_other_models_are_read_back(name: str, epsilon: str) -> None:
    make, domain = OTHERS[name]
    _again(make(epsilon).fit(_table(domain)))


def test_models_of_batches_weights_and_selections_are_read_back() -> None:
    table, lines = _table(PLAIN), _table(NUMBERS)
    for bayes in (models.NaiveBayes(epsilon=1), models.GaussianNB(epsilon=1)):
        _again(bayes.partial_fit(table))
        _again(bayes.partial_fit(table))
    line = models.LinearRegression(epsilon=1, method="weighted")
    _again(line.partial_fit(lines).partial_fit(lines))
    for method in ("all", "hidden"):
        kinds = [models.NaiveBayes(epsilon=1), models.LogisticRegression(epsilon=1)]
        _again(models.select(kinds, table, epsilon=2, method=method))
    frame = pd.DataFrame({"a": np.linspace(0, 10, 100)})
    many = np.where(frame["a"] > 5, "y", "n")
    kept = dp.testing.simulate(1)
    model = models.NaiveBayes(epsilon=1, domain=PLAIN, ledger=kept)
    _again(model.fit(frame, many))
    _again(model.fit(frame, many, sample_weight=np.ones(100)))
    arrays = models.LogisticRegression(
        epsilon=1, bounds=(0, 10), classes=["n", "y"], ledger=kept
    )
    _again(arrays.fit(frame.to_numpy(), many))
    clusters = models.KMeans(2, epsilon=1).set_output(transform="pandas")
    _again(clusters.fit(_table(dp.Domain({"a": dp.Number(0, 1)}))))


def test_numbers_that_are_not_finite_are_refused_in_files_only() -> None:
    """A model that is not released may have any numbers: reading it must not tell."""
    data = json.loads(model_files.saved("LogisticRegression"))
    coefficients = data["state"]["coef_"]["array"]
    data["state"]["coef_"]["array"] = [{"number": "nan"}] * len(coefficients)
    del data[CHECKSUM]
    text = json.dumps(sealed(data))
    with pytest.raises(ParameterError, match="coef_ of LogisticRegression"):
        persist.loads(text)
    assert np.isnan(persist.loads(text, values=False).coef_).all()


def test_files_without_a_checksum_are_read_with_a_warning(tmp_path: Path) -> None:
    files = Path(__file__).parents[1] / "migration" / "files"
    with pytest.warns(UserWarning, match="no checksum"):
        old = models.load(files / "GaussianNB.json")
    models.save(old, tmp_path / "new.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = models.load(tmp_path / "new.json", models.GaussianNB)
    assert (again.var_ == old.var_).all()


def test_a_file_holds_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(model_files.saved("KMeans"))
    with pytest.raises(ParameterError, match="holds a KMeans, not a GaussianNB"):
        models.load(tmp_path / "m.json", models.GaussianNB)
    with pytest.raises(ParameterError, match="holds a KMeans, not a Synthesizer"):
        Synthesizer.load(tmp_path / "m.json")


@pytest.fixture
def paid(tmp_path: Path) -> tuple[dp.Ledger, Path]:
    ledger = dp.Ledger(tmp_path / "t.ledger", epsilon=50)
    case = model_files.CASES["GaussianNB"]
    models.save(
        case.make().fit(model_files.table_of(case, ledger)), tmp_path / "m.json"
    )
    return ledger, tmp_path / "m.json"


def test_a_ledger_confirms_what_it_paid_for(paid) -> None:
    ledger, path = paid
    assert models.load(path, ledger=ledger).privacy_.receipt.seq == 1


def _edit(path: Path, *changes: tuple[str, Any]) -> None:
    """Change facts of the privacy of a file, and make the checksum fit."""
    data = json.loads(path.read_text())
    del data[CHECKSUM]
    for place, value in changes:
        part = data["state"]["privacy_"]["privacy"]
        *way, last = place.split(".")
        for key in way:
            part = part[key]
        part[last] = value
    path.write_text(json.dumps(sealed(data)))


CHEAP = {"epsilon": "1/10"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([("cost", CHEAP)], "paid ε 5 .*says ε 0.1"),
        ([("receipt.cost", CHEAP)], "paid ε 5"),
        ([("cost", CHEAP), ("receipt.cost", CHEAP)], "paid ε 5 .*says ε 0.1"),
        ([("receipt.hash", "0" * 64)], "did not pay"),
        ([("receipt.seq", 2)], "did not pay"),
        ([("receipt.seq", 0)], "did not pay"),
    ],
)
def test_a_forged_cost_or_receipt_is_refused(paid, changes, why: str) -> None:
    ledger, path = paid
    _edit(path, *changes)
    assert models.load(path)  # the file alone cannot know
    with pytest.raises(LedgerError, match=why):
        models.load(path, ledger=ledger)


def test_a_model_of_another_ledger_or_of_a_simulation_is_refused(paid) -> None:
    ledger, path = paid
    other = dp.Ledger(epsilon=9)
    with pytest.raises(LedgerError, match="did not pay"):
        models.load(path, ledger=other)
    path.write_text(model_files.saved("GaussianNB"))
    with pytest.raises(LedgerError, match="did not pay"):
        models.load(path, ledger=ledger)


def test_one_of_several_models_of_an_entry_is_not_confirmed(paid) -> None:
    ledger, path = paid
    case = model_files.CASES["GaussianNB"]
    table = model_files.table_of(case, ledger)
    own = table.paid_by(table.reserve(dp.Cost.of(2), "two models"))
    models.save(models.GaussianNB(epsilon=1).fit(own), path)
    with pytest.raises(LedgerError, match="one of several"):
        models.load(path, ledger=ledger)
