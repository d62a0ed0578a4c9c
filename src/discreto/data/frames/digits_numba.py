"""A compiled look at texts that spell numbers; ``arrow._SIMPLE`` says the same."""

# mypy: ignore-errors

from __future__ import annotations

from numba import njit

_MINUS, _PLUS, _POINT, _ZERO, _NINE = 45, 43, 46, 48, 57
_LOWER, _UPPER = 101, 69  # e, E


@njit(cache=True, nogil=True)
def _digits(letters, at, stop):
    """The first place from ``at`` on that holds no digit."""
    while at < stop and _ZERO <= letters[at] <= _NINE:
        at += 1
    return at


@njit(cache=True, nogil=True)
def _simple(letters, at, stop):
    """-?[0-9]{1,30}(.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})? from end to end."""
    if at < stop and letters[at] == _MINUS:
        at += 1
    after = _digits(letters, at, stop)
    if not 1 <= after - at <= 30:
        return False
    at = after
    if at < stop and letters[at] == _POINT:
        after = _digits(letters, at + 1, stop)
        if not 1 <= after - at - 1 <= 30:
            return False
        at = after
    if at < stop and (letters[at] == _LOWER or letters[at] == _UPPER):
        at += 1
        if at < stop and (letters[at] == _MINUS or letters[at] == _PLUS):
            at += 1
        after = _digits(letters, at, stop)
        if not 1 <= after - at <= 2:
            return False
        at = after
    return at == stop


@njit(cache=True, nogil=True)
def find_odd(letters, ends, out):
    """Mark texts that are no simple numbers; says how many there are."""
    many = 0
    for i in range(out.shape[0]):
        odd = not _simple(letters, ends[i], ends[i + 1])
        out[i] = odd
        many += odd
    return many
