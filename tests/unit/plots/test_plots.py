"""Displays: what is drawn, with which spread, and the stamp of a simulation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import discreto as dp
from discreto import models, plots
from discreto.errors import ParameterError
from discreto.plots import style
from discreto.testing import simulate


def texts(display: Any) -> list[str]:
    return [text.get_text() for text in display.ax_.texts]


def labels(display: Any) -> list[str]:
    return display.ax_.get_legend_handles_labels()[1]


def bands(display: Any) -> list[PolyCollection]:
    return [c for c in display.ax_.collections if isinstance(c, PolyCollection)]


ROWS = [
    {"model": "a", "epsilon": 2, "mean": 0.8, "spread": 0.1},
    {"model": "a", "epsilon": 1, "mean": 0.6, "spread": 0.2},
    {"model": "b", "epsilon": 1, "mean": 0.5, "spread": 0.0},
    {"model": "without privacy", "epsilon": None, "mean": 0.9},
    {"model": "infinite", "epsilon": float("inf"), "mean": 0.95},
]


class TestEveryDisplay:
    def all(self) -> list[Any]:
        table = dp.Table(
            {"x": np.arange(50.0)},
            dp.Domain({"x": dp.Number(0, 50)}),
            simulate(0),
        )
        histogram = dp.stats.histogram(table, "x", bins=5, epsilon=1)
        quantiles = table.answer(dp.stats.Quantiles("x", (0.1, 0.5)), epsilon=1)
        return [
            plots.EpsilonCurveDisplay.from_results(ROWS),
            plots.ConvergenceDisplay.from_runs({"a": [3, 2, 1]}),
            plots.HistogramDisplay.from_release(histogram),
            plots.QuantileDisplay.from_release(quantiles),
            plots.LedgerDisplay.from_ledger(table.ledger),
            plots.CentroidsDisplay.from_centres({"a": [[0, 1], [1, 0]]}),
            plots.TopologyDisplay.from_matrix(np.eye(3)),
            plots.HeatmapDisplay(["a"], ["b", "c"], np.array([[1.0, 2.0]])),
            plots.ImportanceDisplay(["a", "b"], np.array([1.0, 2.0])),
            plots.DependenceDisplay("a", [0.0, 1.0], {"p": np.array([0.0, 1.0])}),
        ]

    def test_there_is_one_for_each_name(self) -> None:
        assert {type(d).__name__ for d in self.all()} == set(plots.__all__)

    def test_plot_returns_itself_with_axes(self) -> None:
        for display in self.all():
            assert display.plot() is display
            assert display.figure_ is display.ax_.figure

    def test_plot_takes_axes_without_pyplot(self) -> None:
        for display in self.all():
            axes = Figure().subplots()
            assert display.plot(axes).ax_ is axes
        assert not plt.get_fignums()

    def test_the_stamp(self) -> None:
        for display in self.all():
            for simulated in (True, False):
                display.simulated = simulated
                display.plot(Figure().subplots())
                assert ("SIMULATED" in texts(display)) is simulated


class TestStyle:
    def test_looks_differ_without_colour(self) -> None:
        looks = [style.look(i) for i in range(14)]
        assert len({(look.colour, look.marker) for look in looks}) == 14
        first = looks[:7]
        assert len({look.marker for look in first}) == 7
        assert len({str(look.line) for look in first}) == 7
        assert len({look.colour for look in first}) == 7

    def test_colours_differ_in_lightness_or_tint_for_all_eyes(self) -> None:
        """Simulated red-green blindness leaves all pairs of colours apart."""
        rgb = np.array([mpl.colors.to_rgb(c) for c in style.PALETTE])
        # Viénot, Brettel and Mollon's matrix for deuteranopia.
        seen = (
            rgb
            @ np.array(
                [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]
            ).T
        )
        gaps = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        assert gaps[np.triu_indices(len(rgb), 1)].min() > 0.08


class TestEpsilonCurves:
    def test_points_are_in_order_and_references_apart(self) -> None:
        shown = plots.EpsilonCurveDisplay.from_results(ROWS, score_name="accuracy")
        where, middle, spread = shown.curves["a"]
        assert where.tolist() == [1, 2]
        assert middle.tolist() == [0.6, 0.8]
        assert spread.tolist() == [0.2, 0.1]
        assert shown.references == {"without privacy": 0.9, "infinite": 0.95}
        shown.plot()
        assert labels(shown) == ["a", "b", "without privacy", "infinite"]
        assert shown.ax_.get_xscale() == "log"
        assert shown.ax_.get_ylabel() == "accuracy"

    def test_a_band_is_one_spread_wide(self) -> None:
        shown = plots.EpsilonCurveDisplay.from_results(ROWS).plot()
        (band,) = bands(shown)  # "b" has no spread
        heights = band.get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(0.4)
        assert heights.max() == pytest.approx(0.9)

    def test_repeated_scores(self) -> None:
        shown = plots.EpsilonCurveDisplay.from_scores([1, 2], {"a": [[1, 3], [5, 5]]})
        assert shown.curves["a"][1].tolist() == [2, 5]
        assert shown.curves["a"][2].tolist() == [1, 0]
        with pytest.raises(ParameterError, match="one line for each of the 2"):
            plots.EpsilonCurveDisplay.from_scores([1, 2], {"a": [[1, 3]]})

    def test_many_epsilons_leave_room(self) -> None:
        rows = [{"model": "a", "epsilon": 1 + i, "mean": 0} for i in range(40)]
        shown = plots.EpsilonCurveDisplay.from_results(rows).plot()
        assert len(shown.ax_.get_xticks()) <= 9


class TestConvergence:
    def test_means_and_a_band_above_zero(self) -> None:
        runs = {"a": [[1, 0.001], [1, 0.1]], "b": [2, 1]}
        shown = plots.ConvergenceDisplay.from_runs(runs, first=0).plot()
        assert shown.curves["a"][0].tolist() == [0, 1]
        assert shown.curves["b"][1].tolist() == [2, 1]
        (band,) = bands(shown)
        assert band.get_paths()[0].vertices[:, 1].min() > 0


def release(**changes: Any) -> Any:
    facts: dict[str, Any] = {
        "keys": ("x", "y"),
        "value": np.array([-3.0, 10.0]),
        "low": np.array([0.0, 8.0]),
        "high": np.array([2.0, 12.0]),
        "label": "histogram of c",
        "cost": dp.Cost.of(1),
        "unit": "",
        "simulated": False,
    }
    return SimpleNamespace(**(facts | changes))


class TestAnswers:
    def test_a_count_below_zero_is_drawn_at_zero(self) -> None:
        shown = plots.HistogramDisplay.from_release(release()).plot()
        assert [bar.get_height() for bar in shown.ax_.patches] == [0, 10]
        assert shown.ax_.get_title(loc="left") == "histogram of c, ε 1"

    def test_exact_counts_stand_behind(self) -> None:
        shown = plots.HistogramDisplay.from_release(release(), exact=[1, 9]).plot()
        assert [bar.get_height() for bar in shown.ax_.patches] == [1, 9]
        assert "exact (public data)" in labels(shown)

    def test_edges(self) -> None:
        shown = plots.HistogramDisplay.from_release(release(), edges=[0, 1, 5]).plot()
        assert [bar.get_width() for bar in shown.ax_.patches] == [1, 4]

    def test_keys_of_several_columns(self) -> None:
        shown = plots.HistogramDisplay.from_release(
            release(keys=(("a", "0 to 1", "f"), ("a", "0 to 1", "m")))
        )
        assert shown.labels == ["a × 0 to 1 × f", "a × 0 to 1 × m"]

    def test_one_number_has_no_bins(self) -> None:
        with pytest.raises(ParameterError, match="one number"):
            plots.HistogramDisplay.from_release(release(keys=()))

    def test_quantiles(self) -> None:
        found = release(keys=(0.25, 0.75), value=np.array([1.0, 3.0]))
        shown = plots.QuantileDisplay.from_release(found, sample=range(5)).plot()
        assert shown.probabilities.tolist() == [0.25, 0.75]
        assert labels(shown) == ["exact (public data)", "private, with 95 % interval"]
        for keys in ((), ("a", "b")):
            with pytest.raises(ParameterError, match="no probabilities"):
                plots.QuantileDisplay.from_release(release(keys=keys))


class TestLedger:
    def test_a_real_ledger(self) -> None:
        ledger = dp.Ledger(epsilon=3)
        for price in ("0.5", "1"):
            ledger.charge(dp.Cost.of(price), f"ask for {price}")
        shown = plots.LedgerDisplay.from_ledger(ledger)
        assert shown.spent == [0.5, 1.5]
        assert shown.limit == 3
        assert not shown.simulated
        assert labels(shown.plot()) == ["ε spent", "budget"]

    def test_rho_counts_at_the_delta_of_the_ledger(self) -> None:
        ledger = dp.Ledger(epsilon=3, delta="1e-6")
        ledger.charge(dp.Cost.of("0.5", "1e-7"), "gaussian")
        shown = plots.LedgerDisplay.from_ledger(ledger)
        assert shown.spent == [pytest.approx(ledger.total())]

    def test_a_leak_is_infinite(self) -> None:
        ledger = simulate(0)
        ledger.charge(dp.Cost.of(1), "fine")
        ledger.charge(dp.Cost.leak(), "bounds read from the data")
        shown = plots.LedgerDisplay.from_ledger(ledger).plot()
        assert shown.spent == [1.0, float("inf")]
        assert "leak: ε is infinite" in labels(shown)
        assert shown.simulated

    def test_many_entries_are_numbered(self) -> None:
        entries = [{"label": "x", "cost": {"epsilon": "1/100"}}] * 200
        shown = plots.LedgerDisplay.from_entries(entries, epsilon=3).plot()
        assert len(shown.ax_.get_xticks()) <= 30
        assert shown.ax_.get_xlabel() == "entry"

    def test_no_entry(self) -> None:
        assert plots.LedgerDisplay.from_ledger(dp.Ledger(epsilon=1)).plot().spent == []


class TestCentroids:
    def test_from_a_model(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (200, 3))
        model = models.KMeans(
            2, epsilon=5, bounds=(-1, 1), ledger=simulate(0), random_state=0
        ).fit(X)
        shown = plots.CentroidsDisplay.from_model(model, ["x2", "x0"], points=X[:, :2])
        (centres,) = shown.centres.values()
        assert centres.tolist() == model.cluster_centers_[:, [2, 0]].tolist()
        assert shown.simulated
        assert shown.plot().ax_.get_xlabel() == "x2"
        with pytest.raises(ParameterError, match="two of the features"):
            plots.CentroidsDisplay.from_model(model, ["x2", "nothing"])

    def test_shapes(self) -> None:
        with pytest.raises(ParameterError, match="two columns"):
            plots.CentroidsDisplay.from_centres({"a": [[1, 2, 3]]})


class TestTopology:
    def test_edges_and_weights_of_a_graph(self) -> None:
        nx = pytest.importorskip("networkx", reason="needs networkx")
        graph = nx.path_graph(4)
        mixing = np.eye(4) - nx.laplacian_matrix(graph).toarray() / 4
        shown = plots.TopologyDisplay.from_graph(graph, mixing=mixing).plot()
        assert len(shown.ax_.lines) == 3
        assert texts(shown).count("0.25") == 3
        assert "0\n0.75" in texts(shown)
        bare = plots.TopologyDisplay.from_graph(graph).plot()
        assert texts(bare) == ["0", "1", "2", "3"]

    def test_positions_by_node(self) -> None:
        nx = pytest.importorskip("networkx", reason="needs networkx")
        graph = nx.path_graph(2)
        shown = plots.TopologyDisplay.from_graph(
            graph, positions={1: (5, 5), 0: (1, 2)}
        )
        assert shown.positions.tolist() == [[1, 2], [5, 5]]

    def test_refusals(self) -> None:
        with pytest.raises(ParameterError, match="square"):
            plots.TopologyDisplay.from_matrix([[1, 2]])
        with pytest.raises(ParameterError, match="need 2 labels"):
            plots.TopologyDisplay.from_matrix(np.eye(2), labels=["a"])
