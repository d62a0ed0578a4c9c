"""The black box: never accuses the honest, catches what it must, counts correctly."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreto as dp
from discreto import stats
from discreto.audit import Replicates, epsilon, examine, mechanism_of, pairs, work_of
from discreto.audit.bounds import lower_bound
from discreto.audit.mechanisms import redraw
from discreto.audit.output_features import low_bits, matrix_of, numbers_of, stack
from discreto.audit.recorder import Recorder
from discreto.core.hidden_runs import HiddenRuns
from discreto.errors import ParameterError
from discreto.testing import simulate

COINS = np.random.default_rng(20261115)
PEOPLE = dp.Domain({"x": dp.Number(0, 1), "c": dp.Category(["u", "v"])}, target="c")


class Box:
    """Many outputs at once."""

    def __init__(self, draw):
        self.many = draw


def laplace(scale):
    return Box(lambda rows, n: len(rows) + COINS.laplace(0, scale, (n, 1)))


def judge(box, first=(0,) * 9, second=(0,) * 10, **options):
    return epsilon(box, first, second, **{"claimed": 1, "runs": 20_000} | options)


def test_the_right_noise_is_not_accused_and_nearly_shown():
    found = judge(laplace(1))
    assert not found.violation
    assert 0.75 < found.shown <= 1
    assert found.runs == 20_000


def test_noise_that_is_a_third_too_small_is_caught():
    assert judge(laplace(1 / 1.5)).violation


def test_votes_with_half_of_the_noise_are_caught():
    def votes(scale):
        def draw(votes, n):
            noisy = np.array(votes) + COINS.laplace(0, scale, (n, 2))
            return noisy.argmax(axis=1)[:, None]

        return Box(draw)

    assert judge(votes(1), (1, 2), (0, 3)).violation
    assert not judge(votes(2), (1, 2), (0, 3)).violation


def hidden_runs(weights):
    """The best outcome of a part of eight runs, whose outcomes a row makes likelier."""
    chances = np.array(weights, dtype=float) / sum(weights)

    def draw(rows, n):
        rare = 0.12 * (1.5 if len(rows) > 9 else 1.0)
        runs = COINS.choice(3, (n, 8), p=[rare, rare, 1 - 2 * rare])
        sizes = COINS.choice(8, n, p=chances) + 1
        drawn = COINS.permuted(np.tile(np.arange(8), (n, 1)), axis=1) < sizes[:, None]
        return np.where(drawn, runs, -1).max(axis=1)[:, None]

    return Box(draw)


def test_hidden_runs_are_not_accused_and_the_best_of_all_is():
    claimed = 2.7 * math.log(1.5)
    assert not judge(hidden_runs(HiddenRuns(8).weights()), claimed=claimed).violation
    all_of_them = judge(hidden_runs([0] * 5 + [1, 0, 0]), claimed=claimed, runs=200_000)
    assert all_of_them.violation


def test_a_delta_is_allowed_for():
    # Shows the exact count with chance 0.01, else nothing: (0, 0.01)-private.
    def draw(rows, n):
        return np.where(COINS.random((n, 1)) < 0.01, len(rows), 0.0)

    assert judge(Box(draw)).violation
    assert not judge(Box(draw), delta=0.02).violation


def test_an_early_stop_needs_fewer_runs():
    found = judge(laplace(0.1))
    assert found.violation
    assert found.runs == 2_000
    assert judge(laplace(0.1), early=False).runs == 20_000


def test_the_worst_of_several_pairs_is_found():
    def total(rows):
        return sum(rows) + COINS.laplace(0, 1)

    near = [([0.0] * 3, [0.0] * 4), ([0.0], [0.0, 0.1]), ([0.0], [0.0, 9.0]), ([], [0])]
    found = epsilon(total, pairs=near, claimed=1, runs=4_000)
    assert found.violation
    assert found.pair == "pair 3"
    assert found.pairs == 4


def test_errors_texts_and_shapes_are_outputs():
    def fails(rows):
        if len(rows) > 9:
            raise ValueError("too many")
        return 1.0

    def speaks(rows):
        return "many" if len(rows) > 9 else "few"

    def grows(rows):
        return [COINS.laplace()] * len(rows)

    def fits(rows):
        model = type("Model", (), {"fit": None})()
        model.size_ = np.float64(len(rows))
        return model

    for work in (fails, speaks, grows, fits):
        assert judge(work, runs=400).violation


def test_low_bits_are_seen_only_if_asked_for():
    box = Box(lambda rows, n: sum(rows) + COINS.laplace(0, 1, (n, 1)))
    assert not judge(box, (0.0,), (0.0, 1.0)).violation
    found = judge(box, (0.0,), (0.0, 1.0), bits=True)
    assert found.violation


# Forked workers draw real noise. Two of 4 parts start with the same 20 counts with a
# chance of 6 * 0.28^20 < 6e-11; the mean of 1,000 is off by 0.5 (11 deviations) never.
@pytest.mark.real_noise(1e-10)
def test_workers_draw_noise_of_their_own():
    box = mechanism_of(stats.Count(), PEOPLE, epsilon=1, replicates=False)
    table = pairs(PEOPLE)[20].first
    from discreto.audit.repeat import Runs

    with Runs(box, workers=2) as source:
        parts = source.draw(table, 1000, lambda count: None)
    values = stack(parts)[:, 0]
    assert len(values) == 1000
    assert len({tuple(part[:20, 0]) for part in parts}) == len(parts)
    assert abs(values.mean() - 6) < 0.5


def test_false_accusations_are_as_rare_as_promised():
    """A mechanism that is exactly tight, many times, at a low confidence."""
    wrong = sum(
        judge(laplace(1), runs=400, confidence=0.8, early=False).violation
        for _ in range(30)
    )
    assert wrong <= 15  # 6 are expected at most; more than 15 has a chance of 1e-4


def test_bounds_cover_the_truth():
    truth, runs = math.log(0.4 / 0.15), 2_000
    hits, misses = COINS.binomial(runs, 0.4, 4000), COINS.binomial(runs, 0.15, 4000)
    above = lower_bound(hits, runs, misses, 0.0, 0.05) > truth
    assert above.mean() < 0.05
    assert above.mean() > 0.0005  # and not by being useless
    assert lower_bound(0, 100, 0, 0.0, 0.05) == -np.inf
    assert lower_bound(100, 100, 100, 0.0, 0.05) < 0


@pytest.mark.parametrize(
    "options",
    [
        {"runs": 10},
        {"confidence": 1.0},
        {"delta": -1},
        {"claimed": -1},
        {"pairs": [((), (1,))]},
    ],
)
def test_impossible_requests(options):
    with pytest.raises(ParameterError):
        judge(laplace(1), **options)


# Our own


def test_our_estimators_are_not_accused(case):
    domain = case.domain()
    near = pairs(domain)[::6]
    found = examine(case.make(), domain, pairs=near, runs=2_000, name=case.name)
    assert [f.method for f in found] == ["transcript", "black box"]
    assert not any(f.violation for f in found), found


@pytest.mark.parametrize("delta", [0, "0.001"])
def test_half_of_our_noise_is_caught(monkeypatch, delta):
    from discreto.core.gate import Noise

    whole = Noise.draw
    monkeypatch.setattr(Noise, "draw", lambda noise, *a: whole(noise, *a) // 3)
    found = examine(stats.Count(), PEOPLE, epsilon=1, delta=delta, runs=20_000)
    assert not found[0].violation  # the law that is declared is the right one
    assert found[1].violation


def test_replicates_have_the_law_of_repeated_questions():
    quick = mechanism_of(stats.Mean("x"), PEOPLE, epsilon=1)
    slow = mechanism_of(stats.Mean("x"), PEOPLE, epsilon=1, replicates=False)
    table = pairs(PEOPLE)[20].first
    assert isinstance(quick, Replicates)
    fast = quick.many(table, 4_000)[:, 0]
    one_by_one = np.array(
        [numbers_of(slow(table)["answer"][0][0])[1][0] for _ in range(400)]
    )
    spread = one_by_one.std()
    assert abs(fast.mean() - one_by_one.mean()) < 5 * spread / 20
    assert 0.8 < fast.std() / spread < 1.25


def test_replicates_of_choices_and_of_other_tables():
    box = mechanism_of(stats.Mode("c"), PEOPLE, epsilon=1)
    near = pairs(PEOPLE)[21]
    assert set(np.unique(box.many(near.first, 500))) == {0.0, 1.0}
    assert box(near.second).shape == (1,)
    recorder = Recorder(PEOPLE)
    recorder.table(near.first).answer(stats.Mode("c"), epsilon=1)
    assert redraw(recorder.releases[0], 7, simulate(1).simulation.sampler).shape == (
        7,
        1,
    )


def test_replicates_refuse_questions_about_rows():
    def peeks(data, recorder):
        table = recorder.table(data)
        name = "x" if len(data["x"]) % 2 else "c"
        kind = stats.Histogram((name,), 4 if name == "x" else None)
        return table.answer(kind, epsilon=1)

    box, near = Replicates(peeks, PEOPLE), pairs(PEOPLE)[20]
    box.many(near.first, 1)
    with pytest.raises(ParameterError, match="depend on rows"):
        box.many(near.second, 1)


def test_the_likelihood_ratio_is_right():
    near = pairs(PEOPLE)[21]
    for subject, cost in ((stats.Count(), {}), (stats.Count(), {"delta": "1e-3"})):
        box = Replicates(work_of(subject, epsilon=1, **cost), PEOPLE)
        outputs = box.many(near.second, 2_000)
        scores = box.ratio(near.first, near.second)(outputs)
        # Chernoff: under the first table exp(score) has mean 1.
        back = box.ratio(near.first, near.second)(box.many(near.first, 20_000))
        assert np.exp(back).mean() == pytest.approx(1, abs=0.1)
        assert scores.mean() > 0


def test_a_progress_bar_is_shown_on_demand(capsys):
    judge(laplace(1), runs=400, progress=True)
    assert "Traceback" not in capsys.readouterr().err


# Outputs


def test_numbers_of_anything():
    names, values = numbers_of({"a": np.array([[1, 2]]), "b": (None, True), "c": "x"})
    assert names == ["a[0]", "a[1]", "b[0]", "b[1]", "c"]
    assert values[:2] == [1, 2]
    assert math.isnan(values[2])
    release = stats.count(
        dp.Table({"x": [1], "c": ["u"]}, PEOPLE, simulate(1)), epsilon=1
    )
    assert "value" in numbers_of(release)[0]
    assert numbers_of(ValueError("a"))[1] != numbers_of(ValueError("b"))[1]


def test_rows_of_different_length():
    matrix = matrix_of([[1.0], [1.0, 2.0]])
    assert matrix[:, -1].tolist() == [1, 2]
    wide = stack([matrix, matrix_of([[1.0, 2.0, 3.0]])])
    assert wide[:, -1].tolist() == [1, 2, 3]


def test_lowest_bits():
    values = np.array([[1.0, 1.5, 0.0, 2.0**-60 + 1 - 1, 3 * 2.0**-70, np.nan]])
    assert low_bits(values)[0].tolist() == [0, -1, 0, 0, -70, 0]
