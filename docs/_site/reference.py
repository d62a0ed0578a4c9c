"""Pages that are made from the code: names, commands, schemas, errors."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import commands
import question_schema

from discreto import errors
from discreto.data import domain_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conventions"))
import public_surface  # noqa: E402  (the list of names that the tests check, too)


def write(folder: Path) -> None:
    """All generated pages of the reference."""
    api = folder / "api"
    api.mkdir(parents=True)
    for name in public_surface.MODULES:
        _module(api, name)
    (api / "index.rst").write_text(_contents(), encoding="utf-8")
    (folder / "command-line.md").write_text(commands.page(), encoding="utf-8")
    (folder / "errors.md").write_text(errors_page(), encoding="utf-8")
    (folder / "schemas.md").write_text(schemas_page(), encoding="utf-8")


def title(text: str, line: str = "=") -> str:
    """A heading in reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def first_line(thing: Any) -> str:
    """The sentence with which a docstring begins."""
    paragraph = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(paragraph.split())


def _contents() -> str:
    text = title("Python: every public name")
    text += (
        "\nOne page for each module; ``import discreto as dp`` gives all of them.\n\n"
    )
    for name in public_surface.MODULES:
        text += f"* :doc:`{name}`: {first_line(importlib.import_module(name))}\n"
    listed = "\n   ".join(public_surface.MODULES)
    return text + f"\n.. toctree::\n   :hidden:\n   :maxdepth: 1\n\n   {listed}\n"


def _module(folder: Path, name: str) -> None:
    """A page for a module with its functions, and one for each of its classes."""
    module = importlib.import_module(name)
    parts = [(p, getattr(module, p)) for p in module.__all__]
    classes = [(p, thing) for p, thing in parts if inspect.isclass(thing)]
    others = [(p, t) for p, t in parts if inspect.isroutine(t)]
    text = title(name) + f"\n.. automodule:: {name}\n   :no-members:\n\n"
    if others:
        text += title("Functions", "-")
        text += "".join(f"\n.. autofunction:: {name}.{p}\n" for p, _ in others)
    if classes:
        text += "\n" + title("Classes", "-") + "\n"
        text += "".join(
            f"* :doc:`{p} <{name}.{p}>`: {first_line(kind)}\n" for p, kind in classes
        )
        hidden = "\n   ".join(f"{p} <{name}.{p}>" for p, _ in classes)
        text += f"\n.. toctree::\n   :hidden:\n   :maxdepth: 1\n\n   {hidden}\n"
    values = [(p, v) for p, v in parts if isinstance(v, str | tuple | dict)]
    if values:
        text += "\n" + title("Values", "-") + "\n"
        text += "".join(f"* ``{p}`` = ``{v!r}``\n" for p, v in values)
    (folder / f"{name}.rst").write_text(text, encoding="utf-8")
    for part, kind in classes:
        page = _class(f"{name}.{part}", part, kind)
        (folder / f"{name}.{part}.rst").write_text(page, encoding="utf-8")


def _class(path: str, name: str, kind: type) -> str:
    text = title(name) + f"\n.. autoclass:: {path}\n   :no-members:\n"
    for member, _ in public_surface.members(path, kind):
        static = inspect.getattr_static(kind, member.rsplit(".", 1)[1])
        routine = inspect.isroutine(static) or isinstance(static, staticmethod)
        if isinstance(static, functools.cached_property):
            said = textwrap.indent(inspect.getdoc(static.func) or "", " " * 6)
            text += f"\n   .. py:property:: {member}\n\n{said}\n"
            continue
        word = "method" if routine else "property"
        text += f"\n   .. auto{word}:: {member}\n"
    return text


def errors_page() -> str:
    """What can be refused, the exit code of the shell, and what to do."""
    kinds = [getattr(errors, name) for name in errors.__all__]
    rows = [
        f"| `{kind.__name__}` | {kind.exit_code} | {first_line(kind)} | "
        f"{ADVICE[kind]} |"
        for kind in sorted(
            (k for k in kinds if issubclass(k, errors.DiscretoError)),
            key=lambda k: k.exit_code,
        )
    ]
    return ERRORS + "\n".join(rows) + AFTER_ERRORS


ERRORS = """# Errors

Everything that discreto refuses is one of these, in Python as an exception of
`discreto.errors`, in a shell as an exit code. A message is made from public facts only:
it never shows a value from a row.

| error | exit code | what it says | what to do |
| --- | --- | --- | --- |
"""
AFTER_ERRORS = """

`PrivacyWarning` is a warning: the guarantee holds, but not for all that is there, for
example a step of a pipeline that was fitted to private rows.

An exit code of 130 says that Ctrl-C was pressed; what was charged by then is printed.
"""
ADVICE = {
    errors.DiscretoError: "Read the message; it is none of the kinds below.",
    errors.ParameterError: "Change the argument that the message names.",
    errors.DomainError: "Describe the column in the [domain](../tables.md): from a "
    "code book, never from the rows.",
    errors.BudgetError: "Ask with the ε that the message says is left, or stop: "
    "[choosing ε](../choosing-epsilon.md).",
    errors.LedgerError: "Find out who else uses, moved or changed the file: "
    "[the ledger](../ledger.md).",
    errors.UnsafeError: "Do it under `discreto.testing.simulate()` with rows that "
    "need no protection, or not at all.",
    errors.MissingExtraError: "Run the command that the message prints: "
    '`pip install ".[...]"` with the extra, in the folder of the sources.',
    errors.KernelFault: "The charge stands. The owner looks, then "
    "`discreto ledger reopen`.",
    errors.ChangedError: "The charge stands, and the ledger is open. Open the files "
    "anew with `table.reload()`, and ask again.",
    errors.CallError: "Call it as the message says.",
    errors.UnknownNameError: "Use one of the names that the message proposes.",
    errors.UnknownImportError: "Import one of the names that the message proposes.",
    errors.StalledError: "Look whether the cluster has workers, then "
    "`discreto ledger reopen`.",
}


def schemas_page() -> str:
    """The forms of domain files and of questions."""
    domain = json.dumps(domain_file.schema(), indent=1, ensure_ascii=False)
    question = json.dumps(question_schema.schema(), indent=1, ensure_ascii=False)
    return SCHEMAS.format(domain=domain, question=question)


SCHEMAS = """# JSON Schemas

Both are JSON Schema 2020-12, made from the code that reads the files.

## Domain files

What `Domain.save` and `discreto domain draft` write; `discreto domain schema` has it.
An editor that knows the schema completes and checks a domain file; `discreto domain
check` says the rest (bounds in the wrong order, and so on). [Tables as people have
them](../tables.md) explains the fields.

```json
{domain}
```

## Questions

What a silo or the service is sent, after the statistic or the model has been turned
into a question. A closed list of kinds: whatever is not in it is refused. Beyond its
form, every part is checked against the domain before anything is charged
([how it works](../how-it-works.md)).

```json
{question}
```
"""
