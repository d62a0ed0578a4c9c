"""A release: its numbers, its JSON form, its text."""

from __future__ import annotations

import json

import numpy as np
import pytest

import discreto as dp
from discreto.errors import ParameterError
from discreto.release.release import Release
from discreto.release.text import show_key
from discreto.testing import simulate

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 120, unit="years"),
        "sex": dp.Category(("f", "m"), missing=False),
        "flag": dp.Boolean(),
    }
)
DATA = {"age": [40, 50, 60, 20], "sex": ["f", "m", "f", "m"], "flag": [1, 0, 0, 1]}


@pytest.fixture
def table() -> dp.Table:
    return dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=100))


def everything(table: dp.Table) -> list[Release]:
    ask, stats = {"epsilon": 1}, dp.stats
    return [
        stats.count(table, **ask),
        stats.count(table, by=["sex", "flag"], **ask),
        stats.sum(table, "age", **ask),
        stats.mean(table, "age", by="sex", **ask),
        stats.std(table, "age", **ask),
        stats.histogram(table, ["sex", "age"], bins=2, **ask),
        stats.mode(table, "sex", **ask),
        stats.mode(table, "flag", **ask),
        stats.quantile(table, "age", ["0.25", "0.5"], **ask),
        stats.max(table, "age", **ask),
        stats.bounds(table, "age", **ask),
    ]


def test_json_round_trip(table: dp.Table) -> None:
    for release in everything(table):
        back = Release.from_dict(json.loads(release.to_json()))
        assert (back.label, back.keys, back.unit) == (
            release.label,
            release.keys,
            release.unit,
        )
        for name in ("value", "low", "high"):
            assert np.array_equal(getattr(back, name), getattr(release, name))
        assert back.cost == release.cost
        assert back.neighbours == "add-remove"
        assert release.to_dict()["receipt"]["seq"] == release.receipt.seq
        assert str(back) == str(release)


def test_numbers(table: dp.Table) -> None:
    release = dp.stats.mean(table, "age", epsilon="0.5")
    assert float(release) == release.value
    assert release.error == pytest.approx((release.high - release.low) / 2)
    assert release.epsilon == 0.5
    assert not release.simulated
    several = dp.stats.count(table, by="sex", epsilon=1)
    assert np.asarray(several).shape == (2,)
    assert [key for key, _ in several.items()] == ["f", "m"]


def test_printing() -> None:
    even = Release("mean of age", 38.62, 38.2, 39.04, unit="years", cost=dp.Cost.of(1))
    assert str(even) == "38.62 ± 0.42 years (95 %), ε 1"
    uneven = Release("mean", 0.5, 0.0, 3.0, cost=dp.Cost.of("0.1"))
    assert str(uneven) == "0.5 [0.0, 3.0] (95 %), ε 0.1"
    whole = Release("count", 100, 97, 103, cost=dp.Cost.of(1))
    assert str(whole) == "100 ± 3 (95 %), ε 1"
    mode = Release("mode", "red", 0, 4, note="at most 4 rows short", cost=dp.Cost.of(1))
    assert str(mode) == "red (95 %), ε 1; at most 4 rows short"
    many = Release("h", np.arange(50), np.arange(50), np.arange(50), tuple(range(50)))
    assert str(many).splitlines()[-1] == "  ... 10 more"
    assert show_key(("a", 0.25)) == "a × 0.25"
    assert repr(whole) == "Release(count: 100 ± 3 (95 %), ε 1)"


def test_simulations_say_so() -> None:
    table = dp.Table(DATA, DOMAIN, simulate(1))
    release = dp.stats.count(table, epsilon=1)
    assert release.simulated
    assert str(release).startswith("SIMULATED ")
    assert release.to_dict()["receipt"]["simulated"] is True


def test_everything_prints(table: dp.Table) -> None:
    for release in everything(table):
        assert "ε 1" in str(release)
        assert release.label in repr(release)


