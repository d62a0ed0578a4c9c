"""Parameters are read once, in one place, into what they mean."""

from __future__ import annotations

from datetime import date
from enum import Enum

import numpy as np
import pytest

import discreto as dp
from discreto import federated, stats
from discreto.data.engines.database import DatabaseEngine
from discreto.data.engines.executor import ExecutorEngine
from discreto.errors import DomainError, ParameterError
from discreto.federated.guarantee import client_level
from discreto.federated.messages import Terms
from discreto.models import LogisticRegression, select
from discreto.session.parameters import MANY, choice, number, seed, truth, whole
from discreto.session.plan import guess_rows
from discreto.testing import simulate


@pytest.mark.parametrize("value", [3, np.int64(3), np.int8(3), np.uint16(3)])
def test_whole_numbers_become_those_of_python(value: object) -> None:
    found = whole(value, "k")
    assert (found, type(found)) == (3, int)


@pytest.mark.parametrize(
    "value", [True, np.True_, 3.0, np.float64(3), "3", None, -1, 0, 10, float("nan")]
)
def test_what_is_no_whole_number_within_its_ends_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="KMeans: k must be a whole number"):
        whole(value, "k", most=9, of="KMeans")


def test_a_refusal_says_which_ends_there_are() -> None:
    with pytest.raises(ParameterError, match=r"from 1 up\. Got 0\.$"):
        whole(0, "rows", most=MANY)
    with pytest.raises(ParameterError, match=r"from 2 to 9\. Got 10\.$"):
        whole(10, "rows", least=2, most=9)
    with pytest.raises(ParameterError, match=r"Got '[y]{76}\.\.\.\.$"):
        whole("y" * 500, "rows")


def test_other_readers_refuse_in_the_same_words() -> None:
    assert (number(1e-3, "a", 0, 1), truth(np.True_, "b")) == (1e-3, True)
    assert (choice("x", "c", "xy"), seed(None), seed(np.int64(4))) == ("x", None, 4)
    for refused, words in (
        (lambda: number(float("inf"), "a", 0, 1e999), "a must be a number"),
        (lambda: number(10**400, "a", 0, 1e999), "a must be a number"),
        (lambda: truth("False", "b"), "b must be True or False"),
        (lambda: choice("z", "c", "xy"), "c must be one of x, y"),
        (lambda: seed("1"), "random_state must be None, a whole number"),
    ):
        with pytest.raises(ParameterError, match=words):
            refused()


COLUMNS = {"c": dp.Category(["a", "b"], missing=False), "x": dp.Number(0, 1)}


def table() -> dp.Table:
    rows = {"c": ["a", "b", "b"], "x": [0.1, 0.5, 0.9]}
    return dp.Table(rows, dp.Domain(COLUMNS, target="c"), simulate(0))


def test_whole_numbers_of_numpy_are_taken_and_written_as_pythons() -> None:
    shown = stats.top(table(), "c", np.int64(1), epsilon=1)
    assert shown.to_json()
    assert type(federated.Policy(most_steps=np.int64(5)).most_steps) is int
    assert type(guess_rows(dp.Domain(COLUMNS), np.int64(5))) is int
    terms = Terms.of(1, "1e-5", np.int64(3))
    assert type(terms.rounds) is int


def test_texts_and_numbers_of_numpy_are_as_good_as_pythons() -> None:
    names, texts = np.array(["c", "x"]), np.array(["a", "b"])
    columns = {
        names[0]: dp.Category(texts, missing=False),
        names[1]: dp.Number(np.int64(0), np.int8(1)),
    }
    domain = dp.Domain(columns, target=names[0])
    assert domain.fingerprint == table().domain.fingerprint
    assert {type(one) for one in (*domain, domain.target)} == {str}
    assert dp.Category(np.array([1, 2])) == dp.Category([1, 2])
    other = dp.Category(["a"], aliases={np.str_("A"): np.str_("a")})
    assert {type(one) for pair in other.aliases for one in pair} == {str}
    for wrong in ([], ([],), None):
        with pytest.raises(DomainError, match="no category"):
            dp.Category(["a"], aliases={"A": wrong})
    rows = dp.Table({"c": texts, "x": np.array([0, 1])}, domain, simulate(0))
    by = stats.mean(rows, names[1], by=names[:1], epsilon=1)
    assert by.keys == ("a", "b")
    assert stats.histogram(rows, "x", bins=np.int64(3), epsilon=1).value.shape == (3,)
    cuts = stats.histogram(rows, "x", bins={"x": np.array([0.2, 0.4])}, epsilon=1)
    assert cuts.value.shape == (3,)
    assert stats.quantile(rows, "x", np.array([0.2, 0.4]), epsilon=1).keys == (0.2, 0.4)
    assert LogisticRegression(epsilon=1).fit(rows, names[0]).classes_.tolist() == [
        *texts
    ]
    assert [*rows.select(names[1:]).domain] == [*rows.select("x").domain] == ["x"]


