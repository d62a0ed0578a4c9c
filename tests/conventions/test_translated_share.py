"""How much of help and errors is translated. The shares may only rise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from discreto.cli import app
from discreto.cli.help_text import texts
from discreto.text import ledger_messages
from discreto.text.error_messages import error_in_words, forms, is_known
from discreto.text.language import speaking

SOURCE = Path(__file__).parents[2] / "src" / "discreto"
HOLE = re.compile(r"\{\w+\}")
FILLED = re.compile(r"\{\w+(!r)?\}")  # places in a message for what is filled in
KINDS = {
    *("ParameterError", "DomainError", "BudgetError", "LedgerError", "UnsafeError"),
    *("MissingExtraError", "KernelFault", "DiscretoError"),
}
# Shares that are translated. Raise them when more is; never lower them to pass.
HELP, SHELL_ERRORS, ALL_ERRORS = 1.0, 0.85, 0.57


def _template(node: ast.AST) -> str:
    """The text of an error, with a word for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (_template(part) for part in node.values)
        return "".join(part or "'x'" for part in parts)
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return ""


def messages(folder: str = "") -> set[str]:
    """Every text that is raised below a folder; the laboratory's are English."""
    found = set()
    for path in sorted((SOURCE / folder).rglob("*.py")):
        if path.is_relative_to(SOURCE / "lab"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in KINDS and node.args:
                found.add(_template(node.args[0]))
    if not folder:  # those of ledgers are kept in one place
        said = [v for name, v in vars(ledger_messages).items() if name.isupper()]
        found |= {FILLED.sub("'x'", text) for text in said}
    return found - {""}


def commands(command: Any) -> Iterator[Any]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from commands(inner)


def helps() -> set[str]:
    """Paragraphs of all help, without those that are a command to copy."""
    found = set()
    for command in commands(get_command(app)):
        several = [command.help, *(getattr(p, "help", "") for p in command.params)]
        for text in filter(None, several):
            found |= {" ".join(part.split()) for part in text.split("\n\n")}
    return {part for part in found if not re.fullmatch(r"(\d\. )?`[^`]*`", part)}


def share(known: set[str], all_of_them: set[str]) -> float:
    assert all_of_them
    return len(known & all_of_them) / len(all_of_them)


def test_the_share_of_translated_help_does_not_fall() -> None:
    lacking = helps() - set(texts())
    assert share(set(texts()), helps()) >= HELP, sorted(lacking)


@pytest.mark.parametrize(("folder", "least"), [("cli", SHELL_ERRORS), ("", ALL_ERRORS)])
def test_the_share_of_translated_errors_does_not_fall(
    folder: str, least: float
) -> None:
    found = messages(folder)
    known = {message for message in found if is_known(message)}
    assert share(known, found) >= least, sorted(found - known)


@pytest.mark.parametrize("known", [texts, forms])
def test_translations_are_whole_and_have_the_same_names(known: Any) -> None:
    for english, said in known().items():
        assert len(said) == 3, english
        for text in said:
            assert text.strip(), english
            assert sorted(HOLE.findall(text)) == sorted(HOLE.findall(english)), english


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pt", ("Opções", "Responde por grupo", "Pede uma estatística privada")),
        ("es", ("Opciones", "Responde por grupo", "Pide una estadística privada")),
        ("fr", ("Options", "Répond pour chaque groupe", "Demande une statistique")),
    ],
)
def test_help_is_shown_in_the_language(code: str, words: tuple[str, ...]) -> None:
    for line in (["--lang", code, "query", "--help"], ["query", "-h", "--lang", code]):
        done = CliRunner().invoke(app, line)
        text = " ".join(re.sub(r"[│╭╰─╮╯]", " ", done.output).split())
        for word in words:
            assert word in text
    listed = CliRunner().invoke(app, ["--lang", code, "--help"]).output
    assert words[2][:20] in " ".join(listed.split())
    english = CliRunner().invoke(app, ["query", "--help"]).output
    assert "Ask a private statistic" in " ".join(english.split())


def test_errors_are_shown_in_the_language_and_raised_in_english() -> None:
    done = CliRunner().invoke(app, ["--lang", "fr", "predict", "no.json", "x.csv"])
    assert "il n’y a pas de fichier 'no.json'" in " ".join(done.output.split())
    refused = "'count' costs ε 1, but ε 0.5 of 3 is left. Ask with epsilon <= 0.5."
    with speaking("pt"):
        assert error_in_words(refused) == (
            "'count' custa ε 1, mas restam ε 0.5 de 3. Pergunte com epsilon <= 0.5."
        )
        half = "there is no file 'a'. Something that has no form."
        assert error_in_words(half) == (
            "não existe o ficheiro 'a'. Something that has no form."
        )
    assert error_in_words(refused) == refused
