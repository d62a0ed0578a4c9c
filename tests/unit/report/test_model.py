"""The card of a model: what a board needs to know, right and on two pages."""

from __future__ import annotations

import copy
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

import discreto as dp
from discreto import models, report
from discreto.plots import HeatmapDisplay, HistogramDisplay, LedgerDisplay
from discreto.plots.effects import DependenceDisplay
from discreto.report import effects
from discreto.report.effects import effects_of
from discreto.text.meaning import explain


@pytest.fixture(scope="module")
def table() -> dp.Table:
    rng = np.random.default_rng(0)
    age, kind = rng.uniform(0, 100, 4000), rng.choice(["<a>", "b"], 4000)
    ill = age + 30 * (kind == "b") + rng.normal(0, 10, 4000) > 70
    domain = dp.Domain(
        {
            "age": dp.Number(0, 100, unit="years"),
            "luck": dp.Number(0, 1),
            "kind": dp.Category(["<a>", "b"], missing=False),
            "ill": dp.Category(["no", "yes"], missing=False),
        },
        target="ill",
    )
    rows = {"age": age, "luck": rng.uniform(size=4000), "kind": kind}
    rows["ill"] = np.where(ill, "yes", "no")
    return dp.Table(rows, domain, dp.Ledger(epsilon=100, delta="1e-4"))


@pytest.fixture(scope="module")
def boosted(table):
    return models.GradientBoostingClassifier(epsilon=8, random_state=0).fit(table)


class TestCard:
    def test_it_says_what_people_said(self, boosted):
        page = str(
            report.model_page(
                boosted,
                purpose="triage <b>",
                author="A. Nurse",
                data="visits of 2024",
                date="2025-01-02",
            )
        )
        for words in ("triage &lt;b&gt;", "A. Nurse", "visits of 2024", "2025-01-02"):
            assert words in page
        assert "not stated" not in page
        assert str(report.model_page(boosted)).count("not stated") == 3

    def test_odds_and_beliefs_are_the_formulas(self, boosted):
        page = str(report.model_page(boosted, prior="0.2"))
        for _, words in explain(8, prior="0.2").lines():
            assert words in page
        assert "one row, added or removed" in page
        assert "the owner of the rows, who ran the fit" in page

    def test_gaussian_costs_have_a_meaning_too(self, table):
        model = models.NaiveBayes(epsilon=1, delta="1e-6").fit(table)
        page = str(report.model_page(model))
        assert "false alarms" in page
        assert "rise by a factor" not in page

    def test_pictures_of_effects_share_their_axis(self, boosted, monkeypatch):
        drawn = []
        monkeypatch.setattr(
            effects, "figure", lambda shown, **_: drawn.append(shown) or ""
        )
        effects.effect_blocks(boosted)
        panels = [one for one in drawn if isinstance(one, DependenceDisplay)]
        assert len(panels) > 1
        ends = {panel.plot().ax_.get_ylim() for panel in panels}
        plt.close("all")
        assert len(ends) == 1
        low, high = ends.pop()
        for panel in panels:
            for values in panel.curves.values():
                assert low <= values.min() <= values.max() <= high

    def test_effects_of_next_to_nothing_have_an_axis(self):
        flat = effects.Effect("a", [0, 1], np.array([[1.0], [1.0 + 1e-15]]))
        assert flat.size > 0
        assert effects._limits([flat], [0]) is None
        assert effects._limits([], [0]) is None

    def test_scores_have_intervals(self, boosted, table):
        judged = models.evaluate(boosted, table, epsilon=1)
        page = str(report.model_page(boosted, evaluation=judged))
        assert "95 %: 0." in page
        assert "not measured" not in page
        assert "not measured" in str(report.model_page(copy.copy(boosted)))

    def test_many_questions_of_a_kind_share_a_line(self, boosted):
        asked = len(boosted.privacy_.plan)
        assert asked > 12
        page = str(report.model_page(boosted))
        told = [int(n) for n in re.findall(r"\((\d+) questions\)", page)]
        alone = page.count("<td>noisy") - len(told)
        assert sum(told) + alone == asked

    def test_nothing_private_is_drawn(self, boosted, monkeypatch):
        """Everything comes from the model: no table is near."""
        monkeypatch.setattr(dp.Table, "gate", None)
        assert "spread of P[yes]" in str(report.model_page(boosted))


