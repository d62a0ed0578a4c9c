"""Pages: nothing foreign in them, every number with its price, simulations stamped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

import discreto as dp
from discreto import models, report
from discreto.cli import app
from discreto.errors import ParameterError
from discreto.lab.report import study_page
from discreto.plots import EpsilonCurveDisplay, LedgerDisplay
from discreto.report.markup import tag
from discreto.report.svg import adapt
from discreto.testing import simulate

HOSTILE = """"><script>alert('x')</script><img src=x onerror=alert(1)> & é"""


class Parsed(HTMLParser):
    """Elements, attributes, ids and visible text of a page."""

    def __init__(self, page: object) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(str(page))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1] == "script":
            self.scripts.append(data)
        elif not self.elements or self.elements[-1] != "style":
            self.text += data

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.attributes if key == name]


def harmless(page: object) -> Parsed:
    """A page that runs our script alone, loads nothing, and has no id twice."""
    found = Parsed(page)
    script = (files("discreto.report") / "page.js").read_text(encoding="utf-8")
    assert "".join(found.scripts).strip() == script.strip()
    assert found.elements.count("script") == 1
    assert not {"img", "iframe", "link", "object", "embed", "form"} & set(
        found.elements
    )
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    links = found.values("href") + found.values("src") + found.values("xlink:href")
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"https?:|url\((?!#)|@import", str(page))
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    return found


class TestMarkup:
    def test_everything_is_escaped(self) -> None:
        page = report.Page(HOSTILE, HOSTILE, simulated=True)
        page.section(
            HOSTILE,
            HOSTILE,
            report.text(HOSTILE),
            report.note(HOSTILE),
            report.code(HOSTILE, block=True),
            report.facts({HOSTILE: (HOSTILE, HOSTILE)}),
            report.table([HOSTILE], [[HOSTILE]], caption=HOSTILE),
            report.figure(LedgerDisplay([HOSTILE], [1.0]), caption=HOSTILE),
        )
        page.section("b")
        page.section("c")
        found = harmless(page)
        assert found.text.count(HOSTILE) >= 12

    def test_attributes_are_escaped(self) -> None:
        found = Parsed(tag("a", "x", href=HOSTILE, class_=HOSTILE))
        assert found.elements == ["a"]
        assert found.attributes == [("href", HOSTILE), ("class", HOSTILE)]

    def test_the_policy_allows_our_script_alone(self) -> None:
        text = str(report.Page("x"))
        script = re.search(r"<script>(.*?)</script>", text, re.S)
        assert script is not None
        digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in text
        assert "default-src 'none'" in text
        assert "connect-src" not in text  # what is not named falls back to 'none'

    def test_numbers_show_price_and_spread(self) -> None:
        number = report.Measured(0.7531, 0.0213, epsilon=1)
        cell = report.table(["a"], [[number]])
        assert Parsed(cell).text == "a0.753 ± 0.021 ε 1"
        assert 'data-sort="0.7531"' in cell

    @pytest.mark.parametrize(
        ("number", "text"),
        [
            (report.Measured(1234.5, 20), "1234 ± 20"),
            (report.Measured(0.5), "0.5"),
            (report.Measured(float("inf"), 1), "∞ ± 1.0"),
            (report.Measured(float("nan")), "-"),
            (report.Measured(2, 0), "2 ± 0"),
            (report.Measured(2, float("nan"), unit="kg"), "2 kg"),
            (report.Measured(0.123456, 0.001, quiet=True), "0.1235"),
        ],
    )
    def test_digits(self, number: report.Measured, text: str) -> None:
        assert str(number) == text

    def test_cells(self) -> None:
        rows = [[None, True, 3, "a", 2.5], [1.0, False, 4, "b", None]]
        text = Parsed(report.table(list("vwxyz"), rows)).text
        assert text == "vwxyz–yes3a2.51no4b–"
        with pytest.raises(ParameterError, match="2 columns"):
            report.table(["a", "b"], [[1]])

    def test_sections_with_one_title_get_two_anchors(self) -> None:
        page = report.Page("x")
        for _ in range(3):
            page.section("ε", "text")
        harmless(page)

    def test_simulations_are_stamped(self) -> None:
        assert "SIMULATED" in Parsed(report.Page("x", simulated=True)).text
        assert "SIMULATED" not in Parsed(report.Page("x")).text


