"""Files as the world writes them: marks, encodings, folders, sheets, spellings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreto as dp
from discreto.core.domain.dialect import MISSING_WORDS
from discreto.data.frames import convert, open_frame
from discreto.data.frames.cells import reader_of
from discreto.errors import DiscretoError, DomainError, ParameterError
from discreto.testing import simulate

GERMAN = dp.Dialect(separator=";", decimal=",", thousands=".")
SPACED = dp.Dialect(decimal=",", thousands=" ")
nan = math.nan


@pytest.mark.parametrize(
    ("dialect", "text", "number"),
    [
        (GERMAN, "1.234,5", 1234.5),
        (GERMAN, "-1.234.567", -1234567),
        (GERMAN, "1234,5", 1234.5),
        (GERMAN, ",5", 0.5),
        (GERMAN, " 3 ", 3),
        (GERMAN, "1,2e3", 1200),
        (GERMAN, "1.5", nan),  # neither one and a half nor fifteen hundred
        (GERMAN, "12.34,5", nan),
        (GERMAN, "1,234.5", nan),
        (GERMAN, "", nan),
        (GERMAN, "-inf", -math.inf),  # as pandas, Polars and DuckDB read it
        (GERMAN, "nan", nan),
        (dp.Dialect(), "1_000", nan),
        (dp.Dialect(thousands="_"), "1_000", 1000),
        (dp.Dialect(), "\u0661\uff12", nan),  # digits of other scripts
        (dp.Dialect(thousands="'"), "12\u2019345", 12345),
        (dp.Dialect(), "5 %", nan),
        (dp.Dialect(symbols=["%"]), "5 %", 5),
        (dp.Dialect(symbols=["€", "EUR"]), "-€5.5", -5.5),
        (dp.Dialect(symbols=["€", "EUR"]), "EUR -5.5", -5.5),
        (dp.Dialect(symbols=["€"]), "€", nan),
        (dp.Dialect(), "(5)", nan),
        (dp.Dialect(brackets=True), "(5)", -5),
        (dp.Dialect(brackets=True), "(-5)", nan),
        (dp.Dialect(brackets=True, symbols=["$"]), "$(1.5)", -1.5),
        (dp.Dialect(decimal=","), "1.500", nan),
        (dp.Dialect(decimal=","), "1500,25", 1500.25),
        (SPACED, "12 345,6", 12345.6),
        (SPACED, "12\u202f345,6", 12345.6),
        (dp.Dialect(thousands=","), "12,345.6", 12345.6),
        (dp.Dialect(thousands="'"), "12'345", 12345),
        (dp.Dialect(), "67,3", nan),
        (dp.Dialect(), "67.3", 67.3),
    ],
)
def test_numbers_in_a_dialect(dialect: dp.Dialect, text: str, number: float) -> None:
    found = reader_of(dialect)(text)
    assert found == number or (math.isnan(found) and math.isnan(number))
    alone = convert(np.array([text], dtype=object), dp.Number(0, 1), dialect)
    both = convert(np.array([text, "7"], dtype=object), dp.Number(0, 1), dialect)
    np.testing.assert_array_equal(alone, both[:1])


@given(st.text("0123456789.,-+ eE'_x", max_size=12))
def test_no_text_makes_a_reader_fail(text: str) -> None:
    for dialect in (GERMAN, SPACED, dp.Dialect(), dp.Dialect(thousands="'")):
        assert isinstance(reader_of(dialect)(text), float)


@given(st.floats(-1e15, 1e15, allow_nan=False))
def test_a_number_is_read_as_it_was_written(number: float) -> None:
    text = f"{number:,.6f}"
    swapped = text.replace(",", "T").replace(".", ",").replace("T", ".")
    assert reader_of(GERMAN)(swapped) == float(f"{number:.6f}")


def test_dialects_that_cannot_be() -> None:
    wrong: list[dict[str, Any]] = [
        {"separator": "ab"},
        {"decimal": ";"},
        {"decimal": ",", "thousands": ","},
        {"encoding": "utf-16"},
        {"missing": "NA"},
        {"missing": [1]},
        {"sheet": 3},
        {"separator": ",", "decimal": ","},
        {"quoted": "yes"},
        {"symbols": "€"},
        {"symbols": ["1"]},
        {"symbols": [""]},
        {"brackets": 1},
        {"dates": "dmyyyy"},
        {"dates": "d.m"},
        {"dates": None},
    ]
    for parts in wrong:
        with pytest.raises(ParameterError):
            dp.Dialect(**parts)
    with pytest.raises(ParameterError, match="does not know 'colour'"):
        dp.Dialect.from_dict({"colour": "red"})
    assert dp.Dialect(encoding="ISO-8859-1").encoding == "latin-1"
    assert dp.Dialect.from_dict(GERMAN.to_dict()) == GERMAN
    assert dp.Dialect().to_dict() == {}


def test_a_dialect_is_said_once_and_changes_no_fingerprint(tmp_path: Path) -> None:
    plain = dp.Domain({"x": dp.Number(0, 9)})
    domain = plain.with_(dialect=GERMAN)
    assert domain.fingerprint == plain.fingerprint
    domain.save(tmp_path / "d.json")
    again = dp.Domain.load(tmp_path / "d.json")
    assert again.dialect == GERMAN
    assert domain.select(["x"]).dialect == GERMAN
    data = json.loads((tmp_path / "d.json").read_text())
    for wrong in (3, {"decimal": "x"}, {"a": 1}, []):
        with pytest.raises(DomainError, match="dialect"):
            dp.Domain.from_dict(data | {"dialect": wrong})


def test_a_decimal_mark_that_is_the_separator_is_refused(tmp_path: Path) -> None:
    """Unless numbers stand in quotes, and somebody says so."""
    (tmp_path / "a.csv").write_text('kg,age\n"72,4",40\n"80,5",50\n')
    domain = dp.Domain({"kg": dp.Number(0, 200), "age": dp.Number(0, 120)})
    both = {"separator": ",", "decimal": ","}
    with pytest.raises(ParameterError, match="separator and decimal cannot both"):
        dp.Dialect(**both)
    with pytest.raises(DomainError, match="separator and decimal cannot both"):
        dp.Domain.from_dict(domain.to_dict() | {"dialect": both})
    # Whoever names no separator has a comma in a text file, and none in a frame.
    comma = dp.Dialect(decimal=",")
    with pytest.raises(DomainError, match=r"'a\.csv': separator and decimal"):
        open_frame(tmp_path / "a.csv", domain.with_(dialect=comma))
    texts = pd.DataFrame({"kg": ["72,4"], "age": [40]})
    assert open_frame(texts, domain.with_(dialect=comma)).column("kg") == [72.4]
    for separator in (None, ","):
        quoted = dp.Dialect(separator=separator, decimal=",", quoted=True)
        assert dp.Dialect.from_dict(quoted.to_dict()) == quoted
        frame = open_frame(tmp_path / "a.csv", domain.with_(dialect=quoted))
        assert frame.column("kg").tolist() == [72.4, 80.5]


def test_a_wrong_separator_names_the_decimal_mark_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("kg,age\n72.4,40\n")
    domain = dp.Domain({"kg": dp.Number(0, 200), "age": dp.Number(0, 120)})
    hint = r"--dialect 'separator=,' --dialect 'decimal=\.'"
    with pytest.raises(DomainError, match=hint):
        open_frame(tmp_path / "a.csv", domain.with_(dialect=GERMAN))


TOWNS = ["Köln", "Nürn\nberg", "a;b"]
TEXT = 'weight;town\n1.067,5;Köln\n80,5;"Nürn\nberg"\n;"a;b"\nx;NA\n1;Ulm\n'
DOMAIN = dp.Domain({"weight": dp.Number(0, 2000), "town": dp.Category(TOWNS)})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "windows-1252"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(TEXT.encode(encoding))
    dialect = dp.Dialect(separator=";", decimal=",", thousands=".", encoding=encoding)
    frame = open_frame(tmp_path / "a.csv", DOMAIN.with_(dialect=dialect))
    np.testing.assert_array_equal(frame.column("weight"), [1067.5, 80.5, nan, nan, 1])
    assert frame.column("town").tolist() == [0, 1, 2, -1, -2]


def test_bytes_that_windows_does_not_know_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"town\nK\xf6ln\n\x81\x8d\nK\xf6ln\n")
    domain = dp.Domain(
        {"town": dp.Category(["Köln"])}, dialect=dp.Dialect(encoding="windows-1252")
    )
    assert open_frame(tmp_path / "a.csv", domain).column("town").tolist() == [0, -2, 0]


def test_folders_that_name_columns(tmp_path: Path) -> None:
    for year, rows in (("2023", 3), ("2024", 5), ("__HIVE_DEFAULT_PARTITION__", 2)):
        folder = tmp_path / "data" / f"year={year}" / "town=K%C3%B6ln"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": np.arange(rows)}), folder / "a.parquet")
        (folder / "_SUCCESS").write_text("")
    domain = dp.Domain(
        {
            "x": dp.Number(0, 9),
            "year": dp.Number(2000, 2030, integer=True),
            "town": dp.Category(["Köln"]),
        }
    )
    for place in (tmp_path / "data", str(tmp_path / "data" / "**" / "*.parquet")):
        table = dp.Table(place, domain, simulate(noise=False))
        assert dp.stats.count(table, epsilon=1).value == 10
        assert dp.stats.mean(table, "year", epsilon=1).value == pytest.approx(
            (3 * 2023 + 5 * 2024) / 8
        )
        assert dp.stats.count(table, by="town", epsilon=1).value.tolist() == [10, 0]
    only = dp.Table(tmp_path / "data", domain.select(["town"]), simulate(noise=False))
    assert dp.stats.count(only, epsilon=1).value == 10
    csv = tmp_path / "text" / "year=2024"
    csv.mkdir(parents=True)
    (csv / "a.csv").write_text("x\n1\n2\n")
    table = dp.Table(tmp_path / "text", domain.select(["x", "year"]), simulate())
    assert table.domain.person is None
    (tmp_path / "empty").mkdir()
    with pytest.raises(DomainError, match="no table in the folder"):
        open_frame(tmp_path / "empty", domain)


def test_sheets(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    first = pd.DataFrame({"x": [1.5, None, "n/a"], "sex": ["F", " female", None]})
    with pd.ExcelWriter(path) as book:
        first.to_excel(book, sheet_name="people", index=False)
        pd.DataFrame({"y": [1]}).to_excel(book, sheet_name="other", index=False)
    domain = dp.Domain(
        {
            "x": dp.Number(0, 9),
            "sex": dp.Category(
                ["F", "M"], aliases={"female": "F"}, case=False, strip=True
            ),
        }
    )
    frame = open_frame(path, domain)
    np.testing.assert_array_equal(frame.column("x"), [1.5, nan, nan])
    assert frame.column("sex").tolist() == [0, 0, -1]
    with pytest.raises(DomainError, match="lacks the columns 'x', 'sex'"):
        open_frame(path, domain.with_(dialect=dp.Dialect(sheet="other")))
    with pytest.raises(DomainError, match="no sheet 'none', but 'people', 'other'"):
        open_frame(path, domain.with_(dialect=dp.Dialect(sheet="none")))
    (tmp_path / "bad.xlsx").write_text("no book")
    with pytest.raises(DomainError, match="cannot be read"):
        open_frame(tmp_path / "bad.xlsx", domain)


SEX = dp.Category(
    ["F", "M"], aliases={"Female": "F", "männlich": "M"}, case=False, strip=True
)


@pytest.mark.parametrize(
    ("text", "code"),
    [("f", 0), (" FEMALE", 0), ("MÄNNLICH\t", 1), ("", -1), (" NA ", -1), ("x", -2)],
)
def test_spellings_are_read_alike_everywhere(text: str, code: int) -> None:
    shapes: list[Any] = [
        {"s": [text]},
        {"s": np.array([text, None], dtype=object)[:1]},
        pd.DataFrame({"s": [text]}),
        pa.table({"s": [text]}),
        pa.table({"s": pa.array([text]).dictionary_encode()}),
        pa.table({"s": pa.array([text, "other"], pa.large_string()).slice(0, 1)}),
    ]
    for data in shapes:
        assert open_frame(data, dp.Domain({"s": SEX})).column("s").tolist() == [code]


def test_spellings_that_cannot_be() -> None:
    with pytest.raises(DomainError, match="stands for 'f' and for 'F'"):
        dp.Category(["f", "F"], case=False)
    with pytest.raises(DomainError, match="no category"):
        dp.Category(["f"], aliases={"x": "y"})
    with pytest.raises(DomainError, match="stands for"):
        dp.Category(["f", "m"], aliases={"m": "f"})
    with pytest.raises(DomainError, match="aliases are texts"):
        dp.Category(["f"], aliases={1: "f"})  # type: ignore[dict-item]


def test_spellings_belong_to_a_domain(tmp_path: Path) -> None:
    plain = dp.Domain({"s": dp.Category(["F", "M"])})
    domain = dp.Domain({"s": SEX})
    assert domain.fingerprint != plain.fingerprint
    domain.save(tmp_path / "d.json")
    assert dp.Domain.load(tmp_path / "d.json") == domain
    column = {"type": "Category", "categories": ["F"], "aliases": ["F"]}
    with pytest.raises(DomainError, match="malformed"):
        dp.Domain.from_dict({"columns": {"s": column}})


def test_files_may_use_the_words_of_python() -> None:
    columns = {
        "n": {"type": "Number", "lower": 0, "upper": 1},
        "m": {"type": "Number", "lower": 0, "upper": 1, "missing": False},
        "c": {"type": "Category", "categories": ["a"], "case": False},
        "b": {"type": "Boolean"},
        "o": {"type": "Opaque"},
        "old": {"type": "numeric", "lower": 0, "upper": 1},
    }
    domain = dp.Domain.from_dict({"columns": columns})
    assert dict(domain.columns) == {
        "n": dp.Number(0, 1),
        "m": dp.Number(0, 1, missing=False),
        "c": dp.Category(["a"], case=False),
        "b": dp.Boolean(),
        "o": dp.Opaque(),
        "old": dp.Number(0, 1, missing=False),  # as version 0.1 meant it
    }


@pytest.mark.parametrize("rows", [0, 3])
def test_types_are_refused_before_a_charge(rows: int) -> None:
    """The same refusal with rows and without, and nothing is paid."""
    texts = pd.Series(["67,3"] * rows, dtype="string")
    whole = pd.Series([1] * rows, dtype="int64")
    truths = pd.Series([True] * rows, dtype="bool")
    days = pd.Series(["2024-01-01"] * rows, dtype="datetime64[ns]")
    number, label = dp.Number(0, 9), dp.Category(["no", "yes"])
    cases = [
        (number, texts, r"holds texts.*Dialect\(decimal=.*pd\.to_numeric"),
        (number, texts.astype(object), "holds texts"),
        (number, days, r"holds dates or times.*Date"),
        (label, whole, "holds numbers, and none of its categories"),
        (label, truths, "holds true and false, and none of its categories"),
        (label, days, "holds date values"),
    ]
    for column, values, words in cases:
        ledger = dp.Ledger(epsilon=1)
        for data in (pd.DataFrame({"x": values}), {"x": values}):
            with pytest.raises(DomainError, match=words):
                dp.stats.count(
                    dp.Table(data, dp.Domain({"x": column}), ledger), epsilon=1
                )
        assert ledger.spent() == dp.Cost()


def test_labels_of_another_type_are_refused_before_a_charge() -> None:
    ledger = dp.Ledger(epsilon=1)
    model = dp.models.LogisticRegression(
        epsilon=1, bounds=(0, 1), classes=["no", "yes"], ledger=ledger
    )
    with pytest.raises(DomainError, match=r"Category\(\[0, 1\]\)"):
        model.fit(np.zeros((4, 2)), np.array([0, 1, 0, 1]))
    frame = pd.DataFrame({"a": ["1,5", "2"], "b": [1.0, 2.0]})
    with pytest.raises(DomainError, match="'a' is a Number"):
        model.set_params(classes=[0, 1]).fit(frame, np.array([0, 1]))
    assert ledger.spent() == dp.Cost()


def test_texts_are_numbers_where_a_dialect_says_so() -> None:
    frame = pd.DataFrame({"x": ["67,5", "80,5", "?"]})
    domain = dp.Domain({"x": dp.Number(0, 100)})
    table = dp.Table(frame, domain, simulate(noise=False), dialect=GERMAN)
    assert dp.stats.mean(table, "x", epsilon=1).value == pytest.approx(74)


def test_a_table_of_another_separator_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;sex;city\n1;f;x\n")
    with pytest.raises(DomainError, match="separated by ';'"):
        open_frame(tmp_path / "a.csv", dp.Domain({"age": dp.Number(0, 9)}))


def test_words_for_nothing_are_values_where_they_are_declared() -> None:
    assert "NA" in MISSING_WORDS  # Namibia
    domain = dp.Domain({"country": dp.Category(["NA", "DE"])})
    data = {"country": ["NA", "DE", "", "FR"]}
    assert open_frame(data, domain).column("country").tolist() == [0, 1, -1, -2]


def test_refusals_are_errors_of_this_package(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "a.csv.zst", "a.arrow", "a.parquet", "a.xlsx"):
        (tmp_path / name).write_bytes(b"not what it says")
        with pytest.raises(DiscretoError):
            open_frame(tmp_path / name, DOMAIN)


@pytest.mark.parametrize(
    ("order", "texts"),
    [
        ("dmy", ["31.01.2024", "1/2/2024", "2024-12-24", "31.02.2024", "1.1.24", "x"]),
        ("mdy", ["01/31/2024", "2-1-2024", "2024-12-24", "02/31/2024", "", "1.1"]),
        ("ymd", ["2024/1/31", "2024.2.1", "2024-12-24", "2024/2/31", "24/1/1", "é"]),
    ],
)
def test_dates_in_another_order(order, texts, tmp_path):
    """Three days, and three texts that are no dates."""
    (tmp_path / "a.csv").write_text("d\n" + "\n".join(f'"{t}"' for t in texts) + "\n")
    domain = dp.Domain({"d": dp.Date("2024-01-01", "2024-12-31")})
    dialect = dp.Dialect(dates=order)
    for source in (tmp_path / "a.csv", pd.DataFrame({"d": texts}), {"d": texts}):
        table = dp.Table(
            source, domain, dp.testing.simulate(noise=False), dialect=dialect
        )
        found = dp.stats.histogram(table, "d", bins=366, epsilon=1)
        days = [
            day for day, count in zip(range(366), found.value, strict=True) if count
        ]
        assert days == [30, 31, 358]


def test_a_date_of_a_domain_file_has_days(tmp_path):
    text = '{"discreto_domain": 1, "columns": {"d": {"type": "Date", "first": '
    text += '"2024-01-01", "last": "2024-12-31"}}}'
    (tmp_path / "d.json").write_text(text)
    found = dp.Domain.load(tmp_path / "d.json")["d"]
    assert found == dp.Date("2024-01-01", "2024-12-31")
    assert type(found) is dp.Date
