"""Private statistics of a table.

Every function asks the table one question (or one small conversation), charges its
ledger ``epsilon`` and returns a :class:`~discreto.Release`. With a ``delta`` the noise
is Gaussian and the charge is the matching rho. A ``key`` makes repeating safe: the
same key gives the same stored answer and costs nothing more.

Each function has a class of the same meaning (``mean``: ``Mean``) that is only data:
plan it with ``discreto.plan.statistics`` or ask several at once with ``table.answers``.
"""

from typing import Any

from discreto.stats.comparisons import (
    Independence,
    MeanDifference,
    ProportionDifference,
)
from discreto.stats.covariances import Covariance
from discreto.stats.crosstabs import Crosstab
from discreto.stats.describe import Description, describe
from discreto.stats.distributions import Distribution, Inequality
from discreto.stats.extremes import Extremum
from discreto.stats.fit_to_domain import DomainFit, domain_fit
from discreto.stats.functions.columns import (
    correlation,
    count,
    covariance,
    mean,
    std,
    sum,
    variance,
)
from discreto.stats.functions.distributions import (
    crosstab,
    distribution,
    gini,
    lorenz,
    top,
)
from discreto.stats.functions.population import (
    correlation_test,
    independence,
    mean_difference,
    proportion_difference,
    quantile_difference,
    trend,
)
from discreto.stats.functions.proportions import proportion, ratio, weighted_mean
from discreto.stats.functions.ranks import (
    bounds,
    histogram,
    max,
    median,
    min,
    mode,
    quantile,
)
from discreto.stats.histograms import Bounds, Histogram, Mode, Top
from discreto.stats.moments import Count, Mean, Total, Variance
from discreto.stats.quantile_differences import QuantileDifference
from discreto.stats.quantiles import Quantile, Quantiles
from discreto.stats.ratios import Proportion, RatioOfSums, WeightedMean
from discreto.stats.text import sentence
from discreto.stats.trends import CorrelationTest, Trend
from discreto.stats.unknown_keys import UnknownKeys, unknown_keys
from discreto.stats.views import Viewed
from discreto.text.wrong_calls import refuse_name

__all__ = [
    "Bounds",
    "CorrelationTest",
    "Count",
    "Covariance",
    "Crosstab",
    "Description",
    "Distribution",
    "DomainFit",
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
    "QuantileDifference",
    "Quantiles",
    "RatioOfSums",
    "Top",
    "Total",
    "Trend",
    "UnknownKeys",
    "Variance",
    "Viewed",
    "WeightedMean",
    "bounds",
    "correlation",
    "correlation_test",
    "count",
    "covariance",
    "crosstab",
    "describe",
    "distribution",
    "domain_fit",
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
    "quantile_difference",
    "ratio",
    "sentence",
    "std",
    "sum",
    "top",
    "trend",
    "unknown_keys",
    "variance",
    "weighted_mean",
]

_OTHER_NAMES = {
    "average": "mean",
    "avg": "mean",
    "corr": "correlation",
    "cov": "covariance",
    "percentile": "quantile",
    "quantiles": "quantile",
    "share": "proportion",
    "stddev": "std",
    "total": "sum",
    "value_counts": "histogram",
    "var": "variance",
}


def __getattr__(name: str) -> Any:
    refuse_name("discreto.stats", name, __all__, _other_name)


def _other_name(name: str) -> str:
    other = _OTHER_NAMES.get(name.lower())
    return f"Did you mean {other!r}?" if other else ""