class TestSvg:
    @pytest.mark.parametrize(
        "inside",
        [
            "<script>1</script>",
            '<path onload="x()"/>',
            "<foreignObject><p>x</p></foreignObject>",
            '<use xlink:href="http://example.org/a.svg#b"/>',
            '<image href="https://example.org/a.png"/>',
            '<a href="javascript:x()">x</a>',
            "<iframe/>",
            '<animate attributeName="href"/>',
            '<set attributeName="onload" to="x"/>',
            '<path style="fill: url(http://example.org/a)"/>',
            "<use href=http://example.org/a.svg>",
        ],
    )
    def test_foreign_things_are_refused(self, inside: str) -> None:
        with pytest.raises(ParameterError, match="more in it"):
            adapt(f"<svg>{inside}</svg>")

    def test_no_picture(self) -> None:
        with pytest.raises(ParameterError, match="not an SVG"):
            adapt("<html></html>")
        with pytest.raises(ParameterError, match="a figure is"):
            report.figure(3)

    def test_two_pictures_share_no_id(self) -> None:
        rows = [{"model": "a", "epsilon": e, "mean": e, "spread": 1} for e in (1, 2)]
        page = report.Page("x")
        shown = EpsilonCurveDisplay.from_results(rows)
        page.section("one", report.figure(shown, caption="a"))
        page.section("two", report.figure(shown, caption="b"))
        found = harmless(page)
        assert len([i for i in found.values("id") if "-" in i]) >= 2
        refers = {v[1:] for v in found.values("href")}
        clips = set(re.findall(r"url\(#([^)]+)\)", str(page)))
        assert refers | clips <= set(found.values("id"))

    def test_colours_follow_the_page(self) -> None:
        rows = [{"model": "a", "epsilon": 1, "mean": 1, "spread": 0}]
        text = report.figure(EpsilonCurveDisplay.from_results(rows))
        assert "var(--c1)" in text
        assert "#0072b2" not in text.lower()
        css = (files("discreto.report") / "page.css").read_text(encoding="utf-8")
        for name in set(re.findall(r"var\((--[\w-]+)\)", text + css)):
            # Light, dark by the system, dark by choice.
            assert len(re.findall(rf"{name}:", css)) == 3, name

    def test_any_matplotlib_figure(self) -> None:
        figure = Figure()
        figure.subplots().set_title("A title")
        assert ">A title</text>" in report.figure(figure)

    def test_a_caption_is_read_aloud(self) -> None:
        assert "<title>what it shows</title>" in report.figure(
            Figure(), caption="what it shows"
        )


DOMAIN = dp.Domain(
    {"a": dp.Number(0, 1), "b": dp.Number(0, 1), "y": dp.Category(["n", "<y>"])},
    target="y",
)


def rows(number: int = 300) -> dict[str, Any]:
    coins = np.random.default_rng(0)
    a, b = coins.random((2, number))
    return {"a": a, "b": b, "y": np.where(a + b > 1, "<y>", "n")}


