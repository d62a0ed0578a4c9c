"""Every learner converges on every kind of column; with noise, data only help."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import discreto as dp
from discreto import federated as fl
from discreto.errors import ParameterError
from discreto.testing import simulate as ledger_of

COLUMNS = {
    "normal": lambda random, rows: random.normal(50, 15, rows).clip(0, 100),
    "uniform": lambda random, rows: random.uniform(0, 100, rows),
    "low": lambda random, rows: random.uniform(0, 20, rows),
    "binary": lambda random, rows: 100.0 * (random.random(rows) < 0.3),
    "rare": lambda random, rows: 100.0 * (random.random(rows) < 0.02),
    "skewed": lambda random, rows: np.exp(random.normal(0, 1, rows)).clip(0, 100),
    "constant": lambda random, rows: np.full(rows, 70.0),
    "ends": lambda random, rows: np.where(
        random.random(rows) < 0.05, 100.0 * random.integers(0, 2, rows), 50.0
    ),
}
KINDS = [*COLUMNS, "one-hot", "duplicated"]
BALANCED, UNBALANCED = (300, 300, 300), (600, 200, 40)


def rows_of(kind, random, rows, away):
    """One silo's columns; ``away`` says where its second column lies."""
    if kind == "one-hot":
        letter = random.choice(list("abcd"), rows, p=[0.6, 0.3, 0.09, 0.01])
        x = random.uniform(0, 100, rows)
        score = 0.05 * x + 3 * (letter == "b") - 2 * (letter == "c")
        columns = {"x": x, "z": letter}
    elif kind == "duplicated":
        x = random.uniform(0, 100, rows)
        score, columns = 0.1 * x, {"x": x, "z": x.copy()}
    else:
        x = COLUMNS[kind](random, rows)
        z = random.normal(50 + away, 15, rows).clip(0, 100)
        score, columns = 0.05 * x + 0.05 * z, {"x": x, "z": z}
    likely = 1 / (1 + np.exp(-(score - 5) / 2))
    late = np.where(random.random(rows) < likely, "yes", "no")
    days = (5 + score + random.normal(0, 2, rows)).clip(0, 30)
    return columns | {"days": days, "late": late}


@cache
def parts_of(kind, sizes, seed=1):
    random = np.random.default_rng(seed)
    return {
        f"silo {k}": rows_of(kind, random, rows, 10.0 * (k - 1))
        for k, rows in enumerate(sizes)
    }


def domain_of(kind, target):
    second = dp.Category(list("abcd")) if kind == "one-hot" else dp.Number(0, 100)
    last = dp.Number(0, 30) if target == "days" else dp.Category(["no", "yes"])
    columns = {"x": dp.Number(0, 100), "z": second, target: last}
    return dp.Domain(columns, target=target)


def played(learner, kind, sizes, target="days", **options):
    return fl.simulate(
        learner, parts_of(kind, sizes), domain_of(kind, target), **options
    )


LEARNERS = {
    "averaging": fl.FederatedAveraging,
    "proximal": fl.ProximalPoint,
    "graph": fl.GraphLearning,
}


