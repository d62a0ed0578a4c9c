"""Every algorithm of the five sources exactly as printed, in simulations only.

Many of them do not keep the guarantee that they print. They are here so that the study
can show what the sources show, and the audit what is true. Each carries a ``printed``
record: the claim, and the true guarantee for both neighbour relations. None takes a
real ledger.

>>> from discreto.testing import simulate
>>> round(local_sum([4, 2, 7, 1], epsilon=1, ledger=simulate(0, noise=False)))
14
>>> local_sum.printed.row
'2'
"""

from __future__ import annotations

from typing import Any

from discreto._old_names import renamed
from discreto.lab.published._printed import Printed
from discreto.lab.published.bayes import ThesisBayes, VaidyaBayes
from discreto.lab.published.boosting import DPBoost, PrivCatBoost, PrivRandBoost
from discreto.lab.published.clusters import PrintedFuzzyCMeans, PrintedKMeans
from discreto.lab.published.federated import gossip, proximal_update, sgd_update
from discreto.lab.published.neighbors import KNNVotes, factorize
from discreto.lab.published.regression import (
    FunctionalIntercept,
    FunctionalLinear,
    FunctionalLogistic,
)
from discreto.lab.published.staircase import staircase_clean
from discreto.lab.published.statistics import (
    count,
    histogram,
    mean,
    median,
    mode,
    quantile,
    total,
    two_coins,
)
from discreto.lab.published.sums import local_sum

_ALL: tuple[Any, ...] = (
    factorize,
    KNNVotes,
    local_sum,
    DPBoost,
    PrivCatBoost,
    PrivRandBoost,
    two_coins,
    count,
    total,
    mean,
    histogram,
    mode,
    median,
    quantile,
    FunctionalLinear,
    FunctionalLogistic,
    PrintedFuzzyCMeans,
    ThesisBayes,
    sgd_update,
    proximal_update,
    gossip,
    VaidyaBayes,
    FunctionalIntercept,
    PrintedKMeans,
    staircase_clean,
)


def catalogue() -> tuple[Printed, ...]:
    """The records of all algorithms here, source by source."""
    return tuple(thing.printed for thing in _ALL)


def markdown() -> str:
    """The catalogue as a table for a page."""
    head = ("source", "algorithm", "row", "printed", "true, add/remove")
    lines = [(*head, "true, replace", "ours"), ("---",) * 7]
    lines += [
        (
            one.source,
            f"`{one.name}`: {one.where}",
            one.row,
            one.claim,
            one.add_remove,
            one.replace,
            f"`{one.ours}`",
        )
        for one in catalogue()
    ]
    # A bar inside a cell would end it.
    cells = (" | ".join(c.replace("|", "\\|") for c in line) for line in lines)
    return "\n".join(f"| {line} |" for line in cells) + "\n"


__all__ = [
    "DPBoost",
    "FunctionalIntercept",
    "FunctionalLinear",
    "FunctionalLogistic",
    "KNNVotes",
    "Printed",
    "PrintedFuzzyCMeans",
    "PrintedKMeans",
    "PrivCatBoost",
    "PrivRandBoost",
    "ThesisBayes",
    "VaidyaBayes",
    "catalogue",
    "count",
    "factorize",
    "gossip",
    "histogram",
    "local_sum",
    "markdown",
    "mean",
    "median",
    "mode",
    "proximal_update",
    "quantile",
    "sgd_update",
    "staircase_clean",
    "total",
    "two_coins",
]

__getattr__ = renamed(
    __name__, {"FuzzyCMeans": "PrintedFuzzyCMeans", "KMeans": "PrintedKMeans"}
)
