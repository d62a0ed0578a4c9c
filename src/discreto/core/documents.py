"""JSON and TOML from outside, read strictly: one reader for all files of a user.

A file that carries a guarantee must mean what its author sees. So a key that stands
twice is refused (plain readers keep the last one), and so is a key that is not known
(plain readers pass over a misspelt ``person``).
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
import json
import math
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreto.errors import ParameterError

WHOLE = 1 << 63  # whole numbers are smaller: they fit the arrays of any loop
LONGEST = 1000  # letters of a text that came from outside
_FRACTION = re.compile("([0-9]+)(?:/([0-9]+))?")
_SURROGATE = re.compile("[\ud800-\udfff]")

# Words that people write for ours, too far from them to be found by their letters.
_MEANT = {
    "min": "lower",
    "minimum": "lower",
    "max": "upper",
    "maximum": "upper",
    "values": "categories",
    "levels": "categories",
    "enum": "categories",
    "start": "first",
    "end": "last",
    "delimiter": "separator",
    "sep": "separator",
    "tz": "zone",
    "timezone": "zone",
    "adjacency": "neighbours",
    "privacy_unit": "person",
}


def read_json(text: str | bytes) -> Any:
    """Return the data of a JSON text, which has no key twice in one object.

    Raises
    ------
    ParameterError
        The text is not JSON, has a key twice, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except ParameterError:
        raise
    except RecursionError:
        raise ParameterError("it is nested too deeply.") from None
    except ValueError as error:
        raise ParameterError(f"it is not JSON: {_why(error)}.") from None


def read_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML text; TOML itself refuses a key that stands twice.

    Raises
    ------
    ParameterError
        The text is not TOML, has a key twice, or is nested too deeply.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ParameterError("it is nested too deeply.") from None
    except ValueError as error:
        raise ParameterError(f"it is not TOML: {_why(error)}.") from None


def read_toml_file(path: str | Path) -> dict[str, Any]:
    """Return the data of a TOML file; a ParameterError names the file."""
    try:
        return read_toml(Path(path).read_text(encoding="utf-8-sig"))
    except ParameterError as error:
        raise ParameterError(
            f"{str(path)!r} is not a readable TOML file: {error}"
        ) from None
    except (OSError, ValueError):
        raise ParameterError(f"{str(path)!r} is not a readable TOML file.") from None


CHECKSUM = "checksum"


def sealed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON data with a checksum of all the rest, the SHA-256 of its text.

    The text is canonical: sorted keys, no spaces, ASCII. A checksum tells of accidents.
    It does not stop an author of changes, who can make another one.
    """
    return {**data, CHECKSUM: _checksum(data)}


def check_seal(data: Mapping[str, Any]) -> None:
    """Refuse data that is not what ``sealed`` returned.

    Raises
    ------
    ParameterError
        The checksum is missing or belongs to other data.
    """
    said = data.get(CHECKSUM)
    rest = {key: value for key, value in data.items() if key != CHECKSUM}
    good = isinstance(said, str) and said.isascii()
    if not good or not hmac.compare_digest(str(said), _checksum(rest)):
        raise ParameterError(
            "its checksum does not fit: the file is damaged or was changed."
        )


def warn_of_no_checksum(path: str | Path) -> None:
    """Warn the caller of a reader that damage to a file could not be noticed."""
    warnings.warn(
        f"{str(path)!r} has no checksum: an earlier version of discreto wrote it, and "
        "damage to its numbers cannot be noticed. Save the model again to add one.",
        stacklevel=3,
    )


def _checksum(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) < len(pairs):
        twice = max(Counter(key for key, _ in pairs).items(), key=lambda one: one[1])[0]
        raise ParameterError(f"it has the key {twice[:80]!r} twice in one object.")
    return out


def _why(error: ValueError) -> str:
    return str(error).rstrip(".")[:200]


def is_remark(key: object) -> bool:
    """Return True for a key that is for readers only: ``comment``, or ``x-...``."""
    return isinstance(key, str) and (key == "comment" or key.startswith("x-"))


def known_part(
    data: Mapping[str, Any], known: Collection[str], where: str
) -> dict[str, Any]:
    """Return ``data`` without its remarks; refuse every key that is not ``known``.

    Raises
    ------
    ParameterError
        A key is neither known nor a remark. ``where`` begins the message.
    """
    for key in data:
        if key not in known and not is_remark(key):
            raise ParameterError(
                f"{where} does not know {str(key)[:80]!r}.{did_you_mean(key, known)} "
                f"It may have: {', '.join(known)}; also comment, and names with x- in "
                "front."
            )
    return {key: value for key, value in data.items() if key in known}


def did_you_mean(key: object, known: Collection[str]) -> str:
    """Return " Did you mean ...?" with the known word nearest to ``key``, or ""."""
    plain = str(key)[:80].lower().replace("-", "_").replace(" ", "_")
    near = [_MEANT[plain]] if _MEANT.get(plain) in known else []
    near = near or difflib.get_close_matches(plain, list(known), n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def read_fraction(text: object, letters: int = 81) -> Fraction:
    """A fraction of whole numbers; 1e99999999 would fill the memory."""
    short = isinstance(text, str) and len(text) <= letters
    found = _FRACTION.fullmatch(str(text)) if short else None
    if found is None or not int(found[2] or 1):
        raise ParameterError("this is not a fraction of whole numbers.")
    return Fraction(int(found[1]), int(found[2] or 1))


def check_amounts(data: Any) -> dict[str, Any]:
    """A cost from outside whose amounts are fractions that can be read."""
    for name, amount in data.items():
        if name != "infinite":
            read_fraction(amount, 10**3)
    return dict(data)


def check_plain(
    data: Any, most: int, depth: int = 16, letters: int = LONGEST, largest: int = WHOLE
) -> None:
    """Refuse JSON data from outside that is too deep, too long, or not plain.

    What is left can be walked, written and printed: whole numbers have 64 bits (or are
    below ``largest``), texts are short and can be encoded, numbers are finite.
    """
    level, seen = [data], 0
    for _ in range(depth + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.keys()
                below += one.values()
            elif isinstance(one, list | tuple):
                below += one
            elif not _is_plain(one, letters, largest):
                raise ParameterError("a message holds something that is not plain.")
            if seen + len(below) > most:
                raise ParameterError(f"a message has too many parts (at most {most}).")
        seen += len(below)
        if not below:
            return
        level = below
    raise ParameterError("a message is nested too deeply.")


def _is_plain(one: Any, letters: int, largest: int) -> bool:
    if type(one) is float:
        return math.isfinite(one)
    if isinstance(one, str):
        return len(one) <= letters and not _SURROGATE.search(one)
    if one is None or isinstance(one, bool):
        return True
    if isinstance(one, float):
        return math.isfinite(one)
    return isinstance(one, int) and -largest < one < 2 * largest


def short(value: object) -> str:
    """Return a value as text of at most 40 letters."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a very large number"
    return text if len(text) <= 40 else text[:37] + "..."
