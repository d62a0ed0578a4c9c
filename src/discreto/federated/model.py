"""The result of a run: a linear model, its path, and the cost of each silo."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreto.core.documents import (
    CHECKSUM,
    check_plain,
    check_seal,
    read_json,
    sealed,
    warn_of_no_checksum,
)
from discreto.core.domain.domain import Category, Domain, Number
from discreto.core.query import Floats
from discreto.errors import ParameterError
from discreto.federated.guarantee import Guarantee
from discreto.federated.rounds import ONE, Setting
from discreto.models.base.features import Space
from discreto.models.linear.encoding import Encoding

FORMAT = 2
WITHOUT_CHECKSUM = 1  # the format of versions 0.1 and 0.2
_MOST_PARTS = 1 << 25
_LETTERS = 10**4


@dataclass(frozen=True)
class FederatedModel:
    """A linear or logistic model learned across silos; safe to publish.

    Parameters
    ----------
    domain
        The columns that all silos share.
    target
        The predicted column.
    features
        The columns it is predicted from.
    path_
        Coefficients after every round: (rounds, nodes, 1 + features), intercept first.
    guarantee
        What the run promises to the people in the silos.
    dropped
        Silos that stopped answering, and why.
    fill_
        Where a missing number is put, on [-1, 1]: the mean that the silos' second
        moments say. Without, the middle of its range.

    Attributes
    ----------
    coef_, intercept_
        In the units of the columns; of the mean over nodes, if there are several.
    path_
        Coefficients after every round: (rounds, nodes, 1 + features), intercept first.
    guarantee
        What the run promises to the people in the silos.
    dropped
        Silos that stopped answering, and why.
    """

    domain: Domain
    target: str
    features: tuple[str, ...]
    path_: Floats
    guarantee: Guarantee
    dropped: dict[str, str]
    fill_: tuple[float, ...] = ()

    @property
    def nodes_(self) -> Floats:
        """The last coefficients of each node, intercept first."""
        last: Floats = self.path_[-1]
        return last

    @property
    def coef_(self) -> Floats:
        """One coefficient for each Number feature and each category."""
        out: Floats = self.nodes_.mean(axis=0)[1:]
        return out

    @property
    def coef_names_(self) -> list[str]:
        """Names of the coefficients: ``column``, or ``column=category``."""
        return Encoding(Space(self.domain, self.features, self.target)).labels

    @property
    def intercept_(self) -> float:
        """The score of a row of zeros."""
        return float(self.nodes_.mean(axis=0)[0])

    @property
    def classes_(self) -> tuple[Any, ...]:
        """The two classes of a logistic model."""
        return self.domain.category(self.target).categories

    def decision_function(self, X: Any) -> Floats:
        """The score of each row; values outside of their bounds count as the bound.

        A missing number counts as the mean of the rows that were learned from.

        Parameters
        ----------
        X
            Rows of your own: a data frame, a dict of columns, or a 2-d array with the
            features of the fit.
        """
        columns = Encoding(Space(self.domain, self.features, self.target))
        fill = np.array(self.fill_) if self.fill_ else None
        values = columns.unscale(columns.matrix(X, fill))
        scores: Floats = values @ self.coef_ + self.intercept_
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the expected target, or the likelier class, of each row. Free.

        Parameters
        ----------
        X
            Rows of your own: a data frame, a dict of columns, or a 2-d array with the
            features of the fit.
        """
        scores = self.decision_function(X)
        column = self.domain[self.target]
        if isinstance(column, Category):
            return np.array(column.categories)[(scores > 0).astype(int)]
        number = self.domain.number(self.target)
        return np.clip(scores, number.lower, number.upper)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of both classes.

        Parameters
        ----------
        X
            Rows of your own: a data frame, a dict of columns, or a 2-d array with the
            features of the fit.
        """
        _ = self.classes_
        second = 1 / (1 + np.exp(-np.clip(self.decision_function(X), -500, 500)))
        return np.column_stack([1 - second, second])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form with a checksum, read back by ``from_dict``."""
        return sealed(
            {
                "discreto_federated": FORMAT,
                "domain": self.domain.to_dict(),
                "target": self.target,
                "features": list(self.features),
                "path": self.path_.tolist(),
                "guarantee": self.guarantee.to_dict(),
                "dropped": self.dropped,
                "fill": list(self.fill_),
            }
        )

    @classmethod
    def from_dict(cls, data: Any) -> FederatedModel:
        """Return the model of JSON data, checked whole.

        Parameters
        ----------
        data
            What ``to_dict`` returned.

        Raises
        ------
        ParameterError
            It is not a federated model, or was changed.
        """
        try:
            check_plain(data, _MOST_PARTS, letters=_LETTERS)
            format_ = data["discreto_federated"]
        except (KeyError, TypeError, ValueError):
            raise ParameterError("this is not a federated model.") from None
        if type(format_) is not int or format_ not in (FORMAT, WITHOUT_CHECKSUM):
            raise ParameterError(
                f"this model has format {format_!r}; this discreto reads {FORMAT}."
            )
        if format_ == FORMAT or CHECKSUM in data:
            check_seal(data)
        try:
            found = cls(
                Domain.from_dict(data["domain"]),
                data["target"],
                tuple(data["features"]),
                np.array(data["path"], dtype=float),
                Guarantee.from_dict(data["guarantee"]),
                dict(data["dropped"]),
                tuple(map(float, data["fill"] if format_ == FORMAT else _fill(data))),
            )
            kinds = {"features": list, "fill": list, "dropped": dict}
            whole = all(isinstance(data.get(k, v()), v) for k, v in kinds.items())
            whole = whole and _is_whole(found)
        except (AttributeError, LookupError, TypeError, ValueError, ArithmeticError):
            whole = False
        if not whole:
            raise ParameterError(
                "the parts of this federated model do not fit each other: it is "
                "damaged or was changed."
            )
        return found

    def save(self, path: str | Path) -> None:
        """Write the model as JSON.

        Parameters
        ----------
        path
            The file to write.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> FederatedModel:
        """Read a model that ``save`` wrote.

        Parameters
        ----------
        path
            A file that ``save`` wrote.

        Raises
        ------
        ParameterError
            It cannot be read as a federated model, or was changed.
        """
        try:
            data = read_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise ParameterError(
                f"{str(path)!r} cannot be read as a federated model."
            ) from None
        found = cls.from_dict(data)
        if CHECKSUM not in data:
            warn_of_no_checksum(path)
        return found


def _fill(data: Any) -> Any:
    return data.get("fill", ())  # files of 0.1 have none


def _is_whole(model: FederatedModel) -> bool:
    """Return True if the parts of a model fit its domain and are finite."""
    texts = [model.target, *model.features, *model.dropped, *model.dropped.values()]
    if not all(isinstance(text, str) for text in texts) or not model.features:
        return False
    if model.target in model.features or not model.guarantee.silos:
        return False
    column = model.domain[model.target]
    classes = len(column.categories) if isinstance(column, Category) else 2
    space = Space(model.domain, model.features, model.target)
    terms, path = len(Encoding(space).names), model.path_
    known = isinstance(column, Category | Number) and classes == 2
    right = path.ndim == 3 and path.shape[0] > 0 and path.shape[1] > 0
    right = right and path.shape[2] == 1 + terms
    right = right and len(model.fill_) in (0, terms)
    return known and right and bool(np.isfinite(path).all())


def fills(setting: Setting, middle: Floats) -> list[tuple[float, ...]]:
    """Where missing numbers are put, for each seed: at the mean row's place."""
    numbers = setting.columns.numbers
    return [tuple(np.where(numbers, one, 0.0).tolist()) for one in middle]


def to_columns(setting: Setting, path: Floats) -> Floats:
    """Weights on [-1, 1] columns in the units of the columns, intercept first."""
    centres, halves = setting.columns.centres, setting.columns.halves
    middle, half = 0.0, 1.0
    if setting.loss == "squared":
        column = setting.domain.number(setting.target)
        middle, half = column.centre, column.half
    out = np.empty_like(path)
    out[..., 1:] = path[..., 1:] * (half / halves)
    out[..., 0] = middle + half * ONE * path[..., 0]
    for j, centre in enumerate(centres, start=1):
        out[..., 0] -= out[..., j] * centre
    return out
