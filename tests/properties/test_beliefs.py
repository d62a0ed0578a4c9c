"""What the core does not enforce is named, has a proof, and is shown in the plan."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import discreto as dp
from discreto.core import maps
from discreto.core.maps import Largest
from discreto.core.query import (
    Block,
    Choice,
    CountScore,
    Everyone,
    Ones,
    Sum,
    beliefs_of,
)
from discreto.errors import UnsafeError
from discreto.models import GradientBoostingClassifier, KMeans
from discreto.report import model_page

ROOT = Path(__file__).resolve().parents[2]
COUNT = Sum(Everyone(), (Block(Ones()),))


def kinds() -> list[type]:
    found = [kind for kind in vars(maps).values() if isinstance(kind, type)]
    return [k for k in found if k.__module__.startswith("discreto.core.maps.")]


def test_scores_tallies_and_functions_name_a_proof() -> None:
    believed = []
    for kind in kinds():
        score = hasattr(kind, "scores") and not issubclass(kind, CountScore)
        tally = hasattr(kind, "merge") and hasattr(kind, "overlap")
        if score or tally or hasattr(kind, "compute"):
            believed.append(kind)
            assert isinstance(getattr(kind, "proof", None), str), kind.__name__
    assert len(believed) >= 8


def test_every_proof_is_a_section_of_a_page() -> None:
    for kind in kinds():
        proof = getattr(kind, "proof", None)
        if proof is None:
            continue
        path, _, anchor = proof.partition("#")
        heads = re.findall(r"^#+ (.+)$", (ROOT / path).read_text("utf-8"), re.M)
        slugs = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in heads}
        assert anchor in slugs, proof


def test_a_score_without_a_proof_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Wild:
        monotone = True

        def scores(self, sums: Any, domain: Any) -> Any:
            return sums.T

        def fits(self, tally: object) -> bool:
            return True

    with pytest.raises(UnsafeError, match="rests on no proof"):
        beliefs_of(Choice(COUNT, Wild()))  # type: ignore[arg-type]
    assert beliefs_of(Choice(COUNT, Largest())) == ()
    assert beliefs_of(COUNT) == ()


def test_a_plan_shows_what_it_rests_on() -> None:
    numbers = dp.Domain({"x": dp.Number(0, 1)})
    classes = dp.Domain(
        {"x": dp.Number(0, 1), "y": dp.Category(["a", "b"])}, target="y"
    )
    trees = GradientBoostingClassifier(epsilon=1, n_estimators=2).plan(classes)
    assert [belief.split(":")[0] for belief in trees.beliefs] == [
        *("SplitScore", "SplitHistogram")
    ]
    assert "rests on proofs of: SplitScore" in str(trees)
    assert KMeans(2, epsilon=1).plan(numbers).beliefs == ()  # row functions only
    assert dp.plan.statistics(numbers, dp.stats.Mean("x"), epsilon=1).beliefs == ()


def test_a_card_shows_what_a_model_rests_on() -> None:
    domain = dp.Domain({"x": dp.Number(0, 1), "y": dp.Category(["a", "b"])}, target="y")
    rows = {"x": [0.1, 0.9] * 50, "y": ["a", "b"] * 50}
    table = dp.Table(rows, domain, dp.Ledger(epsilon=2))
    model = GradientBoostingClassifier(epsilon=1, n_estimators=2)
    (first, *_) = model.plan(domain).beliefs
    model.fit(table, "y")
    name, _, proof = first.partition(": ")
    page = str(model_page(model))
    assert name in page
    assert proof in page
