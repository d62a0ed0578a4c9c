"""The suite's own rules: noise that repeats, and nothing left behind."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from discreto.core.noise import entropy
from discreto.session.rng import generator

HERE = Path.cwd()
COINS = np.random.default_rng(1)


@pytest.fixture
def chance(request: pytest.FixtureRequest):
    if request.config.getoption("fresh"):
        pytest.skip("--fresh: all noise is real")
    return entropy.os


def draw() -> tuple[bytes, bytes, float]:
    streams = entropy.Entropy(), entropy.Entropy()
    return (*(stream.bytes(16) for stream in streams), generator(None).random())


def test_noise_and_coins_repeat_and_belong_to_a_name(chance) -> None:
    drawn = []
    for name in ("one test", "one test", "another"):
        with chance.of(name):
            drawn.append(draw())
    assert drawn[0] == drawn[1]
    assert not set(drawn[0]) & set(drawn[2])
    assert drawn[0][0] != drawn[0][1]  # two streams of a test differ, too


def test_every_test_has_a_name(chance, request) -> None:
    # This test has drawn nothing yet: what it gets is what its name gives.
    mine = draw()
    with chance.of(request.node.nodeid):
        assert draw() == mine


@pytest.mark.real_noise(1e-38)  # two equal streams of 16 bytes
def test_real_noise_does_not_repeat(request) -> None:
    drawn = []
    for _ in range(2):
        drawn.append(entropy.Entropy().bytes(16))
    assert drawn[0] != drawn[1]
    if not request.config.getoption("fresh"):
        assert entropy.os._name is None


@pytest.mark.parametrize("time", [1, 2])
def test_nothing_is_left_behind(time, tmp_path) -> None:
    """Each of the two spoils what the other one needs, whichever runs first."""
    from matplotlib import pyplot as plt

    assert not plt.get_fignums()
    assert Path.cwd() == HERE
    assert "DISCRETO_LEFT" not in os.environ
    assert np.geterr()["over"] == "warn"
    plt.figure()
    os.chdir(tmp_path)
    os.environ["DISCRETO_LEFT"] = "1"
    np.seterr(over="ignore")
    warnings.simplefilter("ignore")
    assert np.random.random() == pytest.approx(0.5488135039273248)
    assert COINS.random() == pytest.approx(0.5118216247002567)
