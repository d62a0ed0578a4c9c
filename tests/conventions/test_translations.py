"""Whatever people read has a translation, and whatever they read is marked for one."""

from __future__ import annotations

import ast
import gettext
import importlib.util
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "discreto"
pytest.importorskip("babel")

# Modules whose texts are for people; the rest speaks through errors and data.
COVERED = [
    *sorted((SOURCE / "report").glob("*.py")),
    *sorted((SOURCE / "plots").glob("*.py")),
    *sorted((SOURCE / "cli").glob("*.py")),
    *(SOURCE / "lab" / name for name in ("report.py", "cli.py")),
    *(SOURCE / "text" / name for name in ("meaning.py", "html.py")),
    SOURCE / "release" / "text.py",
    SOURCE / "core" / "domain" / "html.py",
]
# Calls whose texts are marked, are for programs, or become errors.
ELSEWHERE = {
    *("tr", "mark", "ParameterError", "DomainError", "LedgerError", "UnsafeError"),
    *("DiscretoError", "MissingExtraError", "typer.Option", "typer.Argument"),
    *("typer.Typer", "app.command", "re.compile", "re.sub", "re.search"),
}
# Calls that show their first text, and keywords whose texts are shown.
SHOWING = {
    *("section", "add_column", "set_xlabel", "set_ylabel", "set_title", "suptitle"),
    *("text", "note", "working", "bar", "add_task", "_say", "Page", "rule"),
}
SHOWN = {"caption", "label", "title", "alt", "quantity", "score_name"}
ENGLISH = {
    # What the registry of deployments reads.
    "deployment.py": None,
    # Errors in the words of the shell, and help: translated where they are shown.
    "error_words.py": None,
    "options.py": None,
    "question_words.py": None,
    "__init__.py": None,
}
PROSE = re.compile(r"[A-Za-z]{2,},? +[A-Za-z]{2,}|[a-z]{2,}: ")
KNOWN = (
    "default-src",  # rules for browsers
    "<meta",
    "<html",
    "<body",
    "offset points",  # words of matplotlib
    "upper left",
    "; plot() draws it",  # a repr
    "(exit code ): ",  # an error
    "% probability",
    "text-align",
    "; white-space",
    "font-",
    "var(",
    '" role=',
    "nodes = [",  # lines of TOML
    "second =",
    "discreto query ",  # commands to copy
    "discreto report ",
    "--ledger",
    "port in [flower]",  # parts of errors
    "Known: ",
    "Did you mean",
    "judged wrongly",
    "shown to break",
    "Trouble with a file",
    "Its message is hidden",
    "another ledger",  # keys and labels of entries
    "continues ledger",
    "moved to ",
    "there is no ledger",
    "a ledger file, a model file",
    "chance of ",  # a column of a file
    "SQLite format",
    "list of real-world uses",  # sources, for programs
    "a press report of 2017",
    "the data set's own page",
    "low to high covers",  # facts of a file of answers
    "this table",
    "the population",
    "yes: it protects nobody",
    "Example",
    "The figures and tables",
)


