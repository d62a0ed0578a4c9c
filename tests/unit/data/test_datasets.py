"""Data sets: where they come from, what is known of them, and clear refusals."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.datasets

import discreto as dp
from discreto.data import datasets
from discreto.data.datasets import _catalogue, _sources
from discreto.errors import DomainError, MissingExtraError, ParameterError

CARRIED = ["breast_cancer", "diabetes", "digits", "iris", "wine"]


def no_network(**options: object) -> None:
    raise AssertionError("OpenML was asked")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data folder and no network."""
    monkeypatch.setenv("DISCRETO_DATA", str(tmp_path))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", no_network)
    return tmp_path


class TestSheets:
    @pytest.mark.parametrize("name", sorted(_catalogue.CATALOGUE))
    def test_every_set_has_a_public_domain(self, name: str) -> None:
        sheet = _catalogue.sheet_of(name)
        assert sheet.target == sheet.domain.target
        assert sheet.domain.features()
        assert sheet.about
        assert sheet.domain.rows is None
        assert not [
            c for c in sheet.domain.columns.values() if isinstance(c, dp.Opaque)
        ]

    def test_sheets_hold_facts_and_no_rows(self) -> None:
        known = {"dataset", "source", "licence", "rows", "target", "columns"}
        facts = {"type", "lower", "upper", "integer", "unit", "categories", "nullable"}
        for file in (files("discreto.data.datasets") / "domains").iterdir():
            data = json.loads(file.read_text(encoding="utf-8"))
            assert set(data) <= known
            for column in data["columns"].values():
                assert set(column) <= facts | {"origin"}
                assert column["origin"] in ("documentation", "guess", "data")

    def test_no_sheet_is_left_over(self) -> None:
        stored = {
            f.name[:-5] for f in (files("discreto.data.datasets") / "domains").iterdir()
        }
        used = {entry.sheet or name for name, entry in _catalogue.CATALOGUE.items()}
        assert stored == used


class TestCarried:
    @pytest.mark.parametrize("name", CARRIED)
    def test_values_fit_the_domain(self, name: str) -> None:
        data = datasets.load(name)
        assert data.source == "scikit-learn"
        assert list(data.columns) == list(data.domain)
        for column, values in data.columns.items():
            spec = data.domain[column]
            if isinstance(spec, dp.Category):
                assert set(values.tolist()) <= set(spec.categories)
            else:
                assert spec.lower <= values.min() <= values.max() <= spec.upper

    def test_columns_are_in_the_order_of_the_source(self) -> None:
        """A bound that belongs to another column would be silent otherwise."""
        raw = sklearn.datasets.load_breast_cancer()
        names = datasets.load("breast_cancer").domain.features()
        kinds = {"mean": "mean", "error": "error", "worst": "worst"}
        for ours, theirs in zip(names, raw.feature_names, strict=True):
            kind, _, what = ours.partition("_")
            assert set(f"{kinds[kind]} {what.replace('_', ' ')}".split()) == set(
                str(theirs).split()
            )
        wine = datasets.load("wine").domain.features()
        assert wine[0] == "alcohol"
        assert wine[-1] == "proline"

    def test_frame_and_parts(self) -> None:
        iris = datasets.load("iris")
        assert iris.frame.shape == (150, 5)
        assert list(iris.X) == iris.domain.features()
        assert iris.y[0] == "setosa"
        assert "iris: 150 rows, 4 features" in repr(iris)
        assert not iris.synthetic

    def test_a_table_takes_it(self) -> None:
        iris = datasets.load("iris")
        table = dp.Table(iris.columns, iris.domain, dp.Ledger(epsilon=1))
        assert dp.stats.count(table, epsilon=1).cost == dp.Cost.of(1)

    def test_frames_need_pandas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        iris = datasets.load("iris")
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingExtraError, match=r"\[datasets\]"):
            iris.frame


class TestRows:
    def test_some_rows_by_public_coins(self) -> None:
        one, again = (datasets.load("iris", rows=40, random_state=3) for _ in range(2))
        other = datasets.load("iris", rows=40, random_state=4)
        assert one.rows == 40
        assert (one.y == again.y).all()
        assert not np.array_equal(
            one.columns["sepal_width"], other.columns["sepal_width"]
        )
        assert datasets.load("iris", rows=9999).rows == 150

    @pytest.mark.parametrize("rows", [0, -3])
    def test_impossible_numbers(self, rows: int) -> None:
        with pytest.raises(ParameterError, match="rows must be"):
            datasets.load("iris", rows=rows)


