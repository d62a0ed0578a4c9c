"""The finer settings of boosted trees, in one object."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from discreto.errors import ParameterError


@dataclass(frozen=True, slots=True, repr=False)
class BoostingSettings:
    """What most users leave alone: how trees are grown, and how the cost is divided.

    Whatever is None is chosen from public facts, as the parameters of
    :class:`~discreto.models.GradientBoostingClassifier` are. The values are checked by
    ``plan`` and ``fit``, before anything is charged.

    Parameters
    ----------
    reg_lambda
        Added to the weight of every leaf (default 1).
    splits
        ``"greedy"`` (default): noisy choices; ``"random"``: public random numbers, so
        that all of the cost is left for leaves; ``"cyclic"``: public random numbers,
        each tree on ``group_size`` columns in turn.
    split_score
        What greedy splits maximise: ``"l1"``, the absolute gradient sums of the
        children (default), or ``"gain"``, the usual gain.
    split_share
        Which part of a tree's cost greedy splits get (default one half).
    leaf
        ``"newton"`` (default): sums of gradients and of curvatures. ``"pair"``: sums of
        (1 + g) / 2 and (1 - g) / 2. ``"mean"``, the papers' leaf: its value itself, for
        comparison; its noise does not shrink with the rows of the leaf. The last two
        are for two classes or a Number.
    staged
        Whether greedy trees add the values of every level before they choose the
        next one (default for a Number target), or only those of the leaves.
    encoding
        What a Category does in a split: ``"native"`` (default), a child for every
        category; ``"onehot"``, one against the rest; ``"either"`` of them (greedy
        splits), or a random ``"subset"`` (random splits).
    multiway
        Whether greedy splits may cut a Number column into eight at once.
    max_leaves, group_size
        The most leaves of a tree (default 1024), columns of a cyclic tree (default 1).
    rows, trees_per_ensemble
        ``"all"``: every tree sees all rows and gets its part of the cost.
        ``"disjoint"``: ``trees_per_ensemble`` trees (default: all) share the rows, each
        row goes to one of them by a public hash of its values, and each tree may spend
        what its ensemble may.
    leaf_clipping
        Whether the values of the i-th tree of an ensemble are bounded by
        (1 - learning_rate)^(i - 1).
    start
        Whether the first question is for class shares, or the mean of a Number target,
        to start from.
    shrink
        Whether leaf values are drawn toward their parents' by as much as noise tells.
    monotone
        Columns along which scores may only rise (1) or fall (-1), as ``{"age": 1}``:
        Number features, two classes or a Number target, greedy or random splits. Leaf
        values that noise put in another order are moved together, which is free.
    residual_bound
        For a Number target: the largest residual that counts whole, in units of the
        target: Huber's loss. None (default): from a noisy choice of a quantile of
        residuals.
        ``"range"``: half the range.
    filtering
        For a Number target: rows with larger residuals are left out instead of clipped.

    Examples
    --------
    >>> from discreto.models import GradientBoostingClassifier
    >>> settings = BoostingSettings(splits="random", encoding="subset")
    >>> settings
    BoostingSettings(splits='random', encoding='subset')
    >>> GradientBoostingClassifier(epsilon=1, settings=settings).settings.splits
    'random'
    """

    reg_lambda: float | None = None
    splits: str | None = None
    split_score: str | None = None
    split_share: float | None = None
    leaf: str | None = None
    staged: bool | None = None
    encoding: str | None = None
    multiway: bool = True
    max_leaves: int | None = None
    group_size: int | None = None
    rows: str = "all"
    trees_per_ensemble: int | None = None
    leaf_clipping: bool = False
    start: bool = True
    shrink: bool = True
    residual_bound: float | str | None = None
    monotone: Any = None
    filtering: bool = False

    def __repr__(self) -> str:
        """Only what was changed."""
        given = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if (value := getattr(self, field.name)) is not field.default
        ]
        return f"BoostingSettings({', '.join(given)})"


SETTING_NAMES = tuple(field.name for field in fields(BoostingSettings))


def settings_of(model: Any) -> BoostingSettings:
    """The settings object of a model; without one, everything is as by default."""
    if model.settings is None:
        return BoostingSettings()
    if not isinstance(model.settings, BoostingSettings):
        raise ParameterError(
            f"{type(model).__name__}: settings must be None or BoostingSettings(...). "
            f"Got a {type(model.settings).__name__}."
        )
    return model.settings


def take_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Parameters with all settings among them gathered in one object.

    >>> take_settings({"epsilon": 1, "splits": "random"})
    {'epsilon': 1, 'settings': BoostingSettings(splits='random')}
    """
    fine = {name: value for name, value in given.items() if name in SETTING_NAMES}
    if not fine:
        return given
    if given.get("settings") is not None:
        raise ParameterError(f"give {', '.join(fine)} in the settings object.")
    plain = {name: value for name, value in given.items() if name not in fine}
    return plain | {"settings": BoostingSettings(**fine)}


def warn_of_old(names: list[str], stacklevel: int) -> None:
    """Say that these parameters of 0.1 are settings now."""
    words = ", ".join(f"{name}=..." for name in names)
    warnings.warn(
        f"since 0.2 write settings=BoostingSettings({words}).",
        DeprecationWarning,
        stacklevel=stacklevel + 1,
    )


def with_old_names(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that still takes the parameters of 0.1, for one release.

    They are not in its signature, from which scikit-learn reads what a model has.
    """

    @functools.wraps(init)
    def read_old(self: Any, *args: Any, **given: Any) -> None:
        old = [name for name in given if name in SETTING_NAMES]
        if old:
            warn_of_old(old, stacklevel=2)
            given = take_settings(given)
        init(self, *args, **given)

    return read_old