class TestEffects:
    def test_the_order_is_right(self, boosted):
        names = [effect.name for effect in effects_of(boosted)]
        assert names[0] == "age"
        assert names[-1] == "luck"

    def test_curves_follow_the_model(self, boosted):
        effect = effects_of(boosted)[0]
        assert effect.curve[0, 0] < 0.3
        assert effect.curve[-1, 0] > 0.7

    def test_a_linear_model_has_lines(self):
        x = np.random.default_rng(0).uniform(size=(2000, 2))
        model = models.LinearRegression(
            epsilon=50,
            bounds=(0, 1),
            target_bounds=(0, 3),
            ledger=dp.testing.simulate(),
        ).fit(x, 2 * x[:, 0] + 0.5)
        effect = effects_of(model)[0]
        slope = np.polyfit(effect.points, effect.curve[:, 0], 1)[0]
        assert slope == pytest.approx(model.coef_[0], rel=0.05)

    def test_several_classes(self, table):
        x = np.random.default_rng(0).uniform(size=(500, 2))
        model = models.GaussianNB(
            epsilon=9, bounds=(0, 1), classes=[0, 1, 2], ledger=dp.testing.simulate()
        ).fit(x, np.digitize(x[:, 0], [0.3, 0.6]))
        page = str(report.model_page(model))
        assert "the probabilities" in page

    def test_clusters_have_none(self, table):
        model = models.KMeans(2, epsilon=1).fit(table.select("age", "luck"))
        assert "spread of" not in str(report.model_page(model))


class TestPictures:
    def test_two_columns_are_a_heat_map(self, table):
        release = dp.stats.histogram(table, ["kind", "age"], bins=4, epsilon=1)
        display = HistogramDisplay.from_release(release)
        assert isinstance(display, HeatmapDisplay)
        assert display.values.shape == (2, 4)
        assert display.rows == ["<a>", "b"]
        display.plot()
        texts = [text.get_text() for text in display.ax_.texts]
        assert texts == [f"{v:.0f}" for v in np.ravel(display.values)]
        page = report.Page("x")
        page.section("y", report.figure(display))
        assert "<a>" not in re.sub(r"<style>.*?</style>", "", str(page), flags=re.S)

    def test_a_heat_map_needs_two_columns(self, table):
        release = dp.stats.histogram(table, "kind", epsilon=1)
        with pytest.raises(dp.errors.ParameterError, match="two columns"):
            HeatmapDisplay.from_release(release)

    def test_means_are_not_rows(self, table):
        mean = dp.stats.mean(table, "age", by="kind", epsilon=1)
        assert HistogramDisplay.from_release(mean).quantity == "mean (years)"
        count = dp.stats.count(table, by="kind", epsilon=1)
        assert HistogramDisplay.from_release(count).quantity == "rows"

    def test_legends_hide_no_data(self, table):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        release = dp.stats.histogram(table, "age", epsilon=1)
        for display in (
            HistogramDisplay.from_release(release),
            LedgerDisplay.from_ledger(table.ledger),
        ):
            figure = Figure(figsize=display.size, layout="constrained")
            FigureCanvasAgg(figure).draw()
            ax = display.plot(figure.subplots()).ax_
            figure.canvas.draw()
            legend = ax.get_legend().get_window_extent()
            assert legend.y1 <= ax.get_window_extent().y0
            assert legend.y0 >= 0  # and it is in the picture
            for text in ax.get_xticklabels():
                assert not legend.overlaps(text.get_window_extent())
