"""House rules that a linter does not know."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreto"
FILES = sorted(SOURCE.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def every_file(rule: Callable[[Path], None]) -> Callable[[], None]:
    """One test of a rule for all files: thousands of small ones take a minute."""

    def test() -> None:
        broken = {}
        for path in FILES:
            try:
                rule(path)
            except AssertionError as error:
                broken[name(path)] = str(error)
        assert broken == {}

    test.__name__, test.__doc__ = rule.__name__, rule.__doc__
    return test


CORE = sorted((SOURCE / "core").glob("*.py"))


def docstring_lines(path: Path) -> set[int]:
    """The numbers of the lines on which docstrings stand."""
    lines: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and (
            ast.get_docstring(node)
        ):
            first = node.body[0]
            lines |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return lines


def code_lines(path: Path) -> int:
    """Lines that do something: no blank lines, comments or docstrings."""
    text, skip = path.read_text(encoding="utf-8"), docstring_lines(path)
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in skip
        for number, line in enumerate(text.splitlines(), start=1)
    )


@every_file
def test_whole_numbers_are_read_in_one_place(path: Path) -> None:
    """``parameters.whole`` refuses truths, takes numpy's, and says what was given."""
    if (
        name(path).startswith(("core/", "lab/"))
        or name(path) == "session/parameters.py"
    ):
        return
    assert "must be a whole number" not in path.read_text(encoding="utf-8")


# The line of trust: what the guarantee rests on is in the core, and nowhere else.

BOUNDS = {"sensitivity", "square_sensitivity", "overlap", "shape"}


@every_file
def test_only_the_core_says_how_far_a_row_can_move_an_answer(path: Path) -> None:
    if name(path).startswith(("core/", "lab/")):
        return
    for node in ast.walk(tree(path)):
        if not isinstance(node, ast.ClassDef):
            continue
        methods = {part.name for part in node.body if isinstance(part, Function)}
        assert not methods & BOUNDS, f"{node.name} defines {methods & BOUNDS}"


INSIDE = {"_source", "_rows", "_gate", "_noisy", "_fold", "_scores", "_sampler"}
OWNERS = {"gate", "table", "ask", "session", "inner", "training"}


@every_file
def test_only_the_core_touches_the_inside_of_the_gate(path: Path) -> None:
    if name(path).startswith("core/"):
        return
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and node.attr in INSIDE:
            owner = ast.unparse(node.value).rsplit(".", 1)[-1].removeprefix("_")
            assert owner not in OWNERS, ast.unparse(node)


