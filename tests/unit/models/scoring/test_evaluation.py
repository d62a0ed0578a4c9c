"""Evaluating, choosing and saving models."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.errors import BudgetError, ParameterError
from discreto.models import GaussianNB, LinearRegression, evaluate, select
from discreto.models.interop import json as persist
from discreto.testing import simulate


def people(rows, seed=0):
    coins = np.random.default_rng(seed)
    ill = coins.random(rows) < 0.4
    return {
        "a": np.where(ill, 7.0, 3.0) + coins.normal(0, 1.5, rows),
        "b": np.where(ill, 0.4, -0.3) + coins.normal(0, 0.3, rows),
        "ill": np.where(ill, "yes", "no"),
        "amount": np.clip(30 + 40 * ill + coins.normal(0, 5, rows), 0, 100),
    }


NUMBERS = {"a": dp.Number(0, 10), "b": dp.Number(-1, 1)}
CLASSES = dp.Domain({**NUMBERS, "ill": dp.Category(["no", "yes"])}, target="ill")
AMOUNTS = dp.Domain({**NUMBERS, "amount": dp.Number(0, 100)}, target="amount")


def fitted(kind, domain, **params):
    table = dp.Table(people(500), domain, simulate(noise=False))
    return kind(epsilon=1, **params).fit(table)


@pytest.mark.parametrize("kind", [GaussianNB, LinearRegression])
def test_scores_and_predictions_of_private_rows_are_refused(kind):
    x = np.arange(100.0)
    target = np.where(x > 50, "b", "a") if kind is GaussianNB else x
    column = dp.Category(["a", "b"]) if kind is GaussianNB else dp.Number(0, 100)
    domain = dp.Domain({"x": dp.Number(0, 100), "y": column}, target="y")
    table = dp.Table({"x": x, "y": target}, domain, simulate(1))
    model = kind(epsilon=1).fit(table)
    with pytest.raises(ParameterError, match=r"models\.evaluate\("):
        model.score(table)
    with pytest.raises(ParameterError, match="Give rows of your own"):
        model.predict(table)
    assert model.score(x[:, None], target) <= 1


def test_confusion_and_accuracy_are_exact_without_noise():
    model = fitted(GaussianNB, CLASSES)
    data = people(400, seed=1)
    found = evaluate(model, dp.Table(data, CLASSES, simulate(noise=False)), epsilon=1)
    guess = model.predict(np.column_stack([data["a"], data["b"]]))
    right = guess == data["ill"]
    assert found.accuracy.value == pytest.approx(right.mean())
    counts = dict(found.confusion.items())
    for true in ("no", "yes"):
        for said in ("no", "yes"):
            expected = ((data["ill"] == true) & (guess == said)).sum()
            assert counts[true, said] == expected
    chances = model.predict_proba(np.column_stack([data["a"], data["b"]]))
    picked = chances[np.arange(400), (data["ill"] == "yes").astype(int)]
    lost = np.minimum(-np.log(picked), np.log(1000)).mean()
    assert found.log_loss.value == pytest.approx(lost, rel=1e-6)
    sure = chances.max(axis=1) >= 0.9
    assert found.calibration.value[-1] == pytest.approx(right[sure].mean())


def test_the_share_of_the_most_frequent_class_stands_beside_the_accuracy():
    model, data = fitted(GaussianNB, CLASSES), people(400, seed=1)
    found = evaluate(model, dp.Table(data, CLASSES, simulate(noise=False)), epsilon=1)
    share = max((data["ill"] == kind).mean() for kind in ("no", "yes"))
    assert found.baseline.value == pytest.approx(share)
    assert found.baseline.low < share < found.baseline.high
    assert [name for name, _ in found.items()][:2] == ["accuracy", "baseline"]
    lines = str(found).splitlines()
    assert lines[0].startswith("accuracy: ")
    assert lines[1].startswith("baseline: ")
    assert lines[-1] == "ε 1 for all of these together"
    assert "ε" not in "".join(lines[:-1])
    html = found._repr_html_()
    assert html.count("ε 1") == 1


def test_ranges_of_a_calibration_without_rows_are_not_shown():
    model, data = fitted(GaussianNB, CLASSES), people(400, seed=1)
    found = evaluate(model, dp.Table(data, CLASSES, simulate(2)), epsilon=20)
    assert len(found.calibration) == 10  # two classes: none is below a half
    text = str(found)
    assert "0.9 to 1.0" in text
    assert "0.0 to 0.1" not in text
    assert "5 ranges with next to no rows are not shown" in text
    assert "0.0 to 0.1" not in found._repr_html_()


@pytest.mark.slow
def test_regression_errors_are_exact_without_noise():
    model = fitted(LinearRegression, AMOUNTS)
    data = people(400, seed=1)
    table = dp.Table(data, AMOUNTS, simulate(noise=False))
    found = evaluate(model, table, epsilon=1000)
    miss = data["amount"] - model.predict(np.column_stack([data["a"], data["b"]]))
    assert found.rmse.value == pytest.approx(np.sqrt((miss**2).mean()), rel=1e-4)
    r2 = 1 - (miss**2).mean() / data["amount"].var()
    assert found.r2.value == pytest.approx(r2, abs=1e-4)


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn_without_noise():
    from sklearn import metrics

    model, data = fitted(GaussianNB, CLASSES), people(3000, seed=1)
    table = dp.Table(data, CLASSES, simulate(noise=False))
    found = evaluate(model, table, epsilon=1)
    X, y = np.column_stack([data["a"], data["b"]]), data["ill"]
    said, chance = model.predict(X), model.predict_proba(X)[:, 1]
    assert found.macro_f1.value == pytest.approx(
        metrics.f1_score(y, said, average="macro")
    )
    recalls = metrics.recall_score(y, said, average=None)
    np.testing.assert_allclose(found.recall.value, recalls)
    brier = metrics.brier_score_loss(y == "yes", chance)
    assert found.brier.value == pytest.approx(brier, rel=1e-6)
    auc = metrics.roc_auc_score(y, chance)  # scores are binned
    assert found.auc.value == pytest.approx(auc, abs=0.004)


@pytest.mark.slow
def test_more_than_two_classes():
    from sklearn import metrics

    rng = np.random.default_rng(0)
    kind = rng.choice(3, 3000)
    a = np.clip(3 * kind + rng.normal(2, 2, 3000), 0, 10)
    data = {"a": a, "kind": np.array(["x", "y", "z"])[kind]}
    domain = dp.Domain(
        {"a": NUMBERS["a"], "kind": dp.Category(["x", "y", "z"])}, target="kind"
    )
    table = dp.Table(data, domain, simulate(noise=False))
    model = GaussianNB(epsilon=1).fit(table)
    found = evaluate(model, table, epsilon=1)
    chances = model.predict_proba(a[:, None])
    auc = metrics.roc_auc_score(data["kind"], chances, multi_class="ovr")
    assert found.auc.value == pytest.approx(auc, abs=0.01)
    right = np.eye(3)[kind]
    squares = ((chances - right) ** 2).sum(axis=1).mean()
    assert found.brier.value == pytest.approx(squares, rel=1e-6)


def test_groups_are_seen_for_the_same_cost():
    data = people(2000) | {"sex": np.array(["f", "m"] * 1000)}
    columns = {**NUMBERS, "sex": dp.Category(["f", "m"])}
    domain = dp.Domain({**columns, "ill": CLASSES["ill"]}, target="ill")
    table = dp.Table(data, domain, simulate(noise=False))
    model = GaussianNB(epsilon=1).fit(
        dp.Table(data, domain.select(["a", "b", "ill"]), simulate(noise=False)), "ill"
    )
    found = evaluate(model, table, epsilon=1, by="sex")
    X = np.column_stack([data["a"], data["b"]])
    right = model.predict(X) == data["ill"]
    for sex in ("f", "m"):
        here = data["sex"] == sex
        assert found.group_accuracy[sex] == pytest.approx(right[here].mean())
        ill = here & (data["ill"] == "yes")
        assert found.group_recall[sex, "yes"] == pytest.approx(right[ill].mean())
        said = (model.predict(X)[here] == "yes").mean()
        assert found.group_rates[sex, "yes"] == pytest.approx(said)
    assert found.accuracy.value == pytest.approx(right.mean())
    assert found.accuracy.cost == Cost.of(1)


def test_fewer_metrics_have_more_of_the_cost():
    model, table = (
        fitted(GaussianNB, CLASSES),
        dp.Table(people(300), CLASSES, simulate(1)),
    )
    alone = evaluate(model, table, epsilon=1, metrics="brier")
    assert alone.accuracy is None
    both = evaluate(model, table, epsilon=1).on_these_rows.brier
    assert alone.on_these_rows.brier.error < both.error / 4
    with pytest.raises(ParameterError, match="metrics are some of"):
        evaluate(model, table, epsilon=1, metrics="rmse")
    with pytest.raises(ParameterError, match="groups"):
        evaluate(model, table, epsilon=1, metrics="auc", by="ill")
    with pytest.raises(ParameterError, match="level"):
        evaluate(model, table, epsilon=1, level=95)


def test_the_interval_for_the_population_is_the_wider_one():
    model, table = (
        fitted(GaussianNB, CLASSES),
        dp.Table(people(300), CLASSES, simulate(1)),
    )
    found = evaluate(model, table, epsilon=1)
    for name in ("accuracy", "brier", "macro_f1", "auc"):
        wide, own = getattr(found, name), getattr(found.on_these_rows, name)
        assert wide.value == own.value
        assert wide.error > own.error
        assert wide.population
        assert not own.population
    assert "(95 %, population)" in str(found)
    surer = evaluate(model, table, epsilon=1, level=0.99).accuracy
    assert "(99 %, population)" in str(surer)


@pytest.mark.slow
def test_intervals_cover_the_population():
    """The score of a fixed model over all people, from tables of 400 of them."""
    model = fitted(GaussianNB, CLASSES)
    many = people(200_000, seed=7)
    X = np.column_stack([many["a"], many["b"]])
    accuracy = (model.predict(X) == many["ill"]).mean()
    chance = model.predict_proba(X)[:, 1]
    brier = ((chance - (many["ill"] == "yes")) ** 2).mean()
    hits, runs = np.zeros(2), 200
    for seed in range(runs):
        table = dp.Table(people(400, seed=1000 + seed), CLASSES, simulate(seed))
        found = evaluate(model, table, epsilon=4, metrics=["accuracy", "brier"])
        hits += [found.accuracy.covers(accuracy), found.brier.covers(brier)]
    assert ((hits / runs > 0.9) & (hits / runs < 1)).all()


@pytest.mark.slow
def test_intervals_of_accuracy_and_rmse_cover():
    model, line = fitted(GaussianNB, CLASSES), fitted(LinearRegression, AMOUNTS)
    data = people(300, seed=2)
    X = np.column_stack([data["a"], data["b"]])
    accuracy = (model.predict(X) == data["ill"]).mean()
    rmse = np.sqrt(((data["amount"] - line.predict(X)) ** 2).mean())
    hits = np.zeros(2)
    runs = 200
    for seed in range(runs):
        table = dp.Table(data, CLASSES, simulate(seed))
        amounts = dp.Table(data, AMOUNTS, simulate(seed))
        a = evaluate(model, table, epsilon=1, metrics="accuracy").on_these_rows.accuracy
        r = evaluate(line, amounts, epsilon=1, metrics="rmse").on_these_rows.rmse
        hits += [a.low <= accuracy <= a.high, r.low <= rmse <= r.high]
    assert ((hits / runs > 0.9) & (hits / runs < 1)).all()


def test_evaluation_is_charged_once_and_refused_when_too_dear():
    model = fitted(GaussianNB, CLASSES)
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(people(50), CLASSES, ledger)
    evaluate(model, table, epsilon=1)
    assert ledger.total() == 1
    with pytest.raises(BudgetError):
        evaluate(model, table, epsilon="0.1")


def test_evaluation_needs_the_same_classes():
    model = fitted(GaussianNB, CLASSES)
    other = dp.Domain({**NUMBERS, "ill": dp.Category(["yes", "no"])}, target="ill")
    with pytest.raises(ParameterError, match="classes"):
        evaluate(model, dp.Table(people(9), other, dp.Ledger(epsilon=1)), epsilon=1)


@pytest.mark.slow
def test_select_takes_the_better_model_and_states_the_whole_cost():
    ledger = dp.Ledger(epsilon=20)
    table = dp.Table(people(2000), CLASSES, ledger)
    candidates = [GaussianNB(epsilon=1), GaussianNB(epsilon=1, var_smoothing=1e6)]
    winner = select(candidates, table, epsilon=20)
    assert winner.var_smoothing != 1e6
    assert ledger.total() == 20
    assert winner.selection_cost_ == "ε 20"
    assert winner.privacy_.cost.epsilon == winner.privacy_.receipt.cost.epsilon == 20
    assert winner.privacy_.plan.total.epsilon == 8  # its own fit
    with pytest.raises(BudgetError):
        select(candidates, table, epsilon=1)


def test_select_with_a_validation_table_charges_each_its_part():
    train, check = dp.Ledger(epsilon=1), dp.Ledger(epsilon=1)
    select(
        [GaussianNB(epsilon=1)],
        dp.Table(people(100), CLASSES, train),
        epsilon=1,
        validation=dp.Table(people(100, seed=1), CLASSES, check),
    )
    assert (train.total(), check.total()) == (0.8, 0.2)


def test_select_pays_for_the_choice_before_it_fits(monkeypatch):
    def fit(*args):
        pytest.fail("a candidate was fitted although the choice cannot be paid")

    monkeypatch.setattr(GaussianNB, "_fit_table", fit)
    poor = dp.Table(people(50, seed=1), CLASSES, dp.Ledger(epsilon="0.1"))
    table = dp.Table(people(50), CLASSES, dp.Ledger(epsilon=1))
    with pytest.raises(BudgetError):
        select([GaussianNB(epsilon=1)], table, epsilon=1, validation=poor)


def test_select_refuses_a_bad_candidate_before_it_spends():
    ledger = dp.Ledger(epsilon=1)
    table = dp.Table(people(50), CLASSES, ledger)
    with pytest.raises(ParameterError):
        select([GaussianNB(epsilon=1, var_smoothing=-1)], table, epsilon=1)
    with pytest.raises(ParameterError):
        select([], table, epsilon=1)
    assert ledger.total() == 0


@pytest.mark.slow
def test_select_regressors():
    table = dp.Table(people(500), AMOUNTS, simulate(1))
    winner = select([LinearRegression(epsilon=1)] * 2, table, epsilon=2)
    assert winner.predict([[7, 0.4]]).shape == (1,)


SMOOTH = [10.0**power for power in range(-9, 7)]


def settings():
    return [GaussianNB(epsilon=1, var_smoothing=value) for value in SMOOTH]


@pytest.mark.slow
def test_sixteen_settings_cost_three_fits():
    ledger = dp.Ledger(epsilon=3)
    winner = select(settings(), dp.Table(people(60), CLASSES, ledger), epsilon=3)
    assert ledger.total() == 3
    assert len(ledger.entries()) == 1
    # A fit has a third of what a shared row count leaves.
    assert winner.privacy_.plan.total.epsilon == Fraction(39, 40)
    assert winner.selection_cost_ == "ε 3"


@pytest.mark.slow
def test_sixteen_settings_with_a_delta_are_one_block_and_cost_three_fits():
    ledger = dp.Ledger(epsilon=3, delta="1e-5")
    table = dp.Table(people(60), CLASSES, ledger)
    winner = select(settings(), table, epsilon=3, delta="1e-5")
    assert str(winner.privacy_.cost) == "ε 0.075 + (ε 2.925, δ 1e-05)"
    assert len(ledger.entries()) == 1
    from discreto.core.cost import epsilon_for

    own = winner.privacy_.plan.total.rho
    assert own
    assert epsilon_for(own, Fraction("1e-5")) > 1


@pytest.mark.slow
def test_hidden_runs_are_all_made_whatever_was_drawn(monkeypatch):
    made, fit = [], GaussianNB._fit_space

    def count(self, *args):
        made.append(self.var_smoothing)
        return fit(self, *args)

    monkeypatch.setattr(GaussianNB, "_fit_space", count)
    for seed in range(5):
        made.clear()
        table = dp.Table(people(60), CLASSES, simulate(seed))
        select(settings(), table, epsilon=3)
        assert made == SMOOTH * 2


@pytest.mark.slow
def test_hidden_runs_find_a_good_setting():
    """At a large epsilon a bad one wins only where no good one was drawn."""
    table = dp.Table(people(500), CLASSES, simulate(3))
    good = [
        select(settings()[::5], table, epsilon=30).var_smoothing < 10 for _ in range(20)
    ]
    assert sum(good) >= 15


@pytest.mark.slow
def test_hidden_runs_with_a_validation_table_charge_each_its_part():
    train, check = dp.Ledger(epsilon=1), dp.Ledger(epsilon=1)
    select(
        settings(),
        dp.Table(people(100), CLASSES, train),
        epsilon=1,
        validation=dp.Table(people(100, seed=1), CLASSES, check),
    )
    # Rows are counted for a 40th; nine tenths of the rest fit, one tenth scores.
    assert (train.total(), check.total()) == (0.9025, 0.0975)


@pytest.mark.slow
def test_hidden_runs_choose_regressors():
    table = dp.Table(people(500), AMOUNTS, simulate(1))
    models = [LinearRegression(epsilon=1)] * 4
    assert select(models, table, epsilon=3).predict([[7, 0.4]]).shape == (1,)


@pytest.mark.parametrize(
    "wrong", [{"method": "best"}, {"repeats": 0}, {"choice_share": 1}]
)
def test_select_refuses_nonsense(wrong):
    ledger = dp.Ledger(epsilon=1)
    with pytest.raises(ParameterError):
        select(settings(), dp.Table(people(9), CLASSES, ledger), epsilon=1, **wrong)
    assert ledger.total() == 0


def test_files_are_checked(tmp_path):
    model = fitted(GaussianNB, CLASSES)
    path = tmp_path / "model.json"
    persist.save(model, path)
    again = persist.load(path)
    X = np.column_stack([people(9)["a"], people(9)["b"]])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    text = path.read_text()
    data = json.loads(text)
    for change in (
        {"model": "os.system"},
        {"model": "PrivateEstimator"},
        {"discreto_model": 99},
        {"params": {"nope": 1}},
        {"state": {"__class__": 1}},
        {"state": {}},
    ):
        with pytest.raises(ParameterError):
            persist.loads(json.dumps(data | change))
    for bad in ("", "[]", "{}", text[:-5], "null"):
        with pytest.raises(ParameterError):
            persist.loads(bad)
    (tmp_path / "none.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="cannot be read as a model"):
        persist.load(tmp_path / "none.json")


def test_a_file_that_is_not_there_is_called_so(tmp_path):
    with pytest.raises(ParameterError, match=r"there is no file .*none\.json"):
        persist.load(tmp_path / "none.json")


def test_unfitted_models_are_not_saved():
    with pytest.raises(ParameterError, match="not fitted"):
        persist.dumps(GaussianNB(epsilon=1))


def test_files_hold_no_row(tmp_path):
    """A canary value that stands in the data is in no saved model."""
    data = people(100)
    data["a"][0] = 7.123456789
    table = dp.Table(data, CLASSES, simulate(1))
    text = persist.dumps(GaussianNB(epsilon=1).fit(table))
    assert "7.123456" not in text