class TestUse:
    """What people do with an answer in a notebook or a spreadsheet."""

    def by_group(self) -> Release:
        keys = tuple((a, b) for a in "FM" for b in ("red", "blue"))
        value = np.array([10.0, 20.0, 30.0, 40.0])
        return Release(
            "count", value, value - 1, value + 1, keys, names=("sex", "colour")
        )

    def test_a_group_is_found_by_its_key(self):
        found = self.by_group()["M", "red"]
        assert (found.value, found.low, found.high) == (30.0, 29.0, 31.0)
        assert found.label == "count: M × red"
        assert found.keys == ()

    def test_a_wrong_key_is_told_what_there_is(self):
        with pytest.raises(ParameterError, match="Did you mean 'M × red'"):
            self.by_group()["M", "rad"]
        with pytest.raises(ParameterError, match="it is one number"):
            Release("count", 1.0, 0.0, 2.0)["F"]

    def test_keys_are_not_mixed_up(self):
        """1, True and "1" are three keys, though Python takes two for equal."""
        counts = np.arange(3.0)
        mixed = Release("count", counts, counts, counts, (1, True, "1"))
        assert [float(mixed[key]) for key in (1, True, "1")] == [0, 1, 2]

    def test_it_is_a_mapping(self):
        found = self.by_group()
        assert list(found) == list(found.keys)
        assert len(found) == 4
        assert ("F", "red") in found
        assert ("F", "green") not in found
        assert bool(Release("count", 0.0, 0.0, 1.0))

    def test_values_compare(self):
        count = Release("count", 5.0, 3.0, 7.0)
        assert count > 4
        assert not count < 4
        assert count >= 5
        assert count <= 5
        assert count == 5
        assert (self.by_group() > 15).tolist() == [False, True, True, True]
        assert count.covers(3)
        assert not count.covers(8)

    def test_releases_are_equal_when_all_of_them_is(self):
        assert self.by_group() == self.by_group()
        assert self.by_group() != self.by_group()["F", "red"]
        assert len({self.by_group(), self.by_group()}) == 1

    def test_formats(self):
        count = Release("count", 5.25, 3.0, 7.0)
        assert f"{count:.1f}" == "5.2"
        assert f"{count}" == str(count)
        assert f"{self.by_group():.0f}".startswith("F × red: 10, F × blue: 20")

    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_frames(self, library):
        frame = pytest.importorskip("narwhals").from_native(
            self.by_group().to_frame(library), eager_only=True
        )
        assert frame.columns == ["sex", "colour", "value", "low", "high"]
        assert frame["value"].to_list() == [10, 20, 30, 40]
        assert frame["colour"].to_list() == ["red", "blue"] * 2

    def test_a_frame_of_mixed_keys_has_texts(self):
        counts = np.arange(2.0)
        mixed = Release("count", counts, counts, counts, (1, "(missing)"))
        assert mixed.columns()["key"] == ["1", "(missing)"]
        assert mixed.to_frame("polars").height == 2

    def test_an_unknown_library_is_refused(self):
        with pytest.raises(ParameterError, match="pandas, polars, pyarrow"):
            self.by_group().to_frame("excel")

    def test_csv_and_no_formulas(self, tmp_path):
        evil = Release("count", np.ones(1), np.ones(1), np.ones(1), ("=1+1",))
        assert evil.to_csv(tmp_path / "a.csv") == (tmp_path / "a.csv").read_text()
        assert "'=1+1,1.0,1.0,1.0" in evil.to_csv()

    def test_excel(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl")
        self.by_group().to_excel(tmp_path / "a.xlsx")
        book = openpyxl.load_workbook(tmp_path / "a.xlsx")
        rows = list(book["release"].values)
        assert rows[0] == ("sex", "colour", "value", "low", "high")
        assert rows[4] == ("M", "blue", 40, 39, 41)
        assert ("what", "count") in list(book["about"].values)

    def test_matrix(self):
        assert self.by_group().matrix().tolist() == [[10, 20], [30, 40]]
        odd = Release("count", np.ones(2), np.ones(2), np.ones(2), (("a", 1), ("b", 2)))
        with pytest.raises(ParameterError, match="no full crossing"):
            odd.matrix()

    def test_answers_know_what_their_keys_are(self):
        domain = dp.Domain({"x": dp.Number(0, 1), "g": dp.Category(["a", "b"])})
        table = dp.Table(
            {"x": [0.5] * 9, "g": ["a"] * 9}, domain, dp.testing.simulate()
        )
        mean = dp.stats.mean(table, "x", by="g", epsilon=1)
        assert list(mean.columns()) == ["g", "value", "low", "high"]
        histogram = dp.stats.histogram(table, ["g", "x"], epsilon=1)
        assert list(histogram.columns())[:2] == ["g", "x"]
        again = Release.from_dict(json.loads(mean.to_json()))
        assert again.names == ("g",)


def test_no_keys_at_all_can_be_printed() -> None:
    domain = dp.Domain({"town": dp.OpenText(), "x": dp.Number(0, 1)})
    table = dp.Table(
        {"town": ["a"], "x": [1.0]}, domain, dp.Ledger(epsilon=1, delta="1e-6")
    )
    found = dp.stats.unknown_keys(table, "town", epsilon="0.5", delta="1e-9")
    assert not found.keys
    assert "town" in str(found)
    assert "town" in found._repr_html_()


def test_counts_are_whole_numbers_in_every_export(tmp_path):
    keys = ("a", "b", "c")
    value = np.array([5275.000000000001, 2.2737367544323206e-13, 7.6])
    made = dp.Release("table", value, value - 2.5, value + 2.5, keys, counts=True)
    text = "key,value,low,high\na,5275,5272,5278\nb,0,-3,3\nc,8,5,11\n"
    assert made.to_csv() == text
    assert str(made.to_frame("pyarrow").schema.field("value").type) == "int64"
    data = json.loads(made.to_json())
    assert (data["value"], data["low"], data["high"]) == (
        *([5275, 0, 8], [5272, -3, 5]),
        [5278, 3, 11],
    )
    again = dp.Release.from_dict(data)
    assert again == made
    assert again.counts
    one = made["c"]
    assert one.columns() == {"value": [8], "low": [5], "high": [11]}
    assert one.value == 7.6
    assert json.loads(one.to_json())["value"] == 8
    mean = dp.Release("mean", 5.0, 4.25, 5.75)
    assert mean.to_csv() == "value,low,high\n5.0,4.25,5.75\n"


def test_statistics_that_count_say_so():
    columns = {"a": dp.Category(["x", "y"]), "b": dp.Number(0, 9), "t": dp.OpenText()}
    rows = {"a": ["x", "y"] * 500, "b": [1.5, 2.5] * 500, "t": ["u", "v"] * 500}
    domain = dp.Domain(columns)
    table = dp.Table(rows, domain, dp.testing.simulate(0))
    asked = [
        dp.stats.count(table, epsilon=1),
        dp.stats.count(table.where("b > 2"), by="a", epsilon=1),
        dp.stats.histogram(table, "b", bins=3, epsilon=1),
        dp.stats.crosstab(table.with_columns(c="b > 2"), ["a", "c"], epsilon=1),
        dp.stats.top(table, "a", epsilon=1),
        dp.stats.unknown_keys(table, "t", epsilon=1, delta=1e-6),
    ]
    for release in asked:
        numbers = release.columns()
        parts = [numbers[name] for name in ("value", "low", "high")]
        assert {type(one) for part in parts for one in part} == {int}, release.label
    assert not dp.stats.mean(table, "b", epsilon=1).counts
