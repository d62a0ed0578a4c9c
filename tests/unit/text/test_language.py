"""Four languages: pages, plots and the command line, and what is never translated."""

from __future__ import annotations

import gettext
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import discreto as dp
from discreto import models, report, stats
from discreto.cli import app
from discreto.errors import ParameterError
from discreto.plots import HistogramDisplay
from discreto.release.labels import label_in_words
from discreto.text import language
from discreto.text.language import LANGUAGES, number, speaking, tr

OTHERS = [code for code in LANGUAGES if code != "en"]
run = CliRunner().invoke
EXPLAIN = ["explain", "--epsilon", "0.5", "--prior", "0.1"]


@pytest.fixture(scope="module")
def table():
    """A table whose names are words of the catalogues."""
    rng = np.random.default_rng(0)
    cost = rng.uniform(0, 100, 200)
    columns = {
        "cost": cost,
        "rows": rng.choice(["yes", "no"], 200),
        "value": np.where(cost > 40, "model", "ledger"),
    }
    domain = dp.Domain(
        {
            "cost": dp.Number(0, 100),
            "rows": dp.Category(["yes", "no"]),
            "value": dp.Category(["model", "ledger"]),
        }
    )
    return dp.Table(columns, domain, dp.Ledger(epsilon=20))


@pytest.fixture(scope="module")
def model(table):
    return models.NaiveBayes(epsilon=1).fit(table, "value")


def _words(page) -> str:
    body = str(page).split("</style>")[1].split("<script>")[0]
    return re.sub(r"<code>.*?</code>|<[^>]*>", " ", body)


@pytest.mark.parametrize("code", OTHERS)
def test_a_card_is_in_its_language_and_names_stay(model, code):
    page = report.model_page(model, lang=code, date="2026-01-01")
    text = str(page)
    assert f'<html lang="{code}">' in text
    assert ">2,72<" not in text
    assert "2,72" in _words(page)
    assert "2.72" not in _words(page)
    for name in ("cost", "rows", "value", "model", "ledger", "yes"):
        assert re.search(rf">[^<]*\b{name}\b", text), name
    assert language.language() == "en"


def test_the_language_in_use_is_that_of_a_page(model):
    with speaking("fr"):
        page = report.model_page(model)
    assert "Ce qu&#x27;il a appris" in str(page)
    assert "What it has learned" in str(report.model_page(model))


def test_an_unknown_language_is_refused(model):
    with pytest.raises(ParameterError, match="one of en, pt, es, fr"):
        report.model_page(model, lang="de")


@pytest.mark.parametrize("place", ["first", "last", "joined", "LANG", "LC_ALL"])
def test_the_command_line_takes_a_language(place):
    words = {
        "first": ["--lang", "pt", *EXPLAIN],
        "last": [*EXPLAIN, "--lang", "pt"],
        "joined": [*EXPLAIN, "--lang=pt"],
    }.get(place, EXPLAIN)
    env = {"LC_ALL": None, "LC_MESSAGES": None, "LANG": "C"}
    env |= {place: "pt_BR.UTF-8"} if place.isupper() else {}
    done = run(app, words, env=env)
    assert "aumentam no máximo por um fator de 1,65" in done.output
    assert language.language() == "en"


def test_what_programs_read_is_the_same_in_every_language():
    found = [run(app, ["--lang", c, *EXPLAIN, "--json"]).output for c in LANGUAGES]
    assert len(set(found)) == 1
    assert json.loads(found[0])["prior"] == 0.1


def test_numbers_of_answers_have_commas_and_stay_apart(table):
    answer = stats.mean(table, "cost", epsilon=1)
    with speaking("es"):
        text = str(answer)
    assert re.search(r"\d+,\d+ (±|\[\d+,\d+; \d+,\d+\])", text)
    assert re.sub(r"(?<=\d),(?=\d)", ".", text).replace(";", ",") == str(answer)


def test_numbers_with_thousands():
    with speaking("fr"):
        assert (
            number(1234567.5, ",.1f") == "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567,5"
        )


def test_axes_have_decimal_commas_and_given_names_stay(table):
    from matplotlib.figure import Figure

    release = stats.histogram(table, "rows", epsilon=1)
    with speaking("pt"):
        axes = Figure().subplots()
        shown = HistogramDisplay.from_release(release).plot(axes)
        assert axes.get_ylabel() == "linhas"
        assert axes.get_title(loc="left").startswith("histograma de rows")
        axes.set_ylim(0, 1)
        shown.figure_.canvas.draw()
        ticks = [tick.get_text() for tick in axes.get_yticklabels()]
        assert "0,2" in ticks
        assert [t.get_text() for t in axes.get_xticklabels()][:2] == ["yes", "no"]
        given = HistogramDisplay.from_release(release, quantity="value")
        assert given.plot(Figure().subplots()).ax_.get_ylabel() == "value"


