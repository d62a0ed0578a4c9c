"""Pictures of private results, in scikit-learn's ``Display`` manner.

Each class keeps plain numbers, has ``from_...`` constructors, and draws with
``plot(ax=None)``, after which ``ax_`` and ``figure_`` are there. Colours can be told
apart with any kind of colour vision, and line styles and markers differ as well, so
that a picture reads in grey print. What comes from a simulation says SIMULATED.
"""

from discreto.plots.centroids import CentroidsDisplay
from discreto.plots.curves import ConvergenceDisplay, EpsilonCurveDisplay
from discreto.plots.effects import DependenceDisplay, ImportanceDisplay
from discreto.plots.heatmap import HeatmapDisplay
from discreto.plots.spending import LedgerDisplay
from discreto.plots.statistics import HistogramDisplay, QuantileDisplay
from discreto.plots.topology import TopologyDisplay

__all__ = [
    "CentroidsDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "EpsilonCurveDisplay",
    "HeatmapDisplay",
    "HistogramDisplay",
    "ImportanceDisplay",
    "LedgerDisplay",
    "QuantileDisplay",
    "TopologyDisplay",
]
