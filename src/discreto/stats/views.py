"""A statistic of a view: derived columns and filters inside of one request.

Short, because it wraps any other statistic and does nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreto.core.expressions import Step, Where
from discreto.release.release import Release
from discreto.session.plan import Statistic
from discreto.session.session import Ask
from discreto.stats._docstrings import documented_statistic


@documented_statistic
@dataclass(frozen=True, slots=True)
class Viewed:
    """A statistic of a view of the table, for ``table.answers`` and plans.

    Parameters
    ----------
    statistic
        What is asked, such as ``stats.Mean("bmi")``.
    view
        The steps from the table to the view.

    Examples
    --------
    >>> from discreto.stats import sentence
    >>> sentence("count() where age >= 65").label
    'count, where age >= 65'
    """

    statistic: Statistic
    view: tuple[Step, ...]

    @property
    def block(self) -> bool:
        """Whether it costs an (epsilon, delta) block."""
        return bool(getattr(self.statistic, "block", False))

    @property
    def label(self) -> str:
        """What is asked, and of which rows."""
        conditions = [str(step) for step in self.view if isinstance(step, Where)]
        return ", ".join([self.statistic.label, *conditions])

    def learn(self, ask: Ask) -> Release:
        """Ask of the view.

        Parameters
        ----------
        ask
            The session that puts the questions.
        """
        for step in self.view:
            ask = ask.seen(step)
        return replace(self.statistic.learn(ask), label=self.label)
