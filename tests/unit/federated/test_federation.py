"""Learning across silos: one model whichever engine, what it costs, how good it is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from silos import LINEAR, YES_NO, federation, parts, silo

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.query import bind
from discreto.core.steps import steps_for
from discreto.errors import BudgetError, DomainError, ParameterError, UnsafeError
from discreto.federated import (
    FederatedAveraging,
    FederatedModel,
    Federation,
    GraphLearning,
    Mixing,
    Policy,
    ProximalPoint,
    Silo,
    client_level,
    simulate,
    topology,
)
from discreto.federated.batch_simulation import BatchEngine
from discreto.federated.federation import Local
from discreto.federated.guarantee import Guarantee
from discreto.federated.learners import Learner
from discreto.federated.rounds import MomentsRequest
from discreto.testing import simulate as ledger_of

SMALL = parts(3, [20, 35, 50])
FEW = {"epsilon": 1, "rounds": 5}
LEARNERS = [
    FederatedAveraging(**FEW),
    FederatedAveraging(**FEW, local_steps=3),
    ProximalPoint(**FEW),
    GraphLearning(**FEW, graph="star", mixes=2),
    GraphLearning(**FEW, graph="ring", mixing="constant"),
]
NAMES = ["averaging", "local steps", "proximal", "star", "ring"]
EVERY = pytest.mark.parametrize("learner", LEARNERS, ids=NAMES)
# With so few rows an epsilon of 1 would be shrunk to nothing, which is always equal.
CLEAR = [replace(learner, epsilon=30) for learner in LEARNERS]


@pytest.mark.parametrize("learner", CLEAR, ids=NAMES)
@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_all_engines_give_the_same_model(learner, domain):
    """Bit for bit, without noise: silos behind gates, and arrays of seeds."""
    far = federation(SMALL, domain, noise=False).fit(learner)
    near = simulate(learner, SMALL, domain, seeds=[1, 2], noise=False)
    for model in near.models:
        assert np.array_equal(far.path_, model.path_)
    assert np.isfinite(far.path_).all()
    assert far.path_.any()


@pytest.mark.parametrize("learner", CLEAR, ids=NAMES)
def test_seeds_do_not_touch_each_other(learner):
    both = simulate(learner, SMALL, LINEAR, seeds=[5, 6])
    for place, seed in enumerate((5, 6)):
        alone = simulate(learner, SMALL, LINEAR, seeds=[seed])
        assert np.array_equal(alone.models[0].path_, both.models[place].path_)
    assert not np.array_equal(both.models[0].path_, both.models[1].path_)


@EVERY
def test_without_privacy_it_is_the_pooled_model(learner):
    several = parts(1, [60, 90, 120])
    free = replace(learner, epsilon=None, rounds=80)
    result = simulate(free, several, LINEAR)
    assert result.error < 0.004
    assert result.curves.shape == (1, 80)
    assert all(ledger.spent().infinite for ledger in result.ledgers.values())
    assert "no privacy" in str(result)


# The figures that the prototype reached after tuning on the data: ours are by rule.
@pytest.mark.parametrize(
    ("learner", "most"),
    [
        (FederatedAveraging(epsilon=1), 0.0046),
        (ProximalPoint(epsilon=1), 0.0070),
        (GraphLearning(epsilon=1, graph="seven"), 0.0066),
    ],
    ids=["averaging", "proximal", "graph"],
)
def test_it_is_good_with_seven_silos(learner, most):
    errors = [
        simulate(learner, parts(seed), LINEAR, seeds=[seed]).error for seed in range(20)
    ]
    assert np.median(errors) <= most / 2


def test_samples_and_local_steps_are_good_too():
    learner = FederatedAveraging(
        epsilon=1, rounds=20, local_steps=5, sample_rate="1/10"
    )
    several = parts(2)
    assert simulate(learner, several, LINEAR, seeds=range(5)).error < 0.02
    assert simulate(FederatedAveraging(epsilon=1), several, LINEAR).error > 0.0001


def test_shared_noise_is_less_noise():
    alone, shared, wary = (
        simulate(
            FederatedAveraging(epsilon=1, **options), parts(4), LINEAR, seeds=range(9)
        )
        for options in ({}, {"noise": "shared"}, {"noise": "shared", "colluders": 5})
    )
    assert shared.error < wary.error < alone.error
    assert "aggregation" in str(shared)
    with pytest.raises(UnsafeError):
        federation(SMALL).fit(FederatedAveraging(**FEW, noise="shared"))
    with pytest.raises(ParameterError):
        simulate(FederatedAveraging(**FEW, noise="shared", colluders=3), SMALL, LINEAR)


@EVERY
def test_a_real_run_charges_each_silo_once(learner, tmp_path):
    ledgers = {
        f"silo {k}": dp.Ledger(tmp_path / f"{k}.ledger", epsilon=1, delta="1e-5")
        for k in range(3)
    }
    several = Federation(
        {
            name: silo(part, ledger=ledger)
            for part, (name, ledger) in zip(SMALL, ledgers.items(), strict=True)
        }
    )
    model = several.fit(learner, run="study")
    for ledger in ledgers.values():
        assert ledger.spent() == Cost.of(1, "1e-5")
        steps = getattr(learner, "local_steps", 1)
        assert ledger.verify() == 1 + learner.rounds * steps
    assert model.guarantee.one_silo == (1.0, 1e-5)
    assert model.guarantee.several(ledgers)[0] == 3.0
    # The same run again is answered from the ledgers.
    assert np.array_equal(several.fit(learner, run="study").path_, model.path_)
    assert all(ledger.spent() == Cost.of(1, "1e-5") for ledger in ledgers.values())
    with pytest.raises(BudgetError, match="silo 0"):
        several.fit(learner)
    model.save(tmp_path / "model.json")
    read = FederatedModel.load(tmp_path / "model.json")
    assert np.array_equal(read.coef_, model.coef_)
    assert not read.guarantee.simulated
    assert str(read.guarantee) == str(model.guarantee)


def test_a_silo_without_a_delta_says_so(tmp_path):
    strict = dp.Ledger(tmp_path / "strict.ledger", epsilon=5)
    several = Federation(
        {"free": silo(SMALL[0]), "strict": silo(SMALL[1], ledger=strict)}
    )
    with pytest.raises(BudgetError, match="'strict' allows a delta of 0"):
        several.fit(FederatedAveraging(**FEW))
    assert strict.total() == 0


def test_a_silo_that_cannot_pay_drops_out_uncharged(tmp_path):
    poor = dp.Ledger(tmp_path / "poor.ledger", epsilon="0.5", delta="1e-5")
    several = Federation(
        {
            "rich": silo(SMALL[0]),
            "poor": silo(SMALL[1], ledger=poor),
            "third": silo(SMALL[2]),
        }
    )
    with pytest.raises(BudgetError, match="poor"):
        several.fit(FederatedAveraging(**FEW))
    model = several.fit(FederatedAveraging(**FEW), run="anyway")
    assert list(model.dropped) == ["poor"]
    assert not poor.spent()
    assert np.isfinite(model.coef_).all()
    alone = Federation({"poor": silo(SMALL[1], ledger=poor)})
    with pytest.raises(BudgetError):
        alone.fit(FederatedAveraging(**FEW), run="alone")
    assert not poor.spent()


class Fragile(Local):
    """A wire on which some silos fall silent after so many letters."""

    def __init__(self, silos, lives):
        super().__init__(silos)
        self.lives = lives

    def send(self, outgoing):
        if any(message["kind"] != "hello" for message in outgoing.values()):
            for name in self.lives:
                self.lives[name] -= 1
        alive = {n: m for n, m in outgoing.items() if self.lives.get(n, 1) > 0}
        return super().send(alive)


@pytest.mark.parametrize("learner", CLEAR[:3], ids=NAMES[:3])
def test_a_silo_that_falls_silent(learner):
    silos = {
        f"silo {k + 1}": silo(p, ledger=ledger_of(k, noise=False))
        for k, p in enumerate(SMALL)
    }
    model = Federation(Fragile(silos, {"silo 2": 4})).fit(learner)
    assert "no answer" in model.dropped["silo 2"]
    same = simulate(learner, SMALL, LINEAR, noise=False, drop={"silo 2": 3})
    assert np.array_equal(model.path_, same.models[0].path_)
    with pytest.raises(dp.DiscretoError):
        Federation(Fragile(silos, dict.fromkeys(silos, 3))).fit(learner, run="none")


def test_nodes_that_drop_out_of_a_graph():
    learner = GraphLearning(epsilon=1, rounds=12, graph="seven")
    several = parts(5)
    whole = simulate(learner, several, LINEAR, noise=False)
    leaf = simulate(learner, several, LINEAR, noise=False, drop={"silo 5": 6})
    assert whole.mixing.graph().number_of_edges() == 8
    assert leaf.error < 0.05
    # Silo 4 holds silo 5, which is alone from then on: the others go on.
    cut = simulate(learner, several, LINEAR, noise=False, drop={"silo 4": 6})
    assert np.isfinite(cut.models[0].path_).all()
    alone = cut.models[0].nodes_[4]
    assert np.abs(alone - cut.models[0].nodes_[0]).max() > 1e-3
    with pytest.raises(ParameterError):
        simulate(learner, several, LINEAR, drop={"nobody": 6})


def test_empty_and_tiny_silos():
    several = [*parts(0, [0, 1, 300]), *parts(1, [300])]
    for learner in (*CLEAR[:3], CLEAR[4]):
        for rows in (several, several[:2]):
            far = federation(rows, noise=False).fit(learner)
            near = simulate(learner, rows, LINEAR, noise=False)
            assert np.array_equal(far.path_, near.models[0].path_)
            assert np.isfinite(far.path_).all()
    with pytest.raises(ParameterError, match="no rows"):
        simulate(LEARNERS[0], several[:1], LINEAR)


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e300])
def test_odd_values_do_no_harm(odd):
    rows = {name: np.full(40, odd) for name in LINEAR}
    several = [rows, *parts(0, [200, 200])]
    for learner in CLEAR[:4]:
        model = federation(several, noise=False).fit(learner)
        assert np.isfinite(model.path_).all()
        result = simulate(learner, several, LINEAR, noise=False)
        assert np.array_equal(result.models[0].path_, model.path_)


def test_silos_must_agree_on_their_columns():
    wide = LINEAR.with_(columns={**LINEAR.columns, "days": dp.Number(-9, 9)})
    ledgers = [ledger_of(0), ledger_of(1)]
    with pytest.raises(DomainError, match="second"):
        Federation(
            {
                "first": silo(SMALL[0], ledger=ledgers[0]),
                "second": silo(SMALL[1], wide, ledger=ledgers[1]),
            }
        )
    assert not any(ledger.entries() for ledger in ledgers)


def test_a_silo_that_talks_nonsense():
    class Rude(Local):
        def send(self, outgoing):
            replies = super().send(outgoing)
            if self.rude(outgoing.get("silo 1", {})):
                replies["silo 1"] = self.nonsense
            return replies

    silos = {f"silo {k + 1}": silo(p) for k, p in enumerate(SMALL)}
    wire = Rude(silos)
    wire.rude, wire.nonsense = (lambda message: True), {"kind": "silo"}
    with pytest.raises(ParameterError, match="not a release"):
        Federation(wire)
    wire.rude = lambda message: message.get("round") == 2
    for nonsense in ({}, {"kind": "release", "tables": [[[1]]]}):
        wire.nonsense = nonsense
        model = Federation(wire).fit(LEARNERS[0])
        assert list(model.dropped) == ["silo 1"]


def test_rows_that_are_not_declared_are_paid_for():
    several = Federation({f"{k}": hidden(p, ledger_of(k)) for k, p in enumerate(SMALL)})
    with pytest.raises(ParameterError, match="count_epsilon"):
        several.fit(LEARNERS[0])
    model = several.fit(LEARNERS[0], count_epsilon="1/10", run="once")
    assert model.guarantee.one_silo[0] == pytest.approx(1.1)
    spent = several.channel._silos["0"].ledger.spent()
    again = several.fit(LEARNERS[0], count_epsilon="1/10", run="once")
    assert np.array_equal(again.path_, model.path_)
    assert several.channel._silos["0"].ledger.spent() == spent


def books(tmp_path, count=3):
    """Ledgers as silos have them: files, from which nothing is missing."""
    return [
        dp.Ledger(tmp_path / f"{k}.ledger", epsilon=9, delta="1e-4")
        for k in range(count)
    ]


def hidden(part, ledger):
    columns = {name: part[name] for name in LINEAR}
    return Silo(dp.Table(columns, LINEAR, ledger))


TOO_MANY = 10**7  # for a proximal point
THREE = dp.Domain(
    {"x": dp.Number(0, 1), "y": dp.Category(["a", "b", "c"]), "z": dp.Category([0, 1])}
)
RUN = {"run": "again"}
COUNT = {"count_epsilon": "1/10"}


@pytest.mark.parametrize("options", [{}, RUN, COUNT, COUNT | RUN], ids=str)
@pytest.mark.parametrize("some", [1, 3], ids=["one silo", "every silo"])
def test_proximal_points_need_declared_rows_before_any_charge(tmp_path, options, some):
    """Also before the rows are counted: a noisy count would not do."""
    ledgers = books(tmp_path)
    silos = {
        f"{k}": hidden(part, book) if k < some else silo(part, ledger=book)
        for k, (part, book) in enumerate(zip(SMALL, ledgers, strict=True))
    }
    with pytest.raises(ParameterError, match="declare at most"):
        Federation(silos).fit(ProximalPoint(**FEW), **options)
    assert not any(book.entries() for book in ledgers)


@pytest.mark.parametrize("options", [{}, RUN], ids=str)
def test_a_silo_too_large_for_proximal_points_is_refused_before_any_charge(
    tmp_path, options
):
    ledgers = books(tmp_path)
    sizes = [20, 35, TOO_MANY]
    silos = {
        f"{k}": silo(part, ledger=book, rows=size)
        for k, (part, book, size) in enumerate(zip(SMALL, ledgers, sizes, strict=True))
    }
    with pytest.raises(ParameterError, match="declare at most"):
        Federation(silos).fit(ProximalPoint(**FEW), **options)
    assert not any(book.entries() for book in ledgers)
    assert Federation(silos).fit(FederatedAveraging(**FEW)).path_.any()


@pytest.mark.parametrize("options", [COUNT, COUNT | RUN], ids=str)
@pytest.mark.parametrize(
    ("learner", "target"),
    [
        (GraphLearning(**FEW, graph="seven"), None),
        (GraphLearning(**FEW, mixes=0), None),
        (GraphLearning(**FEW, mixes=2.5), None),
        (GraphLearning(**FEW, final_mixes=0), None),
        (GraphLearning(**FEW, mixing="constant", alpha="0.1"), None),
        (FederatedAveraging(**FEW), "nothing"),
    ],
    ids=["seven", "no mixes", "half a mix", "no final mixes", "alpha", "target"],
)
def test_nothing_is_counted_for_a_run_that_is_refused(
    tmp_path, learner, target, options
):
    ledgers = books(tmp_path)
    pairs = zip(SMALL, ledgers, strict=True)
    several = Federation({f"{k}": hidden(*pair) for k, pair in enumerate(pairs)})
    with pytest.raises(dp.DiscretoError):
        several.fit(learner, target, **options)
    assert not any(book.entries() for book in ledgers)


@pytest.mark.parametrize("options", [{"run": 5}, {"run": "x" * 101}, {"run": ""}])
def test_a_name_that_silos_would_refuse_is_refused_first(tmp_path, options):
    ledgers = books(tmp_path)
    pairs = zip(SMALL, ledgers, strict=True)
    several = Federation({f"{k}": hidden(*pair) for k, pair in enumerate(pairs)})
    with pytest.raises(ParameterError, match="run must be"):
        several.fit(LEARNERS[0], **options, **COUNT)
    assert not any(book.entries() for book in ledgers)


@pytest.mark.parametrize("learner", LEARNERS[:3] + LEARNERS[4:], ids=str)
def test_classes_and_features_are_checked_before_any_charge(tmp_path, learner):
    ledgers = books(tmp_path, 2)
    rows = {"x": [0.5] * 9, "y": ["a", "b", "c"] * 3, "z": [0, 1, 1] * 3}
    for domain, target in (
        (THREE, "y"),
        (THREE.select(["z"]), "z"),
    ):
        several = Federation(
            {
                f"{k}": Silo(
                    dp.Table({n: rows[n] for n in domain}, domain, book), rows=9
                )
                for k, book in enumerate(ledgers)
            }
        )
        with pytest.raises(DomainError):
            several.fit(learner, target)
    assert not any(book.entries() for book in ledgers)


def test_every_silos_own_neighbours_are_checked(tmp_path):
    """Samples are for added rows: one silo of replaced rows would refuse, alone."""
    ledgers = books(tmp_path, 2)
    fixed = LINEAR.with_(neighbours="replace", rows=35)
    several = Federation(
        {
            "free": silo(SMALL[0], ledger=ledgers[0]),
            "fixed": silo(SMALL[1], fixed, ledger=ledgers[1]),
        }
    )
    sampled = FederatedAveraging(**FEW, sample_rate="1/4")
    for options in ({}, RUN):
        with pytest.raises(DomainError, match="rate=1"):
            several.fit(sampled, **options)
    assert not any(book.entries() for book in ledgers)
    assert several.fit(FederatedAveraging(**FEW)).path_.shape[0] == FEW["rounds"]


@pytest.mark.parametrize("epsilon", ["1e-3", 1, 10**6])
@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        (FederatedAveraging, {"clip": 1e6}),
        (FederatedAveraging, {"learning_rate": 1e6}),
        (ProximalPoint, {"mu": 0.01}),
        (ProximalPoint, {"mu": 1e3}),
        (GraphLearning, {"clip": 1e6, "learning_rate": 1e-6}),
    ],
)
def test_odd_parameters_that_were_paid_are_answered(kind, odd, epsilon):
    """What a message cannot hold is cut to size: a silo that is paid never refuses."""
    model = federation(SMALL).fit(kind(epsilon=epsilon, rounds=4, **odd))
    assert not model.dropped
    assert np.isfinite(model.path_).all()


def test_a_learner_cannot_hide_its_checks():
    """What a generator would refuse, it refuses at its first round: too late."""
    walk = {"_walk": FederatedAveraging._walk}

    def late(self, setting):
        yield from ()

    async def later(self, setting):
        pass

    for wrong in ({"check": late}, {"check": later}, {"protocol": late}):
        with pytest.raises(TypeError, match="a learner defines check"):
            type("Late", (FederatedAveraging,), walk | wrong)
    silent = type("Silent", (Learner,), walk)
    with pytest.raises(TypeError, match="abstract"):
        silent(epsilon=1)


@EVERY
def test_a_course_checks_when_it_is_made(learner):
    setting = learner.setting(LINEAR, "balance", [20, 35, 50])
    sampled = replace(setting, own=(LINEAR.with_(neighbours="replace", rows=20),) * 3)
    terms = replace(setting.terms, rate=Fraction(1, 4))
    with pytest.raises(DomainError, match="rate=1"):
        learner.protocol(replace(sampled, terms=terms))


def test_what_can_be_refused_is_refused_before_a_charge():
    ledgers = [ledger_of(k) for k in range(3)]
    several = Federation(
        {
            f"{k}": silo(part, ledger=ledger)
            for k, (part, ledger) in enumerate(zip(SMALL, ledgers, strict=True))
        }
    )
    bad = [
        (FederatedAveraging(epsilon=None), "balance"),
        (GraphLearning(**FEW, graph="seven"), "balance"),
        (GraphLearning(**FEW, graph=topology("ring", 4)), "balance"),
        (GraphLearning(**FEW, graph="ring", mixing="constant", alpha=2.0), "balance"),
        (GraphLearning(**FEW, mixing=Mixing.metropolis(topology("five", 5))), None),
        (GraphLearning(**FEW, mixing="strange"), None),
        (FederatedAveraging(**FEW), "nothing"),
    ]
    for learner, target in bad:
        with pytest.raises(dp.DiscretoError):
            several.fit(learner, target)
    three = dp.Domain({"x": dp.Number(0, 1), "y": dp.Category(["a", "b", "c"])})
    with pytest.raises(DomainError, match="two classes"):
        simulate(LEARNERS[0], [{"x": [0.5], "y": ["a"]}], three, "y")
    fixed = LINEAR.with_(neighbours="replace", rows=20)
    sampled = FederatedAveraging(**FEW, sample_rate="1/4")
    with pytest.raises(DomainError, match="rate=1"):
        simulate(sampled, SMALL[:1], fixed)
    assert not any(ledger.entries() for ledger in ledgers)


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "rounds": 1},
        {"epsilon": 1, "rounds": 2.5},
        {"epsilon": 1, "clip": 0},
        {"epsilon": 1, "learning_rate": float("nan")},
        {"epsilon": 1, "noise": "none"},
        {"epsilon": 1, "local_steps": 0},
        {"epsilon": 1, "sample_rate": 2},
    ],
)
def test_parameters_are_checked(options):
    with pytest.raises((ParameterError, TypeError)):
        FederatedAveraging(**options)
    with pytest.raises(ParameterError):
        ProximalPoint(epsilon=1, mu=0)


def test_replaced_rows_need_twice_the_noise():
    """The simulation takes the noise of the domain's neighbours, as gates do."""
    several = parts(6, [300, 300])
    fixed = LINEAR.with_(neighbours="replace", rows=300)
    learner = FederatedAveraging(epsilon=30, rounds=10)
    runs = [
        simulate(learner, several, domain, seeds=range(9)) for domain in (LINEAR, fixed)
    ]
    assert 2 < runs[1].error / runs[0].error < 16
    far = [
        Federation(
            {f"{k}": silo(p, domain, ledger_of(k)) for k, p in enumerate(several)}
        )
        for domain in (LINEAR, fixed)
    ]
    assert [f.rows for f in far] == [{"0": 300, "1": 300}] * 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_simulation_adds_the_noise_it_claims(neighbours):
    """Moments of no rows are pure noise, as large as a silo's would be."""
    rows = None if neighbours == "add-remove" else 1
    domain = LINEAR.with_(neighbours=neighbours, rows=rows)
    nobody = [({name: np.empty(0) for name in domain}, 0)] * 7
    setting = FederatedAveraging(epsilon=1).setting(domain, "balance", [1] * 7, 20)
    request = MomentsRequest(setting)
    reply = BatchEngine(setting, nobody, range(20), True, {}).answer(request)
    steps = steps_for(1, "1e-5", 50)
    (law,) = steps.noises(bind(request.query(0), domain))
    assert 0.95 < reply.sums.std() / np.sqrt(law.variance) < 1.05
    silent = BatchEngine(setting, nobody, range(20), False, {}).answer(request)
    assert not silent.sums.any()