def classes_by_name(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The files in which each class name is defined."""
    found: dict[str, list[str]] = {}
    for path, module in trees.items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path)
    return found


def test_no_class_name_is_used_twice() -> None:
    """A reader who has met a name knows what it means."""
    found = classes_by_name({name(path): tree(path) for path in FILES})
    assert {one: places for one, places in found.items() if len(places) > 1} == {}
    twice = {"a.py": ast.parse("class A: pass"), "b.py": ast.parse("class A: pass")}
    assert classes_by_name(twice) == {"A": ["a.py", "b.py"]}


# Words that docs/glossary.md has replaced, as parts of names.
REPLACED = {"witness", "museum", "contestant", "compass", "course", "letter", "turn"}
PLAIN = ("audit/", "compare/", "federated/", "lab/", "cli/", "report/")


def names_in(module: ast.Module) -> Iterator[str]:
    """Names that a module gives: of classes, functions, arguments and variables."""
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef | Function):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def replaced_words(module: ast.Module) -> set[str]:
    """The old words among the names of a module, in the singular."""
    words = re.findall(r"[A-Z]?[a-z]+", " ".join(names_in(module)))
    return {word.lower().removesuffix("s") for word in words} & REPLACED


@every_file
def test_names_are_plain_words(path: Path) -> None:
    if name(path).startswith(PLAIN):
        assert not replaced_words(tree(path))


def test_an_old_word_is_found() -> None:
    assert replaced_words(ast.parse("def f(letters): old_turn = 1")) == {
        "letter",
        "turn",
    }


@every_file
def test_files_hold_one_subject(path: Path) -> None:
    """A file of more than 600 lines says in its docstring why it is one file."""
    text = path.read_text(encoding="utf-8")
    why = "one file" in (ast.get_docstring(ast.parse(text)) or "")
    assert why or len(text.splitlines()) <= 600


@every_file
def test_functions_are_short(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, Function):
            lines = (node.end_lineno or 0) - node.lineno + 1
            docs = ast.get_docstring(node, clean=False) or ""
            assert lines - docs.count("\n") <= 60, node.name


RANDOM = {"random", "secrets", "os.urandom", "numpy.random", "np.random"}
MAY_TOSS = {
    "core/noise/entropy.py": ("os.urandom",),
    "core/ledger/entries.py": ("secrets",),  # the name of a ledger, marks of entries
    "core/ledger/sqlite.py": ("secrets",),  # the name of a draft file
    "service/credentials.py": ("secrets",),  # tokens
    "service/guard.py": ("secrets",),  # the name of a request
    "service/oidc.py": ("secrets",),  # state, nonce, verifier
    "service/jobs.py": ("secrets",),  # the name of a job
    "service/audits.py": ("secrets",),  # the name of an audit
    # Public coins from ``random_state``: a generator is made here and nowhere else.
    "session/rng.py": ("np.random",),
    # Seeded float noise of the algorithms as printed: under simulation ledgers only.
    "lab/published/_noise.py": ("np.random",),
}
# Others may name the type of those coins, or make them from a given seed.
COINS = ("np.random.Generator", "np.random.default_rng", "np.random.RandomState")


def sources_of_chance(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


@every_file
def test_noise_has_one_source(path: Path) -> None:
    if name(path).startswith("testing"):
        return
    found = {
        source
        for source in sources_of_chance(path)
        if any(source == one or source.startswith(f"{one}.") for one in RANDOM)
    }
    allowed = MAY_TOSS.get(name(path), ())
    if name(path).startswith(("models/", "cli/", "session/parameters.py")):
        allowed = (*allowed, *COINS)
    # ``np.random`` alone is met as the stem of each of its longer names.
    stems = {
        source for source in found if any(o.startswith(f"{source}.") for o in found)
    }
    assert not [s for s in found - stems if not s.startswith(allowed or ("-",))]


@every_file
def test_nothing_runs_text_or_pickles(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile", "__import__")
        if isinstance(node, ast.Import):
            modules = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules = {node.module or ""}
        else:
            continue
        assert not modules & {"pickle", "marshal", "shelve", "dill", "joblib"}


@every_file
def test_no_assert_and_no_print(path: Path) -> None:
    for node in ast.walk(tree(path)):
        assert not isinstance(node, ast.Assert)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print" or name(path).startswith("cli/")
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None


LOGS = {"service/guard.py", "service/run.py"}


def test_nothing_keeps_a_log() -> None:
    for path in FILES:
        found = set(sources_of_chance(path))
        # Which names are old is public.
        old = {"_old_names.py", "models/__init__.py", "models/boosting/settings.py"}
        old |= {"models/interop/pipelines.py"}  # and so is which steps a pipeline has
        # Rows to predict are the caller's; a release says how many rows lack values.
        old |= {"models/base/warnings.py"}
        old |= {"core/documents.py"}  # and which files have no checksum
        old |= {"models/base/ledgers.py"}  # that a fit was given no ledger
        old |= {"data/ledger_marks.py"}  # that a folder cannot be written to
        old |= {"models/base/process_facts.py"}  # and so are rows to score
        allowed = {"warnings.warn"} if name(path) in old else set()
        # The access log of a service; a test reads it for what must not be there.
        allowed |= {"logging"} if name(path) in LOGS else set()
        # That another process holds a ledger file; no row has a part in it.
        allowed |= {"logging"} if name(path) == "core/ledger/sqlite.py" else set()
        assert not found & {"logging", "warnings.warn"} - allowed, name(path)


IMPORT = """
import sys
import discreto
heavy = {"sklearn", "pandas", "polars", "matplotlib", "pyarrow", "narwhals", "scipy"}
print(sorted(heavy & {module.partition(".")[0] for module in sys.modules}))
"""


def test_import_is_light() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", IMPORT],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


@every_file
def test_public_things_have_docstrings(path: Path) -> None:
    module = tree(path)
    assert ast.get_docstring(module) or not module.body
    if any(part.startswith("_") and part != "__init__.py" for part in path.parts[-2:]):
        return
    for node in module.body:
        if not isinstance(node, ast.ClassDef | Function) or node.name.startswith("_"):
            continue
        assert ast.get_docstring(node), node.name


def test_imports_keep_to_their_floors() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    if not command.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
