"""Columns of PostgreSQL in types of which every row can be read and compared.

Drivers fail at some rows of many types (the time 24:00, an infinite range), Ibis knows
others by another name (money, domains, enumerations), and a collation may take "a" for
"A". So each column is cast in the server first: to a number, a truth, a date, or a text
that is compared byte by byte. None of these casts can fail. What has none is named.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_TEXT = "text"
# The numbers of PostgreSQL's own types; a domain has that of the type below it.
_PLAIN = {
    16: ("boolean", "boolean"),
    20: ("bigint", "int64"),
    21: ("smallint", "int16"),
    23: ("integer", "int32"),
    26: ("bigint", "int64"),  # object identifiers
    700: ("real", "float32"),
    701: ("double precision", "float64"),
    1082: ("date", "date"),
    1114: ("timestamp", "timestamp(6)"),
    1184: ("timestamptz", "timestamp('UTC', 6)"),
    1700: ("numeric", "decimal"),
    **dict.fromkeys((19, 25, 1042, 1043, 2950), (_TEXT, "string")),  # names, UUIDs
}
_OTHER_TEXTS = (
    "SELECT oid FROM pg_catalog.pg_type "
    "WHERE oid = ANY(%s::oid[]) AND (typtype = 'e' OR typname = 'citext')"
)


def plain_table(native: Any, names: Collection[str]) -> tuple[Any, frozenset[str]]:
    """An Ibis table with plain columns, and the names of those that have no such type.

    Only the columns of these ``names`` are in it: a role may see them alone. Only their
    types are asked for: no row is read.
    """
    import ibis
    import sqlglot.expressions as sql

    client, kept = native.get_backend(), [n for n in native.columns if n in names]
    native = native.select(*kept) if kept else native
    query = client.compiler.to_sqlglot(native.unbind())
    rows, dialect = query.subquery("given"), client.compiler.dialect
    empty = sql.select("*").from_(rows.copy()).limit(0)
    with client.con.cursor() as cursor:
        cursor.execute(empty.sql(dialect=dialect))
        found = {one.name: one.type_code for one in cursor.description}
        cursor.execute(_OTHER_TEXTS, [list(found.values())])
        texts = {row[0] for row in cursor.fetchall()}
    kinds = _PLAIN | dict.fromkeys(texts, (_TEXT, "string"))
    columns, schema = [], dict(native.schema().items())
    for name, number in found.items():
        column: Any = sql.column(name, quoted=True)
        if number in kinds:
            kind, schema[name] = kinds[number][0], ibis.dtype(kinds[number][1])
            column = sql.Cast(this=column, to=sql.DataType.build(kind, dialect=dialect))
        if number in kinds and kinds[number][0] == _TEXT:
            bytewise = sql.to_identifier("C", quoted=True)
            column = sql.Collate(this=column, expression=bytewise)
        columns.append(sql.alias_(column, name, quoted=True))
    text = sql.select(*columns).from_(rows).sql(dialect=dialect)
    plain = client.sql(text, schema=ibis.schema(schema))
    return plain, frozenset(n for n, number in found.items() if number not in kinds)
