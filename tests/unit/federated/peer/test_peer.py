"""Nodes that learn with their neighbours: the simulation, number by number."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from identities import Issuer
from silos import LINEAR, YES_NO, federation, parts, silo

import discreto as dp
from discreto.errors import DiscretoError, ParameterError, UnsafeError
from discreto.federated import (
    GraphLearning,
    Mixing,
    Neighbourhood,
    Peer,
    Silo,
    simulate,
    topology,
)
from discreto.testing import simulate as ledger_of

NAMES = [f"silo {k + 1}" for k in range(7)]
SIZES = [20, 35, 50, 20, 30, 25, 40]
SMALL = parts(3, SIZES)
CLEAR = {"epsilon": 30, "rounds": 6, "graph": "seven"}
ISSUER = Issuer()
IDENTITIES = {name: ISSUER.identity(name) for name in NAMES}


def rows(mixing="metropolis"):
    graph = topology("seven", 7)
    return Neighbourhood.rows_of(getattr(Mixing, mixing)(graph), NAMES)


class Wires:
    """Lines between peers of this process; everything crosses as JSON text."""

    def __init__(self, peers):
        self.peers, self.cut, self.letters = peers, set(), []

    def between(self, sender, receiver):
        def ask(message):
            if (sender, receiver) in self.cut:
                return None
            self.letters.append((sender, receiver, message))
            data = json.loads(json.dumps(message))
            return json.loads(json.dumps(self.peers[receiver].answer(data, sender)))

        return ask

    def of(self, name, neighbours):
        return {other: self.between(name, other) for other in neighbours}


def together(peers, wires=None):
    """Every peer in a thread of its own; their models by name."""
    wires, models = wires or Wires(peers), {}

    def work(name, peer):
        lines = wires.of(name, peer._own.neighbours)
        try:
            models[name] = peer.learn(lines)
        except DiscretoError as error:
            models[name] = error

    threads = [threading.Thread(target=work, args=pair) for pair in peers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return models


def peers_of(
    learner, domain=LINEAR, *, mixing="metropolis", noise=False, near=None, **options
):
    options = {"patience": 20.0, "gather": 20.0, "run": "study"} | options
    near = near or rows(mixing)
    signed = learner.robust != "none"
    return {
        name: Peer(
            silo(SMALL[k], domain, ledger_of(k, noise=noise)),
            near[name],
            learner,
            identity=IDENTITIES[name] if signed else None,
            **options,
        )
        for k, name in enumerate(NAMES)
    }


@pytest.mark.parametrize("mixing", ["metropolis", "constant", "optimal"])
@pytest.mark.parametrize("domain", [LINEAR, YES_NO], ids=["linear", "logistic"])
def test_peers_equal_the_simulation_bit_for_bit(mixing, domain):
    learner = GraphLearning(**CLEAR, mixing=mixing)
    near = simulate(learner, SMALL, domain, noise=False).models[0]
    models = together(peers_of(learner, domain, mixing=mixing))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], near.path_[:, place])
    assert near.path_.any()


@pytest.mark.parametrize("robust", ["median", "trimmed", "bounded"])
def test_robust_peers_equal_the_simulation_too(robust):
    learner = GraphLearning(**CLEAR, robust=robust)
    near = simulate(learner, SMALL, LINEAR, noise=False).models[0]
    models = together(peers_of(learner))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], near.path_[:, place])


def test_with_the_same_noise_peers_equal_a_coordinator():
    """Each silo draws its own noise, in the same order, whoever mixes."""
    learner = GraphLearning(**CLEAR)
    far = federation(SMALL).fit(learner)
    models = together(peers_of(learner, noise=True))
    for place, name in enumerate(NAMES):
        assert np.array_equal(models[name].path_[:, 0], far.path_[:, place])


def test_letters_go_to_neighbours_only_and_say_nothing_else():
    learner = GraphLearning(**CLEAR)
    peers = peers_of(learner)
    wires = Wires(peers)
    together(peers, wires)
    near = rows()
    for sender, receiver, message in wires.letters:
        assert receiver in near[sender].neighbours
        assert set(message) <= {
            "discreto",
            "kind",
            "plan",
            "say",
            "heard",
            "tick",
            "weights",
        }
    said = {message["say"] for _, _, message in wires.letters}
    assert said == {"where", "moments", "weights"}


def test_a_cut_link_is_gone_round():
    """Both ends go on without each other; the graph is still connected."""
    learner = GraphLearning(**CLEAR | {"rounds": 12})
    peers = peers_of(learner, patience=1.0, gather=4.0)
    wires = Wires(peers)
    wires.cut = {("silo 6", "silo 7"), ("silo 7", "silo 6")}
    models = together(peers, wires)
    graph = topology("seven", 7)
    graph.remove_edge(5, 6)
    whole = simulate(
        GraphLearning(**CLEAR | {"rounds": 12, "graph": graph}),
        SMALL,
        LINEAR,
        noise=False,
    )
    for place, name in enumerate(NAMES):
        gap = models[name].nodes_[0] - whole.models[0].nodes_[place]
        assert np.abs(gap).max() < 0.02


def test_a_node_that_never_comes_is_left_out():
    learner = GraphLearning(**CLEAR | {"rounds": 12})
    peers = peers_of(learner, patience=1.0, gather=6.0)
    wires = Wires(peers)
    gone = "silo 5"
    wires.cut = {(a, b) for a in NAMES for b in NAMES if gone in (a, b)}
    models = together({n: p for n, p in peers.items() if n != gone}, wires)
    for name, model in models.items():
        assert list(model.dropped) == [gone], name
    nodes = np.array([model.nodes_[0] for model in models.values()])
    assert np.abs(nodes - nodes.mean(axis=0)).max() < 0.05


class Killed(BaseException):
    """As sudden as a signal: nothing of the package catches it."""


def file_peer(folder, k, learner, **options):
    ledger = dp.Ledger(folder / f"{k}.ledger", epsilon=50, delta="1e-5")
    return Peer(
        silo(SMALL[k], LINEAR, ledger),
        rows()[NAMES[k]],
        learner,
        run="study",
        state=folder / f"{k}.json",
        patience=2.0,
        gather=5.0,
        **options,
    )


@pytest.mark.parametrize("kept", [True, False], ids=["state", "no state"])
def test_a_killed_node_is_charged_once_and_takes_no_step_twice(tmp_path, kept):
    """With its state it goes on; without it the ledger refuses steps it has taken."""
    learner = GraphLearning(**CLEAR)
    peers = {name: file_peer(tmp_path, k, learner) for k, name in enumerate(NAMES)}
    wires = Wires(peers)
    victim = peers["silo 2"]
    taken = victim._steps.descend

    def killed(setting, axes, weights, rates, number):
        taken(setting, axes, weights, rates, number)  # paid and drawn, never told
        if number == 3:
            raise Killed
        return taken(setting, axes, weights, rates, number)

    victim._steps.descend = killed
    first = {}

    def work(name, peer):
        try:
            first[name] = peer.learn(wires.of(name, peer._own.neighbours))
        except Killed:
            wires.cut |= {(a, b) for a in NAMES for b in NAMES if name in (a, b)}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda args: None)
        threads = [threading.Thread(target=work, args=p) for p in peers.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(first) == sorted(set(NAMES) - {"silo 2"})
    if not kept:
        (tmp_path / "1.json").unlink()
    victim._steps._silo.ledger.close()
    wires.cut.clear()
    again = file_peer(tmp_path, 1, learner)
    peers["silo 2"] = again
    model = again.learn(wires.of("silo 2", again._own.neighbours))
    ledger = again._steps._silo.ledger
    assert np.isfinite(model.path_).all()
    assert len([e for e in ledger.entries() if e["cost"]]) == 1
    labels = [e["label"] for e in ledger.entries() if not e["cost"]]
    assert len(labels) == len(set(labels)) <= learner.rounds
    # Its neighbours had ended, so it took their answer.
    assert np.abs(model.nodes_ - first["silo 1"].nodes_).max() < 0.1


def test_who_has_other_terms_is_refused_before_any_charge():
    peers = peers_of(GraphLearning(**CLEAR))
    other = peers_of(GraphLearning(**CLEAR | {"epsilon": 20}))["silo 5"]
    wires = Wires(peers)
    with pytest.raises(UnsafeError, match="another run"):
        other.learn(wires.of("silo 5", ["silo 4"]))
    assert not other._steps._silo.ledger.entries()


def test_nobody_there_costs_nothing():
    peer = peers_of(GraphLearning(**CLEAR), gather=0.0)["silo 5"]
    with pytest.raises(DiscretoError, match="Nothing was charged"):
        peer.learn({"silo 4": lambda message: None})
    assert not peer._steps._silo.ledger.entries()
    with pytest.raises(ParameterError, match="line to each neighbour"):
        peer.learn({"silo 1": lambda message: None})


def letter(peer, **parts):
    shape = peer._shape
    width = [0.0] * shape.width
    good = {"basis": "b", "inner": width, "home": width}
    return shape.message("weights", tick=0, weights=good) | parts


def test_letters_that_make_no_sense_are_refused():
    peer = peers_of(GraphLearning(**CLEAR))["silo 1"]
    width, moments = peer._shape.width, peer._shape.moments
    good = letter(peer)
    assert peer.answer(good, "silo 2")["say"] == "heard"
    assert peer.answer(good, "silo 4")["kind"] == "refusal"  # no neighbour
    assert peer.answer(good, "")["kind"] == "refusal"
    where = peer._shape.message("where")
    assert peer.answer(where, "silo 4")["kind"] == "refusal"
    assert peer.answer(where, "silo 2")["say"] == "here"
    odd = [
        None,
        [],
        {},
        {"kind": "peer"},
        good | {"plan": "other"},
        good | {"say": "rows, please"},
        good | {"tick": True},
        good | {"tick": -1},
        good | {"tick": 10**9},
        good | {"weights": None},
    ]
    for inner in ([0.0], [float("nan")] * width, [1e10] * width, [True] * width, "x"):
        odd.append(good | {"weights": good["weights"] | {"inner": inner}})
    huge = good | {"weights": good["weights"] | {"inner": [10**400] * width}}
    assert peer.answer(huge, "silo 2")["error"] == "ParameterError"
    fact = {"rows": 5, "moments": [0] * moments}
    for heard in (
        {"stranger": [fact]},
        {"silo 3": fact},
        {"silo 3": [fact] * 3},
        {"silo 3": [{"rows": 5}]},
        {"silo 3": [fact | {"rows": -1}]},
        {"silo 3": [fact | {"moments": [0]}]},
        {"silo 3": [fact | {"moments": [1 << 63] * moments}]},
        {"silo 3": [fact | {"moments": [0.5] * moments}]},
    ):
        odd.append(peer._shape.message("moments", heard=heard))
    for message in odd:
        assert peer.answer(message, "silo 2")["kind"] == "refusal", message
    assert not peer._mailbox.moments


def test_without_signatures_the_first_relay_counts_but_a_node_knows_itself():
    peer = peers_of(GraphLearning(**CLEAR))["silo 1"]
    fact = {"rows": 5, "moments": [0] * peer._shape.moments}

    def tell(teller, **said):
        heard = {name.replace("_", " "): [one] for name, one in said.items()}
        return peer.answer(peer._shape.message("moments", heard=heard), teller)

    assert tell("silo 2", silo_3=fact, silo_1=fact)["origins"] == {"silo 3": 1}
    tell("silo 2", silo_3=fact | {"rows": 9})
    assert peer._mailbox.moments["silo 3"]["rows"] == 5
    tell("silo 3", silo_3=fact | {"rows": 7})  # its own word counts more
    assert peer._mailbox.moments["silo 3"]["rows"] == 7
    tell("silo 2", silo_3=fact)
    assert peer._mailbox.moments["silo 3"]["rows"] == 7
    tell("silo 3", silo_3=fact)  # now it contradicts itself
    assert "silo 3" in peer._mailbox.excluded
    assert not peer._mailbox.moments


# Hostile nodes

HONEST = {"epsilon": 30, "rounds": 6, "graph": "complete"}
ROBUST = ["median", "trimmed", "bounded"]


def of_all(robust, hostile=1):
    learner = GraphLearning(**HONEST, robust=robust, hostile=hostile)
    whole = Neighbourhood.rows_of(Mixing.metropolis(topology("complete", 7)), NAMES)
    return peers_of(learner, near=whole, patience=5.0, gather=6.0)


def weights_of(models):
    return {name: model.nodes_[0] for name, model in models.items()}


def farthest(models, clean, liars):
    """Return the largest relative distance of an honest node's weights."""
    gaps = [
        np.linalg.norm(models[name].nodes_[0] - clean[name])
        / np.linalg.norm(clean[name])
        for name in NAMES
        if name not in liars
    ]
    return max(gaps)


