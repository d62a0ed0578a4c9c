"""Every model, fitted by Python and by the shell, is one model with one price."""

from __future__ import annotations

import csv
import inspect
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from shell import Shell
from sklearn.base import clone

import discreto as dp
from discreto import models
from discreto.cli import files
from discreto.cli import fit as command
from discreto.data.frames import open_frame
from discreto.errors import ParameterError
from discreto.models.base.kinds import PrivateClassifier
from discreto.models.boosting.settings import SETTING_NAMES
from discreto.models.interop import json as persist
from discreto.testing import simulate

# Spellings of one epsilon or delta; the shell sees the texts alone.
ONE = [1, 1.0, "1", "1.0", " 1 ", "1/1", "1e0", Fraction(1), Decimal(1)]
ONE += [np.float64(1), np.float32(1), np.int64(1), np.int8(1)]
HALF = [0.5, "0.5", ".5", "1/2", "5e-1", Fraction(1, 2), Decimal("0.5")]
HALF += [np.float64(0.5), np.float16(0.5)]
NONE = [0, 0.0, -0.0, "0", "0.0", "0/1", "0e-9", Fraction(0), Decimal(0)]
NONE += [np.float64(0), np.int64(0)]
SMALL = [1e-5, "1e-5", "0.00001", "1/100000", Fraction(1, 10**5), Decimal("1e-5")]
SMALL += [np.float64(1e-5)]
BAD_EPSILON = ["0", "-1", "nan", "inf", "1e999", "one", "", "1/0"]
BAD_DELTA = ["1", "-1e-5", "nan", "1e-19", "tiny"]
REFUSED = {2, 3, 4}  # exit codes: argument, domain, budget


@pytest.fixture
def shell(case, tmp_path):
    return Shell(case, tmp_path)


@pytest.fixture
def quiet(monkeypatch):
    """A simulation without noise pays for whatever the shell fits, and no cards."""
    monkeypatch.setattr(command, "_write_card", lambda *a, **k: None)

    def use(noise=False):
        book = simulate(3, noise=noise)
        book.epsilon, book.remaining = Fraction(9), lambda: 9.0
        monkeypatch.setattr(files, "open_ledger_for", lambda *a, **k: book)
        return book

    return use


def test_every_model_of_the_shell_is_in_the_contract(all_cases):
    assert set(command.kinds()) == {case.name for case in all_cases}


def questions(model, domain):
    plan = model.plan(domain)
    return plan.questions, plan.total


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [(ONE, NONE[:1]), (HALF, NONE[:1]), (ONE[:1], NONE), (HALF[:1], SMALL)],
    ids=["one", "half", "no delta", "a delta"],
)
def test_every_spelling_is_one_plan(case, epsilons, deltas):
    domain = case.domain()
    if "Boosting" in case.name or "Auto" in case.name:
        # Plans of many forms take half a second each: some spellings of every kind.
        epsilons, deltas = epsilons[::4], deltas[::3]
    wanted = questions(case.make(epsilon=epsilons[0], delta=deltas[0]), domain)
    for epsilon in epsilons:
        for delta in deltas:
            model = case.make(epsilon=epsilon, delta=delta)
            assert questions(model, domain) == wanted, (epsilon, delta)
            again = clone(model)
            assert again.delta is model.delta or again.delta == model.delta
            assert type(again.epsilon) is type(epsilon)


@pytest.mark.parametrize("delta", [NONE, SMALL], ids=["no delta", "a delta"])
def test_every_spelling_is_one_fit(case, delta):
    """The same model from the same noise, and the same entry of the ledger."""
    data, states, costs = case.data(60), [], []
    if "Boosting" in case.name or "Auto" in case.name:
        delta = delta[::3]
    for spelling in delta:
        ledger = simulate(5)
        model = case.make(delta=spelling)
        model.fit(dp.Table(data, case.domain(), ledger))
        states.append(shown(model))
        costs.append([entry["cost"] for entry in ledger.entries()])
    assert all(state == states[0] for state in states)
    assert costs == [[model.plan(case.domain()).total.to_dict()]] * len(delta)


def shown(model):
    return json.loads(persist.dumps(model))["state"]


@pytest.mark.parametrize(
    ("delta", "noise"),
    [("0", False), ("0.0", True), ("1e-5", True), ("1/100000", False)],
)
def test_the_shell_fits_what_python_fits(case, shell, quiet, noise, delta):
    quiet(noise)
    result = shell.fit("--delta", delta, epsilon="1/2")
    assert result.exit_code == 0, result.output
    ours = case.make(epsilon=0.5, delta=float(Fraction(delta)))
    ledger = simulate(3, noise=noise)
    ours.fit(dp.Table(str(shell.data), case.domain(), ledger))
    assert shown(models.load(shell.out)) == shown(ours)


