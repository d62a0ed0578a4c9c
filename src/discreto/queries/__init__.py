"""The closed list of row maps and scores that a question may be made of.

Add a map: write a frozen dataclass in ``cells``, ``features`` or ``scores``, add it to
the list below, and the property tests pick it up.
"""

from __future__ import annotations

from typing import Any

from discreto.errors import ParameterError
from discreto.kernel.forms import check_plain
from discreto.kernel.query import (
    KERNEL_KINDS,
    Block,
    Choice,
    Everyone,
    Ones,
    Query,
    Randomise,
    Sum,
    decode,
    encode,
)
from discreto.queries.cells import (
    Bins,
    Categories,
    Cross,
    Edges,
    Magnitudes,
    Present,
    present_in,
)
from discreto.queries.clusters import (
    Deviations,
    FuzzyPulls,
    FuzzyWeights,
    Nearest,
    Rings,
)
from discreto.queries.features import Bernstein, Values
from discreto.queries.gradients import ClippedGradient
from discreto.queries.hashes import Memberships, Sides
from discreto.queries.neighbours import (
    NearestRows,
    NearestVotes,
    ReachVotes,
    RowsInReach,
)
from discreto.queries.partitions import Partition, SoftVotes
from discreto.queries.parts import HashParts, Within
from discreto.queries.regression import LogisticGradient, Scaled
from discreto.queries.scores import Extreme, Largest, Ranks
from discreto.queries.trees import Grid, Leaves, Tree
from discreto.queries.trees_gradients import Gradients, Residuals
from discreto.queries.trees_splits import SplitHistogram, SplitScore

KINDS: dict[str, type] = KERNEL_KINDS | {
    kind.__name__: kind
    for kind in (
        Bernstein,
        Bins,
        Categories,
        ClippedGradient,
        Cross,
        Deviations,
        Edges,
        Extreme,
        FuzzyPulls,
        FuzzyWeights,
        Gradients,
        Grid,
        HashParts,
        Largest,
        Leaves,
        LogisticGradient,
        Magnitudes,
        Memberships,
        Nearest,
        NearestRows,
        NearestVotes,
        Partition,
        Present,
        Ranks,
        ReachVotes,
        Residuals,
        Rings,
        RowsInReach,
        Scaled,
        Sides,
        SoftVotes,
        SplitHistogram,
        SplitScore,
        Tree,
        Values,
        Within,
    )
}


MOST_PARTS = 1 << 22  # of one question, numbers included


def to_json(query: Query) -> dict[str, Any]:
    """A question as JSON data."""
    data: dict[str, Any] = encode(query)
    return data


def from_json(data: Any) -> Query:
    """A question from JSON data of any origin; refuses what is not one."""
    check_plain(data, MOST_PARTS)
    query = decode(data, KINDS)
    if not isinstance(query, Sum | Choice | Randomise):
        raise ParameterError("this is not a question: it must be a Sum or a Choice.")
    return query


__all__ = [
    "KINDS",
    "Bernstein",
    "Bins",
    "Block",
    "Categories",
    "Choice",
    "ClippedGradient",
    "Cross",
    "Deviations",
    "Edges",
    "Everyone",
    "Extreme",
    "FuzzyPulls",
    "FuzzyWeights",
    "Gradients",
    "Grid",
    "HashParts",
    "Largest",
    "Leaves",
    "LogisticGradient",
    "Magnitudes",
    "Memberships",
    "Nearest",
    "NearestRows",
    "NearestVotes",
    "Ones",
    "Partition",
    "Present",
    "Query",
    "Randomise",
    "Ranks",
    "ReachVotes",
    "Residuals",
    "Rings",
    "RowsInReach",
    "Scaled",
    "Sides",
    "SoftVotes",
    "SplitHistogram",
    "SplitScore",
    "Sum",
    "Tree",
    "Values",
    "Within",
    "from_json",
    "present_in",
    "to_json",
]