def say(peers, liar, about, **fact):
    """Send every other node a statement about some nodes, signed by the liar."""
    for name, peer in peers.items():
        shape = peer._shape
        said = {"rows": 1, "moments": [0] * shape.moments} | fact
        if name != liar:
            heard = {}
            for origin in about:
                text = shape.signed(origin, said)
                heard[origin] = [said | {"proof": IDENTITIES[liar].sign(text)}]
            assert peer.answer(shape.message("moments", heard=heard), liar)


@pytest.fixture(scope="module", params=ROBUST)
def clean(request):
    return request.param, weights_of(together(of_all(request.param)))


@pytest.mark.parametrize("liars", [NAMES[:1], NAMES[:2]], ids=["one", "two"])
def test_nobody_speaks_for_other_nodes(clean, liars):
    """Moments forged in every name: the honest models are the same, bit for bit."""
    robust, honest = clean
    peers = of_all(robust)
    for liar in liars:
        others = [name for name in NAMES if name != liar]
        say(peers, liar, others, rows=10**12)
        say(
            peers, liar, others, rows=0, moments=[-(2**61)] * peers[liar]._shape.moments
        )
    models = together(peers)
    assert farthest(models, honest, liars) == 0
    assert all(not model.dropped for model in models.values())


@pytest.mark.parametrize("lie", ["contradiction", "no rows"])
@pytest.mark.parametrize("liars", [NAMES[:1], NAMES[:2]], ids=["one", "two"])
def test_the_run_goes_on_without_those_who_contradict_themselves(clean, liars, lie):
    robust, honest = clean
    peers = of_all(robust)
    for liar in liars:
        say(peers, liar, [liar], rows=0 if lie == "no rows" else 5)
    models = together(peers)
    for name in NAMES:
        if name not in liars:
            assert sorted(models[name].dropped) == sorted(liars), name
    # Without their moments, the others' differ by what these rows had to say.
    assert farthest(models, honest, liars) < 0.25


