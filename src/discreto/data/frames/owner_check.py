"""How well rows fit a domain, exactly: for the owner of the data, and nobody else.

Nothing here is private and nothing of it is charged; it never leaves through the gate.
An owner who has looked may say so in the domain (``record_check``): that is public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreto.core.capabilities import AnswersQueries, ReadsTexts
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.domain.owner_statement import OwnerStatement, has_spelled
from discreto.core.frame import BATCH
from discreto.data.frames import StreamFrame, open_frame
from discreto.data.frames.cells import text_of
from discreto.data.frames.convert import MISSING, UNKNOWN, convert, plain
from discreto.data.frames.files import format_of, paths_of
from discreto.data.frames.memory import dict_columns, native_columns
from discreto.data.frames.refusal_texts import some
from discreto.data.sql.address import is_address
from discreto.data.sql.opening import database_frame
from discreto.errors import DomainError

_SHOWN = 5  # spellings of unknown values
_KEPT = 1 << 16  # different spellings that are counted at most
_MOST_UNREAD = 0.05  # of the cells of a column, in a file that counts as checked


@dataclass(frozen=True)
class Shares:
    """How many values of a column are missing, or outside of what is declared."""

    rows: int
    missing: int  # no value, or a text that is no number or date
    outside: int  # clipped numbers, unknown categories
    unknown: tuple[tuple[str, int], ...] = ()  # texts that are nothing declared
    unread: int = 0  # texts in a column of numbers that are none, and no gaps

    @property
    def is_read(self) -> bool:
        """Whether at most 5 % of the cells with something in them were not read."""
        return self.unread <= _MOST_UNREAD * (self.rows - self.missing + self.unread)


def is_checked(frame: Any, domain: Domain) -> bool:
    """Return True if numbers are not texts, or their owner has checked how they read.

    It depends on formats, types and the domain, which are public; on no row.
    """
    spelled = isinstance(frame, ReadsTexts) and frame.spelled
    if not spelled or not has_spelled(domain):
        return True
    return domain.checked is not None and domain.checked.covers(domain)


def record_check(data: Any, domain: Domain) -> Domain:
    """Check as the owner that texts are read, and say so in the domain.

    Parameters
    ----------
    data
        The rows: a file with texts (CSV, Excel), or a frame.
    domain
        The public description of the table, with the dialect of its texts.

    Returns
    -------
    Domain
        The domain with the record in ``checked``; ``save`` writes it to a file.

    Raises
    ------
    DomainError
        More than 5 % of the texts of a column are not read as numbers or dates. The
        message is for the owner: it depends on rows.

    Privacy
    -------
    Reads all rows without noise and without a charge, for the owner of the data. The
    record is a public statement: a day, a digest of the dialect, the columns, and that
    at least 95 % of the texts in each of them were read. It holds no number from rows.

    Examples
    --------
    >>> import discreto as dp
    >>> import pyarrow as pa
    >>> columns = {"kg": dp.Number(0, 200)}
    >>> domain = dp.Domain(columns, dialect=dp.Dialect(decimal=","))
    >>> checked = dp.record_check(pa.table({"kg": ["72,5", "80,1"]}), domain)
    >>> checked.checked.read, checked.fingerprint == domain.fingerprint
    ('at least 95 %', True)
    """
    return state_check(exact_shares(data, domain), domain)


def state_check(found: Mapping[str, Shares], domain: Domain) -> Domain:
    """Return the domain with the owner's statement, if enough of the texts are read."""
    wrong = [name for name, part in found.items() if not part.is_read]
    if wrong:
        raise DomainError(
            "for the owner, to be shown to nobody: more than 5 % of the texts of "
            f"{some(wrong)} are not numbers or dates as the dialect has them. Nothing "
            "was recorded. Say how the file writes decimals, thousands, dates and gaps "
            'in "dialect".'
        )
    return domain.with_(checked=OwnerStatement.of(domain))


