"""Seven silos without a coordinator: real processes, TLS on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from certificates import Authority
from proxies import Proxy
from served import free_port

import discreto as dp
from discreto.core.cost import Cost
from discreto.federated import (
    FederatedModel,
    GraphLearning,
    Mixing,
    Neighbourhood,
    Peer,
    Silo,
    simulate,
    topology,
)
from discreto.federated.https import HttpsLink, HttpsServer
from discreto.testing import simulate as ledger_of

NAMES = [f"node{k + 1}" for k in range(7)]
GRAPH = topology("seven", 7)
ROWS = Neighbourhood.rows_of(Mixing.metropolis(GRAPH), NAMES)
COLUMNS = {name: dp.Number(-4, 4, missing=False) for name in ("a", "b", "y")}
DOMAIN = dp.Domain(COLUMNS, target="y")
EPSILON, ROUNDS = 200, 30

# Whatever a process connects to is written down before it does.
LISTEN = """
import sys
log = open(sys.argv.pop(1), "a", buffering=1)
def heard(event, args):
    if event == "socket.connect":
        log.write(f"{args[1]}\\n")
sys.addaudithook(heard)
from discreto.cli import main
main()
"""


def rows_of(node: int) -> dict[str, np.ndarray]:
    coins = np.random.default_rng(node)
    a, b = coins.normal(node / 7, 1, 300), coins.normal(0, 1, 300)
    return {"a": a, "b": b, "y": 0.8 * a - 0.5 * b + coins.normal(0, 0.5, 300)}


class Node:
    """A node in a process of its own, as its owner would start it."""

    def __init__(self, folder: Path, name: str, ports: dict[str, int]) -> None:
        self.name, self.folder, self.port = name, folder / name, ports[name]
        self.wires: dict[str, Proxy] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def write(self, authority: Authority) -> None:
        self.folder.mkdir()
        rows = rows_of(NAMES.index(self.name))
        pd.DataFrame(rows).to_csv(self.folder / "rows.csv", index=False)
        DOMAIN.save(self.folder / "rows.domain.json")
        mine, own = authority.issue(self.name), ROWS[self.name]
        lines = [
            'data = "rows.csv"\ndomain = "rows.domain.json"\nledger = "x.ledger"',
            "accept_unchecked = true",
            f"epsilon = {EPSILON}\ndelta = '1e-5'\nrows = 300",
            f"[https]\ncertificate = '{mine.certificate}'",
            f"private_key = '{mine.private_key}'\nauthority = '{mine.authority}'",
            f"port = {self.port}",
            f"[peer]\nname = '{self.name}'\nrun = 'study'\nnodes = {NAMES}",
            f"second = {own.second!r}\nepsilon = {EPSILON}\nrounds = {ROUNDS}",
            "mixes = 2\npatience = 60\ngather = 600\nstate = 'state.json'",
            "[peer.weights]",
            *(f"{name} = {weight!r}" for name, weight in own.weights.items()),
            "[peer.neighbours]",
            *(
                f"{name} = 'https://127.0.0.1:{wire.port}'"
                for name, wire in self.wires.items()
            ),
        ]
        (self.folder / "node.toml").write_text("\n".join(lines) + "\n")

    def start(self) -> None:
        words = [str(self.folder / "connects"), "peer", "run"]
        words += ["--config", str(self.folder / "node.toml")]
        words += ["--out", str(self.folder / "model.json")]
        with (self.folder / "log").open("ab") as log:
            command = [sys.executable, "-c", LISTEN, *words]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def round(self) -> int:
        if self.process is not None and self.process.poll() == 0:
            return ROUNDS  # it has ended; others may be behind on a busy machine
        try:
            return int(json.loads((self.folder / "state.json").read_text())["round"])
        except FileNotFoundError:
            return -1

    def ended(self) -> FederatedModel:
        assert self.process is not None
        assert self.process.wait(timeout=500) == 0, (self.folder / "log").read_text()
        return FederatedModel.load(self.folder / "model.json")

    def heard(self) -> set[int]:
        lines = (self.folder / "connects").read_text().splitlines()
        return {int(line.rstrip(")").rpartition(",")[2]) for line in lines}


def wait_for(nodes: list[Node], number: int) -> None:
    end = time.monotonic() + 500
    while min(node.round() for node in nodes) < number:
        assert time.monotonic() < end
        for node in nodes:
            assert node.process is not None
            assert node.process.poll() in (None, 0), (node.folder / "log").read_text()
        time.sleep(0.02)


def kill_and_cut(nodes: dict[str, Node], wires: list[Proxy]) -> None:
    """Kill a node in the middle, start it again, then cut a link."""
    one, others = nodes["node2"], [nodes[n] for n in NAMES if n != "node2"]
    wait_for(list(nodes.values()), 4)
    one.kill()
    known = one.round()
    wait_for(others, known + 4)  # they go on without it
    for wire in wires:  # until it is back; starting takes longer than the run
        wire.flowing.clear()
    before = sum(wire.connections for wire in one.wires.values())
    one.start()
    while sum(wire.connections for wire in one.wires.values()) == before:
        time.sleep(0.02)
    for wire in wires:
        wire.flowing.set()
    wait_for(list(nodes.values()), known + 8)  # it is back among them
    nodes["node6"].wires["node7"].cut()
    nodes["node7"].wires["node6"].cut()


def whole_run(folder: Path, *, disturbed: bool = True) -> dict[str, Node]:
    """A run of seven processes, from their start to their end."""
    authority = Authority(folder / "certificates")
    ports = {name: free_port() for name in NAMES}
    nodes = {name: Node(folder, name, ports) for name in NAMES}
    for node in nodes.values():
        near = ROWS[node.name].neighbours
        node.wires = {other: Proxy(ports[other]) for other in near}
        node.write(authority)
    wires = [wire for node in nodes.values() for wire in node.wires.values()]
    try:
        for node in nodes.values():
            node.start()
        if disturbed:
            kill_and_cut(nodes, wires)
        for node in nodes.values():
            node.ended()
    finally:
        for node in nodes.values():
            if node.process is not None and node.process.poll() is None:
                node.kill()
        for wire in wires:
            wire.cut()
    return nodes


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Node]:
    """A whole run: one node is killed and started again, then a link is cut."""
    return whole_run(tmp_path_factory.mktemp("peers"))


def excess(weights: np.ndarray) -> float:
    """The squared error over all rows, over that of the best line, less 1."""
    parts = [rows_of(k) for k in range(7)]
    x = np.vstack([np.column_stack([p["a"], p["b"]]) for p in parts]).clip(-4, 4)
    y = np.concatenate([p["y"] for p in parts]).clip(-4, 4)
    full = np.column_stack([np.ones(len(x)), x])
    best = full @ np.linalg.lstsq(full, y, rcond=None)[0]
    return float(((full @ weights - y) ** 2).mean() / ((best - y) ** 2).mean() - 1)


def loss(model: FederatedModel, number: int = -1) -> float:
    """The excess of a node's model in a round."""
    return excess(model.path_[number, 0])


