"""The closed list of row maps and scores that a question may be made of.

Add a map: write a frozen dataclass in ``cells``, ``features`` or ``choice_scores``, add
it to the list below, and the property tests pick it up. Limits of a field stand in its
annotation, ``Annotated[int, Range(1, 30)]``; ``check`` states relations between fields
and to the domain.
"""

from __future__ import annotations

from typing import Any

from discreto.core.documents import check_plain
from discreto.core.maps.cells import (
    Bins,
    Categories,
    Completeness,
    Cross,
    Edges,
    Magnitudes,
    Present,
    WholeGroups,
    present_in,
)
from discreto.core.maps.choice_scores import CentredRanks, Extreme, Largest, Ranks
from discreto.core.maps.clusters import (
    Deviations,
    FuzzyPresence,
    FuzzyPulls,
    FuzzyWeights,
    Nearest,
    Rings,
)
from discreto.core.maps.code_counts import CodeCounts
from discreto.core.maps.domain_fit import Unfit
from discreto.core.maps.features import Bernstein, Presence, Values
from discreto.core.maps.gradients import ClippedGradient
from discreto.core.maps.hyperplanes import Memberships, Sides
from discreto.core.maps.marginals import MarginalCounts, MarginalErrors
from discreto.core.maps.margins import Margins
from discreto.core.maps.neighbors import (
    NearestRows,
    NearestVotes,
    ReachVotes,
    RowsInReach,
)
from discreto.core.maps.regression import LogisticGradient, Scaled, SquaredGradient
from discreto.core.maps.row_partition import HashParts, Within
from discreto.core.maps.simplex_features import Partition, SoftVotes
from discreto.core.maps.tree_gradients import Gradients, LeafShifts, Residuals
from discreto.core.maps.tree_splits import SplitHistogram, SplitScore
from discreto.core.maps.trees import Grid, Leaves, Tree
from discreto.core.maps.unit_columns import Indicator
from discreto.core.maps.weighted import Weighted
from discreto.core.query import (
    CORE_KINDS,
    Block,
    Choice,
    Everyone,
    Ones,
    Query,
    Randomise,
    Sum,
)
from discreto.core.query_json import decode, encode
from discreto.errors import ParameterError

KINDS: dict[str, type] = CORE_KINDS | {
    kind.__name__: kind
    for kind in (
        Bernstein,
        Bins,
        Categories,
        CentredRanks,
        ClippedGradient,
        CodeCounts,
        Completeness,
        Cross,
        Deviations,
        Edges,
        Extreme,
        FuzzyPresence,
        FuzzyPulls,
        FuzzyWeights,
        Gradients,
        Grid,
        HashParts,
        Indicator,
        Largest,
        LeafShifts,
        Leaves,
        LogisticGradient,
        Magnitudes,
        MarginalCounts,
        MarginalErrors,
        Margins,
        Memberships,
        Nearest,
        NearestRows,
        NearestVotes,
        Partition,
        Presence,
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
        SquaredGradient,
        Tree,
        Unfit,
        Values,
        Weighted,
        WholeGroups,
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
    "CentredRanks",
    "Choice",
    "ClippedGradient",
    "CodeCounts",
    "Completeness",
    "Cross",
    "Deviations",
    "Edges",
    "Everyone",
    "Extreme",
    "FuzzyPresence",
    "FuzzyPulls",
    "FuzzyWeights",
    "Gradients",
    "Grid",
    "HashParts",
    "Indicator",
    "Largest",
    "LeafShifts",
    "Leaves",
    "LogisticGradient",
    "Magnitudes",
    "MarginalCounts",
    "MarginalErrors",
    "Margins",
    "Memberships",
    "Nearest",
    "NearestRows",
    "NearestVotes",
    "Ones",
    "Partition",
    "Presence",
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
    "SquaredGradient",
    "Sum",
    "Tree",
    "Unfit",
    "Values",
    "Weighted",
    "WholeGroups",
    "Within",
    "from_json",
    "present_in",
    "to_json",
]
