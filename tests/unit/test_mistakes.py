"""Mistakes that people make in their first hour, and the message for each.

None ends in an error of Python that names no remedy, and none is charged.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import discreto as dp
from discreto import models, stats
from discreto.errors import (
    CallError,
    DiscretoError,
    UnknownImportError,
    UnknownNameError,
)
from discreto.text.language import speaking

ROWS = 200
DRAW = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": DRAW.integers(18, 90, ROWS),
        "sex": DRAW.choice(["f", "m"], ROWS),
        "bmi": DRAW.normal(25, 4, ROWS),
        "ill": DRAW.choice(["no", "yes"], ROWS),
    }
)
DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 120),
        "sex": dp.Category(["f", "m"]),
        "bmi": dp.Number(10, 60),
        "ill": dp.Category(["no", "yes"]),
    },
    target="ill",
)


def table(**options: Any) -> dp.Table:
    return dp.Table(FRAME, DOMAIN, dp.Ledger(epsilon=5, **options))


def imported(name: str) -> Any:
    return exec(f"from discreto.models import {name}", {})


# What is done with a table, and words that its message must have.
ASKED: dict[str, tuple[Callable[[dp.Table], Any], str]] = {
    "typo": (lambda t: stats.mean(t, "agee", epsilon=1), "Did you mean 'age'"),
    "capitals": (lambda t: stats.mean(t, "AGE", epsilon=1), "Did you mean 'age'"),
    "far away": (lambda t: stats.mean(t, "income", epsilon=1), "Known: age, sex"),
    "mean of words": (lambda t: stats.mean(t, "sex", epsilon=1), "proportion"),
    "negative": (lambda t: stats.mean(t, "age", epsilon=-1), "above 0. Got -1"),
    "nothing": (lambda t: stats.mean(t, "age", epsilon=0), "above 0. Got 0"),
    "comma": (lambda t: stats.mean(t, "age", epsilon="0,5"), "Write 0.5"),
    "no epsilon": (lambda t: stats.mean(t, "age"), "epsilon=0.1"),  # type: ignore[call-arg]
    "endless": (lambda t: stats.mean(t, "age", epsilon=float("inf")), "finite"),
    "by place": (
        lambda t: stats.mean(t, "age", 0.1),  # type: ignore[call-arg, misc]
        "Write mean(table, 'age', epsilon=0.1)",
    ),
    "eps": (lambda t: stats.mean(t, "age", eps=1), "Did you mean 'epsilon'"),  # type: ignore[call-arg]
    "group_by": (
        lambda t: stats.mean(t, "age", group_by="sex", epsilon=1),  # type: ignore[call-arg]
        "Did you mean 'by'",
    ),
    "two columns": (
        lambda t: stats.correlation(t, "age", "bmi", epsilon=1),  # type: ignore[call-arg, misc]
        "Write correlation(table, ['age', 'income'], epsilon=0.1)",
    ),
    "too much": (lambda t: stats.mean(t, "age", epsilon=50), "epsilon <= 5"),
    "delta": (lambda t: stats.mean(t, "age", epsilon=1, delta=1e-6), "Leave delta out"),
    "50 %": (lambda t: stats.quantile(t, "age", 50, epsilon=1), "0 to 1"),
    "by numbers": (lambda t: stats.mean(t, "bmi", by="age", epsilon=1), "cut"),
    "by twice": (
        lambda t: stats.mean(t, "age", by=["sex", "sex"], epsilon=1),
        "different",
    ),
    "value": (lambda t: t.where("sex == 'F'"), "the domain declares 'f', 'm'"),
    "one =": (lambda t: t.where("sex = 'f'"), "Write =="),
    "quotes": (lambda t: t.where("'age' > 30"), "without quotes"),
    "head": (lambda t: t.head(), "Rows are not shown"),
    "index": (lambda t: t["age"], "dp.stats.mean"),
    "len": (len, "dp.stats.count"),
    "list": (list, "does not show its rows"),
    "method": (lambda t: t.mean(), "dp.stats.mean"),
    "average": (lambda t: stats.average(t, "age", epsilon=1), "Did you mean 'mean'"),
    "top mean": (lambda t: dp.mean(t, "age", epsilon=1), "discreto.stats.mean"),
    "model without epsilon": (
        lambda t: models.LogisticRegression().fit(t),  # type: ignore[call-arg]
        "LogisticRegression(epsilon=0.1)",
    ),
    "target of a model": (
        lambda t: models.LinearRegression(epsilon=1, target="bmi"),  # type: ignore[call-arg]
        "model.fit(table, 'TARGET')",
    ),
    "target of fit": (
        lambda t: models.LinearRegression(epsilon=1).fit(t, target="bmi"),  # type: ignore[call-arg]
        "Did you mean 'y'",
    ),
    "unknown target": (
        lambda t: models.NaiveBayes(epsilon=1).fit(t, "il"),
        "Did you mean 'ill'",
    ),
    "numbers as target": (
        lambda t: models.NaiveBayes(epsilon=1).fit(t, "age"),
        "needs a Category target",
    ),
    "values as target": (
        lambda t: models.NaiveBayes(epsilon=1).fit(t, FRAME["ill"]),
        "the name of the target column",
    ),
    "bounds twice": (
        lambda t: models.NaiveBayes(epsilon=1, bounds=(0, 1)).fit(t),
        "left out",
    ),
    "not fitted": (
        lambda t: models.NaiveBayes(epsilon=1).predict([[1, 2]]),
        "not fitted",
    ),
    "score": (lambda t: models.NaiveBayes(epsilon=1).score(t), "evaluate"),
    "forest": (lambda t: models.RandomForestClassifier, "GradientBoostingClassifier"),
    "import": (lambda t: imported("RandomForest"), "GradientBoostingClassifier"),
    "import of a typo": (lambda t: imported("NaiveBaye"), "Did you mean 'NaiveBayes'"),
    "top model": (lambda t: dp.NaiveBayes, "discreto.models.NaiveBayes"),
}
MADE: dict[str, tuple[Callable[[], Any], str]] = {
    "no ledger": (lambda: dp.Table(FRAME, DOMAIN), "Ledger('people.ledger'"),  # type: ignore[call-arg]
    "a number as ledger": (lambda: dp.Table(FRAME, DOMAIN, 1.0), "Ledger('people"),  # type: ignore[arg-type]
    "no file": (lambda: dp.Table("no.csv", DOMAIN, dp.Ledger(epsilon=1)), "no file"),
    "no column": (
        lambda: dp.Table(FRAME.drop(columns="bmi"), DOMAIN, dp.Ledger(epsilon=1)),
        "lacks the column 'bmi'",
    ),
    "NaN": (lambda: dp.Number(float("nan"), 1), "finite"),
    "reversed": (lambda: dp.Number(10, 1), "lower < upper. Got 10 and 1"),
    "texts": (lambda: dp.Number("0", "100"), "must be numbers"),  # type: ignore[arg-type]
    "no bounds": (lambda: dp.Number(), "Write Number(0, 120)"),  # type: ignore[call-arg]
    "one text": (lambda: dp.Category("f"), "a list"),
    "twice": (lambda: dp.Category(["f", "f"]), "more than once"),
    "numbers in texts": (
        lambda: dp.Table(
            FRAME.assign(age=FRAME.age.astype(str)), DOMAIN, dp.Ledger(epsilon=1)
        ),
        "to_numeric",
    ),
    "0 and 1": (
        lambda: dp.Table(
            FRAME.assign(ill=(FRAME.ill == "yes").astype(int)),
            DOMAIN,
            dp.Ledger(epsilon=1),
        ),
        "Category([0, 1])",
    ),
    "dates": (lambda: dp.Date("2024-12-31", "2024-01-01"), "the earlier one first"),
    "days first": (lambda: dp.Date("31/12/2024", "01/01/2025"), "'2024-01-31'"),
    "one date": (lambda: dp.Date("2024-12-31"), "Date('2024-01-01', '2024-12-31')"),  # type: ignore[call-arg]
    "delta 2": (lambda: dp.Ledger(epsilon=1, delta=2), "below 1"),
    "no such ledger": (lambda: dp.Ledger("no.ledger"), "Ledger(path, epsilon=3)"),
    "arrays without bounds": (
        lambda: models.LogisticRegression(epsilon=1).fit(FRAME[["age"]], FRAME.ill),
        "bounds=(0, 100)",
    ),
    "no rows": (
        lambda: models.GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit([], []),
        "2D array",
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_questions(name):
    ask, words = ASKED[name]
    asked = table()
    with pytest.raises((DiscretoError, NotFittedError)) as found:
        ask(asked)
    assert words in str(found.value)
    assert not asked.ledger.entries()


@pytest.mark.parametrize("name", MADE)
def test_things_that_are_made(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, words = MADE[name]
    with pytest.raises(DiscretoError) as found:
        make()
    assert words in str(found.value)


def test_there_are_sixty():
    assert len(ASKED) + len(MADE) >= 60


def test_advice_is_for_an_analyst():
    with pytest.raises(DiscretoError) as found:
        stats.mean(table(), "income", epsilon=1)
    assert "Number(" not in str(found.value)


def test_a_release_is_not_added_up():
    found = stats.mean(table(), "age", epsilon=1)
    for combine in (lambda: found + 1, lambda: 2 * found, lambda: 3 / found):
        with pytest.raises(CallError, match="float"):
            combine()
    assert float(found) + 1 == found.value + 1


def test_they_are_also_what_python_would_raise():
    with pytest.raises(TypeError):
        stats.mean()  # type: ignore[call-arg]
    assert not hasattr(stats, "average")
    assert not hasattr(table(), "head")
    assert issubclass(UnknownNameError, AttributeError)
    assert issubclass(UnknownImportError, ImportError)
    assert bool(table())


def test_a_type_error_inside_is_not_hidden():
    class Odd:
        def __str__(self) -> str:
            raise TypeError("from inside")

    with pytest.raises((TypeError, DiscretoError)) as found:
        stats.mean(table(), "age", epsilon=Odd())  # type: ignore[arg-type]
    assert not isinstance(found.value, CallError)


def test_commas_are_read_where_the_language_writes_them():
    for language in ("pt", "es", "fr"):
        with speaking(language):
            asked = table()
            stats.mean(asked, "age", epsilon="0,5")
            assert float(asked.ledger.total()) == 0.5
    with pytest.raises(DiscretoError, match=r"Write 0\.5\."):
        stats.mean(table(), "age", epsilon="0,5")
    with pytest.raises(DiscretoError) as found:  # a thousand, or one?
        stats.mean(table(), "age", epsilon="1,000")
    assert "Write" not in str(found.value)


def test_the_other_forms_that_people_try_work(tmp_path: Path):
    fitted = models.NaiveBayes(epsilon=1).fit(table(), "ill")
    assert set(fitted.predict(FRAME[["age", "sex", "bmi"]])) <= {"no", "yes"}
    assert stats.correlation(table(), ["age", "bmi"], epsilon=1).cost


def test_deep_json_and_huge_numbers_are_refused(tmp_path: Path):
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    with pytest.raises(DiscretoError, match="nested too deeply"):
        dp.Domain.load(deep)
    huge = 10**400
    for make in (
        lambda: table().where(f"age > {huge}"),
        lambda: table().where(dp.col("age") > huge),
        lambda: table().with_columns(x=dp.col("age").cut([huge])),
        lambda: stats.distribution(table(), "age", [huge], epsilon=1),
    ):
        with pytest.raises(DiscretoError, match="number"):
            make()


def test_names_with_spaces_stand_in_backticks():
    data = {"Weight kg": [50.0, 60.0, 80.0], "sex at birth": ["f", "m", "f"]}
    columns = {"Weight kg": dp.Number(0, 200), "sex at birth": dp.Category(["f", "m"])}
    ledger = dp.testing.simulate(noise=False)
    asked = dp.Table(data, dp.Domain(columns), ledger)
    text = "mean(`Weight kg` / 2) where `Weight kg` > 55 by `sex at birth`"
    found = asked.answer(stats.sentence(text), epsilon=1)
    assert found["f"].value == pytest.approx(40)
    assert found["m"].value == pytest.approx(30)
    assert "`Weight kg` / 2" in found.label
    heavy = asked.where("`Weight kg` > 55 and `sex at birth` == 'f'")
    assert stats.count(heavy, epsilon=1).value == 1
    for wrong in ("mean(Weight kg)", "mean(`Weight kg`) where Weight kg > 3"):
        with pytest.raises(DiscretoError, match="in backticks: `Weight kg`"):
            stats.sentence(wrong)
    for quoted in ("mean('Weight kg')", "count() where 'Weight kg' > 3"):
        with pytest.raises(DiscretoError, match="Did you mean the column"):
            asked.answer(stats.sentence(quoted), epsilon=1)


def test_a_key_that_is_not_a_text_is_refused_before_the_charge():
    for key in (["k"], 3, {"k": 1}):
        asked = table()
        with pytest.raises(DiscretoError, match="key must be a text"):
            stats.count(asked, epsilon=1, key=key)
        assert not asked.ledger.spent().epsilon


def test_centres_that_no_float_holds_are_refused():
    for init in (10**400, [[10**400]]):
        with pytest.raises(DiscretoError, match="finite numbers"):
            dp.models.KMeans(1, epsilon=1, init=init).fit(table())