@pytest.mark.parametrize(
    "lie",
    [(10**12, 0), (1, 2**61), (10**12, 2**61), (1, -(2**61))],
    ids=["rows", "moments", "both", "negative"],
)
@pytest.mark.parametrize("liars", [NAMES[:1], NAMES[:2]], ids=["one", "two"])
def test_a_lie_about_oneself_moves_the_others_little(clean, liars, lie):
    robust, honest = clean
    peers = of_all(robust, len(liars))
    for liar in liars:
        steps = peers[liar]._steps
        moments = [lie[1]] * peers[liar]._shape.moments
        steps.moments = lambda rounds, m=moments: {"rows": lie[0], "moments": m}
    models = together(peers)
    assert farthest(models, honest, liars) < (0.25 if len(liars) == 1 else 0.6)


def test_robust_rules_need_signatures():
    learner = GraphLearning(**HONEST, robust="median")
    with pytest.raises(ParameterError, match="sign"):
        Peer(silo(SMALL[0], LINEAR), rows()["silo 1"], learner, run="x")
    with pytest.raises(ParameterError, match="certificate is that of"):
        Peer(
            silo(SMALL[0], LINEAR),
            rows()["silo 1"],
            learner,
            run="x",
            identity=IDENTITIES["silo 2"],
        )


