"""Charges of a ledger, entry by entry, against its budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreto.core.cost import Amount, Cost, read_amount
from discreto.plots.style import BLUE, GREY, ORANGE, Display, legend, tidy
from discreto.release.labels import label_in_words
from discreto.text.language import tr

SHOWN = 14  # labels beside the steps


@dataclass(repr=False)
class LedgerDisplay(Display):
    """The epsilon spent after every entry, and the budget.

    Parameters
    ----------
    labels
        What was paid for, oldest first.
    spent
        The whole epsilon after each entry; infinite after a leak.
    limit
        The budget, or None.
    simulated
        Whether the picture is stamped SIMULATED.
    """

    labels: list[str]
    spent: list[float]
    limit: float | None = None
    simulated: bool = False

    @classmethod
    def from_ledger(cls, ledger: Any) -> LedgerDisplay:
        """Make a display from a Ledger or a simulation ledger.

        Parameters
        ----------
        ledger
            A Ledger or a simulation ledger.
        """
        entries = ledger.entries()
        limit, delta = getattr(ledger, "epsilon", None), getattr(ledger, "delta", 0)
        simulated = getattr(ledger, "simulation", None) is not None
        return cls.from_entries(
            entries, epsilon=limit, delta=delta, simulated=simulated
        )

    @classmethod
    def from_entries(
        cls,
        entries: Iterable[Mapping[str, Any]],
        *,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        simulated: bool = False,
    ) -> LedgerDisplay:
        """Make a display from the entries of a ledger, or of an export of it.

        Parameters
        ----------
        entries
            Dicts with a ``label`` and a ``cost``, oldest first.
        epsilon
            The budget, if there is one.
        delta
            The δ at which rho is shown as ε.
        simulated
            Whether the picture is stamped SIMULATED.

        Examples
        --------
        >>> entries = [{"label": "mean of age", "cost": {"epsilon": "1/2"}}] * 3
        >>> LedgerDisplay.from_entries(entries, epsilon=2).spent
        [0.5, 1.0, 1.5]
        """
        total, labels, spent = Cost(), [], []
        slack = read_amount(delta, "delta", zero=True)
        for entry in entries:
            total = total + Cost.from_dict(entry["cost"])
            labels.append(label_in_words(str(entry["label"])))
            spent.append(float(total.total(slack)))
        limit = None if epsilon is None else float(read_amount(epsilon, "epsilon"))
        return cls(labels, spent, limit, simulated)

    def _draw(self, ax: Any) -> None:
        finite = [value for value in self.spent if math.isfinite(value)]
        top = max([*finite, self.limit or 0, 1e-9])
        heights = np.array([0.0, *(min(value, 1.1 * top) for value in self.spent)])
        where = np.arange(heights.size)
        ax.step(where, heights, where="post", color=BLUE, linewidth=1.8)
        ax.fill_between(
            where, heights, step="post", color=BLUE, alpha=0.12, linewidth=0
        )
        ax.plot(
            where[1:], heights[1:], "o", color=BLUE, markersize=4, label=tr("ε spent")
        )
        if self.limit is not None:
            ax.axhline(self.limit, color=ORANGE, linestyle="--", label=tr("budget"))
        if len(finite) < len(self.spent):
            first = len(finite) + 1
            ax.axvline(
                first, color=ORANGE, linestyle=":", label=tr("leak: ε is infinite")
            )
        few = len(self.labels) <= SHOWN
        texts = [_short(label) for label in self.labels] if few else where[1:].tolist()
        step = max(1, len(texts) // SHOWN) if not few else 1
        turned = {"rotation": 35, "ha": "right"} if few else {}
        ax.set_xticks(where[1::step], texts[::step], **turned)
        ax.set_xlim(0, max(heights.size - 0.5, 1))
        ax.set_ylim(0, 1.15 * top)
        ax.set_ylabel(tr("ε in all"))
        if not few:
            ax.set_xlabel(tr("entry"))
        tidy(ax)
        ax.tick_params(axis="x", colors=GREY, labelsize=8)
        legend(ax)


def _short(text: str) -> str:
    return text if len(text) <= 28 else f"{text[:27]}…"
