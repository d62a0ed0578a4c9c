"""Readers turn cells into values one by one: by a closed list of functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from discreto.data.frames import elementwise

READERS = Path(__file__).parents[2] / "src" / "discreto" / "data" / "frames"
LIST = "elementwise.py"
# They convert columns: numpy and pyarrow.compute come from the list alone.
CONVERT = ("arrow.py", "cells.py", "convert.py", "dates.py")
# They look at no value of a column, or are for the owner alone.
OTHERS = {
    "records.py": "counts quotes and line breaks of bytes, before there are cells",
    "owner_check.py": "counts exactly, for the owner; nothing of it is answered",
}
# Functions whose result for a cell depends on other cells.
_WORDS = """
    accumulate all any approximate_median argmax argmin argpartition argsort
    array_sort average bincount corrcoef count_distinct count_nonzero cov cummax
    cummin cumprod cumsum cumulative_max cumulative_min cumulative_prod
    cumulative_sum diff dictionary_encode digitize drop_duplicates ediff1d factorize
    first gradient histogram hist interp kurtosis last lexsort max mean median min
    min_max mode nanmax nanmean nanmin nansum nunique partition percentile product
    prod ptp quantile rank reduce reduceat rolling searchsorted shift skew sort
    sort_by sort_indices sort_values std stddev sum tdigest top_k trapezoid unique
    unique_all value_counts variance var
"""
WHOLE = frozenset(_WORDS.split())
BUILT_IN = frozenset({"all", "any", "max", "min", "sorted", "sum"})
# Words of a dialect, lists of files and names of types are public.
PUBLIC = {
    ("cells.py", "sorted"): "dialect.symbols",
    ("convert.py", "any"): "for word in gaps",
    ("convert.py", "all"): "column.categories",
}


def calls(module: ast.Module) -> Iterator[tuple[str, ast.Call, bool]]:
    """Yield the last part of the name of each function that is called."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                yield node.func.attr, node, True
            elif isinstance(node.func, ast.Name):
                yield node.func.id, node, False


def wrong_calls(name: str, text: str) -> list[str]:
    """Return the calls of a module that could look at a whole column."""
    out = []
    for function, node, attribute in calls(ast.parse(text)):
        code = ast.unparse(node)
        # Texts have a method of this name, too.
        texts = function == "partition" and not code.startswith("np.")
        if attribute and function in WHOLE and not texts:
            out.append(code)
        built_in = not attribute and name in CONVERT and function in BUILT_IN
        if built_in and PUBLIC.get((name, function), "-") not in code:
            out.append(code)
    return out


def modules_of(text: str) -> set[str]:
    """Return the names of all modules that a text imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def readers() -> list[Path]:
    paths = sorted(READERS.glob("*.py"))
    return [path for path in paths if path.name not in {LIST, *OTHERS}]


@pytest.mark.parametrize("path", readers(), ids=lambda path: path.stem)
def test_readers_look_at_no_whole_column(path: Path) -> None:
    assert wrong_calls(path.name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", CONVERT)
def test_conversions_take_functions_from_the_list(name: str) -> None:
    found = modules_of((READERS / name).read_text(encoding="utf-8"))
    roots = {module for module in found if module.startswith(("numpy", "pandas"))}
    assert roots | {m for m in found if m.startswith("pyarrow.compute")} == set()


@pytest.mark.parametrize(
    "text",
    [
        "x = values - values.min()",
        "order = np.argsort(values)",
        "codes = np.unique(values, return_inverse=True)",
        "y = np.add.accumulate(values)",
        "codes = texts.dictionary_encode()",
        "x = max(values)",
        "known = all(value > 0 for value in values)",
    ],
)
def test_a_look_at_a_column_is_found(text: str) -> None:
    assert wrong_calls("convert.py", text) != []


def test_an_import_around_the_list_is_found() -> None:
    text = "import numpy as np\nfrom pyarrow import compute"
    assert modules_of(text) == {"numpy", "pyarrow.compute"}


# On the list beside ufuncs: each has its reason.
MAKERS = {
    "arange": "numbers of rows",
    "array": "a copy",
    "asarray": "the same cells",
    "concatenate": "pieces of a column, one after the other",
    "empty": "",
    "errstate": "no warnings",
    "flatnonzero": "which cells are marked",
    "from_dlpack": "the same cells",
    "frombuffer": "the same cells",
    "fromiter": "the same cells",
    "full": "",
    "ones": "",
    "unpackbits": "which cells are there",
    "zeros": "",
    "zeros_like": "",
    "clip": "each cell by itself",
    "where": "each cell by itself",
}
TYPES = """
    bool_ datetime64 dtype float16 float32 float64 int32 int64 ndarray timedelta64
    uint8 uint64
"""


def test_the_list_holds_functions_of_single_cells() -> None:
    names = set(vars(elementwise.np))
    ufuncs = {n for n in names if isinstance(getattr(np, n), np.ufunc)}
    assert names == ufuncs | set(MAKERS) | set(TYPES.split()) | {"nan"}
    assert not names & WHOLE
    assert all(getattr(np, name).signature is None for name in ufuncs)  # no gufunc


def test_functions_of_arrow_are_those_of_single_cells() -> None:
    """pyarrow itself calls functions of single cells scalar functions."""
    pc = pytest.importorskip("pyarrow.compute")
    for name in elementwise._ARROW.split():
        if name not in ("cast", "fill_null"):  # thin functions over these of the list
            assert pc.get_function(name).kind == "scalar"
        assert getattr(elementwise.pc, name) is getattr(pc, name)
    with pytest.raises(AttributeError):
        _ = elementwise.pc.sort_indices