@pytest.mark.parametrize("sizes", [BALANCED, UNBALANCED], ids=["balanced", "not"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_without_noise_it_is_the_model_of_all_rows_pooled(learner, kind, sizes):
    how = LEARNERS[learner](epsilon=None, rounds=40)
    assert played(how, kind, sizes).error < 1e-6
    assert played(how, kind, sizes, "late").error < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_silos_without_noise_reach_it_too(kind):
    """Real silos: only the noise is left out, and the learner is told of little."""
    parts, domain = parts_of(kind, BALANCED), domain_of(kind, "days")
    silos = {
        name: fl.Silo(
            dp.Table({c: part[c] for c in domain}, domain, ledger_of(noise=False)),
            rows=300,
        )
        for name, part in parts.items()
    }
    clear = {"epsilon": 10**6, "rounds": 20, "clip": 300}
    for how in LEARNERS.values():
        found = fl.Federation(silos).fit(how(**clear))
        free = how(epsilon=None, rounds=20)
        best = fl.simulate(free, parts, domain).models[0]
        assert loss(parts, found) < (1 + 1e-6) * loss(parts, best)


def loss(parts, model):
    """Return a model's mean squared error on all rows."""
    values = {c: np.concatenate([p[c] for p in parts.values()]) for c in model.domain}
    return ((model.predict(values) - values["days"]) ** 2).mean()


# With noise

MONEY = dp.Domain({"x": dp.Number(0, 100), "y": dp.Number(0, 30)}, target="y")


@pytest.mark.parametrize("learner", ["averaging", "graph"])
@pytest.mark.parametrize("kind", ["normal", "uniform", "low", "binary"])
def test_the_noise_of_epsilon_1_costs_little_on_any_column(learner, kind):
    random, parts = np.random.default_rng(1), {}
    for k in range(3):
        x = COLUMNS[kind](random, 4000)
        y = (5 + 0.1 * x + random.normal(0, 2, 4000)).clip(0, 30)
        parts[f"silo {k}"] = {"x": x, "y": y}
    how = LEARNERS[learner](epsilon=1, rounds=20)
    assert fl.simulate(how, parts, MONEY, seeds=range(25)).error < 5e-5


@cache
def errors(learner, kind, rows, silos, epsilon, target):
    how = LEARNERS[learner](epsilon=epsilon, rounds=20)
    found = played(how, kind, (rows,) * silos, target, seeds=range(9))
    return np.sort(found.curves[:, -1])


def rises(few, many):
    """Return True if the larger table's median error is above the smaller's spread."""
    return np.median(many) > few[-2] + 1e-9


@pytest.mark.parametrize("target", ["days", "late"])
@pytest.mark.parametrize("kind", ["uniform", "low", "binary", "skewed", "one-hot"])
def test_with_noise_the_error_does_not_rise_with_data_or_epsilon(kind, target):
    steps = [(300, 3), (3000, 3), (12000, 3)]
    for epsilon in (0.3, 3, 30):
        by_rows = [errors("averaging", kind, *s, epsilon, target) for s in steps]
        assert not any(map(rises, by_rows, by_rows[1:])), (epsilon, by_rows)
    for rows in (300, 3000):
        by_epsilon = [
            errors("averaging", kind, rows, 3, e, target) for e in (0.3, 3, 30)
        ]
        assert not any(map(rises, by_epsilon, by_epsilon[1:])), (rows, by_epsilon)
    by_silos = [errors("averaging", kind, 1000, k, 1, target) for k in (2, 6, 12)]
    assert not any(map(rises, by_silos, by_silos[1:])), by_silos


@pytest.mark.parametrize("learner", ["proximal", "graph"])
@pytest.mark.parametrize("kind", ["low", "binary", "one-hot"])
def test_nor_does_that_of_the_other_learners(learner, kind):
    for sizes in ([(300, 3), (3000, 3)], [(1000, 3), (1000, 9)]):
        found = [errors(learner, kind, *size, 3, "days") for size in sizes]
        assert not rises(*found), (sizes, found)


def test_no_row_counts_more_in_gradients_than_the_step_length_allows():
    """The public bound on curvature, for rows anywhere in their ranges."""
    domain = domain_of("uniform", "days")
    random = np.random.default_rng(3)
    for rows in (10, 1000, 10**5, 10**8):
        setting = fl.FederatedAveraging(epsilon=1).setting(domain, "days", [rows])
        values = random.choice([0, 50, 100, *random.uniform(0, 100, 20)], (2, 500))
        batch = dict(zip("xz", values.astype(float), strict=True))
        batch["days"] = random.choice([0.0, 15.0, 30.0], 500)
        moments = setting.moments(0).blocks[0].features
        whole = np.linalg.norm(moments.affine(batch, domain), axis=0)
        in_moments = (np.minimum(whole, moments.reach) / whole) ** 2
        _, in_gradients = setting.gradient().weighed(batch, domain)
        assert (in_gradients <= 1.5 * in_moments * (1 + 1e-9)).all()
        assert in_gradients.all()
        assert rows < 10**8 or (in_gradients == 1).all()


def test_a_graph_that_changes_in_time_is_refused_at_once():
    ring, star = fl.topology("ring", 4), fl.topology("star", 4)
    for graph in ([ring, star], (ring,), {"ring": ring}, 5, None):
        with pytest.raises(ParameterError, match="graph must be one"):
            fl.GraphLearning(epsilon=1, graph=graph)
    with pytest.raises(ParameterError, match="graph must be one of ring"):
        fl.GraphLearning(epsilon=1, graph="circle")
    assert fl.GraphLearning(epsilon=1, graph=ring).mixing_for(4).matrix.shape == (4, 4)
