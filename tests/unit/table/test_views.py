"""Views of a table: derived columns, filters, fewer columns; in memory and in files."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreto as dp
from discreto.core.expressions import view_from_json
from discreto.errors import (
    BudgetError,
    DomainError,
    LedgerError,
    ParameterError,
    UnsafeError,
)
from discreto.models import GradientBoostingClassifier, LinearRegression, NaiveBayes
from discreto.stats import Count, Mean, Viewed, sentence
from discreto.testing import simulate

ROWS = 3000
COINS = np.random.default_rng(11)
DATA = {
    "kg": COINS.normal(75, 12, ROWS),
    "m": COINS.normal(1.7, 0.1, ROWS),
    "age": COINS.integers(0, 100, ROWS).astype(float),
    "sex": COINS.choice(["F", "M"], ROWS),
    "region": COINS.choice(["north", "south", "east"], ROWS),
    "who": np.arange(ROWS) // 3,
}
COLUMNS = {
    "kg": dp.Number(30, 200, missing=False),
    "m": dp.Number(1, 2.5, missing=False),
    "age": dp.Number(0, 120, integer=True, missing=False),
    "sex": dp.Category(["F", "M"], missing=False),
    "region": dp.Category(["north", "south", "east"], missing=False),
}
DOMAIN = dp.Domain(COLUMNS)
OLD = DATA["age"] >= 65
BMI = np.clip(DATA["kg"], 30, 200) / np.clip(DATA["m"], 1, 2.5) ** 2


def quiet(data=None, domain=DOMAIN, **more):
    return dp.Table(
        DATA if data is None else data, domain, simulate(noise=False), **more
    )


def test_a_derived_column_has_the_bounds_that_follow():
    view = quiet().with_columns(bmi=dp.col("kg") / dp.col("m") ** 2)
    assert view.domain["bmi"] == dp.Number(30 / 6.25, 200.0, missing=False)
    mean = dp.stats.mean(view, "bmi", epsilon=1)
    assert mean.value == pytest.approx(BMI.mean(), abs=1e-6)


def test_a_filter_keeps_the_rows_it_says():
    view = quiet().where((dp.col("age") >= 65) & (dp.col("sex") == "F"))
    wanted = OLD & (DATA["sex"] == "F")
    assert dp.stats.count(view, epsilon=1).value == wanted.sum()
    by = dp.stats.count(view, by="region", epsilon=1)
    assert by.value.tolist() == [
        (wanted & (DATA["region"] == r)).sum() for r in COLUMNS["region"].categories
    ]


def test_views_of_views():
    view = (
        quiet()
        .with_columns(bmi="kg / m ** 2")
        .where("bmi > 25 and age >= 65")
        .with_columns(group="cut(age, [75, 85])", heavy="bmi > 30")
        .select("group", "heavy", "bmi")
    )
    assert list(view.domain) == ["group", "heavy", "bmi"]
    counts = dp.stats.count(view, by=["group", "heavy"], epsilon=1)
    kept = OLD & (BMI > 25)
    group = np.digitize(DATA["age"], [75, 85])
    wanted = [
        (kept & (group == g) & ((BMI > 30) == h)).sum()
        for g in range(3)
        for h in (0, 1)
    ]
    assert counts.value.tolist() == wanted
    with pytest.raises(DomainError, match="not in the domain"):
        dp.stats.mean(view, "age", epsilon=1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    table = pa.table({name: DATA[name] for name in DATA})
    pq.write_table(table, folder / "people.parquet", row_group_size=700)
    return str(folder / "people.parquet")


QUESTIONS = [
    "count() where age >= 65",
    "mean(kg / m ** 2) where age >= 65 by region",
    "variance(log1p(kg))",
    "median(kg / m ** 2) where sex == 'F'",
    "count() by cut(age, [18, 65]), sex",
    "correlation(kg, kg / m ** 2) where not (age < 18)",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_files_and_workers_give_the_same(files, question):
    asked = sentence(question)
    wanted = quiet().answer(asked, epsilon=1)
    streamed = quiet(files).answer(asked, epsilon=1)
    pool = dp.engines.ExecutorEngine(ThreadPoolExecutor(2), parts=3)
    spread = quiet(files, engine=pool).answer(asked, epsilon=1)
    for found in (streamed, spread):
        assert np.array_equal(found.value, wanted.value)
        assert found.label == wanted.label


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_sentence_asks_what_a_view_is_asked(question):
    asked = sentence(question)
    steps = asked.view if isinstance(asked, Viewed) else ()
    table = quiet()
    for step in steps:
        table = table.seen(step)
    inner = asked.statistic if isinstance(asked, Viewed) else asked
    wanted = table.answer(inner, epsilon=1)
    found = quiet().answer(asked, epsilon=1)
    assert np.array_equal(found.value, wanted.value)
    assert found.label == asked.label


def test_several_views_in_one_charge():
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(DATA, DOMAIN, ledger)
    found = table.answers([sentence(question) for question in QUESTIONS], epsilon=1)
    assert len(found) == len(QUESTIONS)
    (entry,) = ledger.entries()
    assert "where age >= 65" in entry["label"]
    assert ledger.remaining() == 0


def test_plans_know_views():
    plan = quiet().plan(sentence("mean(age) where age >= 65"), epsilon=1, rows=10_000)
    everybody = quiet().plan(Mean("age"), epsilon=1, rows=10_000)
    assert plan.expected[0].label == "mean of age, where age >= 65"
    # Fewer rows, so a larger error: the made-up rows are filtered, too.
    assert plan.expected[0].error > 1.5 * everybody.expected[0].error


def test_models_learn_from_views():
    view = (
        quiet()
        .with_columns(bmi="kg / m ** 2", old="age >= 65")
        .select("bmi", "age", "region", "old")
    )
    model = NaiveBayes(epsilon=1).fit(view, "old")
    frame = pd.DataFrame({"bmi": BMI, "age": DATA["age"], "region": DATA["region"]})
    assert (model.predict(frame) == OLD).mean() > 0.9
    GradientBoostingClassifier(epsilon=1).fit(view, "old")
    numbers = quiet().with_columns(bmi="kg / m ** 2").select("kg", "bmi")
    LinearRegression(epsilon=1).fit(numbers, "bmi")


def test_people_keep_their_bound():
    domain = dp.Domain(COLUMNS | {"who": dp.Opaque()}, person="who", rows_per_person=2)
    view = quiet(domain=domain).where("age >= 0").with_columns(old="age >= 65")
    assert view.domain.person == "who"
    assert view.domain.rows_per_person == 2
    assert dp.stats.count(view, epsilon=1).value == 2 * ROWS // 3
    with pytest.raises(DomainError, match="whose rows"):
        view.with_columns(who="age")


def test_a_public_number_of_rows_allows_columns_but_no_filter():
    table = quiet(domain=DOMAIN.with_(neighbours="replace", rows=ROWS))
    view = table.with_columns(bmi="kg / m ** 2")
    assert view.domain.rows == ROWS
    dp.stats.mean(view, "bmi", epsilon=1)
    with pytest.raises(DomainError, match="number of rows is public"):
        table.where("age >= 65")


def test_a_filter_forgets_the_declared_number_of_rows():
    table = quiet(domain=DOMAIN.with_(rows=ROWS))
    assert table.where("age >= 65").domain.rows is None


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"new": "kg / (age - 20)"}, "no useful bounds"),
        ({"new": "kg + sex"}, "needs numbers"),
        ({"new": "sex > 'F'"}, "no order"),
        ({"new": "sex == 'female'"}, "never be true"),
        ({"new": "region in ['west']"}, "not declared"),
        ({"new": "weight * 2"}, "not in the domain"),
        ({"new": "if_else(sex == 'F', 1, 'x')"}, "mixes"),
        ({"new": "lower(kg)"}, "needs a category"),
        ({"new": "1 + 1"}, "names no column"),
        ({"new": "kg * 0"}, "same in every row"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything(columns, reason):
    with pytest.raises(DomainError, match=reason):
        quiet().with_columns(**columns)


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "__import__('os')",
        "age.real",
        "[age for age in x]",
        "age if sex else kg",
        "f'{age}'",
        "lambda: 1",
        "age >> 2",
        "age ** 0.5",
        "age ** kg",
        "clip(age)",
        "age is None",
        "(" * 500 + "age" + ")" * 500,
        "1 +",
        "",
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(ParameterError, match="cannot read"):
        quiet().where(text)


def test_conditions_are_joined_by_operators():
    with pytest.raises(ParameterError, match="neither true nor false"):
        (dp.col("age") > 3) and (dp.col("age") < 5)
    with pytest.raises(ParameterError, match="neither true nor false"):
        quiet().where(3 < dp.col("age") < 5)


def test_a_key_stands_for_one_view():
    ledger = dp.Ledger(epsilon=10)
    table = dp.Table(DATA, DOMAIN, ledger, name="people")
    first = dp.stats.count(table.where("age >= 65"), epsilon=1, key="k")
    again = dp.stats.count(table.where("age >= 65"), epsilon=1, key="k")
    assert first.value == again.value
    assert len(ledger.entries()) == 1
    with pytest.raises(LedgerError, match="key"):
        dp.stats.count(table.where("age >= 66"), epsilon=1, key="k")
    one = table.with_columns(new="kg * 1")
    other = table.with_columns(new="clip(kg, 30, 200)")
    assert one.domain["new"] == other.domain["new"]
    dp.stats.mean(one, "new", epsilon=1, key="m")
    with pytest.raises(LedgerError, match="key"):
        dp.stats.mean(other, "new", epsilon=1, key="m")


def test_a_view_pays_from_the_same_ledger():
    table = dp.Table(DATA, DOMAIN, dp.Ledger(epsilon=1))
    dp.stats.count(table.where("age >= 65"), epsilon=1)
    with pytest.raises(BudgetError):
        dp.stats.count(table, epsilon="0.1")


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        [1],
        [{"kind": "Where"}],
        [{"kind": "Where", "condition": {"kind": "Sum"}}],
        [{"kind": "Col", "name": "age"}],
        [{"kind": "Where", "condition": {"kind": "Col", "name": 3}}],
        [{"kind": "WithColumns", "columns": []}],
        [{"kind": "Select", "names": ["age"]}] * 65,
    ],
)
def test_other_data_is_no_view(data):
    with pytest.raises(ParameterError):
        view_from_json(data)


def test_a_part_of_a_table_has_no_views():
    from discreto.core.cost import Cost
    from discreto.core.expressions import Select
    from discreto.core.maps.row_partition import HashParts, Parts

    parts = Parts(HashParts(("kg",), (1, 1)))
    inner = quiet().gate().parts(parts, Cost.of(1), "parts")[0]
    with pytest.raises(ParameterError, match="view first"):
        inner.seen(Select(("age",)))


@pytest.mark.parametrize(
    "text",
    [
        "mean(age) by",
        "mean age",
        "average(age)",
        "mean(age, kg)",
        "mean(age) by sex where age > 3",
        "quantile(age)",
        "count() where",
        "gini(kg) by sex",
        "quantile(age, 1e400)",
        "quantile(age, 1.5)",
        "quantile_difference(age, sex, [0.5, 0.6])",
        "quantile_difference(age, sex, -1e400)",
        "top(sex, 1, 2, 3)",
        f"distribution(age, {10**400})",
    ],
)
def test_other_sentences_are_refused(text):
    with pytest.raises(ParameterError):
        sentence(text)


def test_words_in_quotes_are_left_alone():
    asked = sentence("count() where region == 'where by' by sex")
    assert isinstance(asked, Viewed)
    assert asked.statistic == Count(("sex",))


def silos(**policy):
    from discreto.federated import Policy, Silo

    def silo(start):
        part = {name: DATA[name][start::2] for name in COLUMNS}
        return Silo(quiet(part, name=f"silo {start}"), Policy(**policy))

    return {"one": silo(0), "two": silo(1)}


def test_silos_answer_about_views():
    from discreto.federated import FederatedTable

    table = FederatedTable(silos())
    view = table.with_columns(bmi="kg / m ** 2").where("age >= 65")
    count = dp.stats.count(view, epsilon=1)
    assert count.value == OLD.sum()
    assert count.label == "count, where age >= 65"
    asked = sentence("mean(kg / m ** 2) where age >= 65 by region")
    found = table.answer(asked, epsilon=1)
    wanted = quiet().answer(asked, epsilon=1)
    assert np.array_equal(found.value, wanted.value)
    NaiveBayes(epsilon=1).fit(view.select("bmi", "region", "sex"), "sex")


def test_an_owner_may_forbid_views():
    from discreto.federated import FederatedTable

    table = FederatedTable(silos(questions=("Ones", "Present")))
    dp.stats.count(table, epsilon=1)
    with pytest.raises(UnsafeError, match="Where"):
        dp.stats.count(table.where("age >= 65"), epsilon=1)


def test_silos_refuse_views_before_they_pay():
    from discreto.core.cost import Cost
    from discreto.core.query import Block, Everyone, Ones, Sum
    from discreto.federated import messages

    silo = silos()["one"]
    count = Sum(Everyone(), (Block(Ones()),))
    good = messages.measure(count, Cost.of(1), "n", "id", silo.schema)
    for view in (
        3,
        [{}],
        [{"kind": "Where", "condition": {"kind": "Col", "name": "m"}}],
    ):
        reply = silo.answer(good | {"view": view})
        assert reply["kind"] == "refusal"
    assert not silo.ledger.entries()
    assert silo.answer(good)["kind"] == "release"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("avg(x)", "Did you mean 'mean'"),
        ("meen(x)", "Did you mean 'mean'"),
        ("mean(x where y > 1", "a bracket is not closed"),
        ("count where x > 1", "write count(...) with brackets"),
        ("SELECT avg(x) FROM t", "this is no SQL"),
        ("mean(x) where y => 1", "Write >= and <="),
        ("mean(x) where y = 1", "Write == for what is equal"),
        ("mean(x) where s <> 'a = b'", "Write != for what differs"),
        ("mean(x) where y > 1 AND z > 1", "with small letters"),
        ("mean(x) where y between 1 and 2", "Write 18 <= age <= 65"),
        ("mean(x) where y IS NULL", "Write is_missing(age)"),
    ],
)
def test_people_who_know_sql_are_told_what_to_write(text: str, hint: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(hint)):
        dp.stats.sentence(text)
