"""What one or two hostile silos of seven can do, and what robust means keep of it.

    python benchmarks/hostile.py [averaging | seven | complete] [RULE]

Data as in benchmarks/federated.py. Hostile silos answer with numbers of their own
choice: in averaging wrong gradients, on a graph wrong weights in every mix, and wrong
second moments before that. They are tried in every place. Errors are those of the worst
honest node (on a graph) over least squares on the honest silos' rows, as a fraction of
it: the median over places and data sets, and the worst.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreto.federated import FederatedAveraging, GraphLearning
from discreto.federated.batch_simulation import BatchEngine
from discreto.federated.federation import drive
from discreto.federated.model import to_columns
from discreto.federated.rounds import MomentsRequest, Reply
from discreto.federated.simulation import _batch, excess, pooled

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "unit"))
from silos import LINEAR, columns, parts

RULES = ("none", "median", "trimmed", "bounded")
ATTACKS = ("far", "against", "near")
SEEDS = 3


def wrong(attack: str, points: Any, liars: tuple[int, ...]) -> Any:
    """What liars send (seeds, silos, width): they know what the others have."""
    honest = np.delete(points, liars, axis=1)
    middle, spread = honest.mean(axis=1), honest.std(axis=1)
    if attack == "far":
        return np.full_like(middle, 100.0)
    if attack == "against":
        return -3 * middle
    return middle + 1.5 * spread


class Liars:
    """An engine whose silos ``liars`` send wrong sums."""

    def __init__(self, engine: BatchEngine, attack: str, liars: tuple[int, ...]):
        self._engine, self._attack, self._liars = engine, attack, liars

    def answer(self, request: Any) -> Reply:
        reply = self._engine.answer(request)
        sums = reply.sums.copy()
        for place in self._liars:
            if isinstance(request, MomentsRequest):
                factor = {"far": 50, "against": -1, "near": 1}[self._attack]
                sums[:, place] *= factor
            else:
                one = np.float64(sums[:, :, 0])
                if self._attack == "far":
                    one = np.full_like(one, -1e13)
                    sums[:, place, 0] = one[:, place].astype(np.int64)
                else:
                    sent = wrong(self._attack, one, self._liars)
                    sums[:, place, 0] = sent.astype(np.int64)
        return Reply(sums, reply.alive)


@dataclass(frozen=True, kw_only=True)
class LyingGraph(GraphLearning):
    """On a graph liars say the same wrong thing in every mix."""

    attack: str = ""
    liars: tuple[int, ...] = ()

    def _mixed(self, points: Any, mixing: Any, mixes: int, alive: Any) -> Any:
        if not self.liars:
            return super()._mixed(points, mixing, mixes, alive)
        lines = {place: mixing.line(place, alive) for place in range(7)}
        before = now = self._lied(points)
        for ahead, back in self.schedule(mixing.second, mixes):
            after = now.copy()
            for place, line in lines.items():
                told = self.told(now[:, list(line)], line, place)
                after[:, place] = ahead * told - back * before[:, place]
            before, now = now, self._lied(after.clip(-1e9, 1e9))
        return now

    def _lied(self, points: Any) -> Any:
        out = points.copy()
        for place in self.liars:
            out[:, place] = wrong(self.attack, points, self.liars)
        return out


def error(learner: Any, seed: int, attack: str, liars: tuple[int, ...]) -> float:
    several = [columns(part, LINEAR) for part in parts(seed)]
    batches = [_batch(part, LINEAR) for part in several]
    setting = learner.setting(LINEAR, "balance", [n for _, n in batches])
    engine: Any = BatchEngine(setting, batches, [seed], True, {})
    if liars:
        engine = Liars(engine, attack, liars)
    outcome = drive(learner.protocol(setting), engine)
    path = to_columns(setting, outcome.path)
    honest = [k for k in range(7) if k not in liars]
    if path.shape[2] > 1:
        path = path[:, :, honest]
    rows = [batches[k] for k in honest]
    found = excess(setting, rows, path[:, -1:], pooled(setting, rows))
    return float(found[0, -1])


def line(make: Any, attack: str, count: int) -> str:
    places = list(itertools.combinations(range(7), count))
    found = [error(make(p), s, attack, p) for p in places for s in range(SEEDS)]
    return f"{np.median(found):9.4f} {np.max(found):9.4g}"


def report(title: str, kind: Any, rule: str, options: dict[str, Any]) -> None:
    print(f"{title}, {rule}", flush=True)
    honest = kind(epsilon=1, robust=rule, **options)
    found = [error(honest, seed, "", ()) for seed in range(3 * SEEDS)]
    print(f"  {'nobody':18} {np.median(found):9.4f} {np.max(found):9.4g}")
    for count, attack in itertools.product((1, 2), ATTACKS):

        def make(places: Any, attack: str = attack, count: int = count) -> Any:
            more = options
            if kind is LyingGraph:
                more = options | {"attack": attack, "liars": places}
            return kind(epsilon=1, robust=rule, hostile=count, **more)

        print(f"  {count} {attack:16} {line(make, attack, count)}", flush=True)


def main() -> None:
    wanted = sys.argv[1:]
    for title, kind, options in (
        ("averaging", FederatedAveraging, {}),
        ("seven", LyingGraph, {"graph": "seven"}),
        ("complete", LyingGraph, {"graph": "complete"}),
    ):
        for rule in RULES:
            if set(wanted) <= {title, rule}:
                report(title, kind, rule, options)


if __name__ == "__main__":
    main()