class TestModelPage:
    def test_a_real_model(self) -> None:
        ledger = dp.Ledger(epsilon=3)
        table = dp.Table(rows(), DOMAIN, ledger)
        model = models.NaiveBayes(epsilon=1).fit(table, "y")
        judged = models.evaluate(model, table, epsilon="0.5")
        found = harmless(report.model_page(model, evaluation=judged))
        assert "SIMULATED" not in found.text
        for part in ("ε 1", "one row", "a factor of 2.72", "accuracy", "ε 0.5", "<y>"):
            assert part in found.text
        assert model.privacy_.receipt.hash[:12] in found.text
        for question in model.privacy_.plan:
            assert question.label in found.text
        # Means are released with the variance of their noise, and shown with it.
        mean, noise = model.theta_[0, 0], np.sqrt(model.theta_doubt_[0, 0])
        assert str(report.Measured(mean, noise)) in found.text

    def test_a_simulated_model_says_so(self) -> None:
        table = dp.Table(rows(), DOMAIN, simulate(0))
        model = models.LogisticRegression(epsilon=1).fit(table, "y")
        found = harmless(report.model_page(model))
        assert "SIMULATED" in found.text
        assert "may be published" not in found.text

    def test_centres_are_drawn(self) -> None:
        domain = DOMAIN.select(["a", "b"])
        table = dp.Table(rows(), domain, dp.Ledger(epsilon=1))
        model = models.KMeans(2, epsilon=1, random_state=0).fit(table)
        found = harmless(report.model_page(model))
        assert "svg" in found.elements
        assert f"{model.cluster_centers_[0, 0]:.4g}" in found.text

    def test_models_that_keep_the_rows(self) -> None:
        table = dp.Table(rows(), DOMAIN, dp.Ledger(epsilon=1))
        model = models.KNeighborsClassifier(3, epsilon=1).fit(table, "y")
        found = harmless(report.model_page(model))
        assert "must stay with them" in found.text
        assert "may be published" not in found.text

    def test_gaussian_costs_have_no_odds(self) -> None:
        ledger = dp.Ledger(epsilon=3, delta="1e-6")
        table = dp.Table(rows(), DOMAIN, ledger)
        model = models.NaiveBayes(epsilon=1, delta="1e-7").fit(table, "y")
        found = harmless(report.model_page(model))
        assert "e^ε" not in found.text
        assert "ρ" in found.text


class TestLedgerPage:
    def test_a_real_ledger(self) -> None:
        ledger = dp.Ledger(epsilon=3, population=HOSTILE, analysts={"ann": 2})
        ledger.charge(dp.Cost.of("0.5"), HOSTILE)
        ledger.analyst("ann").charge(dp.Cost.of("0.25"), "mean")
        found = harmless(report.ledger_page(ledger))
        for part in (HOSTILE, "ε 0.75", "ε 2.25", "of 3", "chain intact", "ann"):
            assert part in found.text
        assert "SIMULATED" not in found.text

    def test_a_simulation(self) -> None:
        ledger = simulate(0)
        ledger.charge(dp.Cost.leak(), "bounds")
        found = harmless(report.ledger_page(ledger))
        assert "SIMULATED" in found.text
        assert "ε ∞" in found.text

    def test_an_empty_ledger(self) -> None:
        harmless(report.ledger_page(dp.Ledger(epsilon=1)))


FINDING = {
    "audit": 1,
    "simulated": True,
    "subject": "mean",
    "method": "black box",
    "violation": False,
    "claimed": 1.0,
    "shown": 0.8,
    "event": "answer > 3",
    "pair": "[1] and [1, 2]",
    "pairs": 4,
    "relation": "add-remove",
    "unit": "ε",
    "delta": 0.0,
    "runs": 1000,
    "confidence": 0.99,
    "seconds": 1.0,
}


