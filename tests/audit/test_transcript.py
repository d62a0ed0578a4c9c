"""Record and replay: every model and statistic on hostile neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto import models, stats
from discreto.audit import (
    Pair,
    Recorder,
    compare,
    exhaustive,
    hostile_rows,
    ledger,
    pairs,
    transcript,
    work_of,
)
from discreto.core.domain.domain import Opaque
from discreto.core.expressions import Named, WithColumns
from discreto.core.gate import Noise
from discreto.core.maps import Values
from discreto.core.query import Block, Everyone, Sum
from discreto.core.steps import steps_for
from discreto.errors import ParameterError
from discreto.local import LocalSanitizer, RandomizedResponse
from discreto.testing import simulate

RELATIONS = {"add-remove": {}, "replace": {"neighbours": "replace", "rows": 6}}


def some(near: list[Pair], count: int) -> list[Pair]:
    """A few pairs, spread over all kinds of tables, and the one of another order."""
    step = max(1, len(near) // count)
    return [*near[:-1][::step], near[-1]]


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_model_holds(case, relation):
    domain = case.domain(**RELATIONS[relation])
    near = some(pairs(domain), 20)
    found = transcript(work_of(case.make()), domain, pairs=near, name=case.name)
    assert not found.violation, found
    assert found.claimed == 1
    # A pair that moves nothing would audit nothing.
    assert found.shown > 0.2


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_model_holds_with_a_delta(case, relation):
    domain = case.domain(**RELATIONS[relation])
    near = some(pairs(domain), 6)
    found = transcript(work_of(case.make(delta="1e-6")), domain, pairs=near)
    assert not found.violation, found
    assert found.unit == "ρ"
    assert found.shown > 0


def test_every_model_holds_for_people_with_several_rows(case):
    domain = case.domain(person="id", rows_per_person=2)
    found = transcript(work_of(case.make()), domain, pairs=some(pairs(domain), 8))
    assert not found.violation, found
    assert found.shown > 0.1


COLUMNS = {
    "x": dp.Number(0, 10, missing=True),
    "y": dp.Number(5, 6),
    "n": dp.Number(0, 9, integer=True),
    "c": dp.Category(["u", "v", "w"], missing=True),
    "g": dp.Category(["a", "b"], missing=False),
}
HIGH = (dp.col("x") > 5).node
DOUBLED = Named("z", (dp.col("y") * 2).node)
STATISTICS = [
    stats.Count(("c",)),
    stats.Total("x"),
    stats.Mean("x", ("c",)),
    stats.Variance("x"),
    stats.Covariance(("x", "y")),
    stats.Histogram(("x", "c"), 4),
    stats.Mode("n"),
    stats.Quantile("x"),
    stats.Quantiles("y", (Fraction(1, 4), Fraction(3, 4))),
    stats.Extremum("x", "high"),
    stats.Bounds("x"),
    stats.DomainFit(("x", "c")),
    stats.CorrelationTest("x", "y"),
    stats.Crosstab(("c", "g")),
    stats.Distribution("x", (2.0, 5.0)),
    stats.Independence("c", "g"),
    stats.Inequality("x"),
    stats.MeanDifference("x", "g"),
    stats.Proportion(HIGH, ("c",)),
    stats.ProportionDifference(HIGH, "g"),
    stats.QuantileDifference("x", "g", Fraction(1, 2)),
    stats.RatioOfSums("x", "y"),
    stats.Top("c", 2),
    stats.Trend("y", "x"),
    stats.Viewed(stats.Mean("z"), (WithColumns((DOUBLED,)),)),
    stats.WeightedMean("y", "x"),
]
# Several releases; and a block of (epsilon, delta), which has tests of its own.
OTHERS = {"Description", "UnknownKeys"}


def test_every_statistic_is_here():
    offered = {name for name in stats.__all__ if name[0].isupper()}
    assert {type(statistic).__name__ for statistic in STATISTICS} | OTHERS == offered


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
def test_every_statistic_holds(statistic, relation, delta):
    domain = dp.Domain(COLUMNS, **RELATIONS[relation])
    work = work_of(statistic, epsilon=1, delta=delta)
    found = transcript(work, domain, pairs=some(pairs(domain), 12))
    assert not found.violation, found
    assert found.shown > 0


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
def test_statistics_of_people_with_several_rows_hold(statistic):
    columns = COLUMNS | {"id": Opaque()}
    domain = dp.Domain(columns, person="id", rows_per_person=2)
    work = work_of(statistic, epsilon=1)
    found = transcript(work, domain, pairs=some(pairs(domain), 8))
    assert not found.violation, found


@pytest.mark.parametrize("relation", RELATIONS)
def test_all_tiny_tables(relation):
    domain = dp.Domain(
        {"x": dp.Number(0, 1), "c": dp.Category(["u", "v"])}, **RELATIONS[relation]
    )
    near = exhaustive(domain, values=3 if relation == "add-remove" else 2, rows=2)
    for statistic in (stats.Mean("x", ("c",)), stats.Quantile("x")):
        found = transcript(work_of(statistic, epsilon=1), domain, pairs=near)
        assert not found.violation, found
        assert found.shown > 0.5


def test_too_many_tiny_tables_are_refused():
    with pytest.raises(ParameterError, match="more than"):
        exhaustive(dp.Domain(COLUMNS), values=5, rows=3)


@pytest.mark.parametrize("mechanism", ["staircase", "laplace"])
def test_rows_that_are_perturbed_one_by_one_hold(mechanism):
    domain = dp.Domain(COLUMNS, neighbours="replace", rows=6)
    cleaner = LocalSanitizer(domain, epsilon=2, mechanism=mechanism)
    found = transcript(work_of(cleaner), domain)
    assert not found.violation, found
    assert found.shown == pytest.approx(2)


def test_randomised_response_holds():
    domain = dp.Domain({"answer": COLUMNS["c"]}, neighbours="replace", rows=6)
    survey = RandomizedResponse(["u", "v", "w"], epsilon=2, missing=True).fit()

    def asked(data, recorder):
        return survey._perturb(recorder.table(data))

    found = transcript(asked, domain)
    assert not found.violation, found
    assert found.shown == pytest.approx(2)


def trained(data, recorder):
    """Three steps on secret samples, paid for as one block."""
    steps = steps_for(1, "1e-5", 3, "1/2")
    query = Sum(Everyone(), (Block(Values(("x",))),))
    training = recorder.table(data).train(steps, "training")
    return [training.measure(query, "step").tables for _ in range(3)]


def test_steps_of_a_training_hold():
    domain = dp.Domain({"x": dp.Number(0, 1)})
    found = transcript(trained, domain)
    assert not found.violation, found
    assert found.claimed == 1


def test_evaluating_and_selecting_hold():
    domain = dp.Domain({"x": COLUMNS["x"], "c": COLUMNS["c"]}, target="c")
    data = {"x": np.linspace(0, 10, 30), "c": np.array(["u", "v", "w"] * 10)}
    fitted = models.GaussianNB(epsilon=1).fit(dp.Table(data, domain, simulate(3)))

    def judged(data, recorder):
        return models.evaluate(fitted, recorder.table(data), epsilon=1)

    def chosen(data, recorder):
        some = [models.GaussianNB(epsilon=1), models.NaiveBayes(epsilon=1)]
        return models.select(some, recorder.table(data), "c", epsilon=1)

    near = some(pairs(domain), 8)
    for work in (judged, chosen):
        found = transcript(work, domain, pairs=near)
        assert not found.violation, found
        assert found.shown > 0.2


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_is_paid_is_paid_first(case, relation):
    found = ledger(work_of(case.make()), case.domain(**RELATIONS[relation]))
    assert not found.violation, found


# Planted faults: each of them must be seen


PEOPLE = dp.Domain({"x": dp.Number(0, 1), "c": dp.Category(["u", "v"])}, target="c")


def broken(work, domain=PEOPLE):
    found = transcript(work, domain)
    assert found.violation
    return found


def test_half_of_the_sensitivity_is_seen(monkeypatch):
    whole = Block._sensitivity
    monkeypatch.setattr(Block, "_sensitivity", lambda *a: whole(*a) // 2 or 1)
    found = broken(work_of(stats.Mean("x"), epsilon=1))
    assert "times its bound" in found.event
    assert found.shown == pytest.approx(2)


def test_half_of_the_square_sensitivity_is_seen(monkeypatch):
    whole = Block._square
    monkeypatch.setattr(Block, "_square", lambda *a: whole(*a) // 2)
    assert broken(work_of(stats.Mean("x"), epsilon=1, delta="1e-6")).unit == "ρ"


def test_half_of_the_bound_of_a_step_is_seen(monkeypatch):
    domain = dp.Domain({"x": dp.Number(0, 1)})
    right = Block._square
    query = Sum(Everyone(), (Block(Values(("x",))),))
    assert query.blocks[0].bind(domain, 1).square > 4
    monkeypatch.setattr(Block, "_square", lambda *a: right(*a) // 2)
    assert "times its bound" in broken(trained, domain).event


def test_half_of_the_reach_of_a_cube_is_seen(monkeypatch):
    whole = Block._reach
    monkeypatch.setattr(Block, "_reach", lambda *a: whole(*a) // 2)
    columns = {f"x{i}": dp.Number(0, 1, missing=False) for i in range(4)}
    broken(work_of(models.KMeans(2, epsilon=1)), dp.Domain(columns))


def test_a_choice_that_is_not_monotone_is_seen(monkeypatch):
    monkeypatch.setattr("discreto.core.maps.choice_scores.Ranks.monotone", True)
    broken(work_of(stats.Quantile("x"), epsilon=1))


def test_a_question_about_rows_is_seen():
    def peeks(data, recorder):
        table = recorder.table(data)
        column = "x" if len(data["x"]) % 2 else "c"
        if column == "x":
            return stats.mean(table, "x", epsilon=1)
        return stats.mode(table, "c", epsilon=1)

    found = broken(peeks)
    assert "question 1 is" in found.event


def test_a_scale_from_rows_is_seen():
    def peeks(data, recorder):
        epsilon = 1 if len(data["x"]) % 2 else "1/2"
        return stats.mean(recorder.table(data), "x", epsilon=epsilon)

    assert "depends on rows" in broken(peeks).event


def test_an_attribute_made_of_rows_is_seen():
    def peeks(data, recorder):
        model = models.GaussianNB(epsilon=1).fit(recorder.table(data), "c")
        model.rows_ = len(data["x"])
        return model

    assert "rows_" in broken(peeks).event


def test_more_than_was_charged_is_seen():
    def underpays(data, recorder):
        table = recorder.table(data)
        paid = table.paid_by(simulate(1))  # somebody else's ledger
        return [stats.count(t, epsilon=1) for t in (table, paid)]

    found = broken(underpays)
    assert found.shown == pytest.approx(2)


def test_an_error_about_rows_is_seen():
    def refuses(data, recorder):
        if any(v is None for v in data["c"]):
            raise ValueError("a label is missing")
        return stats.count(recorder.table(data), epsilon=1)

    broken(refuses)


def test_rows_of_a_person_that_are_not_bounded_are_seen(monkeypatch):
    monkeypatch.setattr(
        "discreto.core.people.PersonFrame._keep",
        lambda frame: np.ones(frame._frame.length(), dtype=bool),
    )
    domain = dp.Domain({"x": dp.Number(0, 1), "id": Opaque()}, person="id")
    assert broken(work_of(stats.Count(), epsilon=1), domain).shown == pytest.approx(3)


# The audit itself


def test_work_that_tosses_coins_of_its_own_is_refused():
    tosses = iter(range(1000))

    def restless(data, recorder):
        return stats.count(recorder.table(data), epsilon=1), next(tosses)

    with pytest.raises(ParameterError, match="not repeatable"):
        transcript(restless, PEOPLE)


def test_work_that_always_fails_is_refused():
    def fails(data, recorder):
        raise ValueError("no")

    with pytest.raises(ParameterError, match="fails on every table"):
        transcript(fails, PEOPLE)


def test_no_pairs_are_refused():
    with pytest.raises(ParameterError, match="no pair"):
        transcript(work_of(stats.Count(), epsilon=1), PEOPLE, pairs=[])


def test_a_statistic_needs_an_epsilon():
    with pytest.raises(ParameterError, match="epsilon"):
        work_of(stats.Count())


def test_neighbours_are_neighbours():
    for facts in (*RELATIONS.values(), {"person": "id", "rows_per_person": 3}):
        columns = COLUMNS | ({"id": Opaque()} if "person" in facts else {})
        for pair in pairs(dp.Domain(columns, **facts)):
            one, two = (len(pair.first["x"]), len(pair.second["x"]))
            if pair.same:
                assert sorted(map(str, pair.first["y"])) == sorted(
                    map(str, pair.second["y"])
                )
            elif facts.get("neighbours") == "replace":
                assert one == two == pair.domain.rows
                moved = [
                    any(
                        str(pair.first[n][i]) != str(pair.second[n][i]) for n in COLUMNS
                    )
                    for i in range(one)
                ]
                assert sum(moved) <= 1
            elif "person" in facts:
                assert len(set(pair.second["id"]) - set(pair.first["id"])) == 1
            else:
                assert two == one + 1


def test_hostile_rows_reach_all_corners():
    rows = hostile_rows(dp.Domain(COLUMNS, target="c"))
    assert {row["x"] for row in rows.values()} >= {0, 10}
    assert any(np.isnan(row["x"]) for row in rows.values())
    assert any(row["c"] is None for row in rows.values())
    assert any(row["x"] > 1000 for row in rows.values())


def test_replaying_a_table_on_itself_loses_nothing():
    pair = pairs(PEOPLE)[20]
    same = Pair("same", pair.second, pair.second, PEOPLE)
    result = compare(work_of(stats.Mean("x"), epsilon=1), same)
    assert result.used == 0
    assert not result.complaints


def test_a_witness_gives_the_answers_of_its_script():
    first = Recorder(PEOPLE, 1)
    told = stats.count(first.table({"x": [0.5], "c": ["u"]}), epsilon=1)
    second = Recorder(PEOPLE, 2, first.releases)
    recorded = stats.count(second.table({"x": [], "c": []}), epsilon=1)
    assert told.value == recorded.value
    assert isinstance(first.releases[0].noises[0], Noise)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_parts_of_a_table_are_watched_and_paid_for_once(neighbours, delta):
    settings = models.BoostingSettings(rows="disjoint")
    model = models.GradientBoostingClassifier(
        3, epsilon=1, delta=delta, max_depth=1, settings=settings
    )
    rows = 4 if neighbours == "replace" else None
    domain = dp.Domain(COLUMNS, target="c", neighbours=neighbours, rows=rows)
    found = transcript(work_of(model), domain, name="parts")
    assert not found.violation, found.event
    assert found.shown > 0
