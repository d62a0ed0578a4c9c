"""Hidden runs ask as many questions whatever their hidden releases say."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import discreto as dp
from discreto import models
from discreto.core.gate import Gate
from discreto.core.hidden_runs import HiddenRuns
from discreto.testing import simulate

NUMBERS = {"a": dp.Number(0, 1), "b": dp.Number(0, 1)}
CLASSES = dp.Domain(NUMBERS | {"y": dp.Category([0, 1])}, target="y")
AMOUNTS = dp.Domain(NUMBERS | {"y": dp.Number(0, 1)}, target="y")
CLASSIFIERS = [
    models.GradientBoostingClassifier(epsilon=1, max_depth=2),
    models.LogisticRegression(epsilon=1),
    models.NaiveBayes(epsilon=1),
    models.CellNeighborsClassifier(epsilon=1),
]
REGRESSORS = [
    models.GradientBoostingRegressor(epsilon=1, max_depth=2),
    models.LinearRegression(epsilon=1),
    models.AutoRegressor(epsilon=1),
]


@pytest.fixture
def asked(monkeypatch):
    """How many questions each run asked, by candidate, over all selections."""
    counts, number = defaultdict(set), [0]
    for name in ("measure", "select"):
        own = getattr(Gate, name)

        def ask(self, *args, own=own, **options):
            number[0] += 1
            return own(self, *args, **options)

        monkeypatch.setattr(Gate, name, ask)
    best = HiddenRuns.best

    def watch(self, paid, each, work):
        def run(i, payers):
            number[0] = 0
            out = work(i, payers)
            counts[i % asked.candidates].add(number[0])
            return out

        return best(self, paid, each, run)

    monkeypatch.setattr(HiddenRuns, "best", watch)
    asked = type("Asked", (), {"counts": counts, "candidates": 1})
    return asked


def people(domain, seed):
    """700 rows; the target of a regression has two far pieces."""
    coins = np.random.default_rng(seed)
    x = coins.random(700)
    y = (x > 0.5).astype(int) if domain is CLASSES else 0.9 * (x > 0.9)
    return {"a": x, "b": coins.random(700), "y": y}


@pytest.mark.slow
@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(
    ("domain", "candidates"), [(CLASSES, CLASSIFIERS), (AMOUNTS, REGRESSORS)]
)
def test_every_run_of_a_candidate_asks_as_much(asked, domain, candidates, declared):
    """At row counts and epsilons where fits would take several forms by themselves."""
    asked.candidates = len(candidates)
    for seed, epsilon in enumerate(("0.3", "2")):
        asked.counts.clear()
        known = domain.with_(rows=700) if declared else domain
        models.select(
            candidates,
            dp.Table(people(domain, seed), known, simulate(seed)),
            epsilon=epsilon,
            method="hidden",
            repeats=4,
        )
        assert all(len(several) == 1 for several in asked.counts.values())
        assert len(asked.counts) == len(candidates)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_one_count_is_paid_for_and_shared(delta):
    ledger = dp.Ledger(epsilon=1, delta=delta)
    rows = dp.Table(people(CLASSES, 1), CLASSES, ledger)
    winner = models.select(CLASSIFIERS, rows, epsilon=1, delta=delta, method="hidden")
    (entry,) = ledger.entries()
    assert entry["event"]["rows"] == {"epsilon": "1/40"}
    assert 0.999 < ledger.total() <= 1
    assert winner.space_.domain == CLASSES  # a released count is not a declared one
    assert winner.privacy_.cost == ledger.spent()


@pytest.mark.slow
def test_nothing_is_counted_where_no_fit_depends_on_it():
    ledger = dp.Ledger(epsilon=2)
    for domain, model in (
        (CLASSES.with_(rows=700), models.NaiveBayes(epsilon=1)),
        (CLASSES, models.LogisticRegression(epsilon=1, method="functional")),
    ):
        candidates = [model] * 3
        rows = dp.Table(people(CLASSES, 1), domain, ledger)
        winner = models.select(candidates, rows, epsilon=1, method="hidden")
        assert winner.privacy_.plan.total.epsilon * 3 == 1
    assert all("rows" not in entry["event"] for entry in ledger.entries())


@pytest.mark.slow
def test_a_released_count_decides_the_form(asked):
    """Many rows are asked more than few; no fit asks for a count of its own."""
    asked.candidates = 1
    sizes = []
    for times in (1, 40):
        asked.counts.clear()
        rows = {name: np.tile(c, times) for name, c in people(CLASSES, 1).items()}
        table = dp.Table(rows, CLASSES, simulate(1))
        models.select(CLASSIFIERS[:1] * 3, table, epsilon=1, method="hidden")
        sizes += asked.counts[0]
    assert sizes[0] < sizes[1]
    assert len(sizes) == 2
