"""Scores, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

KEY = ("data", "rows", "model", "epsilon", "fold", "seed")


def score(found: Any, truth: Any, regression: bool) -> dict[str, float]:
    """RMSE, or accuracy and AUC."""
    found = np.asarray(found)
    if regression:
        return {"rmse": float(np.sqrt(np.mean((found - truth) ** 2)))}
    accuracy = float(np.mean((found > 0.5) == (truth > 0.5)))
    return {"accuracy": accuracy, "auc": float(roc_auc_score(truth, found))}


class Results:
    """Lines of JSON, one for each fit, kept as soon as they are there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        if path.exists():
            text = path.read_text(encoding="utf-8")
            self.lines = [json.loads(line) for line in text.splitlines()]
        self._keys = {_key(line) for line in self.lines}

    def has(self, line: dict[str, Any]) -> bool:
        return _key(line) in self._keys

    def add(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self._keys.add(_key(line))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in KEY)
