"""Plant bugs one by one in a copy of the tree and say which test sees each.

    python benchmarks/mutants [--only NAME ...] [--jobs 2] [--narrow]
    python benchmarks/mutants --chance 100 [--seed 1] [--only FILE ...]

Each mutant's own tests are tried first; only if they pass, a wider list. Prints a table
in Markdown; the exit code is 1 if a mutant survives or does not fit the code any more.
``--chance`` plants slips at random places instead (``chance.py``).
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process, get_context
from pathlib import Path
from typing import NoReturn

import pytest
from catalogue import ROOT, SOURCE, Mutant, Stale, mutants, page
from chance import by_chance

WIDE = (
    "tests/properties",
    "tests/unit/core/test_gate.py",
    "tests/unit/core/test_cost.py",
    "tests/unit/core/ledger/test_ledger.py",
    "tests/unit/core/test_sampled_steps.py",
    "tests/unit/local/test_local.py",
    "tests/unit/data/frames/test_frames.py",
    "tests/unit/core/test_domain.py",
    "tests/unit/core/test_query_json.py",
    "tests/unit/models/neighbors/test_exact.py",
    "tests/unit/models/scoring/test_evaluation.py",
    "tests/unit/federated/test_silo.py",
    "tests/unit/federated/test_proximal_point.py",
    "tests/unit/federated/test_federation.py",
    "tests/statistical/test_entropy.py",
    "tests/statistical/test_margins.py",
    "tests/statistical/test_sampler.py",
    "tests/audit/test_losses.py",
    "tests/audit/test_transcript.py",
    "tests/integration/test_ledger_faults.py",
)
LOADED = (
    "numpy.testing",
    "scipy.stats",
    "sklearn.base",
    "pyarrow.parquet",
    "pyarrow.csv",
    "pyarrow.compute",
    "narwhals",
    "cryptography.hazmat.primitives.ciphers",
    "hypothesis.strategies",
    "sqlite3",
)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)
_OPTIONS = (
    *("-x", "-q", "-rfE", "--tb=line", "--assert=plain", "-p", "no:cacheprovider"),
    *("-o", "addopts=--strict-markers --import-mode=importlib"),
)
_TIMEOUT = 900


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one mutant."""

    mutant: Mutant
    place: str
    killer: str  # the test that saw it
    seconds: float
    trouble: str = ""  # why it is neither dead nor alive

    def line(self) -> str:
        """A line of the table."""
        by = f"`{self.killer}`" if self.killer else f"**{self.trouble or 'SURVIVES'}**"
        cells = (self.mutant.name, f"`{self.place}`", self.mutant.harm, by)
        return f"| {' | '.join(cells)} | {self.seconds:.1f} |"


