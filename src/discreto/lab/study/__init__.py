"""The study: the figures and tables of five sources, computed again.

Everything here runs on public data under simulation ledgers and says SIMULATED. Nothing
in this package protects anybody; it shows what protection costs.

An experiment in a few lines
----------------------------
A module whose name is ``s``, a digit and anything (``s0``, ``s2_boosting``) holds the
experiments of one source in a tuple ``EXPERIMENTS``. It is found by its name; there is
no list to keep. Optional packages are imported inside functions.

::

    def _cells(quick):
        seeds, epsilons = (2, [1.0]) if quick else (20, [0.5, 1.0, 2.0])
        reference = [{"candidate": "non-private", "epsilon": None, "seed": 0}]
        return reference + [
            {"candidate": "ours", "epsilon": e, "seed": s}
            for e in epsilons for s in range(seeds)
        ]

    def _measure(*, candidate, epsilon, seed):
        ledger = ledger_for("s9", candidate, epsilon, seed)
        ...
        return {"accuracy": accuracy, "spent": float(ledger.spent().epsilon)}

    def _pictures(results):
        figure, axes = figures.panels(1, 1)
        figures.curves(axes[0, 0], results, "epsilon", "accuracy", by="candidate")
        yield Picture("figure-1", "Accuracy against ε", figure)

    EXPERIMENTS = (
        Experiment(
            name="s9-figure-1", title="...", source="S9, figure 1",
            shows="What the source shows, in a sentence.",
            cells=_cells, measure=_measure, pictures=_pictures,
        ),
    )

* ``cells(quick)`` lists dicts of plain values, one for each independent piece of work.
  The quick set takes seconds, the full set minutes. The non-private reference has
  ``epsilon`` None.
* ``measure(**cell)`` is a function of a module (not a lambda). It runs in another
  process and depends on nothing but its arguments. It returns a dict of measurements,
  or a list of dicts for several lines. A value is a number, a text, a bool, None, or a
  list of numbers (an error for each round, say). An error is reported with its cell and
  loses no other cell; a MissingExtraError (data that cannot be had) skips the cell.
* ``repeats`` names the parameters to average over (``("seed",)`` unless said
  otherwise); the other ones are the groups of the summary.
* ``weight(cell)``: about how many seconds a cell takes: for the time left.
* ``tables(results)``, ``pictures(results)``, ``findings(results)`` make something of
  the lines (:class:`Results`). They run nothing: they work from what is on disk.
* ``edition`` goes up by one when ``measure`` changes its meaning.

Noise comes from ``ledger_for(facts...)``, public random numbers from
``generator_for(facts...)``: both take their seed from the facts of the cell, so that
results do not depend on the order or the process in which cells run. Models always get
a ``ledger``: without one they would pay from a real one. Usual words for candidates are
in :mod:`.looks`.

The output folder
-----------------
::

    OUT/
      manifest.json           {"simulated": true, "quick": ..., "discreto": version,
                               "experiments": [NAME, ...], "seconds": ..., "jobs": ...}
      NAME/
        manifest.json         {"name", "title", "source", "shows", "simulated": true,
                               "quick", "cells", "done", "failed": [{"cell", "error"}],
                               "skipped": [{"cell", "why"}], "seconds", "parameters",
                               "measurements", "repeats",
                               "tables": [{"file", "title", "note"}],
                               "pictures": [{"file", "title", "note"}],
                               "findings": [{"claim", "seen", "agrees", "why"}],
                               "versions": {"python", "numpy", ...}}
        cells.jsonl           one line for each finished cell, written when it finishes
        results.parquet       one line for each measured line: parameters, measurements
        summary.parquet       parameters without repeats, then "measurement", "mean",
                              "spread" (standard deviation), "low", "high", "count"
        tables/NAME.json      {"title", "columns", "rows", "note", "simulated": true}; a
                              cell is a number, a string, null, or
                              {"mean", "spread", "count"}
        pictures/NAME.svg

``run`` goes on where it was stopped: cells in ``cells.jsonl`` are not run again unless
the version of discreto or the ``edition`` of the experiment changed.
"""

from discreto._old_names import renamed
from discreto.compare.seeds import generator_for, ledger_for, seed_for
from discreto.lab.study.experiment import (
    Experiment,
    Picture,
    ResultTable,
    Spread,
    StudyFinding,
)
from discreto.lab.study.registry import experiments, find
from discreto.lab.study.results import Results
from discreto.lab.study.runner import Outcome, run

__all__ = [
    "Experiment",
    "Outcome",
    "Picture",
    "ResultTable",
    "Results",
    "Spread",
    "StudyFinding",
    "experiments",
    "find",
    "generator_for",
    "ledger_for",
    "run",
    "seed_for",
]

__getattr__ = renamed(
    __name__,
    {"Finding": "StudyFinding", "coins_for": "generator_for", "Table": "ResultTable"},
)