class TestFolder:
    def test_a_set_of_your_own(self, alone: Path) -> None:
        pq.write_table(
            pa.table({"a": [1, None], "b": ["x", "y"]}), alone / "own.parquet"
        )
        domain = {
            "target": "b",
            "columns": {
                "a": {"type": "numeric", "lower": 0, "upper": 2, "nullable": True},
                "b": {"type": "categorical", "categories": ["x", "y"]},
            },
        }
        (alone / "own.domain.json").write_text(json.dumps(domain))
        own = datasets.load("own")
        assert "own" in datasets.names()
        assert own.source == "the data folder"
        assert np.isnan(own.columns["a"][1])
        assert own.y.tolist() == ["x", "y"]

    def test_a_domain_without_a_target(self, alone: Path) -> None:
        text = '{"columns": {"a": {"type": "numeric", "lower": 0, "upper": 1}}}'
        (alone / "own.domain.json").write_text(text)
        with pytest.raises(DomainError, match="target"):
            datasets.load("own")

    def test_a_table_that_lacks_a_column(self, alone: Path) -> None:
        pq.write_table(pa.table({"glucose": [1]}), alone / "pima.parquet")
        with pytest.raises(ParameterError, match="lacks the column 'pregnancies'"):
            datasets.load("pima")

    def test_a_broken_file(self, alone: Path) -> None:
        (alone / "pima.parquet").write_bytes(b"not parquet")
        with pytest.raises(MissingExtraError, match="cannot be read"):
            datasets.load("pima", download=False)

    def test_the_real_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Our domains are those of the folder, and every set of it loads."""
        monkeypatch.delenv("DISCRETO_DATA")
        where = _sources.folder()
        if where is None:
            pytest.skip("no data folder: set DISCRETO_DATA or add ../shared/data")
        for path in sorted(where.glob("*.domain.json")):
            name = path.name.removesuffix(".domain.json")
            data = datasets.load(name, rows=500, download=False)
            assert data.rows == 500
            assert data.source == "the data folder"
            assert data.domain == _catalogue.sheet_of(name).domain


class TestOpenML:
    def fake(self, monkeypatch: pytest.MonkeyPatch, data: object, y: object) -> None:
        answer = SimpleNamespace(data=data, target=y)
        monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)

    def test_pima_gets_our_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        theirs = ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"]
        data = pd.DataFrame([[6, 148, 72, 35, 0, 33.6, 0.6, 50]] * 2, columns=theirs)
        y = pd.Series(["tested_positive", "tested_negative"], dtype="category")
        self.fake(monkeypatch, data, y)
        pima = datasets.load("pima")
        assert pima.source == "OpenML"
        assert pima.y.tolist() == ["positive", "negative"]
        assert pima.columns["glucose"].tolist() == [148, 148]
        assert pima.columns["bmi"].tolist() == [33.6, 33.6]

    def test_absent_values_get_a_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        domain = _catalogue.sheet_of("mushroom").domain
        features = domain.features()
        row = {name: domain.category(name).categories[0] for name in features}
        data = pd.DataFrame([row, row | {"stalk_root": None}])
        data.columns = [name.replace("_", "-") for name in features]
        self.fake(monkeypatch, data.astype("category"), pd.Series(["e", "p"]))
        found = datasets.load("mushroom")
        assert found.columns["stalk_root"][1] == "?"

    def test_another_version_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake(monkeypatch, pd.DataFrame({"a": [1]}), pd.Series(["x"]))
        with pytest.raises(MissingExtraError, match="another version"):
            datasets.load("pima")

    def test_every_reason_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(**options: object) -> None:
            raise OSError("secret detail")

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", broken)
        with pytest.raises(MissingExtraError) as caught:
            datasets.load("year_prediction_msd")
        text = str(caught.value)
        for part in ("no year_prediction_msd.parquet", "OpenML does not answer"):
            assert part in text
        assert "year_prediction_msd_synthetic" in text
        assert "DISCRETO_DATA" in text
        assert "secret" not in text

    def test_no_download_without_leave(self) -> None:
        with pytest.raises(MissingExtraError, match="not wanted"):
            datasets.load("pima", download=False)


class TestMadeUp:
    def test_shape_and_signal(self) -> None:
        data = datasets.load("year_prediction_msd_synthetic", rows=4000)
        assert data.synthetic
        assert len(data.domain.features()) == 90
        for name, values in data.columns.items():
            spec = data.domain.number(name)
            assert spec.lower <= values.min() <= values.max() <= spec.upper
        assert 1990 < data.y.mean() < 2005
        # Features that move together with the year, or nothing could be learned.
        moved = [abs(np.corrcoef(data.columns[f], data.y)[0, 1]) for f in data.X]
        assert max(moved) > 0.2

    def test_same_seed_same_rows(self) -> None:
        one, again, other = (
            datasets.load("year_prediction_msd_synthetic", rows=50, random_state=s).y
            for s in (1, 1, 2)
        )
        assert (one == again).all()
        assert (one != other).any()


def test_unknown_names() -> None:
    with pytest.raises(ParameterError, match="Known: abalone, adult"):
        datasets.load("nothing")


def test_scikit_learn_takes_the_call_to_openml(monkeypatch, tmp_path):
    """The real fetch_openml checks its arguments; only the network is cut."""
    from urllib.error import URLError

    from sklearn.datasets import _openml

    def cut(*_, **__):
        raise URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", _openml.fetch_openml)
    monkeypatch.setattr(_openml, "urlopen", cut)
    monkeypatch.setenv("DISCRETO_DATA", str(tmp_path))  # an empty folder
    with pytest.raises(MissingExtraError, match="URLError"):
        datasets.load("abalone", download=True)


def test_the_folder_beside_a_checkout_is_found(monkeypatch):
    monkeypatch.delenv("DISCRETO_DATA", raising=False)
    beside = Path(__file__).parents[4] / "shared" / "data"
    if not beside.is_dir():
        pytest.skip("no data folder: set DISCRETO_DATA or add ../shared/data")
    assert _sources.folder() == beside
