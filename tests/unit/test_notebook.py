"""What a notebook shows: tables, not walls of text, and no warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import discreto as dp
from discreto import local, models
from discreto.plots import HistogramDisplay

ESTIMATORS = [
    kind
    for name in models.__all__
    if isinstance(kind := getattr(models, name), type) and hasattr(kind, "fit")
]


@pytest.fixture(scope="module")
def shown():
    domain = dp.Domain(
        {"x": dp.Number(0, 1), "y": dp.Category(["<no>", "yes"])}, target="y"
    )
    rows = {"x": [0.1, 0.9] * 500, "y": ["<no>", "yes"] * 500}
    ledger = dp.Ledger(epsilon=9, analysts={"ana": 2})
    table = dp.Table(rows, domain, ledger)
    model = models.NaiveBayes(epsilon=1).fit(table)
    return {
        "domain": domain,
        "table": table,
        "ledger": ledger,
        "release": dp.stats.histogram(table, "y", epsilon=1),
        "number": dp.stats.mean(table, "x", epsilon=1),
        "mode": dp.stats.mode(table, "y", epsilon=1),
        "plan": model.plan(domain),
        "privacy": model.privacy_,
        "evaluation": models.evaluate(model, table, epsilon=1),
        "meaning": dp.meaning.explain(1),
    }


NAMES = (
    *("domain", "table", "ledger", "release", "number", "mode"),
    *("plan", "privacy", "evaluation", "meaning"),
)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_table_and_escaped(shown, name):
    html = shown[name]._repr_html_()
    assert "<table>" in html
    assert "<no>" not in html
    assert html.count("<table>") == html.count("</table>")


@pytest.mark.parametrize("name", NAMES)
def test_its_text_is_short(shown, name):
    assert len(repr(shown[name])) < 400
    assert "object at 0x" not in repr(shown[name])


def test_a_ledger_says_what_is_left(shown):
    assert "ε 4 of 9 left" in repr(shown["ledger"])
    assert "5 of 9 spent, 4 left" in shown["ledger"]._repr_html_()
    analyst = shown["ledger"].analyst("ana")
    assert "ε 2 left for ana" in str(analyst)
    assert "'ana'" in repr(analyst)


def test_a_closed_ledger_can_still_be_shown():
    ledger = dp.Ledger(epsilon=1)
    ledger.close()
    assert repr(ledger) == "Ledger(':memory:')"


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_model_is_shown_without_a_warning(kind):
    model = kind(epsilon=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind.__name__ in model._repr_html_()
        assert kind.__name__ in make_pipeline(model)._repr_html_()


def test_local_transformers_are_shown_without_a_warning():
    for kind in (local.LocalSanitizer, local.RandomizedResponse):
        assert kind.__name__ in kind(epsilon=1)._repr_html_()


def test_a_display_is_a_picture_until_it_was_plotted():
    counts = np.arange(3.0)
    release = dp.Release("count", counts, counts, counts, ("a", "b", "c"))
    display = HistogramDisplay.from_release(release)
    assert display._repr_png_().startswith(b"\x89PNG")
    assert not hasattr(display, "ax_")
    assert len(repr(display)) < 200
    display.plot()
    assert display._repr_png_() is None
