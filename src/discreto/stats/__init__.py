"""Private statistics of a table.

Every function asks the table one question (or one small conversation), charges its
ledger ``epsilon`` and returns a :class:`~discreto.Release`. With a ``delta`` the noise
is Gaussian and the charge is the matching rho. A ``key`` makes repeating safe: the
same key gives the same stored answer and costs nothing more.

Each function has a class of the same meaning (``mean``: ``Mean``) that is only data:
plan it with ``discreto.plan.statistics`` or ask several at once with ``table.answers``.
"""

from discreto.stats._columns import (
    correlation,
    count,
    covariance,
    mean,
    std,
    sum,
    variance,
)
from discreto.stats._ranks import bounds, histogram, max, median, min, mode, quantile
from discreto.stats._relations import (
    distribution,
    gini,
    independence,
    lorenz,
    mean_difference,
    proportion,
    proportion_difference,
    ratio,
    top,
    trend,
    weighted_mean,
)
from discreto.stats.comparisons import (
    Independence,
    MeanDifference,
    ProportionDifference,
    Trend,
)
from discreto.stats.covariances import Covariance
from discreto.stats.describe import Description, describe
from discreto.stats.distributions import Distribution, Inequality
from discreto.stats.histograms import Bounds, Histogram, Mode, Top
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.quantiles import Extremum, Quantile, Quantiles
from discreto.stats.ratios import Proportion, Ratio, WeightedMean
from discreto.stats.sentences import sentence
from discreto.stats.views import Viewed

__all__ = [
    "Bounds",
    "Count",
    "Covariance",
    "Description",
    "Distribution",
    "Extremum",
    "Histogram",
    "Independence",
    "Inequality",
    "Mean",
    "MeanDifference",
    "Mode",
    "Proportion",
    "ProportionDifference",
    "Quantile",
    "Quantiles",
    "Ratio",
    "Top",
    "Total",
    "Trend",
    "Variance",
    "Viewed",
    "WeightedMean",
    "bounds",
    "correlation",
    "count",
    "covariance",
    "describe",
    "distribution",
    "gini",
    "histogram",
    "independence",
    "lorenz",
    "max",
    "mean",
    "mean_difference",
    "median",
    "min",
    "mode",
    "proportion",
    "proportion_difference",
    "quantile",
    "ratio",
    "sentence",
    "std",
    "sum",
    "top",
    "trend",
    "variance",
    "weighted_mean",
]