def test_rows_of_a_node_must_fit():
    with pytest.raises(ParameterError, match="add up"):
        Neighbourhood("a", {"a": 0.5, "b": 0.4}, ("a", "b"))
    with pytest.raises(ParameterError, match="not among"):
        Neighbourhood("a", {"a": 0.5, "c": 0.5}, ("a", "b"))
    with pytest.raises(ParameterError, match="neighbour"):
        Neighbourhood("a", {"a": 1.0}, ("a", "b"))
    with pytest.raises(ParameterError, match="second"):
        Neighbourhood("a", {"a": 0.5, "b": 0.5}, ("a", "b"), 1.0)


def test_learning_without_privacy_is_for_simulations():
    with pytest.raises(UnsafeError):
        peers_of(GraphLearning(**CLEAR | {"epsilon": None}))
    with pytest.raises(UnsafeError):
        peers_of(GraphLearning(**CLEAR, noise="shared"))
    with pytest.raises(ParameterError, match="run must be"):
        peers_of(GraphLearning(**CLEAR), run="")


def test_private_numbers_of_rows_are_paid_for():
    table = dp.Table({n: SMALL[0][n] for n in LINEAR}, LINEAR, ledger_of(0))
    near = rows()["silo 5"]
    with pytest.raises(ParameterError, match="count_epsilon"):
        Peer(Silo(table), near, GraphLearning(**CLEAR), run="x")
    peer = Peer(
        Silo(table), near, GraphLearning(**CLEAR), run="x", count_epsilon="1/10"
    )
    assert peer._steps.cost.epsilon == pytest.approx(0.1)
    assert peer._steps.moments(1)["rows"] >= 1
