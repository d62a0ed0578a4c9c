"""A raw epsilon or delta is never tested: the text "0" is true, and not 0.

What may be tested is what was read: a ``Fraction`` that a function takes or that a
reader returned, or a part of something that was read (``cost.epsilon``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "discreto"
FLOORS = ("models", "stats", "local", "federated", "cli", "report", "session")
FILES = sorted(p for floor in FLOORS for p in (SOURCE / floor).rglob("*.py"))

RAW = {"delta", "epsilon"}
# Objects whose epsilon and delta are exact numbers.
READ = {"cost", "terms", "ledger", "book"}
READERS = {"read_delta", "read_epsilon", "read_amount"}
# What changes nothing: the test of ``float(x)`` is a test of ``x``.
THROUGH = {"bool", "float", "int", "str", "repr", "abs", "len", "Fraction", "Decimal"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def decisions(tree: ast.AST) -> Iterator[ast.expr]:
    """Every expression whose truth decides something, and everything compared."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node.operand
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.Compare):
            yield node
        elif isinstance(node, ast.Call) and called(node) in ("bool", "any", "all"):
            yield from node.args
        elif isinstance(node, ast.Match):
            yield node.subject


def called(node: ast.Call) -> str:
    func = node.func
    return func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")


def inside(node: ast.expr) -> Iterator[ast.expr]:
    """The names and attributes that a test is about."""
    if isinstance(node, ast.Compare):
        if all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return  # ``is None`` asks whether there is one at all
        for part in (node.left, *node.comparators):
            yield from inside(part)
    elif isinstance(node, ast.Name | ast.Attribute):
        yield node
    elif isinstance(node, ast.Call):
        if called(node) in THROUGH:
            for argument in node.args:
                yield from inside(argument)
    elif isinstance(node, ast.IfExp):
        yield from (*inside(node.body), *inside(node.orelse))
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from inside(child)


def read_names(function: Function) -> set[str]:
    """Names that hold what was read: by their type, or from a reader."""
    taken = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    names = {
        one.arg
        for one in taken
        if one.annotation is not None
        and ast.unparse(one.annotation) in ("Fraction", "float")
    }
    for node in ast.walk(function):
        made = node.value if isinstance(node, ast.Assign) else None
        if isinstance(made, ast.Call) and called(made) in READERS:
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return names


def raw_tests(tree: ast.Module) -> list[str]:
    """The tests of an epsilon or delta that nobody has read."""
    found = set()
    scopes: list[tuple[ast.AST, set[str]]] = [(tree, set())]
    scopes += [(f, read_names(f)) for f in ast.walk(tree) if isinstance(f, Function)]
    known: dict[int, set[str]] = {}
    for scope, names in scopes:
        for node in ast.walk(scope):
            known.setdefault(id(node), set()).update(names)
    for test in decisions(tree):
        for node in inside(test):
            if isinstance(node, ast.Name):
                wrong = node.id in RAW and node.id not in known[id(node)]
            else:
                base = ast.unparse(node.value).rpartition(".")[2]
                wrong = node.attr in RAW and base not in READ
            if wrong:
                found.add(f"line {node.lineno}: {ast.unparse(node)}")
    return sorted(found)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_tests_what_was_not_read(path: Path) -> None:
    assert raw_tests(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "x = 2 if self.delta else 1",
        "x = self.delta or None",
        "x = bool(delta)",
        "x = not self.epsilon",
        "if model.delta > 0: pass",
        "if float(self.delta): pass",
        "while delta: pass",
        "x = [1 for y in z if self.epsilon and y]",
        "x = delta == 0",
        "x = self.delta in (0, '0')",
        "x = any([self.delta])",
        "def f(delta: Amount): return delta and 1",
    ],
)
def test_a_raw_test_is_found(line: str) -> None:
    assert raw_tests(ast.parse(line))


@pytest.mark.parametrize(
    "line",
    [
        "x = 2 if ask.cost.rho else 1",
        "if delta is None: pass",
        "x = 1 if self.terms.delta else 2",
        "if read_delta(self.delta): pass",
        "def f(delta: Fraction): return delta and 1",
        "def f(given):\n delta = read_delta(given)\n return delta > 0",
        "x = Cost.of(self.epsilon, self.delta) or 1",
    ],
)
def test_what_was_read_may_be_tested(line: str) -> None:
    assert not raw_tests(ast.parse(line))