class Copy:
    """A copy of the tree in which bugs are planted and taken out again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        unwanted = shutil.ignore_patterns("__pycache__", ".*")
        for name in ("src", "tests", "docs", "benchmarks", "examples"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name, ignore=unwanted)
        for path in ROOT.glob("*.*"):
            if path.is_file():
                shutil.copy(path, root)

    def run(self, tests: tuple[str, ...]) -> tuple[int, list[str], str]:
        """The exit code of pytest, the tests that failed, and all it printed."""
        told = self.root / "told.txt"
        child = os.fork()
        if child == 0:
            self._test(tests, told)
        end = time.monotonic() + _TIMEOUT
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise TimeoutError
            time.sleep(0.02)
        text = told.read_text(encoding="utf-8", errors="replace")
        last = text.rsplit("\n", 1)[-1]  # missing if the process died
        return int(last) if last.isdigit() else -1, _FAILED.findall(text), text

    def _test(self, tests: tuple[str, ...], told: Path) -> NoReturn:
        """Run pytest in this forked process, which has all but ``discreto`` loaded."""
        os.chdir(self.root)
        with told.open("w", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.path.insert(0, str(self.root / "src"))
        paths = [str(self.root / "src"), os.getenv("PYTHONPATH", "")]
        os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "400"}
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        code = int(pytest.main([*_OPTIONS, *tests]))
        sys.stdout.flush()
        os.write(1, f"\n{code}".encode())
        os._exit(0)

    def judge(self, mutant: Mutant, wide: bool) -> Verdict:
        """Plant a bug, look who sees it, take it out."""
        start = time.monotonic()
        path = mutant.place(self.root)
        place = str(path.relative_to(self.root / SOURCE))
        text = path.read_text(encoding="utf-8")
        killer, trouble = "", ""
        try:
            self._write(path, mutant.changed(path))
            for tests in (mutant.tests, WIDE) if wide else (mutant.tests,):
                code, failed, said = self.run(tests)
                if code == 1 and failed:
                    killer = failed[0]
                elif code != 0:
                    trouble = f"pytest ended with {code}"
                    print(f"{mutant.name}: {trouble}\n{said[-2000:]}", file=sys.stderr)
                if killer or trouble:
                    break
        except TimeoutError:
            trouble = "no end"
        finally:
            self._write(path, text)
        return Verdict(mutant, place, killer, time.monotonic() - start, trouble)

    def _write(self, path: Path, text: str) -> None:
        # Byte code is known by its second and size, which two versions may share.
        stale = list(path.parent.glob(f"__pycache__/{path.stem}.*"))
        if path.stem.endswith("_numba"):  # loops of other files may have it inside
            stale = list((self.root / SOURCE).rglob("__pycache__/*_numba.*"))
        for file in stale:
            file.unlink()
        path.write_text(text, encoding="utf-8")


def innocent(copy: Copy, verdicts: list[Verdict]) -> list[str]:
    """The killers that fail without any bug, which therefore saw nothing."""
    killers = sorted({v.killer for v in verdicts if v.killer})
    if not killers:
        return []
    code, failed, said = copy.run(("--maxfail=1000", *killers))
    if code not in (0, 1):
        print(said[-2000:], file=sys.stderr)
        return ["the tests could not be run again"]
    return failed


_mine: list[Copy] = []


def _take(copies: list[Copy]) -> None:
    """Each worker has a copy of its own."""
    _mine.append(copies[current_process()._identity[0] - 1])


def _judge(mutant: Mutant, wide: bool) -> Verdict:
    verdict = _mine[0].judge(mutant, wide)
    print(verdict.line(), file=sys.stderr, flush=True)
    return verdict


def fitting(only: list[str]) -> tuple[list[Mutant], list[Mutant]]:
    """The mutants that were asked for: those that fit the code, and those that do not.

    This comes before any time is spent.
    """
    wanted = [mutant for mutant in mutants() if not only or mutant.name in only]
    unknown = set(only) - {mutant.name for mutant in wanted}
    if unknown:
        raise Stale(f"no mutant is called {', '.join(sorted(unknown))}.")
    stale = []
    for mutant in wanted:
        try:
            mutant.changed(mutant.place(ROOT))
        except Stale as error:
            stale.append(mutant)
            print(error, file=sys.stderr)
    return [mutant for mutant in wanted if mutant not in stale], stale


def main() -> int:
    """Judge the mutants that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--narrow", action="store_true", help="own tests only")
    parser.add_argument("--chance", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="write the page only")
    options = parser.parse_args()
    if options.page:
        (ROOT / "docs" / "proofs" / "mutants.md").write_text(page(), encoding="utf-8")
        return 0
    if options.chance:
        wanted = by_chance(options.chance, options.seed, options.only)
        stale: list[Mutant] = []
    else:
        wanted, stale = fitting(options.only)
    for name in LOADED:  # once for all: most of the time of a short test
        with suppress(ImportError):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copies = [Copy(Path(folder, str(number))) for number in range(options.jobs)]
        with get_context("fork").Pool(options.jobs, _take, (copies,)) as pool:
            work = partial(_judge, wide=not options.narrow)
            verdicts = list(pool.imap(work, wanted))
        wrong = innocent(copies[0], verdicts)
    print("| mutant | file | what it would do | killed by | seconds |")
    print("| --- | --- | --- | --- | --- |")
    for verdict in verdicts:
        print(verdict.line())
    alive = [v.mutant.name for v in verdicts if not v.killer]
    print(f"\n{len(verdicts)} mutants, {len(alive)} survive, {len(stale)} are stale.")
    for name in [*alive, *wrong]:
        print(f"not killed, or by a test that fails anyway: {name}")
    return 1 if alive or wrong or stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
