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
import tomllib
import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from discreto.errors import ParameterError

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
