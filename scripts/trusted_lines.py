"""Count the lines of code that the guarantee rests on, and write them into the page.

    python scripts/trusted_lines.py [--write]

Lines of code are counted without comments, docstrings and blank lines. ``--write`` puts
the table into ``docs/architecture.md``; a test compares the two.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "discreto"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- trusted lines: made by scripts/trusted_lines.py -->", "<!-- end -->"
_SPACE = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.COMMENT,
}


@dataclass(frozen=True)
class Part:
    """Files that must be right, and what for."""

    name: str
    files: tuple[str, ...]  # patterns below src/discreto; "!" leaves files out
    rests: str

    def paths(self) -> list[Path]:
        """Return the files of this part."""
        found: set[Path] = set()
        for pattern in self.files:
            chosen = set(SOURCE.glob(pattern.removeprefix("!")))
            if not chosen:
                raise SystemExit(f"{self.name}: no file is called {pattern}.")
            found = found - chosen if pattern.startswith("!") else found | chosen
        return sorted(found)

    def lines(self) -> int:
        """Return the number of code lines in all files."""
        return sum(
            code_lines(path.read_text(encoding="utf-8")) for path in self.paths()
        )


# Maps of which every one is a row function (``core/row_program.py``). They cannot break
# a bound, whatever they say; tests/conventions/test_trusted_lines.py looks at each.
ROW_FUNCTIONS = (
    "_distances",
    "clusters",
    "code_counts",
    "domain_fit",
    "features",
    "gradients",
    "regression",
    "simplex_features",
)

PARTS = (
    Part(
        "`core`: gate, questions, costs",
        ("core/*.py", "core/domain/*.py"),
        "everything: what a question may be, how much noise it gets, that it is paid",
    ),
    Part("`core/noise`", ("core/noise/*.py",), "calibration, exact draws, secret bits"),
    Part("`core/ledger`", ("core/ledger/*.py",), "what was spent, durably"),
    Part(
        "`core/maps`: tallies, scores, trees, predictions",
        ("core/maps/*.py", *(f"!core/maps/{name}.py" for name in ROW_FUNCTIONS)),
        "row-local and total, and the bound itself where the clamp does not see what "
        "a map adds up. Maps that are row functions are not counted: the core runs "
        "them on one row at a time and clamps what they return",
    ),
    Part(
        "`core/expressions`",
        ("core/expressions/*.py",),
        "derived columns, dates, filters: row-local and total",
    ),
    Part(
        "readers: `data/frames`",
        (
            "data/frames/*.py",
            "!data/frames/owner_check.py",  # exact, for the owner alone
            "!data/frames/refusal_texts.py",  # texts made of names, types and paths
        ),
        "one record is one row; a value depends on its own cell; nothing fails after "
        "the charge; what is kept belongs to the same rows",
    ),
    Part(
        "`data/engines`",
        (
            "data/engines/*.py",
            "!data/engines/blas_threads.py",  # how many threads, not what they add up
        ),
        "every row is folded exactly once",
    ),
    Part(
        "tables and views",
        ("table/table.py", "table/rows.py", "table/views.py"),
        "that the bound on a person's rows is put on, and in which order",
    ),
    Part(
        "`data/sql`, where a database is the engine",
        (
            "data/sql/*.py",
            "!data/sql/cell_maps.py",
            "!data/sql/maps.py",
            "!data/sql/columns.py",
            "!data/sql/expressions.py",
            "!data/sql/dates.py",
        ),
        "the query that clamps, adds up and counts; the bound of persons; the reading "
        "of rows. Translations of maps and columns are not counted: a stage refuses "
        "what looks at another row, the clamp comes after them, and the core compares "
        "the counts of rows",
    ),
)


def code_lines(text: str) -> int:
    """Return the number of lines that are neither comment, docstring nor blank."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            documented |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SPACE:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - documented)


def table() -> str:
    """Return the table of parts in Markdown."""
    rows = ["| part | code lines | what rests on it |", "| --- | --- | --- |"]
    rows += [f"| {part.name} | {part.lines():,} | {part.rests} |" for part in PARTS]
    rows.append(f"| **all** | **{total():,}** | |")
    return "\n".join(rows)


def total() -> int:
    """Return the number of code lines of all parts."""
    return sum(part.lines() for part in PARTS)


def written(page: str) -> str:
    """Return the page with the table of today."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(table() + "\n")