def _script():
    path = ROOT / "scripts" / "catalogues.py"
    spec = importlib.util.spec_from_file_location("catalogues", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


catalogues = _script()


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_every_text_has_a_translation_with_the_same_names(language):
    known, messages = catalogues.read(language), catalogues.extracted()
    lacking = [m for m in messages if not (known.get(m) and known.get(m).string)]
    assert not lacking, "run scripts/translations and fill in the .po files"
    assert {m.id for m in known if m.id} == set(messages)
    wrong = [m for m in messages if _names(known.get(m).string) != _names(m)]
    assert not wrong
    tags = re.compile(r"\[/?\w*\]")
    assert not [
        m for m in messages if tags.findall(known.get(m).string) != tags.findall(m)
    ]


def test_marked_texts_are_found_wherever_they_stand():
    source = "f\"{x}: {y or tr('none')}\"; mark('one ' 'two'); tr(name); words.tr('no')"
    assert sorted(catalogues.marked(source)) == ["none", "one two"]


def test_marked_texts_of_templates_are_found():
    source = "{{ tr('one ' 'two', x=1) }}{% call s(tr('a')) %}{{ t(x) }}{% endcall %}"
    assert sorted(catalogues.marked_in_template(source)) == ["a", "one two"]


def test_templates_of_pages_show_no_text_that_is_not_marked():
    """Outside of ``{{ ... }}`` and ``{% ... %}`` there are elements only."""
    for path in sorted((SOURCE / "report" / "templates").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"\{#.*?#\}|\{\{.*?\}\}|\{%.*?%\}", "", text, flags=re.S)
        words = re.sub(r'<[^>]*>| class="\w+"', "", text)
        assert not re.search(r"[A-Za-z]{2,}", words), (path.name, words.split())


@pytest.mark.parametrize("language", catalogues.LANGUAGES)
def test_compiled_catalogues_are_those_of_the_texts(language):
    with (catalogues.FOLDER / f"{language}.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    known = catalogues.read(language)
    old = [m.id for m in known if m.id and compiled.gettext(m.id) != m.string]
    assert not old, "run scripts/translations"


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(p.value for p in node.values if isinstance(p, ast.Constant))
    return None


def _unmarked(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts that are shown, and prose anywhere, outside of ``tr`` and ``mark``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise):
            continue
        if isinstance(node, ast.Expr) and _text(node.value) is not None:
            continue  # a docstring
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in ELSEWHERE:
                continue
            first = node.args[:1] if name.rpartition(".")[2] in SHOWING else []
            named = [k.value for k in node.keywords if k.arg in SHOWN]
            for shown in (*first, *named):
                words = _text(shown) or ""
                if re.search(r"[A-Za-z]{2,}", re.sub(r"\[/?\w+\]", "", words)):
                    yield shown.lineno, words
        words = _text(node)
        if words is not None:
            if PROSE.search(words) and "`discreto" not in words:
                yield node.lineno, words
            continue
        if isinstance(node, ast.FunctionDef):
            for part in (*node.args.defaults, *node.body):
                yield from _unmarked(ast.Module([part], []))
            continue
        yield from _unmarked(node)


def _complaints(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        f"{path.name}:{line}: {words!r}"
        for line, words in _unmarked(tree)
        if not any(known in words for known in KNOWN)
    ]


def test_what_people_read_is_marked():
    found = [
        c for path in COVERED if path.name not in ENGLISH for c in _complaints(path)
    ]
    assert not found, "put these into tr(...):\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        'page.section("Limits")',
        'blocks = ["what it has learned"]',
        'ax.plot(x, label="budget")',
        'console.print(f"left of {x}: {y}")',
        'table.add_column("cost", justify="right")',
    ],
)
def test_an_unmarked_text_is_found(line):
    assert list(_unmarked(ast.parse(line)))
    assert not list(_unmarked(ast.parse("page.section(tr('Limits'))")))


# The study: its texts are translated where they are shown, by their forms.
STUDY = SOURCE / "lab" / "study"
STUDY_FORMS = json.loads((STUDY / "translations.json").read_text(encoding="utf-8"))
STUDY_NAMES = {
    *("outside lower center", "upper center", "lower right", "upper left"),
    *("Zhao 2018", "Liu 2018"),
    # Columns of results that no page shows.
    *("best error", "exponent as written", "exponent of (2.3)"),
    *("as it should be", "model agrees"),
}
HOLE = re.compile(r"\{\w*\}")
SEVERAL = re.compile(r"[A-Za-z]{2,},? +[A-Za-z]{2,}")


def _form(node: ast.AST) -> str | None:
    """A text, with {} for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_form(part) or "{}" for part in node.values)
    return _text(node)


def _sayings(tree: ast.AST) -> Iterator[str]:
    """Texts of several words outside of docstrings, errors and ``mark``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) in ELSEWHERE
        ):
            continue
        if isinstance(node, ast.Expr) and _text(node.value) is not None:
            continue
        words = _form(node)
        if words is None:
            yield from _sayings(node)
        elif SEVERAL.search(words):
            yield words


def _is_known(words: str) -> bool:
    """Whether a form has these words, or has them piece by piece."""
    if any(words.strip() in HOLE.sub("{}", form) for form in STUDY_FORMS):
        return True
    pieces = [
        one for one in re.split(r"; |: |, | \(|\)|\{\}", words) if one.strip(" ;")
    ]
    return pieces != [words] and all(
        not SEVERAL.search(one) or one in STUDY_NAMES or _is_known(one)
        for one in pieces
    )


def test_every_form_of_the_study_has_three_translations_with_the_same_names():
    for form, said in STUDY_FORMS.items():
        assert list(said) == list(catalogues.LANGUAGES), form
        for text in said.values():
            assert text, form
            assert sorted(HOLE.findall(text)) == sorted(HOLE.findall(form)), form


def test_what_the_study_says_has_a_translation():
    skipped = {"diffprivlib_script.py", "workers.py", "__init__.py"}
    found = [
        f"{path.name}: {words!r}"
        for path in sorted(STUDY.glob("*.py"))
        if path.name not in skipped
        for words in _sayings(ast.parse(path.read_text(encoding="utf-8")))
        if words not in STUDY_NAMES and not _is_known(words)
    ]
    assert not found, "put these into lab/study/translations.json:\n" + "\n".join(found)


def test_a_saying_without_a_translation_is_found():
    (words,) = _sayings(ast.parse('finding("nobody has {} said this", f"{x}")'))
    assert not _is_known(words)
    assert _is_known("least squares {}")