def test_predictions_and_the_model():
    model = federation(parts(7, [200, 300]), YES_NO).fit(FederatedAveraging(epsilon=8))
    rows = {name: np.array([-3.0, 3.0]) for name in YES_NO if name != "late"}
    import pandas as pd

    assert model.predict(pd.DataFrame(rows)).tolist() == ["no", "yes"]
    assert np.allclose(model.predict_proba(pd.DataFrame(rows)).sum(axis=1), 1)
    line = federation(parts(7, [200, 300])).fit(FederatedAveraging(epsilon=8))
    assert np.abs(line.predict(np.full((1, 4), 1e9))).max() <= 4
    with pytest.raises(DomainError):
        line.predict_proba(np.zeros((1, 4)))
    with pytest.raises(ParameterError):
        FederatedModel.from_dict({})


def test_the_guarantee_says_for_whom():
    three = Guarantee({"a": Cost.of(1), "b": Cost.of(2), "c": Cost.of("0.5")})
    assert three.one_silo == (2.0, 0.0)
    assert three.several("ac") == (1.5, 0.0)
    assert "nobody" in str(three)


def test_hiding_a_silo_in_a_simulation():
    """A silo is clipped as a whole, whatever its rows are; with few it is hopeless."""
    learner = FederatedAveraging(epsilon=1, protect="silo", rounds=20)
    few = simulate(learner, parts(0), LINEAR, seeds=range(3))
    assert few.error > 0.1
    assert "whole silo" in str(few)
    assert "hundreds" in str(few)
    many = simulate(learner, parts(0, [30] * 600, shift=0.1), LINEAR)
    assert many.error < 0.1
    assert "hundreds" not in str(many)
    with pytest.raises(UnsafeError):
        federation(SMALL).fit(replace(learner, epsilon=1))
    wild = {name: np.full(900, 4.0) for name in LINEAR}
    setting = learner.setting(LINEAR, "balance", [1, 1, 900])
    batches = [({n: v[:k] for n, v in wild.items()}, k) for k in (1, 1, 900)]
    reply = BatchEngine(setting, batches, [0], False, {}).answer(
        MomentsRequest(setting)
    )
    sizes = np.sqrt((reply.sums.astype(float) ** 2).sum(axis=-1))
    assert sizes.max() <= float(setting.most) * 2**30
    assert sizes.max() > 0.99 * float(setting.most) * 2**30


def test_hiding_a_silo_takes_many_silos():
    few, many = client_level(1, "1e-5", 10, 7), client_level(1, "1e-5", 10, 1000)
    assert round(few.noise, 1) == 1.7
    assert "hundreds" in few.warning
    assert round(many.noise, 3) == 0.012
    assert not many.warning
    with pytest.raises(ParameterError):
        client_level(1, "1e-5", 10, 0)


def test_what_an_owner_does_not_allow_is_refused_before_anybody_pays(tmp_path):
    ledgers = [
        dp.Ledger(tmp_path / f"{k}.ledger", epsilon=3, delta="1e-5") for k in range(2)
    ]
    rules = (
        Policy(questions=("Scaled",)),
        Policy(per_round="1/2"),
        Policy(least_noise=1e6),
        Policy(most_steps=1),
    )
    learner = FederatedAveraging(**FEW, local_steps=2)
    for policy in rules:
        strict = silo(SMALL[0], policy=policy, ledger=ledgers[0])
        several = Federation(
            {"free": silo(SMALL[1], ledger=ledgers[1]), "strict": strict}
        )
        with pytest.raises(dp.DiscretoError, match="silo 'strict'"):
            several.fit(learner)
    assert not any(ledger.entries() for ledger in ledgers)
