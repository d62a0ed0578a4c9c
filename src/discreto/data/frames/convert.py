"""Values in the terms of the domain. From here on nothing may raise or warn.

``convert`` is the one function from cells to values, for every source and every kind of
column that can be asked about. ``people_of`` reads identifiers and open texts. Both
take gaps from the same words (:mod:`~discreto.data.frames.cells`).

A number that is missing or is none is NaN. A category is its place in the declared
list, MISSING for no value, and UNKNOWN for a value that was not declared.

What a value becomes depends on that value alone: not on its neighbours in the column,
nor on the type that a column gets because of them. Else one row could move all others.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from typing import Any

from discreto.core.domain.dates import DateTime
from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Category
from discreto.core.frame import Array
from discreto.core.once import MadeOnce
from discreto.core.people import as_objects as objects_of
from discreto.core.people import named
from discreto.data.frames.arrow import flat, is_arrow, numbers_of, odd_texts
from discreto.data.frames.cells import (
    cells_of,
    gaps_of,
    number,
    reader_of,
    text_of,
    without,
)
from discreto.data.frames.dates import dates
from discreto.data.frames.elementwise import (
    NOTHING,
    PublicNumbers,
    are_texts,
    by_text,
    by_value,
    np,
    pc,
)

MISSING, UNKNOWN = -1, -2  # codes of what is no category
_PLAIN = Dialect()


def convert(values: Any, column: object, dialect: Dialect | None = None) -> Array:
    """Return a column in the terms of the domain: float64, or int64 codes."""
    dialect, values = dialect or _PLAIN, as_objects(values)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(column, DateTime):
            return dates(values, column, dialect)
        if isinstance(column, Category):
            codes = _text_codes(values, column, dialect)
            return _codes(plain(values), column, dialect) if codes is None else codes
        quick = _spelt_numbers(values, dialect)
        if quick is not None:
            return without(quick, gaps_of(dialect).numbers)
        stored = plain(values)
        gaps = gaps_of(dialect).stored(stored.dtype.name)
        return without(_numbers(stored, dialect), gaps)


def as_objects(values: Any) -> Any:
    """Return a column of Python objects as an array of them, others as they are.

    A library that converts such a column guesses one type for all of it. The value of
    a row would then depend on others: a time that names its zone moves those that name
    none. Where all are texts there is nothing to guess.
    """
    native = values.to_native() if hasattr(values, "to_native") else values
    kind = str(getattr(native, "dtype", ""))
    if kind not in ("object", "Object") or isinstance(native, np.ndarray):
        return values
    objects = objects_of(native.to_list())
    return values if kind == "object" and are_texts(objects) else objects


def plain(values: Any) -> Array:
    """Return a numpy array of numbers, or of Python objects, whatever the values are.

    Texts may hold bytes that are not UTF-8, which Python refuses to see as texts. They
    come as bytes then, as do their neighbours, which changes nothing for those.
    """
    if isinstance(values, np.ndarray):
        return values
    values = values.to_native() if hasattr(values, "to_native") else values
    for read in (_as_numpy, _as_bytes):
        with suppress(Exception):
            return read(values)
    return objects_of(cells_of(values))


def _as_numpy(values: Any) -> Array:
    if is_arrow(values):
        numbers = numbers_of(values)
        if numbers is not None:
            return numbers
        if hasattr(values.type, "value_type") and hasattr(values.type, "index_type"):
            # pyarrow itself would give what is missing the last value of all.
            values = values.cast(values.type.value_type)
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.asarray(values.to_numpy())


def _as_bytes(values: Any) -> Array:
    import pyarrow as pa

    texts = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type, safe=False)
    return np.asarray(texts.cast(pa.large_binary()).to_numpy(zero_copy_only=False))


def owned(
    values: Any, column: object, dialect: Dialect | None = None
) -> tuple[Array, bool]:
    """Return a copy of a column that no caller can change, and True if it is converted.

    Numbers stay in their own type, which may be small. All else is converted, because
    the objects in it might change.
    """
    values = as_objects(values)
    if isinstance(column, DateTime):
        return convert(values, column, dialect), True
    if isinstance(column, Category):
        codes = _text_codes(values, column, dialect or _PLAIN)
        if codes is not None:
            return codes, True
    array = plain(values)
    if array.dtype.kind in "fiub":
        return np.array(array), False
    return convert(array, column, dialect), True


def listed(values: Any) -> Array:
    """Return an array of a column given as a list, or as any other sequence."""
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):
        return plain(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = np.asarray(values)
    except Exception:
        out = np.empty(0, dtype=object)
    if out.ndim == 1 and out.dtype.kind in "fiub":
        return out
    # Other lists stay as they are. For mixed ones numpy takes one type that holds all:
    # beside a text, a complex number or a duration no number would be one.
    return objects_of(list(values))


def _numbers(values: Array, dialect: Dialect) -> Array:
    if values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)  # a view of what fits already
    texts, read = values.tolist(), reader_of(dialect)
    return np.fromiter((read(text) for text in texts), np.float64, len(texts))


def _spelt_numbers(values: Any, dialect: Dialect) -> Array | None:
    """Return the numbers of an arrow column of texts; None if it is not one.

    Texts that are not simple numbers are read by themselves, so an odd text costs its
    own time alone.
    """
    import pyarrow as pa

    # Simple texts are the same numbers in every dialect with a decimal point.
    if dialect.decimal != "." or not isinstance(values, pa.Array | pa.ChunkedArray):
        return None
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    try:
        odd, simple = odd_texts(values), values
        if odd.size:
            # Arrow takes long to make a scalar of a Python text: it loads pandas.
            ends = pa.py_buffer(np.array([0, 1], dtype=np.int32))
            data = [None, ends, pa.py_buffer(b"0")]
            zero = pa.Array.from_buffers(pa.string(), 1, data).cast(values.type)[0]
            marks = np.ones(len(values), dtype=bool)
            marks[odd] = False
            simple = pc.if_else(pa.array(marks), values, zero)
        out = np.array(flat(pc.cast(simple, pa.float64())))
        if odd.size:
            out[odd] = _numbers(plain(values.take(pa.array(odd))), dialect)
        return out
    except Exception:
        return None  # bytes that are not a text


def _text_codes(values: Any, column: Category, dialect: Dialect) -> Array | None:
    """Return the codes of a column of texts, fast; None if it is not one."""
    import pyarrow as pa

    plain_texts = all(type(kind) is str for kind in column.categories)
    try:
        texts = values.to_arrow() if hasattr(values, "to_arrow") else values
        if not isinstance(texts, pa.Array | pa.ChunkedArray):
            return None
        if isinstance(texts, pa.DictionaryArray):
            each = _text_codes(texts.dictionary, column, dialect)
            return None if each is None else _taken(each, texts.indices)
        if pa.types.is_dictionary(texts.type):
            texts = texts.cast(texts.type.value_type)
        if texts.type not in (pa.string(), pa.large_string(), pa.binary()):
            return None
        odd = column.aliases or not column.case or column.strip or not plain_texts
        if odd or gaps_of(dialect).numbers:
            return _taken(*by_text(texts, _lookup_of(column, dialect)))
        kinds = [str(kind) for kind in column.categories]
        absent = [word for word in dialect.missing if word not in kinds]
        several = [word.encode() for word in [*kinds, *absent]]
        known = pa.array(several, type=pa.binary()).cast(texts.type)
        found = pc.fill_null(pc.index_in(texts, value_set=known), UNKNOWN)
        codes = np.array(found.to_numpy(), dtype=np.int64)
        codes[codes >= len(kinds)] = MISSING
        if texts.null_count:
            gaps = pc.is_null(texts).to_numpy(zero_copy_only=False)
            codes[np.asarray(gaps)] = MISSING
        return codes
    except Exception:
        return None


def _taken(each: Array, places: Any) -> Array:
    """Return codes by their places in a list; MISSING where there is no place."""
    at = numbers_of(places)
    if at is None:
        raise TypeError("the places of a coded column are whole numbers.")
    if not places.null_count:
        return each[at]
    last = np.where(np.isnan(at), len(each), at).astype(np.int64)
    return np.concatenate([each, [MISSING]])[last]


def _codes(values: Array, column: Category, dialect: Dialect) -> Array:
    lookup = _lookup_of(column, dialect)
    if values.dtype.kind in "fiub":
        return lookup.many(values)
    each = values.tolist()
    return np.fromiter((lookup(value) for value in each), np.int64, len(each))


def number_codes(column: Category) -> dict[float, int]:
    """Return the codes of the numbers that find a category."""
    return _Lookup(column, _PLAIN).codes


class _Lookup:
    """The code of a value: by its text, or by the number that it is.

    A number finds the category that is that number, else the one that spells it; a
    text finds the category with that text, else the number or truth that it spells.
    """

    def __init__(self, column: Category, dialect: Dialect) -> None:
        self._plain, self._strip = column.plain, column.strip
        self._gaps, self._read = gaps_of(dialect), reader_of(dialect)
        self._texts: dict[str, int] = column.spellings()
        self._numbers: dict[float, int] = {}
        spelt: dict[float, int] = {}
        for code, kind in enumerate(column.categories):
            if isinstance(kind, str):
                spelt.setdefault(number(kind), code)
            else:
                self._numbers.setdefault(number(kind), code)
                if isinstance(kind, bool):
                    for word in (f"{kind}", f"{kind}".lower(), f"{kind}".upper()):
                        self._texts.setdefault(self._plain(word), code)
        self._exact = dict(self._numbers)
        self._numbers = spelt | self._numbers
        self.codes = {k: v for k, v in self._numbers.items() if not math.isnan(k)}
        self._declared = PublicNumbers(self.codes, UNKNOWN, MISSING)

    def __call__(self, value: object) -> int:
        try:
            value = text_of(value)
            if isinstance(value, str):
                if (plain := self._plain(value)) in self._texts:
                    return self._texts[plain]
                bare = value.strip() if self._strip else value
                gap = bare in self._gaps.texts or self._spells_gap(value)
                return self._exact.get(number(value), MISSING if gap else UNKNOWN)
            found = float(value)  # type: ignore[arg-type]
            gap = math.isnan(found) or self._gaps.is_number(found)
            return self._numbers.get(found, MISSING if gap else UNKNOWN)
        except Exception:
            return MISSING if type(value).__name__ in NOTHING else UNKNOWN

    def _spells_gap(self, text: str) -> bool:
        return bool(self._gaps.numbers) and self._gaps.is_number(self._read(text))

    def many(self, values: Array) -> Array:
        """Return the codes of numbers."""
        codes = self._declared.of(values)
        if not self._gaps.numbers:
            return codes
        gaps = (codes == UNKNOWN) & self._gaps.among(values)
        return np.where(gaps, MISSING, codes)


_lookup_of = MadeOnce(_Lookup)  # for all batches of a column


def people_of(values: Any, dialect: Dialect | None = None) -> Array:
    """Return identifiers: a private array of whole numbers, or of texts and None."""
    gaps = gaps_of(dialect or _PLAIN).names
    with suppress(Exception):
        values = _whole_numbers(values)
    flat = plain(values)
    if flat.dtype.kind in "iub":
        whole = flat.astype(np.uint64 if flat.dtype.kind == "u" else np.int64)
        # By the words, not by whether a row has one: the form of a row's identifier
        # does not depend on other rows.
        if not any(word.lstrip("-").isdigit() for word in gaps):
            return whole
        return named(whole.tolist(), gaps)
    if flat.dtype.kind == "f":
        return by_value(flat, lambda different: named(different, gaps))
    if flat.dtype.kind in "mM":
        texts = [str(value) for value in flat]
        return named([None if text == "NaT" else text for text in texts], gaps)
    return named(flat.tolist(), gaps)


def _whole_numbers(values: Any) -> Any:
    """Return whole numbers with gaps as objects: as floats they would be rounded."""
    import narwhals as nw
    import pyarrow as pa

    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype.is_integer():
        values = series.to_arrow()
    arrow = isinstance(values, pa.Array | pa.ChunkedArray)
    if arrow and pa.types.is_integer(values.type) and values.null_count:
        return objects_of(values.to_pylist())
    return values
