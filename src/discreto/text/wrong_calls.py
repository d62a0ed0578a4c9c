"""Messages for calls that cannot be made: other arguments, unknown names.

Python's own message names an argument and no remedy. These show a call that works.
"""

from __future__ import annotations

import difflib
import dis
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from discreto.errors import CallError, UnknownImportError, UnknownNameError

P = ParamSpec("P")
R = TypeVar("R")
# How an example writes a parameter.
_EXAMPLES = {
    "column": "'age'",
    "columns": "['age', 'income']",
    "condition": "'age > 30'",
    "categories": "['f', 'm']",
    "denominator": "'income'",
    "epsilon": "0.1",
    "first": "'age'",
    "group": "'sex'",
    "ledger": "Ledger('people.ledger', epsilon=3)",
    "lower": "0",
    "numerator": "'rent'",
    "on": "'year'",
    "points": "[18, 65]",
    "probability": "0.5",
    "second": "'income'",
    "upper": "120",
    "weights": "'weight'",
    "X": "table",
    "y": "'TARGET'",
}
_DATES = {"first": "'2024-01-01'", "last": "'2024-12-31'"}
_OTHER_WORDS = {
    "budget": "epsilon",
    "eps": "epsilon",
    "groupby": "by",
    "group_by": "by",
    "groups": "by",
    "labels": "y",
    "q": "probability",
    "target": "y",
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Answer a call with other arguments than ``function`` takes with an example.

    Parameters
    ----------
    function
        A function, or the ``__init__`` of a class.

    Raises
    ------
    CallError
        An argument is missing, unknown or one too many.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            signature = inspect.signature(function)
            try:
                signature.bind(*args, **kwargs)
            except TypeError:  # so the call itself is wrong, and nothing has run
                raise CallError(_reason(function, signature, args, kwargs)) from None
            raise

    return call


def checked_init(kind: type[R]) -> type[R]:
    """Apply :func:`checked` to the ``__init__`` of a class."""
    kind.__init__ = checked(kind.__init__)  # type: ignore[method-assign]
    return kind


def readable(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method that needs no argument be read as an attribute, too.

    ``ledger.remaining > 1`` and ``print(ledger.remaining)`` use what
    ``ledger.remaining()`` returns; a type checker sees the method.

    Parameters
    ----------
    method
        A method whose arguments have defaults.
    """
    return Readable(method)  # type: ignore[return-value]


class Readable:
    """A descriptor that binds a method as a :class:`_Value`."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.__wrapped__ = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bound = self.__wrapped__.__get__(instance, owner)
        return bound if instance is None else _Value(bound)


class _Value:
    """A bound method that also acts as its result: it is called when it is used."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python asks of a method, such as its docstring
            return getattr(self._method, name)
        return getattr(self(), name)

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return bool(self() == _result(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self() < _result(other))

    def __le__(self, other: Any) -> bool:
        return bool(self() <= _result(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self() > _result(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self() >= _result(other))

    def __add__(self, other: Any) -> Any:
        return self() + _result(other)

    def __radd__(self, other: Any) -> Any:
        return other + self()

    def __sub__(self, other: Any) -> Any:
        return self() - _result(other)

    def __rsub__(self, other: Any) -> Any:
        return other - self()

    def __mul__(self, other: Any) -> Any:
        return self() * _result(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self() / _result(other)

    def __float__(self) -> float:
        return float(self())

    def __bool__(self) -> bool:
        return bool(self())

    def __format__(self, form: str) -> str:
        return format(self(), form)

    def __repr__(self) -> str:
        return repr(self())

    def __str__(self) -> str:
        return str(self())


def _result(value: Any) -> Any:
    return value() if isinstance(value, _Value) else value


def _reason(
    function: Callable[..., Any],
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> str:
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    known = dict(signature.parameters)
    if "self" in known:
        del known["self"]
        args = args[1:]
    example = f"Write {_example(name, known)}."
    for word in kwargs:
        if word not in known:
            return f"{name} has no argument {word!r}. {_near(word, known)}"
    plain = [n for n, p in known.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(args) > len(plain):
        extra = ", ".join(_short(arg) for arg in args[len(plain) :])
        named = [n for n, p in known.items() if p.kind is p.KEYWORD_ONLY]
        behind = f"; {', '.join(named)} are written by name" if named else ""
        return (
            f"{name} takes {_listed(plain) or 'nothing'} without a name{behind}. Got "
            f"{extra} as well. {example}"
        )
    given = {*plain[: len(args)], *kwargs}
    twice = [n for n in plain[: len(args)] if n in kwargs]
    if twice:
        return f"{name} got {twice[0]} twice. {example}"
    lacking = [n for n, p in known.items() if p.default is p.empty and n not in given]
    price = ", the privacy budget that it may spend" if "epsilon" in lacking else ""
    return f"{name} needs {_listed(lacking)}{price}. {example}"


def _example(name: str, known: Mapping[str, inspect.Parameter]) -> str:
    """Return a call with what it needs."""
    if name == "Domain":
        return "Domain({'age': Number(0, 120), 'sex': Category(['f', 'm'])})"
    words = _EXAMPLES | (_DATES if "last" in known else {})
    parts = []
    for parameter, spec in known.items():
        needed = spec.default is spec.empty and spec.kind is not spec.VAR_KEYWORD
        value = words.get(parameter, parameter)
        if needed and (spec.kind is spec.KEYWORD_ONLY or parameter == "epsilon"):
            parts.append(f"{parameter}={value}")
        elif needed or parameter == "y":
            parts.append(value)
    before = "model." if name == "fit" else ""
    return f"{before}{name}({', '.join(parts)})"


def _near(word: str, known: Mapping[str, Any]) -> str:
    if word == "target" and "y" not in known:
        return "The target is the second argument of fit: model.fit(table, 'TARGET')."
    if _OTHER_WORDS.get(word) in known:
        return f"Did you mean {_OTHER_WORDS[word]!r}?"
    return did_you_mean(word, known)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return "Did you mean 'x'?", or the known names."""
    names = list(known)
    folded = {other.casefold(): other for other in reversed(names)}
    text = str(name).strip().casefold()
    near = difflib.get_close_matches(text, folded, n=1)
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    shown = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
    return f"Known: {shown}."


def quoted_column(expression: object, known: Iterable[str]) -> str:
    """Return a hint if a text in quotes within an expression is a column's name."""
    found = [name for name in known if repr(name) in str(expression)]
    if not found:
        return ""
    return (
        f" {found[0]!r} in quotes is a text. Did you mean the column? Write it without "
        f"quotes, or in backticks: `{found[0]}`."
    )


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _short(value: object) -> str:
    plain = isinstance(value, str | int | float | list | tuple)
    text = repr(value) if plain else f"a {type(value).__name__}"
    return text if len(text) <= 40 else text[:37] + "..."


class NoOperators:
    """An object that cannot be added to or multiplied by a number, and says so."""

    def _refuse(self, other: object) -> NoReturn:
        kind = type(self).__name__
        raise CallError(
            f"a {kind} is a number with an interval, and {kind} and "
            f"{type(other).__name__} cannot be combined. Use its value: "
            "float(release), or release.value."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = _refuse


def refuse_name(
    module: str, name: str, known: Iterable[str], hint: Callable[[str], str]
) -> NoReturn:
    """Raise the error for a name that a module does not have.

    ``from module import name`` drops the message of an AttributeError, so that
    statement gets an ImportError.

    Parameters
    ----------
    module
        The full name of the module.
    name
        The name that was asked for.
    known
        The names that the module has.
    hint
        Returns what to use instead, or nothing: then the nearest known name is shown.

    Raises
    ------
    UnknownNameError
        For an attribute.
    UnknownImportError
        For ``from module import name``.
    """
    frame = sys._getframe(2)  # the caller of the module's __getattr__
    if name.startswith("_") or frame.f_globals.get("__name__") in _IMPORTERS:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    text = f"{module} has no {name!r}. {hint(name) or did_you_mean(name, known)}"
    code = frame.f_code.co_code
    if 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == _IMPORT_FROM:
        raise UnknownImportError(text)
    raise UnknownNameError(text)


_IMPORT_FROM = dis.opmap["IMPORT_FROM"]
_IMPORTERS = ("importlib._bootstrap", "importlib")  # which then look for a submodule

__all__ = [
    "NoOperators",
    "checked",
    "checked_init",
    "did_you_mean",
    "quoted_column",
    "refuse_name",
]
