"""Plans with several forms, of which a paid-for count chooses one: record and replay.

Each form is priced before anything is paid. What may choose one is a release, never
the rows.
"""

from __future__ import annotations

import pytest

import discreto as dp
from discreto import models
from discreto.audit import pairs, transcript, work_of
from discreto.errors import UnsafeError
from discreto.session.session import Session

COLUMNS = {
    "x": dp.Number(0, 10, missing=True),
    "y": dp.Number(5, 6),
    "c": dp.Category(["u", "v", "w"], missing=True),
}
PAIRS = pairs(dp.Domain(COLUMNS, target="c"))[::8]
FORKS = {
    "classes": (models.GradientBoostingClassifier, "c"),
    "numbers": (models.GradientBoostingRegressor, "y"),
    "line": (models.LinearRegression, "y"),
    "auto": (models.AutoRegressor, "y"),
    "auto of classes": (models.AutoClassifier, "c"),
}


@pytest.mark.parametrize("epsilon", [1, 40])
@pytest.mark.parametrize(("kind", "target"), FORKS.values(), ids=FORKS)
def test_plans_whose_form_a_noisy_count_chooses_hold(kind, target, epsilon):
    """With 40, six rows are enough for trees, so another form is chosen than with 1."""
    domain = dp.Domain(COLUMNS, target=target)
    model = kind(epsilon=epsilon)
    assert len(model.plan(domain).forms) > 1
    found = transcript(work_of(model), domain, pairs=pairs(domain)[::8])
    assert not found.violation, found
    assert found.claimed == epsilon
    assert found.shown > 0.1 * epsilon


def test_a_form_chosen_by_the_rows_is_seen(monkeypatch):
    """Each form is priced, but the exact number of rows is not for choosing one."""

    def peeks(data, recorder):
        many = len(data["x"])
        monkeypatch.setattr(
            "discreto.models.boosting.base.way_of", lambda rows, cost: 4 * (many % 2)
        )
        model = models.GradientBoostingClassifier(epsilon=1)
        return model.fit(recorder.table(data), "c")

    found = transcript(peeks, dp.Domain(COLUMNS, target="c"), pairs=PAIRS)
    assert found.violation
    assert "question 2 is" in found.event


def test_a_form_that_was_not_priced_stops_the_fit(monkeypatch):
    """A way that a noisy count takes, but no plan knows of, asks nothing."""
    monkeypatch.setattr(Session, "fork", lambda session, ways, way: way)
    rows = {"x": [1.0, 9.0] * 200, "y": [5.5] * 400, "c": ["u", "v"] * 200}
    ledger = dp.Ledger(epsilon=40)
    table = dp.Table(rows, dp.Domain(COLUMNS, target="c"), ledger)
    model = models.GradientBoostingClassifier(epsilon=40)
    assert len(model.plan(table.domain).forms) == 1
    with pytest.raises(UnsafeError, match="not the next question"):
        model.fit(table)
    assert ledger.total() == 40  # the first question was answered
