"""A survey as people have it: the same right answers from every source.

``benchmarks/right_numbers.py`` does it with 400 draws, and with PostgreSQL.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreto as dp
from discreto.testing import simulate


def _benchmark() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "right_numbers.py"
    spec = importlib.util.spec_from_file_location("right_numbers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["right_numbers"] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


bench = _benchmark()
PEOPLE = bench.people(1000)
QUESTIONS = bench.survey_questions(PEOPLE, 0.5)


@pytest.mark.parametrize("source", bench.SOURCES[:-1])
def test_without_noise_answers_are_exact(source: str, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    bench.write_survey(PEOPLE, path)
    with bench.opened(source, bench.typed(path), path) as lies:
        table = dp.Table(lies, bench.SURVEY, simulate(noise=False))
        for name, question in QUESTIONS.items():
            found = np.ravel(question.ask(table).value)[: len(question.exact)]
            near = 0.02 if name == "median income" else 1e-5
            assert found == pytest.approx(question.exact, rel=near), name


def test_intervals_hold_the_exact_values(tmp_path: Path) -> None:
    """Of 1,200 intervals of means and sums 93 to 97 % do, with this noise."""
    path = tmp_path / "survey.csv"
    bench.write_survey(PEOPLE, path)
    table = dp.Table(bench.typed(path), bench.SURVEY, simulate(0))
    means = {n: q for n, q in QUESTIONS.items() if n.startswith(("mean", "sum"))}
    shares, _ = bench.covered(table, means, 150)
    several = [share for part in shares.values() for share in part]
    assert 0.93 <= np.mean(several) <= 0.97
    assert min(several) >= 0.9


def test_a_half_of_minus_999_is_a_half_of_gaps(tmp_path: Path) -> None:
    frame, domain, questions = bench.halves(1000)
    path = tmp_path / "halves.csv"
    frame.to_csv(path, index=False)
    for source in bench.SOURCES[:-1]:
        with bench.opened(source, frame, path) as lies:
            table = dp.Table(lies, domain, simulate(noise=False))
            for question in questions.values():
                assert question.ask(table).value == pytest.approx(50.5)
