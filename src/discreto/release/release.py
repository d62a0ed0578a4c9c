"""What a person gets: a number, how sure it is, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.charge import Receipt
from discreto.core.cost import Cost
from discreto.core.domain.dates import show_date
from discreto.errors import ParameterError
from discreto.release import export
from discreto.release.json import form_of, parts_of, written_numbers
from discreto.release.text import facts_of, formatted, html_of, show_key, text_of
from discreto.text.wrong_calls import NoOperators, did_you_mean

LEVEL = 0.95
NOTHING = Cost()
Numbers = float | NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Release(NoOperators):
    """A private answer with its error bar.

    An answer about groups is indexed by group (``r["F"]``, ``r["F", "red"]``), and
    iterating gives its keys. Comparing with a number, ``float`` and a format compare,
    convert and format the value; whether a difference is more than noise is for the
    interval to say (``covers``).

    Parameters
    ----------
    label
        What was asked.
    value
        The answer: a number, or an array with one number for each of ``keys``. The
        mode of a column of texts is a text.
    low, high
        Ends of the interval that covers the *true value in this table* with 95 %
        probability over the noise (for each key on its own). Sampling error of the
        table itself is not part of it, unless ``population`` says so.
    keys
        The names of the parts of an array answer: categories, or edges of bins.
    cost, neighbours, receipt
        What was charged, what it protects, and the ledger's proof.
    unit
        The unit of the column, if the domain says one.
    note
        A remark that belongs to the number.
    names
        The names of the columns that the keys are values of, where they are.
    level
        With what probability the interval covers; 0.95 unless asked otherwise.
    population
        Whether the interval is about the population that the rows were drawn from at
        random, noise and sampling together, and not about this table.
    checked
        False if the rows come from texts whose owner has not recorded that they are
        read as the domain says: many of them may count as missing.
    counts
        Whether it counts rows: files have whole numbers, ends rounded outward.

    Examples
    --------
    >>> import discreto as dp
    >>> domain = dp.Domain({"age": dp.Number(0, 120)})
    >>> table = dp.Table({"age": [40] * 100}, domain, dp.testing.simulate(0))
    >>> count = dp.stats.count(table, epsilon=1)
    >>> count.low <= count.value <= count.high, count.cost, count.simulated
    (True, Cost(ε 1), True)
    >>> f"{count:.0f}" == str(round(float(count))), count > 50
    (True, True)
    """

    label: str
    value: Numbers
    low: Numbers
    high: Numbers
    keys: tuple[Any, ...] = ()
    unit: str = ""
    note: str = ""
    cost: Cost = NOTHING
    neighbours: str = ""
    receipt: Receipt | None = None
    names: tuple[str, ...] = ()
    level: float = LEVEL
    population: bool = False
    checked: bool = True
    counts: bool = False

    def __post_init__(self) -> None:
        numbers = isinstance(self.low, float) and isinstance(self.high, float)
        numbers = numbers and isinstance(self.value, float)
        if numbers and self.low <= self.value <= self.high:
            return
        parts = [np.asarray(part) for part in (self.value, self.low, self.high)]
        alike = len({part.shape for part in parts}) == 1
        if alike and all(part.dtype.kind in "fiu" for part in parts):
            # Noise can carry a count below 0, where no count is: to the nearest end.
            value = np.clip(parts[0], np.minimum(*parts[1:]), np.maximum(*parts[1:]))
            if not np.array_equal(
                value, parts[0], equal_nan=parts[0].dtype.kind == "f"
            ):
                value = value if parts[0].ndim else value.item()
                object.__setattr__(self, "value", value)

    @property
    def error(self) -> Numbers:
        """Half the width of the interval; NaN for a text."""
        if isinstance(self.value, str):
            return float("nan")
        return (np.asarray(self.high) - np.asarray(self.low)) / 2

    @property
    def epsilon(self) -> float:
        """The pure epsilon spent (0 if it was rho)."""
        return float(self.cost.epsilon)

    @property
    def simulated(self) -> bool:
        """True if this comes from a simulation and protects no rows."""
        return self.receipt is not None and self.receipt.simulated

    def paid(self, receipt: Receipt, cost: Cost, neighbours: str) -> Release:
        """Return the same answer with the proof of its payment.

        Parameters
        ----------
        receipt
            The ledger's proof.
        cost
            What was charged.
        neighbours
            What the cost protects.
        """
        return replace(self, receipt=receipt, cost=cost, neighbours=neighbours)

    # As a number, an array, a mapping

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def items(self) -> list[tuple[Any, float]]:
        """Return pairs of key and value of an array answer."""
        return list(zip(self.keys, np.ravel(self.value).tolist(), strict=True))

    def dates(self) -> list[str]:
        """Return the values of an answer that consists of dates, as texts."""
        return [show_date(value, self.unit) for value in np.ravel(self.value).tolist()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __bool__(self) -> bool:
        return True  # a release, not how many parts it has

    def __contains__(self, key: Any) -> bool:
        return self._place(key) is not None

    def __getitem__(self, key: Any) -> Release:
        place = self._place(key)
        if place is None:
            known = list(map(show_key, self.keys)) or ["it is one number"]
            hint = did_you_mean(show_key(key), known)
            raise ParameterError(f"{self.label!r} has no part {key!r}. {hint}")
        value, low, high = (part[place] for part in self._lists())
        label = f"{self.label}: {show_key(self.keys[place])}"
        return replace(
            self, label=label, value=value, low=low, high=high, keys=(), names=()
        )

    def _place(self, key: Any) -> int | None:
        """Return the index of a key, given as it is or as it is shown."""
        for place, known in enumerate(self.keys):
            if type(known) is type(key) and known == key:
                return place
        shown = show_key(key)
        places = [i for i, known in enumerate(self.keys) if show_key(known) == shown]
        return places[0] if len(places) == 1 else None

    def _lists(self) -> list[list[Any]]:
        return [np.ravel(p).tolist() for p in (self.value, self.low, self.high)]

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Release):
            return self._facts() == other._facts()
        return self._compare(other, np.equal)

    def __hash__(self) -> int:
        return hash((self.label, self.keys, self.receipt))

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, np.less)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, np.less_equal)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, np.greater)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, np.greater_equal)

    def _compare(self, other: Any, compare: Callable[..., Any]) -> Any:
        """Compare values, one by one where there are several."""
        against = other.value if isinstance(other, Release) else other
        if isinstance(against, str) or isinstance(self.value, str):
            return NotImplemented if compare is not np.equal else self.value == against
        try:
            found = compare(np.asarray(self.value), np.asarray(against))
        except TypeError:
            return NotImplemented
        return found if np.ndim(found) else bool(found)

    def _facts(self) -> str:
        return json.dumps(self.to_dict(), default=str)

    def covers(self, value: float) -> Any:
        """Return True if the interval holds a number.

        Parameters
        ----------
        value
            Such as 0, for a difference.

        Returns
        -------
        bool or array of bool
            One for each key.

        Examples
        --------
        >>> Release("difference", 3.0, 1.0, 5.0).covers(0)
        False
        """
        found = (np.asarray(self.low) <= value) & (value <= np.asarray(self.high))
        return found if np.ndim(found) else bool(found)

    # As a table

    def matrix(self) -> NDArray[np.float64]:
        """Return the values in as many dimensions as the keys have parts.

        Returns
        -------
        array
            ``matrix()[i, j]`` is the value of the i-th kind of the first part and the
            j-th of the second: a contingency table, a 2-d histogram.

        Raises
        ------
        ParameterError
            The keys are not a complete crossing.

        Examples
        --------
        >>> keys = (("f", "a"), ("f", "b"), ("m", "a"), ("m", "b"))
        >>> Release("count", *[np.arange(4)] * 3, keys).matrix().tolist()
        [[0.0, 1.0], [2.0, 3.0]]
        """
        sizes = [len(set(part)) for part in self._key_columns()]
        if int(np.prod(sizes)) != np.size(self.value):
            raise ParameterError(f"the keys of {self.label!r} are no full crossing.")
        return np.reshape(np.asarray(self.value, dtype=float), sizes)

    def columns(self) -> dict[str, list[Any]]:
        """Return the answer as columns: keys, ``value``, ``low`` and ``high``.

        Examples
        --------
        >>> Release("count", 5.0, 3.0, 7.0).columns()
        {'value': [5.0], 'low': [3.0], 'high': [7.0]}
        """
        keys = self._key_columns()
        names = list(self.names)
        if len(names) != len(keys) or {"value", "low", "high"} & set(names):
            several = [f"key {i + 1}" for i in range(len(keys))]
            names = several if len(keys) > 1 else ["key"]
        table, numbers = dict(zip(names, keys, strict=False)), written_numbers(self)
        return table | {name: np.ravel(p).tolist() for name, p in numbers.items()}

    def _key_columns(self) -> list[list[Any]]:
        rows = [key if isinstance(key, tuple) else (key,) for key in self.keys]
        if len({len(row) for row in rows}) > 1:
            rows = [(show_key(key),) for key in self.keys]
        columns = [list(part) for part in zip(*rows, strict=True)]
        # A column of a frame is of one kind.
        return [
            part if len({type(key) for key in part}) == 1 else list(map(show_key, part))
            for part in columns
        ]

    def named(self, names: Sequence[str]) -> Release:
        """Return the same answer with names for the parts of its keys, if they fit.

        Parameters
        ----------
        names
            The columns that the keys are values of, one for each part of a key.
        """
        return replace(self, names=tuple(names)) if self._fits(names) else self

    def _fits(self, names: Sequence[str]) -> bool:
        # By lengths, of which there are few, however many keys there are.
        sizes = {len(key) if isinstance(key, tuple) else 1 for key in self.keys}
        return sizes == {len(names)}

    def to_frame(self, library: str | None = None) -> Any:
        """Return the answer as a data frame, one row for each key.

        Parameters
        ----------
        library : str, optional
            ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the first of them
            that is installed.

        Returns
        -------
        frame
            Columns for the keys, ``value``, ``low`` and ``high``.

        """
        return export.to_frame(self.columns(), library)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the answer as CSV text, one line for each key.

        Parameters
        ----------
        path : str or Path, optional
            A file to write it to.

        Returns
        -------
        str
            The text.
        """
        return export.to_csv(self.columns(), path)

    def to_excel(self, path: str | Path) -> None:
        """Write the answer to an Excel file, with a sheet that says what it is.

        Parameters
        ----------
        path : str or Path
            The file to write (.xlsx). Needs openpyxl.
        """
        export.to_excel(self.columns(), path, facts_of(self))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form, read back by ``from_dict``."""
        return form_of(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Release:
        """Read the form of ``to_dict``, without the receipt.

        Parameters
        ----------
        data
            What ``to_dict`` returned, or the JSON of it.

        Returns
        -------
        Release
            An equal release, but for the receipt.
        """
        return cls(**parts_of(data))

    def to_json(self) -> str:
        """Return ``to_dict`` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        return text_of(self)

    def __repr__(self) -> str:
        return f"Release({self.label}: {self})"

    def __format__(self, spec: str) -> str:
        """Return the value in this format; without one, the whole answer."""
        return formatted(self, spec) if spec else str(self)

    def _repr_html_(self) -> str:
        return html_of(self)