@pytest.mark.parametrize("delta", ["0", "1e-5"])
def test_the_shell_charges_the_plan_and_predicts(case, shell, delta):
    """Real noise from a real ledger: nothing below depends on what it is."""
    result = shell.fit("--delta", delta)
    assert result.exit_code == 0, result.output
    plan = case.make(epsilon="1", delta=delta).plan(case.domain())
    book = dp.Ledger(shell.ledger)
    assert [entry["cost"] for entry in book.entries()] == [plan.total.to_dict()]
    model = models.load(shell.out)
    assert model.privacy_.plan.questions in plan.forms
    done = shell.run("predict", shell.out, shell.data, "--out", shell.folder / "p.csv")
    assert done.exit_code == 0, done.output
    with open(shell.folder / "p.csv", newline="") as file:
        said = [line["prediction"] for line in csv.DictReader(file)]
    frame = open_frame(str(shell.data), case.domain())
    (batch, rows), *_ = frame.batches(model.space_.features, 1 << 16)
    expected = model.predict(models.base.features.Ready(dict(batch), rows)).tolist()
    assert [type(e)(s) for s, e in zip(said, expected, strict=True)] == expected


@pytest.mark.parametrize(
    "wrong",
    [
        *([("--epsilon", text)] for text in BAD_EPSILON),
        *([("--delta", text)] for text in BAD_DELTA),
        [("--set", "nothing=1")],
        [("--set", "random_state")],
        [("--columns", "nobody")],
        [("--target", "nobody")],
    ],
    ids=lambda pairs: " ".join(pairs[0]) if isinstance(pairs, list) else str(pairs),
)
def test_a_refusal_leaves_the_ledger_as_it_was(case, shell, wrong):
    dp.Ledger(shell.ledger, epsilon=9, delta="1e-3")
    if wrong[0] == ("--target", "nobody") and case.target is None:
        pytest.skip("this model has no target")
    result = shell.fit(*(word for pair in wrong for word in pair))
    assert result.exit_code in REFUSED, result.output
    assert dp.Ledger(shell.ledger).entries() == []
    assert not shell.out.exists()


FOR_NUMBERS = ("residual_bound", "filtering")  # a Category has no residuals


def for_a_category(kind):
    return issubclass(kind, PrivateClassifier)


def own_settings():
    """Every setting of every model, for the settings' own tests."""
    for name, kind in command.kinds().items():
        parameters = inspect.signature(kind).parameters
        if "settings" in parameters:
            finer = inspect.signature(models.BoostingSettings).parameters
            parameters = {**parameters, **finer}
        for parameter in parameters.values():
            if for_a_category(kind) and parameter.name in FOR_NUMBERS:
                continue
            if parameter.name not in command.NOT_SET:
                yield pytest.param(name, parameter, id=f"{name}-{parameter.name}")


SETTINGS = list(own_settings())
WORDS = {
    "method": {"LinearRegression": "functional", "LogisticRegression": "means"},
    "splits": "random",
    "split_score": "gain",
    "leaf": "pair",
    "encoding": "onehot",
    "rows": "disjoint",
    "init": {"KMeans": "[[1, 0, 5.5], [9, 0.5, 5.2]]", "FuzzyCMeans": "auto"},
    "residual_bound": "range",
    "alpha": ".5",
    "loss": "huber",
    "C": "2",
    "class_weight": "[1, 3]",
    "priors": "[0.25, 0.75]",
    "monotone": '{"a": 1}',
}


def good_text(name, parameter):
    """Something else than the default that this setting takes, as it is typed."""
    found = WORDS.get(parameter.name)
    if found is not None:
        return found[name] if isinstance(found, dict) else found
    kind = str(parameter.annotation)
    if "bool" in kind:
        return "False" if parameter.default is not False else "true"
    if "float" in kind:
        return "2.5" if parameter.name == "m" else ".25"
    if parameter.name == "ddof":
        return "1"
    return "2"


def case_named(cases, name):
    return next(case for case in cases if case.name == name)


@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
def test_every_setting_reaches_the_model(all_cases, tmp_path, quiet, name, parameter):
    """As it would from Python: typed text is no other value than the one it says."""
    quiet()
    shell = Shell(case_named(all_cases, name), tmp_path, rows=30)
    text = good_text(name, parameter)
    result = shell.fit("--set", f"{parameter.name}={text}")
    assert result.exit_code == 0, result.output
    value = command.options.value(text)
    assert not isinstance(value, str) or value == text
    if parameter.name == "random_state":
        return  # coins are not kept in a file
    model = models.load(shell.out)
    finer = parameter.name in SETTING_NAMES and hasattr(model, "settings")
    kept = getattr(model.settings if finer else model, parameter.name)
    assert (kept, type(kept)) == (value, type(value))


@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
def test_no_setting_takes_nonsense(all_cases, tmp_path, name, parameter):
    """Refused by its name, before the charge; "no" is no truth value."""
    shell = Shell(case_named(all_cases, name), tmp_path, rows=5)
    dp.Ledger(shell.ledger, epsilon=9, delta="1e-3")
    nonsense = ["no", "-1e400", '{"no such column": 1}', "[[1]]"]
    for text in nonsense:
        result = shell.fit("--set", f"{parameter.name}={text}")
        assert result.exit_code == ParameterError.exit_code, (text, result.output)
        flat = " ".join(result.output.replace("│", " ").split())
        finer = parameter.name in SETTING_NAMES and "Boosting" in name
        owner = "BoostingSettings" if finer else name
        assert f"{owner}: {parameter.name} must be" in flat, text
    assert dp.Ledger(shell.ledger).entries() == []
