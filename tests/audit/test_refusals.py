"""Refusals and crashes are outputs: rows must not decide whether there is an answer."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import discreto as dp
from discreto.audit import epsilon
from discreto.audit.output_features import ending_of
from discreto.audit.refusals import mutations, outcome, refusals
from discreto.audit.silos import hostile_messages, silo
from discreto.errors import KernelFault, ParameterError

MESSAGE = {"kind": "measure", "question": {"trees": [[0, 1], [0, 1]], "rate": 0.5}}
NEAR = [((0, 1), (0, 1, 1))]


def mini_silo(*, careful):
    """Answers how many rows walk to 1; a tree may lack a child."""

    def silo_of(rows):
        def answer(message):
            trees = message["question"]["trees"]
            checked = trees if careful else trees[-1:]
            if not trees or any(len(tree) < 2 for tree in checked):
                return {"kind": "refusal", "error": "ParameterError"}
            try:
                return {"kind": "release", "n": sum(t[r] for t in trees for r in rows)}
            except IndexError:
                return {"kind": "refusal", "error": "KernelFault"}

        return answer

    return silo_of


def test_a_refusal_that_depends_on_rows_is_found():
    near = [((0, 0), (0, 0, 1))]
    found = refusals(mini_silo(careful=False), [MESSAGE], near)
    assert found.violation, found
    assert "question.trees.0 without its end" in found.event
    assert not refusals(mini_silo(careful=True), [MESSAGE], near).violation


def test_refusals_by_chance_are_counted():
    """A silo that refuses every second message, whatever its rows: no violation."""
    coins = np.random.default_rng(0)

    def silo_of(rows):
        return lambda message: {"kind": str(coins.integers(2))}

    found = refusals(silo_of, [MESSAGE], NEAR, claimed=0.5, confidence=1 - 1e-9)
    assert not found.violation, found


def test_mutations_change_one_place():
    versions = dict(mutations(MESSAGE | {"name": "a"}, texts=("a", "b")))
    assert versions["as it is"]["question"] == MESSAGE["question"]
    assert versions["question.trees.0 without its end"]["question"]["trees"][0] == [0]
    assert versions["name = 'b'"]["name"] == "b"
    assert "question.rate = 1e+12" in versions
    assert all(version["kind"] == "measure" for version in versions.values())
    with pytest.raises(ParameterError, match="no message"):
        refusals(mini_silo(careful=True), [], NEAR)


def test_how_a_run_ended():
    assert ending_of(KernelFault("x")) == "KernelFault"
    assert outcome({"kind": "release", "n": 3}) == "release"
    assert outcome(None) == "NoneType"


def test_an_error_among_noise_is_an_event():
    coins = np.random.default_rng(1)

    def fails(rows):
        if len(rows) > 2 and coins.random() < 0.5:
            raise KernelFault("the answer could not be computed.")
        return 1e6 * coins.normal()

    found = epsilon(fails, (1, 2), (1, 2, 3), claimed=1, runs=400)
    assert found.violation, found
    assert not epsilon(fails, (1, 2), (2, 1), claimed=1, runs=400).violation


def test_a_crash_is_an_event():
    def dies(rows):
        if len(rows) > 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return 1.0

    found = epsilon(
        dies, (1, 2), (1, 2, 3), claimed=1, runs=200, isolate=True, early=False
    )
    assert found.violation, found


@pytest.mark.parametrize(
    "domain",
    [
        dp.Domain({"age": dp.Number(0, 120)}),
        dp.Domain({"s": dp.Category(["x", "y", "z"])}),
    ],
)
def test_small_silos_refuse_whatever_the_rows(domain):
    assert not silo(domain).violation


def test_messages_of_every_kind_are_tried():
    columns = {"a": dp.Number(0, 1), "s": dp.Category(["x", "y"])}
    kinds = [
        (m["kind"], m.get("move", {}).get("kind"))
        for m in hostile_messages(dp.Domain(columns, target="s"))
    ]
    assert {("round", "proximal"), ("round", "steps"), ("measure", None)} <= {*kinds}
    texts = str(list(hostile_messages(dp.Domain(columns, target="s"))))
    assert "Gradients" in texts
    assert "Nearest" in texts