def test_expressions_take_numbers_and_texts_of_numpy() -> None:
    for made, wanted in (
        (dp.col(np.str_("x")) > np.int64(3), dp.col("x") > 3),
        (dp.col("c") == np.str_("a"), dp.col("c") == "a"),
        (dp.col("c").is_in(np.array(["a"])), dp.col("c").is_in(["a"])),
        (dp.col("x") * np.float32(2), dp.col("x") * 2.0),
        (dp.col("d") < np.datetime64("2024-01-31"), dp.col("d") < date(2024, 1, 31)),
        (dp.lit(np.int64(3)), dp.lit(3)),
    ):
        assert (repr(made), type(made)) == (repr(wanted), type(wanted))
        assert made.node == wanted.node
    table().where(dp.col("x") > np.float64(0.5))


@pytest.mark.parametrize("rows", [-3, "5", 2.5, True, np.float64(2)])
def test_the_number_of_rows_is_a_number(rows: object) -> None:
    with pytest.raises(DomainError, match="rows are a whole number"):
        dp.Domain(COLUMNS, rows=rows)


def test_rows_of_numpy_are_rows() -> None:
    domain = dp.Domain(COLUMNS, neighbours="replace", rows=np.int64(4))
    assert type(domain.rows) is int
    with pytest.raises(DomainError, match="makes the number of rows public"):
        dp.Domain(COLUMNS, neighbours="replace")


@pytest.mark.parametrize(
    ("word", "ours"),
    [("filter", "where"), ("groupby", "by="), ("assign", "with_"), ("mean", "price")],
)
def test_words_of_other_libraries_lead_to_ours(word: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"no '{word}'\. .*{ours}"):
        getattr(table(), word)


class Column(str, Enum):  # noqa: UP042 (its str() is not its text)
    AGE = "x"


def test_a_name_may_be_of_an_enum_of_texts() -> None:
    domain = dp.Domain({Column.AGE: dp.Number(0, 1)})
    assert [*map(repr, domain)] == ["'x'"]
    rows = dp.Table({"x": [0.5]}, domain, simulate(0))
    assert stats.mean(rows, Column.AGE, epsilon=1).label == "mean of x"


def test_what_is_no_name_of_a_column_is_refused_as_one() -> None:
    for wrong in (["x", "c"], np.array(["x", "c"])):
        with pytest.raises(ParameterError, match="column must be the name"):
            stats.mean(table(), wrong, epsilon=1)
    with pytest.raises(ParameterError, match="columns must be the name of a column"):
        stats.mean(table(), "x", by=5, epsilon=1)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: stats.top(table(), "c", True, epsilon=1),
        lambda: stats.unknown_keys(table(), "c", epsilon=1, delta="1e-6", most=-1),
        lambda: select([LogisticRegression(epsilon=1)], table(), epsilon=1, repeats=0),
        lambda: select([LogisticRegression(epsilon=1)], table(), epsilon=1, method="x"),
        lambda: federated.Policy(most_steps=True),
        lambda: federated.Policy(least_noise="1"),
        lambda: federated.Silo(table(), rows=True),
        lambda: client_level(1, "1e-5", 10, True),
        lambda: DatabaseEngine(fetch="no"),
        lambda: DatabaseEngine(keep=True),
        lambda: ExecutorEngine(lambda: None, parts=True),
        lambda: ExecutorEngine(lambda: None, retries=-1),
        lambda: dp.datasets.load("iris", rows=0.5),
        lambda: dp.audit.epsilon(lambda *_: 0, [([0], [1])], runs=10, claimed=1),
    ],
)
def test_every_place_refuses_what_does_not_fit(ask) -> None:
    with pytest.raises(ParameterError, match=" must be "):
        ask()
