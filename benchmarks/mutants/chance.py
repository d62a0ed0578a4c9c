"""Mutants that nobody thought of: small slips at random places of the trusted files.

A slip swaps a comparison, an operator, ``and`` with ``or``, ``min`` with ``max``, drops
a ``not``, or moves a whole number by one. It is tried on the test files of all listed
mutants of its file. A survivor is a question, not a fault: some slips change nothing.
"""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from catalogue import ROOT, SOURCE, Mutant, mutants

_SIGNS: dict[type, tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
_SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SWAPPED |= {"floor": "ceil", "ceil": "floor"}
Slip = tuple[int, int, int, str]  # line, from, to (in bytes), what is put there


def by_chance(count: int, seed: int, among: list[str]) -> list[Mutant]:
    """So many slips in files that have mutants of their own, or in those named."""
    tests: dict[Path, set[str]] = defaultdict(set)
    for mutant in mutants():
        seen = [test.partition("::")[0] for test in mutant.tests]
        tests[mutant.place(ROOT)].update(seen)
    core = ROOT / SOURCE / "core"
    files = sorted(path for path in tests if core in path.parents)
    files = [f for f in files if not among or any(word in str(f) for word in among)]
    every = [(path, slip) for path in files for slip in _slips(path)]
    random.Random(seed).shuffle(every)
    texts = [p.read_text(encoding="utf-8") for p in (ROOT / SOURCE).rglob("*.py")]
    out: list[Mutant] = []
    for path, slip in every:
        made = _mutant(path, slip, tuple(sorted(tests[path])))
        if sum(text.count(made.find) for text in texts) == 1:
            out.append(made)
        if len(out) == count:
            break
    return out


def _mutant(path: Path, slip: Slip, tests: tuple[str, ...]) -> Mutant:
    row, start, stop, put = slip
    lines = path.read_text(encoding="utf-8").split("\n")
    line = lines[row].encode()
    changed = (line[:start] + put.encode() + line[stop:]).decode()
    before, after = lines[max(row - 2, 0) : row], lines[row + 1 : row + 3]
    old, new = ("\n".join([*before, one, *after]) for one in (lines[row], changed))
    name = f"{path.stem}:{row + 1}:{start}"
    harm = f"`{lines[row].strip()}` -> `{changed.strip()}`".replace("|", "¦")
    return Mutant(name, old, new, harm, tests)


def _slips(path: Path) -> Iterator[Slip]:
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.split("\n")
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise | ast.AnnAssign | ast.arguments | ast.JoinedStr)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr):
            continue
        if node.lineno == node.end_lineno:
            yield from _slips_of(node, lines[node.lineno - 1].encode())


def _slips_of(node: ast.expr, line: bytes) -> Iterator[Slip]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.ops[0], node.comparators[0], line)
    elif isinstance(node, ast.BinOp):
        yield from _between(node.left, node.op, node.right, line)
    elif isinstance(node, ast.BoolOp):
        yield from _between(node.values[0], node.op, node.values[1], line)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.lineno - 1, node.col_offset, node.operand.col_offset, ""
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield _whole(node, str(node.value + 1))
    elif isinstance(node, ast.Name) and node.id in _SWAPPED:
        yield _whole(node, _SWAPPED[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in _SWAPPED:
        end = node.end_col_offset or 0
        yield node.lineno - 1, end - len(node.attr), end, _SWAPPED[node.attr]


def _whole(node: ast.expr, put: str) -> Slip:
    return node.lineno - 1, node.col_offset, node.end_col_offset or 0, put


def _between(
    left: ast.expr, sign: ast.AST, right: ast.expr, line: bytes
) -> Iterator[Slip]:
    start, stop = left.end_col_offset or 0, right.col_offset
    old, new = _SIGNS.get(type(sign), ("", ""))
    gap = line[start:stop].decode()  # may hold brackets as well
    if old:
        yield left.lineno - 1, start, stop, gap.replace(old, new, 1)
