"""Questions on their way to workers: the same questions, each tree written once."""

from __future__ import annotations

import numpy as np

import discreto as dp
from discreto.core.maps.trees import Tree
from discreto.core.query import Bound, Ints
from discreto.data.engines import LocalEngine, task_text
from discreto.data.frames import Frame
from discreto.models import GradientBoostingClassifier


class Writing(LocalEngine):
    """Folds what a worker would read, and keeps the texts."""

    def __init__(self) -> None:
        super().__init__(1)
        self.texts: list[str] = []

    def fold(self, asked: Bound, frame: Frame) -> list[Ints]:
        self.texts.append(task_text.write_question(asked.query))
        assert task_text.read_question(self.texts[-1]) == asked.query
        return super().fold(asked, frame)


def texts_of(trees: int) -> list[str]:
    """The texts of all questions of a fit."""
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.uniform(0, 1, 200) for i in range(4)}
    data["y"] = rng.integers(0, 2, 200)
    numbers = {f"x{i}": dp.Number(0, 1) for i in range(4)}
    domain = dp.Domain(numbers | {"y": dp.Category([0, 1])}, target="y")
    engine = Writing()
    table = dp.Table(data, domain, dp.testing.simulate(0), engine=engine)
    GradientBoostingClassifier(trees, max_depth=3, epsilon=1).fit(table)
    return engine.texts


def test_a_worker_reads_each_tree_once() -> None:
    task_text._part.cache_clear()
    texts = texts_of(12)
    parts = task_text._part.cache_info()
    assert parts.misses < len(texts) * 2  # a tree changes while it grows
    assert parts.hits > parts.misses


def test_a_tree_is_written_once() -> None:
    tree = Tree((0,), ((0, 1),), ((1.0,), (2.0,)))
    assert task_text.write_question(tree) is not None
    memory = tree.__dict__["packed"]
    task_text.write_question((tree, tree))
    assert tree.__dict__["packed"] is memory


def test_texts_grow_with_the_number_of_trees_only() -> None:
    short, long = texts_of(8)[-1], texts_of(16)[-1]
    assert len(long) < 2.2 * len(short) < 20_000
