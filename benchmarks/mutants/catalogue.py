"""The list of mutants: bugs of one line that would each break a promise of privacy.

A mutant names the code that it changes, not the file, so that moving files leaves it
as it is. Code that is found nowhere, or in two places, is an error: a list that has
gone stale proves nothing.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
SOURCE = Path("src", "discreto")


_HEAD = """\
# Bugs that the tests must see

Every line is a bug of one line, what it would do, and the test that fails with it.
`python benchmarks/mutants --jobs 2 --narrow` plants them one by one in a copy of the
tree and says whether it is so; `python benchmarks/mutants --page` writes this page.

| mutant | file | what it would do | seen by |
| --- | --- | --- | --- |"""


class Stale(Exception):
    """A mutant that does not fit the code any more."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """``find`` becomes ``put``; one of ``tests`` must fail, or else one of ``WIDE``."""

    name: str
    find: str
    put: str
    harm: str
    tests: tuple[str, ...]

    def place(self, root: Path) -> Path:
        """The one file with the code that this mutant changes."""
        found = {p: n for p, text in _texts(root) if (n := text.count(self.find))}
        if list(found.values()) != [1]:
            where = {str(path.relative_to(root)): n for path, n in found.items()}
            raise Stale(f"{self.name}: its code must be found once, not {where}.")
        return next(iter(found))

    def changed(self, path: Path) -> str:
        """The text of that file with the bug in it."""
        text = path.read_text(encoding="utf-8").replace(self.find, self.put)
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise Stale(
                f"{self.name}: what it makes is not Python ({error})."
            ) from None
        return text


@cache
def _texts(root: Path) -> list[tuple[Path, str]]:
    paths = sorted((root / SOURCE).rglob("*.py"))
    return [(path, path.read_text(encoding="utf-8")) for path in paths]


def mutants() -> list[Mutant]:
    """Every mutant of every list beside this file."""
    out: list[Mutant] = []
    for path in sorted(FOLDER.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            tests = tuple(entry.pop("tests"))
            out.append(Mutant(**entry, tests=tests))
    names = [mutant.name for mutant in out]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise Stale(f"two mutants are called {', '.join(sorted(twice))}.")
    return out


def page() -> str:
    """All mutants as a page of the docs."""
    lines = [_HEAD]
    for mutant in sorted(mutants(), key=lambda one: (one.place(ROOT), one.name)):
        place = mutant.place(ROOT).relative_to(ROOT / SOURCE)
        seen = "<br>".join(f"`{test}`" for test in mutant.tests)
        lines.append(f"| {mutant.name} | `{place}` | {mutant.harm} | {seen} |")
    return "\n".join([*lines, ""])