def exact_shares(data: Any, domain: Domain) -> dict[str, Shares]:
    """Exact counts for each column that can be asked about."""
    frame = open_frame(data, domain)
    names = [n for n, c in domain.columns.items() if isinstance(c, Number | Category)]
    counts = {name: np.zeros(3, dtype=np.int64) for name in names}
    seen: dict[str, Counter[str]] = {name: Counter() for name in names}
    unread = dict.fromkeys(names, 0)
    dialect = domain.dialect or Dialect()
    stored = stored_columns(data, domain)
    for batch, rows, raw in _pieces(frame, domain, names, stored):
        for name in names:
            missing, outside = _odd(batch[name], domain[name])
            counts[name] += (rows, missing.sum(), outside.sum())
            if raw is not None:
                number = isinstance(domain[name], Number)
                odd = np.flatnonzero(missing if number else outside)
                values = _values(raw[name], odd)
                column = domain[name]
                texts = list(
                    _not_read(values, column, dialect) if number else map(str, values)
                )
                unread[name] += len(texts) if number else 0
                seen[name].update(texts if len(seen[name]) < _KEPT else ())
    out = {}
    for name in names:
        rows, missing, outside = counts[name].tolist()
        unknown = tuple(seen[name].most_common(_SHOWN))
        out[name] = Shares(rows, missing, outside, unknown, unread[name])
    return out


def stored_columns(data: Any, domain: Domain) -> Mapping[str, Any] | None:
    """Return the columns of a sheet or a table in memory as stored; None for others."""
    if isinstance(data, str | Path):
        paths = [] if is_address(data) else paths_of(data)
        if len(paths) != 1 or format_of(paths[0]) != "excel":
            return None
        from discreto.data.frames.excel import columns_of

        return columns_of(paths[0], domain.dialect)
    if isinstance(data, Mapping):
        return dict_columns(data, domain)
    if isinstance(data, list | tuple | np.ndarray):
        return None  # paths, or numbers
    return None if database_frame(data, domain) else native_columns(data, domain)


def _pieces(
    frame: Any, domain: Domain, names: list[str], columns: Mapping[str, Any] | None
) -> Iterator[tuple[dict[str, Any], int, Any]]:
    """Columns as the domain reads them, the number of rows, and columns as stored."""
    if isinstance(frame, AnswersQueries):
        for part in frame.tables(names):
            stored = {name: part.column(name) for name in names}
            read = {n: convert(stored[n], domain[n], domain.dialect) for n in names}
            yield read, part.num_rows, stored
        return
    if columns is not None:
        yield frame.columns(names), frame.length(), columns
        return
    texts = _texts(frame, names) if isinstance(frame, StreamFrame) else iter(())
    for batch, rows in frame.batches(names, BATCH):
        yield batch, rows, next(texts, None)


def _texts(frame: StreamFrame, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the columns of files as they are stored, in the batches of the frame."""
    for piece, rows in frame.pieces(names):
        for start in range(0, rows, BATCH):
            yield {name: piece[name][start : start + BATCH] for name in names}


def _values(column: Any, places: Any) -> list[Any]:
    """Some values of a column as it is stored."""
    if hasattr(column, "take") and hasattr(column, "to_pylist"):  # of arrow
        found: list[Any] = column.take(places).to_pylist()
        return found
    several = plain(column)
    return [text_of(several[place]) for place in places.tolist()]


def _not_read(values: list[Any], column: object, dialect: Dialect) -> Iterator[str]:
    """Texts that should be a number or a date, and are no word for a gap either."""
    # A word that spells a number is read once no word stands for a gap.
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    read = convert(cells, column, replace(dialect, missing=()))
    for value, found in zip(values, read.tolist(), strict=True):
        unread = isinstance(value, str) and found != found
        if unread and value.strip() not in dialect.missing:
            yield value


def _odd(values: Any, column: object) -> tuple[Any, Any]:
    """Which values are missing, and which are clipped or unknown."""
    if isinstance(column, Number):
        outside = (values < column.lower) | (values > column.upper)
        return np.isnan(values), outside
    return values == MISSING, values == UNKNOWN