def test_a_run_survives_a_killed_node_and_a_cut_link(nodes: dict[str, Node]) -> None:
    for name, node in nodes.items():
        model = node.ended()
        assert model.path_.shape == (ROUNDS, 1, 3)
        assert loss(model) < 0.02, name
        assert list(model.guarantee.silos) == [name]
    assert "were over" in (nodes["node2"].folder / "log").read_text()


def test_a_killed_node_neither_pays_nor_draws_twice(nodes: dict[str, Node]) -> None:
    for node in nodes.values():
        ledger = dp.Ledger(node.folder / "x.ledger")
        assert ledger.spent() == Cost.of(EPSILON, "1e-5")
        steps = [e["label"] for e in ledger.entries() if not e["cost"]]
        assert len(steps) == len(set(steps))
        most = ROUNDS if node.name != "node2" else ROUNDS - 1  # it missed some
        assert len(steps) <= most
        assert ledger.verify() == 1 + len(steps)
        ledger.close()


def test_no_message_goes_to_anyone_but_neighbours(nodes: dict[str, Node]) -> None:
    """By listening to every connection that the processes make."""
    for node in nodes.values():
        wanted = {wire.port for wire in node.wires.values()}
        assert node.heard() == wanted
        assert all(wire.connections for wire in node.wires.values())
    edges = {tuple(sorted((n.name, o))) for n in nodes.values() for o in n.wires}
    assert len(edges) == GRAPH.number_of_edges()


def test_over_https_peers_equal_the_simulation(tmp_path: Path) -> None:
    """Without noise, bit for bit; strangers are refused by their certificates."""
    authority = Authority(tmp_path)
    learner = GraphLearning(epsilon=30, rounds=4, graph="seven", mixes=2)
    peers = {}
    for k, name in enumerate(NAMES):
        table = dp.Table(rows_of(k), DOMAIN, ledger_of(k, noise=False))
        peers[name] = Peer(Silo(table, rows=300), ROWS[name], learner, run="x")
    issued = {name: authority.issue(name) for name in NAMES}
    servers = {n: HttpsServer(p.answer, issued[n]) for n, p in peers.items()}
    models = {}

    def work(name: str, peer: Peer) -> None:
        context = issued[name].context(server=False)
        lines = {
            other: HttpsLink(("127.0.0.1", servers[other].port), context, name=other)
            for other in ROWS[name].neighbours
        }
        models[name] = peer.learn({n: line.ask for n, line in lines.items()})
        for line in lines.values():
            line.close()

    threads = [threading.Thread(target=work, args=pair) for pair in peers.items()]
    for one in (*servers.values(), *threads):
        one.start()
    for thread in threads:
        thread.join()
    near = simulate(learner, [rows_of(k) for k in range(7)], DOMAIN, noise=False)
    for place, name in enumerate(NAMES):
        found = models[name].path_[:, 0]
        assert np.array_equal(found, near.models[0].path_[:, place])
    context = issued["node5"].context(server=False)  # its one neighbour is node4
    place = ("127.0.0.1", servers["node1"].port)
    link = HttpsLink(place, context)
    reply = link.ask({"discreto": 1, "kind": "peer"})
    link.close()
    assert reply is not None
    assert "neighbours only" in reply["reason"]
    assert HttpsLink(place, context, name="node4").ask({}) is None  # it is not node4
    for server in servers.values():
        server.close()
