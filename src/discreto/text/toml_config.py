"""Configuration files: TOML that is read into the fields of a dataclass.

A field whose type is a dataclass is a section, ``[limits]``. A field whose type is a
mapping of dataclasses is a section for each name, ``[tables.patients]``. Keys that the
dataclass does not have are refused with the nearest one that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from discreto.core.documents import known_part, read_toml_file
from discreto.errors import ParameterError

T = TypeVar("T")
Resolve = Callable[[Path, str], str]


def _join(folder: Path, path: str) -> str:
    return str(folder / path)


def relative(resolve: Resolve = _join, default: Any = MISSING) -> Any:
    """Return a dataclass field for a path that is relative to the file.

    Parameters
    ----------
    resolve
        Returns the absolute form of a path, from the folder of the file and the path.
    default
        The default of the field, which is relative as well.
    """
    return field(default=default, metadata={"resolve": resolve})


def read_config(path: str | Path, schema: type[T], what: str) -> T:
    """Read a configuration file.

    Parameters
    ----------
    path
        A TOML file.
    schema
        A dataclass whose fields are the keys and sections of the file.
    what
        What the file is, for messages: ``"a service's file"``.

    Raises
    ------
    ParameterError
        The file cannot be read, has an unknown key, or lacks one.
    """
    folder = Path(path).absolute().parent
    return read_section(schema, read_toml_file(path), what, folder)


def read_section(
    schema: type[T],
    data: Mapping[str, Any],
    what: str,
    folder: Path,
    section: str = "",
) -> T:
    """Return the dataclass that a section describes.

    Parameters
    ----------
    schema
        The dataclass.
    data
        The keys and values of the section.
    what
        What it is, for messages.
    folder
        The folder of the file.
    section
        The full name of the section; empty for a whole file.
    """
    known = fields(schema)  # type: ignore[arg-type]
    names = [one.name for one in known]
    part = known_part(data, names, what)
    hints, values = get_type_hints(schema), {}
    for one in known:
        if one.name in part:
            place = f"{section}.{one.name}" if section else one.name
            found = _value(hints[one.name], part[one.name], place, folder)
        elif one.default is not MISSING:
            found = one.default
        elif one.default_factory is not MISSING:
            found = one.default_factory()
        else:
            raise ParameterError(
                f"{what} needs {one.name!r}. It may have: {', '.join(names)}."
            )
        values[one.name] = _resolved(one, found, folder)
    try:
        return schema(**values)
    except TypeError as error:  # a check of the dataclass met another type
        raise ParameterError(f"{what}: {error}.") from None


def _value(hint: Any, value: Any, section: str, folder: Path) -> Any:
    """Return a value in the form that its field has."""
    if get_origin(hint) in (Union, UnionType):
        some = [one for one in get_args(hint) if one is not type(None)]
        hint = some[0] if len(some) == 1 else Any
    inner = get_args(hint)[-1] if get_origin(hint) is Mapping else None
    if is_dataclass(hint) or inner is not None:
        if not isinstance(value, dict):
            several = is_dataclass(inner)
            raise ParameterError(
                f"{section} are sections: [{section}.NAME]."
                if several
                else f"{section!r} must be a section: [{section}]."
            )
        if inner is not None:
            return {
                name: _value(inner, one, f"{section}.{name}", folder)
                for name, one in value.items()
            }
        return read_section(hint, value, f"[{section}]", folder, section)
    if hint is str and isinstance(value, int | float):
        return str(value)
    return tuple(value) if isinstance(value, list) else value


def _resolved(one: Field[Any], value: Any, folder: Path) -> Any:
    resolve: Resolve | None = one.metadata.get("resolve")
    return value if resolve is None or value is None else resolve(folder, str(value))


__all__ = ["read_config", "read_section", "relative"]
