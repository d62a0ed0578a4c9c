"""Keeps ``src/discreto/translations``: collects texts, adds new ones, compiles.

``tr("...")`` and ``mark("...")`` in the source and in templates are collected. A new
text gets an empty translation in every ``.po`` file, which a test refuses. Fill it in
and run this again, so that the ``.mo`` files that the package reads are made anew.
"""

from __future__ import annotations

import ast
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

SOURCE = Path(__file__).resolve().parents[1] / "src" / "discreto"
FOLDER = SOURCE / "translations"
LANGUAGES = ("pt", "es", "fr")
HEADER = """\
msgid ""
msgstr ""
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""


def marked(source: str) -> list[str]:
    """The texts in ``tr(...)`` and ``mark(...)``, also those inside of f-strings."""
    return [
        call.args[0].value
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("tr", "mark")
        and isinstance(call.args[0], ast.Constant)
    ]


def marked_in_template(source: str) -> list[str]:
    """The texts in ``tr(...)`` of a template of pages."""
    tree = Environment(autoescape=True).parse(source)
    return [
        call.args[0].value
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name)
        and call.node.name == "tr"
        and isinstance(call.args[0], nodes.Const)
    ]


def extracted() -> dict[str, str]:
    """Every marked text, and a file that it is in."""
    found: dict[str, str] = {}
    for path in sorted((SOURCE / "report").rglob("*.html")):
        for message in marked_in_template(path.read_text(encoding="utf-8")):
            found.setdefault(message, str(path.relative_to(SOURCE)))
    for path in sorted(SOURCE.rglob("*.py")):
        for message in marked(path.read_text(encoding="utf-8")):
            found.setdefault(message, str(path.relative_to(SOURCE)))
    for example in ("{count} columns",):  # of a docstring
        found.setdefault(example, "language.py")
    return found


def read(language: str) -> Catalog:
    """The catalogue of a language, as its ``.po`` file has it."""
    path = FOLDER / f"{language}.po"
    text = path.read_bytes() if path.exists() else b""
    found = read_po(io.BytesIO(text), locale=language)
    found.creation_date = datetime(2000, 1, 1, tzinfo=UTC)  # the same file every time
    return found


def compiled(catalogue: Catalog) -> bytes:
    """The ``.mo`` file of a catalogue."""
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def renewed(language: str, messages: dict[str, str]) -> Catalog:
    """The catalogue with exactly these messages; new ones are empty."""
    old = read(language)
    new = Catalog(locale=language)
    for message in sorted(messages):
        known = old.get(message)
        new.add(message, known.string if known else "")
    return new


def main() -> int:
    """Write all catalogues; how many texts lack a translation."""
    messages, missing = extracted(), 0
    FOLDER.mkdir(exist_ok=True)
    for language in LANGUAGES:
        catalogue = renewed(language, messages)
        file = io.BytesIO()
        write_po(file, catalogue, width=88, omit_header=True)
        head = HEADER.format(language=language).encode()
        (FOLDER / f"{language}.po").write_bytes(head + file.getvalue())
        (FOLDER / f"{language}.mo").write_bytes(compiled(read(language)))
        empty = [m.id for m in catalogue if m.id and not m.string]
        missing += len(empty)
        for message in empty:
            print(f"{language}: {message!r} has no translation")  # noqa: T201
    print(f"{len(messages)} texts, {missing} translations missing")  # noqa: T201
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
