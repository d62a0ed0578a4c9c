"""Commands on the pages: all of them exist, and those of the tutorials run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from discreto.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
UsageError = typer.BadParameter.__mro__[1]  # newer versions of Typer have their own
INLINE = re.compile(r"`(discreto [a-z][^`]*)`")


def commands(block: str) -> list[list[str]]:
    """The words of every ``discreto`` command in a block."""
    lines = block.replace("\\\n", " ").splitlines()
    texts = [line.strip().removeprefix("$ ") for line in lines]
    return [
        shlex.split(text, comments=True)[1:]
        for text in texts
        if text.startswith("discreto ")
    ]


def parse(words: list[str]) -> None:
    """Refuse a command or an option that there is not."""
    if "--lang" in words:  # it may stand anywhere
        place = words.index("--lang")
        words = words[:place] + words[place + 2 :]
    command = typer.main.get_command(app)
    context = command.context_class(command)
    while hasattr(command, "get_command") and words and words[0][:1].isalpha():
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]!r}"
        command, words = found, words[1:]
        context = command.context_class(command, parent=context)
    if "..." in words:  # a reader fills it in
        words = words[: words.index("...")]
    command.make_parser(context).parse_args([word for word in words if word != "|"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_their_options_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = [one for kind, block in FENCE.findall(text) for one in commands(block)]
    for inline in INLINE.findall(FENCE.sub("", text)):
        found += commands(inline.replace("\n", " "))
    for words in found:
        try:
            parse(words)
        except UsageError as error:
            if "argument" not in str(error):  # what is not complete is no mistake
                raise AssertionError(f"{' '.join(words)}: {error}") from None


@pytest.mark.parametrize("name", ["first-answer", "model"])
def test_a_tutorial_works_as_it_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "tutorials" / f"{name}.md"
    names: dict[str, object] = {"__name__": "page"}
    ran = 0
    for kind, block in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
        if kind == "json":  # what the reader's editor leaves in the draft
            (tmp_path / "patients.domain.json").write_text(block)
        for words in commands(block) if kind == "text" else []:
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, f"{' '.join(words)}\n{done.output}"
            ran += 1
    assert ran >= 4


def test_a_wrong_command_is_noticed() -> None:
    parse(["query", "a.csv", "mean", "age", "--epsilon", "1"])
    with pytest.raises(UsageError):
        parse(["query", "a.csv", "mean", "age", "--epsilom", "1"])
    with pytest.raises(AssertionError, match="no command"):
        parse(["qery", "a.csv"])
