"""The algorithms as printed: what breaks its claim is caught, what keeps it is not."""

from __future__ import annotations

import math

import numpy as np

from discreto.audit import epsilon
from discreto.lab import published
from discreto.testing import simulate


def judge(work, first, second, claimed=1.0, runs=20_000):
    return epsilon(work, first, second, claimed=claimed, runs=runs)


def test_votes_are_caught():
    def votes(data):
        model = published.KNNVotes(3, epsilon=1, classes=[0, 1], ledger=simulate(None))
        return model.fit(*data).predict(np.zeros((1, 1)))

    near = (np.array([[0.1], [0.2], [0.3]]), np.array([1, 1, 0]))
    more = (np.array([[0.05], [0.1], [0.2], [0.3]]), np.array([1, 1, 1, 0]))
    assert judge(votes, near, more).violation


def test_naive_bayes_at_a_tenth_is_caught():
    def bayes(data):
        model = published.VaidyaBayes(
            epsilon="0.1", classes=[0, 1], ledger=simulate(None)
        )
        return model.fit(*data)

    rows, labels = np.full((9, 2), 0.5), np.array([0, 1] * 4 + [0])
    more = (np.vstack([rows, [[1, 1]]]), np.append(labels, 1))
    assert judge(bayes, (rows, labels), more, claimed=0.1).violation


def test_bounds_of_the_data_are_caught():
    def total(values):
        return published.local_sum(values, epsilon=1, ledger=simulate(None))

    assert judge(total, np.array([4, 2, 7, 1]), np.array([4, 2, 1])).violation


def test_a_histogram_of_replaced_rows_is_caught():
    def bins(values):
        return published.histogram(values, [0, 1, 2], epsilon=1, ledger=simulate(None))

    assert judge(bins, np.array([0.5, 0.5]), np.array([0.5, 1.5])).violation


def test_what_keeps_its_claim_is_not_accused():
    def count(rows):
        return published.count(rows, epsilon=1, ledger=simulate(None))

    def coins(answers):
        return published.two_coins(answers, ledger=simulate(None))

    assert not judge(count, np.ones(9), np.ones(10), runs=4_000).violation
    one, two = np.array([0, 1]), np.array([1, 1])
    assert not judge(coins, one, two, claimed=math.log(3), runs=4_000).violation
