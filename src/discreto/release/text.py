"""Answers as text: one line, a list by key, a table of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreto.core.domain.dates import is_date_unit, show_date
from discreto.core.maps.cells import MISSING
from discreto.release.labels import label_in_words
from discreto.text.html import html_table
from discreto.text.language import number, tr

if TYPE_CHECKING:
    from discreto.release.release import Release

_MOST = 40  # keys of an answer that are listed


def text_of(release: Release, *, priced: bool = True) -> str:
    """Return an answer with its interval and cost, by key if it has several."""
    stamp = _stamp(release, checked=release.checked or not priced)
    tail = f"({_sense(release)})" + (f", {number(release.cost)}" if priced else "")
    note = f"; {label_in_words(release.note)}" if release.note else ""
    unit, remark = release.unit, release.note
    if _found_nothing(release):
        return f"{stamp}{label_in_words(release.label)} {tail}{note}"
    if not release.keys:
        ends = release.value, release.low, release.high
        return f"{stamp}{_interval(*ends, unit, remark)} {tail}{note}"
    names = [
        (key_in_words(key), _interval(value, low, high, unit, remark))
        for key, value, low, high in zip(release.keys, *release._lists(), strict=True)
    ]
    wide = max(len(name) for name, _ in names)
    shown = [f"  {name:<{wide}}  {text}" for name, text in names[:_MOST]]
    more = (
        ["  " + tr("... {count} more", count=len(names) - _MOST)]
        if len(names) > _MOST
        else []
    )
    return "\n".join(
        [f"{stamp}{label_in_words(release.label)} {tail}{note}", *shown, *more]
    )


def _stamp(release: Release, *, checked: bool) -> str:
    """Return what a reader has to know before the number; several share one."""
    words = [] if checked else [tr("NOT CHECKED")]
    words += [tr("SIMULATED")] if release.simulated else []
    return "".join(f"{word} " for word in words)


def _found_nothing(release: Release) -> bool:
    """Return True if this is a list of keys of which none is shown."""
    return not release.keys and np.size(release.value) == 0


def _sense(release: Release) -> str:
    """Return the level of the interval, and what it covers."""
    sure = f"{number(100 * release.level, 'g')} %"
    return tr("{sure}, population", sure=sure) if release.population else sure


def facts_of(release: Release) -> dict[str, str]:
    """Return the facts that belong to the numbers of an answer in every file."""
    where = "the population" if release.population else "this table"
    sure = f"in {where} with {100 * release.level:g} % probability"
    return {
        "what": release.label,
        "unit": release.unit,
        "interval": f"low to high covers the true value {sure}",
        "cost": str(release.cost),
        "neighbours": release.neighbours,
        "note": release.note,
        "checked": "yes" if release.checked else "no",
        "simulated": "yes: it protects nobody" if release.simulated else "no",
        "receipt": "" if release.receipt is None else release.receipt.hash,
    }


def _interval(value: Any, low: Any, high: Any, unit: str, note: str) -> str:
    """Return a value with its interval, in the digits that the interval leaves."""
    if is_date_unit(unit) and not isinstance(value, str):
        ends = [show_date(part, unit) for part in (value, low, high)]
        return f"{ends[0]} [{ends[1]}, {ends[2]}]"
    unit = f" {unit}" if unit else ""
    if isinstance(value, str) or isinstance(low, str):
        return f"{value}{unit}"
    if low == high == value and note:  # a choice, as the note says
        return f"{number(value, 'g')}{unit}"
    half, middle = (high - low) / 2, (high + low) / 2
    whole = all(float(part).is_integer() for part in (value, low, high))
    spec = f".{0 if whole else decimals(half)}f"
    if abs(value - middle) <= 0.02 * half + 1e-12 * abs(value):
        return f"{number(value, spec)} ± {number(half, spec)}{unit}"
    # A comma between numbers with decimal commas could not be read.
    between = ", " if number(0.5) == "0.5" else "; "
    span = between.join(number(end, spec) for end in (low, high))
    return f"{number(value, spec)} [{span}]{unit}"


def html_of(release: Release, *, priced: bool = True) -> str:
    """Return HTML of an answer for a notebook: a row for each key."""
    stamp = _stamp(release, checked=release.checked or not priced)
    note = f"; {label_in_words(release.note)}" if release.note else ""
    cost = f", {number(release.cost)}" if priced else ""
    name = label_in_words(release.label)
    caption = f"{stamp}{name} ({_sense(release)}){cost}{note}"
    if _found_nothing(release):
        return html_table([tr("value")], [], caption=caption)
    rows = [
        (
            *(key_in_words(part) for part in key),
            _interval(value, low, high, release.unit, release.note),
        )
        for key, value, low, high in zip(
            zip(*release._key_columns(), strict=True) if release.keys else [()],
            *release._lists(),
            strict=True,
        )
    ]
    heads = [*list(release.columns())[: len(rows[0]) - 1], tr("value")]
    return html_table(heads, rows, caption=caption)


def releases_html(several: Sequence[Release], *, together: bool = False) -> str:
    """Return HTML of several releases: numbers in one table, then the others.

    Releases that were paid for ``together`` have their cost said once.
    """
    single = [one for one in several if not one.keys]
    rows = [
        (
            label_in_words(one.label),
            _interval(one.value, one.low, one.high, one.unit, one.note),
            _sense(one),
            *([] if together else [number(one.cost)]),
            label_in_words(one.note),
        )
        for one in single
    ]
    words = [] if all(one.checked for one in several) else [tr("NOT CHECKED")]
    words += [tr("SIMULATED")] if any(one.simulated for one in several) else []
    if together and several:
        words.append(
            tr("{cost} for all of these together", cost=number(several[0].cost))
        )
    costs = [] if together else [tr("cost")]
    heads = ["", tr("value"), tr("interval"), *costs, ""]
    caption = " ".join(words)
    first = [html_table(heads, rows, caption=caption)] if single else []
    others = [html_of(one, priced=not together) for one in several if one.keys]
    return "".join([*first, *others])


def key_in_words(key: Any) -> str:
    """Return a key as a person reads it, in the language in use.

    >>> from discreto.text.language import speaking
    >>> with speaking("fr"):
    ...     key_in_words((0.5, MISSING))
    '0,5 × (manquant ou autre)'
    """
    if isinstance(key, tuple):
        return " × ".join(key_in_words(part) for part in key)
    if isinstance(key, str) and key == MISSING:
        return tr("(missing or other)")
    return number(show_key(key)) if isinstance(key, float) else show_key(key)


def show_key(key: Any) -> str:
    """Return a key as text, the same in every language, for files and look-ups."""
    if isinstance(key, tuple):
        return " × ".join(show_key(part) for part in key)
    return f"{key:.6g}" if isinstance(key, float) else str(key)


def decimals(error: float) -> int:
    """Return decimals that show two digits of the error."""
    if not error or not np.isfinite(error):
        return 2
    return int(np.clip(1 - np.floor(np.log10(error)), 0, 12))


def formatted(release: Release, spec: str) -> str:
    """Return the value in a format, or the value of each key."""
    if not release.keys:
        return format(release.value, spec)
    parts = [f"{key_in_words(key)}: {value:{spec}}" for key, value in release.items()]
    return ", ".join(parts)
