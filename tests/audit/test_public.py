"""Half of the noise on the public path is caught: real calls, a real ledger.

Bets against honest noise win with a chance of 1e-9 at most. With half of the noise a
number gains 0.19 to 0.5 (a choice 0.056 to 0.1) with a deviation of at most 0.5 (0.4),
so the runs below miss it with a chance below 1e-9, too.
"""

from __future__ import annotations

import numpy as np
import pytest
from halved import halve_noise
from public_subjects import Subject, everything

from discreto.audit.noise_distribution import noise_law
from discreto.audit.public_path import Answer, Listener, listen, score_bound, score_of
from discreto.core.gate import Noise
from discreto.errors import ParameterError
from discreto.models.base.estimator import PrivateEstimator

SUBJECTS = everything()
EVERY = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
CERTAIN = 1 - 1e-9


def recorded(subject: Subject, numbers: int) -> list[Answer]:
    table = subject.plain
    listener = Listener(subject.run, subject.domain, table, table, 1, subject.delta)
    once = sum(one.seen.size for one in listener.answers(1))
    return listener.answers(numbers // once + 1)


def test_every_model_and_statistic_is_here():
    from discreto import models, stats

    names = {subject.name.split(",")[0] for subject in SUBJECTS}
    functions = {name for name in stats.__all__ if name[0].islower()} - {
        "quantile",
        "sentence",  # reads a text
        "unknown_keys",  # its loss is worked out exactly: properties/test_unknown_keys
    }
    kinds = {
        name
        for name in models.__all__
        if isinstance(getattr(models, name), type)
        and issubclass(getattr(models, name), PrivateEstimator)
    }
    kinds.add("Synthesizer")
    assert functions | kinds <= names


@EVERY
def test_half_of_the_noise_is_caught_and_all_of_it_is_not(subject, monkeypatch):
    assert not noise_law(recorded(subject, 100)).violation
    halve_noise(monkeypatch)
    found = noise_law(recorded(subject, 1800 if subject.lead > 0 else 500))
    assert found.violation, found
    assert found.shown == 2.0, found


def test_half_of_the_noise_loses_more_than_was_paid(monkeypatch):
    (subject,) = (one for one in SUBJECTS if one.name == "silo: measure")
    parts = (subject.run, subject.domain, *subject.tables)
    options = {"claimed": 1, "runs": 1600, "confidence": CERTAIN}
    found = listen(*parts, **options | {"runs": 400})
    assert not found.violation, found
    halve_noise(monkeypatch)
    found = listen(*parts, **options)
    assert found.violation, found
    assert 1 < found.shown <= 2


def test_scores_are_likelihood_ratios():
    """Under the other table exp(score) has mean 1, and the sides mirror each other."""
    (subject,) = (one for one in SUBJECTS if one.name == "mode")
    listener = Listener(subject.run, subject.domain, *subject.tables, subject.group)
    first, second = listener.scores(400)
    assert np.exp(first).mean() == pytest.approx(1, abs=0.5)
    assert np.exp(-second).mean() == pytest.approx(1, abs=0.5)


def test_a_group_may_lose_more():
    coins = np.random.default_rng(3)
    first, second = coins.normal(-2, 2, 4000), coins.normal(2, 2, 4000)
    shown, words = score_bound(first, second, 0.0)
    assert shown > 2
    assert "against" in words


def test_a_sample_is_heard_from_one_row_only():
    some, none = np.array([[3]]), np.array([[0]])
    law = Noise("gaussian", 4)
    step = Answer(law, "step", some, none, some, 0.5, known=False)
    full = Answer(law, "measure", some, none, some)
    assert 0 < score_of([step]) < score_of([full])
    with pytest.raises(ParameterError, match="one row"):
        score_of([Answer(law, "step", some, some + 1, some, 0.5)])


def test_what_asks_nothing_is_not_judged():
    (subject,) = (one for one in SUBJECTS if one.name == "count")
    quiet = Listener(lambda table: None, subject.domain, *subject.tables)
    with pytest.raises(ParameterError, match="asked nothing"):
        quiet.answers(1)
    with pytest.raises(ParameterError, match="no noise"):
        noise_law([])