class TestAuditPage:
    def test_findings(self) -> None:
        broken = FINDING | {"subject": HOSTILE, "violation": True, "shown": "inf"}
        found = harmless(report.audit_page([FINDING, broken]))
        for part in ("VIOLATION", "holds", "∞", "99 %", "answer > 3", "SIMULATED"):
            assert part in found.text

    def test_our_own_findings_fit(self) -> None:
        findings = pytest.importorskip("discreto.audit.findings")
        made = findings.Finding("s", "transcript", False, 1.0, 0.5, "event", "pair", 3)
        assert "holds" in harmless(report.audit_page([made])).text


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder of a study with one experiment."""
    out = tmp_path / "study"
    one = out / "s1-x"
    for name in ("tables", "pictures"):
        (one / name).mkdir(parents=True)
    whole = {"simulated": True, "quick": True, "experiments": ["s1-x"], "seconds": 2}
    (out / "manifest.json").write_text(json.dumps(whole))
    finding = {"claim": HOSTILE, "seen": "b", "agrees": False, "why": "noise"}
    manifest = {
        "name": "s1-x",
        "title": HOSTILE,
        "source": "S1",
        "shows": "a trade-off",
        "cells": 3,
        "done": 3,
        "failed": [{"cell": {"seed": 1}, "error": HOSTILE}],
        "tables": [
            {"file": "tables/t.json", "title": "T"},
            {"file": "../../secret.json", "title": "S"},
        ],
        "pictures": [
            {"file": "pictures/p.svg", "title": "P", "note": "about p"},
            {"file": "pictures/bad.svg", "title": "B"},
        ],
        "findings": [finding],
        "versions": {"numpy": "2"},
    }
    (one / "manifest.json").write_text(json.dumps(manifest))
    cell = {"mean": 0.5, "spread": 0.1, "count": 5}
    table = {"title": "T", "columns": ["ε", "error"], "rows": [[1, cell], [2, "∞"]]}
    (one / "tables" / "t.json").write_text(json.dumps(table))
    (tmp_path / "secret.json").write_text(json.dumps(table | {"title": "SECRET"}))
    (one / "pictures" / "p.svg").write_text("<svg><text>drawn</text></svg>")
    (one / "pictures" / "bad.svg").write_text("<svg><script>1</script></svg>")
    return out


class TestStudyPage:
    def test_all_of_it(self, study: Path) -> None:
        found = harmless(study_page(study))
        for part in ("0.50 ± 0.10", "drawn", "about p", "differs", "a trade-off", "∞"):
            assert part in found.text
        assert found.text.count("SIMULATED") >= 2

    def test_files_outside_of_the_folder_stay_outside(self, study: Path) -> None:
        found = harmless(study_page(study))
        assert "SECRET" not in found.text
        assert "'../../secret.json' cannot be shown" in found.text
        assert "'pictures/bad.svg' cannot be shown" in found.text

    def test_not_a_study(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="cannot be read as JSON"):
            study_page(tmp_path)
        (tmp_path / "manifest.json").write_text("{}")
        with pytest.raises(ParameterError, match="no experiments"):
            study_page(tmp_path)
        (tmp_path / "manifest.json").write_text('{"experiments": ["a"]}')
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "manifest.json").write_text('{"findings": 3}')
        with pytest.raises(ParameterError, match="malformed"):
            study_page(tmp_path)


class TestCommand:
    def run(self, *args: object) -> Result:
        return CliRunner().invoke(app, ["report", *map(str, args)])

    def test_every_kind(self, study: Path, tmp_path: Path) -> None:
        path = tmp_path / "people.ledger"
        ledger = dp.Ledger(path, epsilon=2)
        model = models.NaiveBayes(epsilon=1).fit(dp.Table(rows(), DOMAIN, ledger), "y")
        models.save(model, tmp_path / "model.json")
        (tmp_path / "one.json").write_text(json.dumps(FINDING))
        (tmp_path / "more.json").write_text(json.dumps({"findings": [FINDING] * 2}))
        expected = {
            path: "fit NaiveBayes",
            tmp_path / "model.json": "Model card: NaiveBayes",
            tmp_path / "one.json": "Privacy audit",
            tmp_path / "more.json": "Privacy audit",
            study: "The study",
        }
        for source, part in expected.items():
            out = tmp_path / "page.html"
            result = self.run(source, "--out", out)
            assert result.exit_code == 0, result.output
            assert part in harmless(out.read_text(encoding="utf-8")).text

    def test_beside_its_source(self, study: Path, tmp_path: Path) -> None:
        assert self.run(study).exit_code == 0
        assert (study / "report.html").exists()

    @pytest.mark.parametrize(
        "text", ["{}", "[]", "no json", '{"findings": [1]}', '[{"violation": 1}]', "3"]
    )
    def test_something_else(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "x.json").write_text(text)
        result = self.run(tmp_path / "x.json")
        assert result.exit_code == ParameterError.exit_code
        assert not (tmp_path / "x.html").exists()

    def test_nothing(self, tmp_path: Path) -> None:
        assert self.run(tmp_path / "none").exit_code == ParameterError.exit_code
