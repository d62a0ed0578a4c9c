"""Base of both boosting estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discreto.models.base.estimator import PrivateEstimator
from discreto.models.base.features import Space
from discreto.models.base.signal_to_noise import STRENGTHS, way_of
from discreto.models.base.views import Seen, ask_groups, wide_categories
from discreto.models.boosting import forest, inspection
from discreto.models.boosting.settings import (
    SETTING_NAMES,
    Choices,
    settings_of,
    warn_of_old,
)
from discreto.models.boosting.start import look
from discreto.models.boosting.trainer import Base, Ensemble, learn
from discreto.session.parameters import Reader
from discreto.session.rng import generator
from discreto.session.session import Ask

GROUPS = Fraction(1, 20)  # of the cost, to find the frequent values of a wide Category


class Boosting(PrivateEstimator):
    """Trees one after another, each at the gradients that those before leave."""

    def set_params(self, **params: Any) -> Any:
        """Change parameters; ``settings__NAME`` changes one of the settings.

        Parameters
        ----------
        params
            New values by name.
        """
        changes = {}
        for name in list(params):
            plain = name.removeprefix("settings__")
            if plain in SETTING_NAMES:
                changes[plain] = params.pop(name)
                if plain == name:
                    warn_of_old([name], stacklevel=2)
            elif plain != name:  # scikit-learn's kind of error
                raise ValueError(f"{plain!r} is not one of the settings of boosting.")
        super().set_params(**params)
        if changes:
            self.settings = replace(settings_of(self), **changes)
        return self

    def _learn(self, ask: Ask, space: Space) -> None:
        self._learn_from(ask, space, None)

    def _learn_from(self, ask: Ask, space: Space, base: Base | None) -> None:
        """Learn, from scores to start with if there are any, which are paid for."""
        groups: dict[str, Any] = {}
        if wide_categories(space):  # a code book of thousands costs little
            groups = ask_groups(ask, space, GROUPS)
            seen = Seen(groups=groups)
            ask, space = seen.ask(ask.sharing(1 - GROUPS), space), seen.space(space)
        # Read once for all ways of a rehearsal: only the strength differs.
        key = (self, ask.cost, space.domain.fingerprint, space.features)
        choices = ask.once(key, partial(Choices, self, ask.cost, space))
        settings, first = choices.at(), None
        if base is not None:  # scores to start from are paid for already
            settings = replace(settings, start_share=Fraction(0))
        elif choices.counts_first:
            # The count that starts the scores also decides how many trees there are.
            first = look(ask, space, settings, settings.start_share)
            way = ask.fork(len(STRENGTHS), way_of(first.fewest, ask.cost))
            settings = choices.at(STRENGTHS[way])
        coins = generator(Reader(self).seed())
        ensemble = self._weighted(
            learn(ask, space, settings, coins, first, base), space
        )
        for name, value in forest.pack(ensemble, space.domain, groups).items():
            setattr(self, name, value)

    def _weighted(self, ensemble: Ensemble, space: Space) -> Ensemble:
        """Return the ensemble with other weights of classes, if there are any."""
        return ensemble

    @property
    def n_trees_(self) -> int:
        """The number of trees."""
        return len(self.depths_)

    @property
    def feature_importances_(self) -> Any:
        """The spread of released leaf values along each column; they add up to 1.

        Every split counts the spread of its children's values, all codes alike: how
        many rows go where is not known.
        """
        return forest.importances(forest.Shipped(self))

    def tree_text(self, number: int) -> str:
        """Return a tree as text: its branches, and what its leaves add to the scores.

        Parameters
        ----------
        number
            Which tree, from 0.
        """
        check_is_fitted(self, "space_")
        return inspection.text(forest.Shipped(self), number)

    def plot_tree(self, number: int, ax: Any = None) -> Any:
        """Return a tree as a picture, on matplotlib axes.

        Parameters
        ----------
        number
            Which tree, from 0.
        ax
            Axes of matplotlib; by default those of a new figure.
        """
        check_is_fitted(self, "space_")
        return inspection.picture(forest.Shipped(self), number, ax)

    def partial_dependence(self, name: str, rows: int = 512) -> tuple[Any, Any]:
        """Return the values of a column, and the mean scores that go with them.

        The other columns are spread evenly over their cells: no row is looked at.

        Parameters
        ----------
        name
            A feature.
        rows
            How many combinations of the other features are averaged.

        Returns
        -------
        values, scores
            Two arrays.
        """
        check_is_fitted(self, "space_")
        return inspection.partial_dependence(forest.Shipped(self), name, rows)

    def plot_partial_dependence(self, name: str, ax: Any = None) -> Any:
        """Return the mean scores along a column as a picture.

        Parameters
        ----------
        name
            A feature.
        ax
            Axes of matplotlib; by default those of a new figure.
        """
        values, scores = self.partial_dependence(name)
        return inspection.curve(name, values, scores, ax)

    def _scores(self, X: Any) -> Any:
        """Return the scores of rows: (rows, scores)."""
        X = self._rows(X)
        batch, _ = self.space_.batch(X)
        return forest.Shipped(self).scores(batch)

    def _stages(self, X: Any) -> Iterator[Any]:
        """Yield the scores of rows after each tree."""
        X = self._rows(X)
        batch, _ = self.space_.batch(X)
        yield from forest.Shipped(self).stages(batch)

    def _plain(self) -> dict[str, Any]:
        """Return the same settings as scikit-learn's histogram boosting names them."""
        return {
            "max_iter": self.n_estimators or 100,
            "max_depth": self.max_depth,
            "learning_rate": self.learning_rate or 0.1,
            "l2_regularization": settings_of(self).reg_lambda or 0.0,
            "max_bins": min(self.max_bins or 255, 255),
            "early_stopping": False,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


__all__ = ["Boosting"]