class Marked(gettext.NullTranslations):
    """A language in which every text of a catalogue stands in brackets."""

    def gettext(self, message):
        return f"⟦{message}⟧"


@pytest.fixture
def brackets(monkeypatch):
    monkeypatch.setattr(language, "catalogue", lambda code: Marked())


def _left(text: str) -> set[str]:
    """Words outside of brackets."""
    while "⟦" in text:
        text, count = re.subn(r"⟦[^⟦⟧]*⟧", " ", text)
        assert count
    return set(
        re.findall(
            r"[A-Za-z_]{3,}",
            re.sub(r"&\w+;|\b[0-9a-f]{12}\b|[A-Z]\w+[a-z][A-Z]\w+", " ", text),
        )
    )


def test_nothing_on_a_card_is_left_out_of_the_catalogues(brackets, model, table):
    judged = models.evaluate(model, table, epsilon=1)
    with speaking("pt"):
        pages = [
            report.model_page(model, evaluation=judged),
            report.ledger_page(table.ledger),
            report.checklist_page(table.ledger, table.domain),
        ]
    ours = {"cost", "rows", "value", "model", "ledger", "yes", *model.get_params()}
    for page in pages:
        assert _left(_words(page)) - ours == set(), page.title


def test_nothing_printed_is_left_out_of_the_catalogues(brackets, tmp_path, table):
    path = tmp_path / "d.json"
    table.domain.save(path)
    for words in (
        EXPLAIN,
        ["plan", str(path), "mean", "cost", "--epsilon", "1"],
        ["domain", "check", str(path)],
    ):
        done = run(app, ["--lang", "pt", *words], env={"COLUMNS": "400"})
        assert done.exit_code == 0, done.output
        ours = {"cost", "rows", "value", "model", "ledger", "yes"}
        assert _left(done.output) - ours == set(), done.output


PREDICTING = {
    "NaiveBayes": "kind",
    "LogisticRegression": "kind",
    "GradientBoostingClassifier": "kind",
    "CellNeighborsClassifier": "kind",
    "LinearRegression": "a",
    "GradientBoostingRegressor": "a",
    "KMeans": None,
    "FuzzyCMeans": None,
}


@pytest.mark.parametrize(("name", "target"), PREDICTING.items())
def test_every_question_of_a_model_has_a_name_in_the_catalogues(brackets, name, target):
    columns = {"a": dp.Number(0, 1), "b": dp.Number(0, 1)}
    if target == "kind":
        columns["kind"] = dp.Category(["x", "y"])
    plan = getattr(models, name)(epsilon=1).plan(dp.Domain(columns), target)
    with speaking("pt"):
        bare = {q.label for q in plan if "⟦" not in label_in_words(q.label)}
    assert not bare


@pytest.mark.parametrize(
    "wanted",
    [
        stats.Mean("cost", by=("rows",)),
        stats.Count(by=("rows",)),
        stats.Total("cost"),
        stats.Variance("cost"),
        stats.Quantile("cost", "0.9"),
        stats.Quantiles("cost", ("0.1", "0.9")),
        stats.Histogram(("rows",)),
        stats.Extremum("cost", "high"),
        stats.Mode("rows"),
        stats.Covariance(("cost", "rows")),
        stats.Independence("rows", "value"),
        stats.Trend("cost", "rows"),
    ],
    ids=lambda wanted: wanted.label,
)
def test_every_statistic_has_a_name_in_the_catalogues(brackets, wanted):
    with speaking("pt"):
        words = label_in_words(wanted.label)
    assert words.startswith("⟦")
    assert "cost" in words or "rows" in words or wanted.label == "count"


def test_an_english_text_is_as_it_is_written():
    assert tr("{count} columns", count=2) == "2 columns"
    assert tr("") == ""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("pt", "em falta ou outro"),
        ("es", "ausente u otro"),
        ("fr", "manquant ou autre"),
    ],
)
def test_missing_keys_are_translated_where_people_read_them(code, words):
    from discreto.plots import HeatmapDisplay

    domain = dp.Domain({"a": dp.Category(["x", "y"]), "b": dp.Category(["u", "v"])})
    rows = {"a": ["x", "y"] * 50, "b": ["u", "v"] * 50}
    table = dp.Table(rows, domain, dp.testing.simulate(0))
    found = dp.stats.count(table, by=["a", "b"], epsilon=1)
    with speaking(code):
        for text in (str(found), found._repr_html_(), f"{found:.1f}"):
            assert f"({words})" in text
            assert "missing or other" not in text
        picture = HeatmapDisplay.from_release(found)
        assert f"({words})" in [*picture.rows, *picture.columns]
        # Files and look-ups have one name in every language.
        assert "(missing or other)" in found.to_csv()
        assert found["x", "(missing or other)"].label.endswith("(missing or other)")
