"""A fitted model as the core sees it, for questions about its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreto.core.domain.domain import Category
from discreto.core.maps.predictions import install_reader
from discreto.core.query import Batch, Floats, Ints
from discreto.models.base.features import Ready
from discreto.models.interop import json as persist


class ModelPredictor:
    """The columns of a model and its predictions for rows of a table."""

    def __init__(self, model: Any) -> None:
        self._model, space = model, model.space_
        self.domain, self.features, self.goal = space.domain, space.features, space.goal
        column = space.domain[space.goal]
        known = column.categories if isinstance(column, Category) else ()
        classes = np.asarray(getattr(model, "classes_", known))
        self.classes = tuple(classes.tolist())
        self._codes = {value: code for code, value in enumerate(known)}

    @classmethod
    def read(cls, text: str) -> ModelPredictor:
        """The predictor of a model's JSON text."""
        return cls(persist.loads(text, values=False))

    def class_codes(self, batch: Batch) -> Ints:
        """The code of each row's predicted class."""
        found = self._model.predict(self._ready(batch))
        out = np.full(len(found), -1, dtype=np.int64)
        for value, code in self._codes.items():
            out[found == value] = code
        return out

    def probabilities(self, batch: Batch) -> Floats:
        """The probability of each class, row by row."""
        out: Floats = self._model.predict_proba(self._ready(batch))
        return out

    def values(self, batch: Batch) -> Floats:
        """The predicted numbers."""
        out: Floats = self._model.predict(self._ready(batch))
        return out

    def _ready(self, batch: Batch) -> Ready:
        columns = {name: batch[name] for name in self.features}
        return Ready(columns, len(next(iter(columns.values()))))


install_reader(ModelPredictor.read)
