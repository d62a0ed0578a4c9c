"""The study's claims, tables and pictures in four languages; its folder is English."""

from __future__ import annotations

import html
import json
import re

import pytest

from discreto.lab import study
from discreto.lab.report import study_page
from discreto.lab.study.words import in_words
from discreto.text.language import speaking

QUICK = ["s1-sum", "s3-graphs", "s3-figure-2.1", "s3-figure-2.2", "s2-table-1"]
ENGLISH = re.compile(
    r"\b(the|of|with|and|is|at|are|by|printed|noise|rows|ours|without|density|error)\b"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    study.run(study.find(QUICK), out, quick=True, jobs=1)
    return out


def _shown(text: str) -> list[str]:
    body = text.split("</style>")[1].split("<script>")[0]
    words = re.sub(r"<code>.*?</code>|<style.*?</style>", " ", body, flags=re.DOTALL)
    return [html.unescape(one) for one in re.findall(r">([^<>]+)<", words)]


@pytest.mark.parametrize("code", ["pt", "es", "fr"])
def test_a_page_has_no_english_left(folder, code):
    english = _shown(str(study_page(folder)))
    assert any("is the local sensitivity" in one for one in english)
    shown = _shown(str(study_page(folder, lang=code)))
    assert not [one for one in shown if ENGLISH.search(one)]


def test_pictures_are_drawn_in_the_language_of_the_page_and_files_stay(folder):
    file = folder / "s1-sum" / "pictures" / "densities.svg"
    before = file.read_text(encoding="utf-8")
    manifest = (folder / "s1-sum" / "manifest.json").read_text(encoding="utf-8")
    page = str(study_page(folder, lang="es"))
    assert "suma con ruido</text>" in page
    assert "noisy sum</text>" in before
    assert file.read_text(encoding="utf-8") == before
    assert json.loads(manifest)["language"] == "en"


def test_a_run_draws_in_the_language_in_use_and_keeps_english_texts(folder, tmp_path):
    with speaking("pt"):
        study.run(study.find(["s1-sum"]), tmp_path, quick=True, jobs=1)
    text = (tmp_path / "s1-sum" / "pictures" / "densities.svg").read_text("utf-8")
    assert "soma com ruído" in text
    manifests = [
        json.loads((root / "s1-sum" / "manifest.json").read_text("utf-8"))
        for root in (tmp_path, folder)
    ]
    assert manifests[0]["findings"] == manifests[1]["findings"]
    assert manifests[0]["language"] == "pt"
    assert "noisy sum" in str(study_page(tmp_path, lang="en"))


def test_pictures_of_another_version_are_shown_as_they_are(folder, tmp_path):
    copy = tmp_path / "s1-sum"
    study.run(study.find(["s1-sum"]), tmp_path, quick=True, jobs=1)
    (copy / "cells.jsonl").write_text("", encoding="utf-8")
    page = str(study_page(tmp_path, lang="es"))
    assert "noisy sum</text>" in page
    assert "sensibilidad local" in page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("table 4.3", "tabela 4.3"),
        ("S3, figures 4.6 to 4.11", "S3, figuras 4.6 a 4.11"),
        ("mean (2.3)", "média (2.3)"),
        ("0.969 at 0.5, 0.990 at 1", "0,969 com 0,5, 0,990 com 1"),
        ("ours 0.60, as printed -0.01", "o nosso 0,60, como impresso -0,01"),
        ("ours (non-private)", "o nosso (não privado)"),
        ("DPBoost, corrected", "DPBoost, corrigido"),
        ("2.5", "2,5"),
        ("somebody's own words", "somebody's own words"),
        ("", ""),
    ],
)
def test_words(text, words):
    assert in_words(text) == text
    with speaking("pt"):
        assert in_words(text) == words
