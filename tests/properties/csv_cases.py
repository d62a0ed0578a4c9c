"""Files of the tests of dialects, and how other libraries read them."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import discreto as dp

D, WIDE = dp.Dialect, dp.Number(-1e6, 1e7)
LETTERS = dp.Category(["a", "b"])
DAYS = dp.Date("2020-01-01", "2029-12-31")
ALL = ("pandas", "polars", "duckdb")
Cells = list[Any]


@dataclass(frozen=True)
class Case:
    """A file, how it is written, and the cells of its columns; None is missing."""

    name: str
    data: str | bytes
    cells: dict[str, Cells]
    dialect: dp.Dialect = field(default_factory=D)
    columns: dict[str, Any] = field(default_factory=dict)
    # How others are told: replacements in numbers, a format of dates, libraries.
    marks: tuple[tuple[str, str], ...] = ()
    format: str = ""
    peers: tuple[str, ...] = ALL
    unread: tuple[str, ...] = ()  # texts that the owner's check must name

    def column(self, name: str) -> Any:
        return self.columns.get(name, {"x": WIDE, "s": LETTERS, "d": DAYS}.get(name))

    @property
    def domain(self) -> dp.Domain:
        known = {name: self.column(name) for name in self.cells}
        return dp.Domain(known, dialect=self.dialect)

    def write(self, folder: Path) -> Path:
        data = self.data.encode() if isinstance(self.data, str) else self.data
        path = folder / "a.csv"
        path.write_bytes(data)
        return path


def _told(kind: str, data: dict[str, Any]) -> Case:
    """A case of ``csv_cells.toml``: one column of texts in quotes, and another one."""
    name = {"numbers": "x", "dates": "d"}[kind]
    said, texts = dict(data.get("dialect", {})), data["texts"]
    if "long" in data:
        texts = [text + text[-1] * data["long"] for text in texts]
    if kind == "dates":
        said["separator"] = ";"
    elif "separator" not in said:
        said |= {"separator": ",", "quoted": True}
    mark = said["separator"]
    lines = [f"{name}{mark}z", *[f'"{text}"{mark}q' for text in texts]]
    cells = [None if cell == "?" else cell for cell in data["cells"]]
    gaps, missing = data.get("gaps", []), zip(texts, cells, strict=True)
    unread = [text for text, cell in missing if cell is None and text not in gaps]
    make = dp.Number if kind == "numbers" else dp.Date
    columns = {name: make(*data["bounds"])} if "bounds" in data else {}
    return Case(
        data["name"],
        "\n".join(lines) + "\n",
        {name: cells},
        D(**said),
        columns,
        marks=tuple((a, b) for a, b in data.get("marks", [])),
        format=data.get("format", ""),
        peers=tuple(data.get("peers", ALL)),
        unread=tuple(unread),
    )


def _read_cases() -> list[Case]:
    path = Path(__file__).with_name("csv_cells.toml")
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    return [_told(kind, one) for kind, several in found.items() for one in several]


XS = "x,s\n1,a\n2,b\n3,a\n"
PLAIN = {"x": [1, 2, 3], "s": ["a", "b", "a"]}
RECORDS = [
    Case("plain", XS, PLAIN),
    Case("byte order mark", b"\xef\xbb\xbf" + XS.encode(), PLAIN),
    Case("CRLF", XS.replace("\n", "\r\n"), PLAIN),
    Case("CR", XS.replace("\n", "\r"), PLAIN, peers=("pandas", "duckdb")),
    Case("no last line break", XS[:-1], PLAIN),
    Case(
        "mixed line ends", "x,s\r\n1,a\n2,b\r\n3,a", PLAIN, peers=("pandas", "polars")
    ),
    Case("quoted header", '"x","s"\n1,a\n2,b\n3,a\n', PLAIN),
    Case("quoted numbers", 'x,s\n"1","a"\n"2","b"\n"3","a"\n', PLAIN),
    Case("empty lines", "x,s\n1,a\n\n2,b\n\n3,a\n\n", PLAIN, peers=("pandas",)),
    Case(
        "short record",
        "s,x\na,1\nb\na,3\n",
        {"x": [1, None, 3], "s": ["a", "b", "a"]},
        peers=("pandas",),
    ),
    Case("long record", "x,s\n1,a\n2,b,zzz\n3,a\n", PLAIN, peers=()),
    Case(
        "other columns twice",
        "x,z,z,s\n1,0,5,a\n2,0,5,b\n3,0,5,a\n",
        PLAIN,
        peers=("pandas", "duckdb"),
    ),
    Case("column without a name", "x,,s\n1,9,a\n2,9,b\n3,9,a\n", PLAIN),
    Case("tabs", XS.replace(",", "\t"), PLAIN, D(separator="\t")),
    Case("bars", XS.replace(",", "|"), PLAIN, D(separator="|")),
    Case("spaces between", XS.replace(",", " "), PLAIN, D(separator=" ")),
    Case("header alone", "x,s\n", {"x": [], "s": []}),
    Case("header without a line break", "x,s", {"x": [], "s": []}),
    Case(
        "quoted line break, comma and quote",
        'x,s\n1,"l\nm"\n2,"a,b"\n3,"q""q"\n',
        {"x": [1, 2, 3], "s": ["l\nm", "a,b", 'q"q']},
        columns={"s": dp.Category(["l\nm", "a,b", 'q"q'])},
    ),
    Case(
        "quoted CRLF",
        'x,s\r\n1,"l\r\nm"\r\n2,b\r\n',
        {"x": [1, 2], "s": ["l\r\nm", "b"]},
        columns={"s": dp.Category(["l\r\nm", "b"])},
        peers=("polars", "duckdb"),  # pandas 3 makes LF of it
    ),
    Case(
        "stray quote",
        'x,s\n1,q"q\n2,b\n3,a\n',
        {"x": [1, 2, 3], "s": ['q"q', "b", "a"]},
        columns={"s": dp.Category(['q"q', "a", "b"])},
        peers=("pandas",),
    ),
    Case("unclosed quote", 'x,s\n1,"a\n2,b\n3,a\n', PLAIN, peers=()),
    Case(
        "Latin-1",
        "x,s\n1,é\n2,b\n".encode("latin-1"),
        {"x": [1, 2], "s": ["é", "b"]},
        D(encoding="latin-1"),
        {"s": dp.Category(["é", "b"])},
        peers=("pandas", "polars"),  # DuckDB reads UTF-8 alone
    ),
    Case(
        "Windows-1252",
        "x,s\n1,“a”\n2,€\n".encode("cp1252"),
        {"x": [1, 2], "s": ["“a”", "€"]},
        D(encoding="windows-1252"),
        {"s": dp.Category(["“a”", "€"])},
        peers=("pandas",),
    ),
    Case(
        "Latin-1 in another column",
        "x,s,z\n1,a,é\n2,b,ü\n3,a,q\n".encode("latin-1"),
        PLAIN,
        peers=(),
    ),
    Case(
        "NUL in a text",
        b"x,s\n1,a\n2,b\x00\n3,a\n",
        PLAIN | {"s": ["a", None, "a"]},
        peers=(),
    ),
    Case(
        "NUL in a number",
        b"x,s\n1,a\n2\x00,b\n3,a\n",
        PLAIN | {"x": [1, None, 3]},
        peers=(),
        unread=("2\x00",),
    ),
    Case(
        "leading zeros",
        "x,s\n007,007\n010,7\n",
        {"x": [7, 10], "s": ["007", "7"]},
        columns={"s": dp.Category(["007", "7"])},
    ),
    Case(
        "leading zeros that are not declared",
        "s,x\n007,1\n7,2\n",
        {"s": ["007", None], "x": [1, 2]},
        columns={"s": dp.Category(["007"])},
    ),
    Case(
        "NA as a category",
        "s,x\nNA,1\na,2\n",
        {"s": ["NA", "a"], "x": [1, 2]},
        columns={"s": dp.Category(["NA", "a"])},
    ),
    Case(
        "spaces and case",
        "s,x\n a,1\nA,2\nb ,3\n",
        {"s": ["a", "a", "b"], "x": [1, 2, 3]},
        columns={"s": dp.Category(["a", "b"], case=False, strip=True)},
        peers=(),
    ),
]
CASES = [*RECORDS, *_read_cases()]


def by_pandas(case: Case, path: Path) -> dict[str, Cells]:
    import pandas as pd

    encoding = {"windows-1252": "cp1252"}.get(case.dialect.encoding, "utf-8-sig")
    if case.dialect.encoding == "latin-1":
        encoding = "latin-1"
    separator = case.dialect.separator or ","
    frame = pd.read_csv(
        path, sep=separator, dtype=str, encoding=encoding, keep_default_na=False
    )
    out: dict[str, Cells] = {}
    for name in case.cells:
        texts = frame[name].fillna("")
        if name == "d":
            found = pd.to_datetime(texts, format=case.format, errors="coerce")
            out[name] = [None if pd.isna(v) else v.date() for v in found]
        elif name == "x":
            marked = [_marked(case, text) for text in texts]
            out[name] = pd.to_numeric(pd.Series(marked), errors="coerce").tolist()
        else:
            out[name] = texts.tolist()
    return out


def by_polars(case: Case, path: Path) -> dict[str, Cells]:
    import polars as pl

    encoding = "utf8" if case.dialect.encoding == "utf-8" else case.dialect.encoding
    separator = case.dialect.separator or ","
    frame = pl.read_csv(
        path, separator=separator, infer_schema=False, encoding=encoding
    )
    out: dict[str, Cells] = {}
    for name in case.cells:
        texts = frame[name]
        if name == "d":
            out[name] = texts.str.to_date(case.format, strict=False).to_list()
        elif name == "x":
            marked = pl.Series([_marked(case, t) for t in texts], dtype=pl.String)
            out[name] = marked.cast(pl.Float64, strict=False).to_list()
        else:
            out[name] = texts.to_list()
    return out


def by_duckdb(case: Case, path: Path) -> dict[str, Cells]:
    import duckdb

    out: dict[str, Cells] = {}
    encoding = case.dialect.encoding
    rows = duckdb.read_csv(
        str(path),
        header=True,
        all_varchar=True,
        sep=case.dialect.separator or ",",
        quotechar='"',
        escapechar='"',
        encoding=encoding,
    )
    texts = rows.select(*[duckdb.ColumnExpression(n) for n in case.cells]).fetchall()
    for place, name in enumerate(case.cells):
        cells = [row[place] for row in texts]
        if name == "d":
            ask = "SELECT try_strptime(?, ?)::DATE"
            given = [(cell, case.format) for cell in cells]
        elif name == "x":
            ask = "SELECT try_cast(? AS DOUBLE)"
            given = [(_marked(case, cell),) for cell in cells]
        else:
            out[name] = cells
            continue
        with duckdb.connect() as connection:
            out[name] = [
                connection.execute(ask, list(one)).fetchone()[0]  # type: ignore[index]
                for one in given
            ]
    return out


def _marked(case: Case, text: str | None) -> str | None:
    for mark, put in case.marks:
        text = text if text is None else re.sub(mark, put, text)
    return text


PEERS = {"pandas": by_pandas, "polars": by_polars, "duckdb": by_duckdb}
