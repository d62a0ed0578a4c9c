"""The first page that a newcomer follows, as it is printed: a CSV, then an answer."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from printed import page

import discreto as dp


def test_from_a_csv_to_the_first_answer(tmp_path: Path) -> None:
    with page("tutorials/first-answer.md", tmp_path) as followed:
        shown = "\n".join(followed.shown)
        rows = pd.read_csv("patients.csv")
        truth = rows.groupby("sex")["weight"].mean()
        # What the plan says is what the page says.
        said = re.search(r"The plan says ± ([\d.]+) kg", followed.text)
        assert said is not None
        assert f"± {said[1]}" in re.sub(r"(\d\.\d)\d* kg", r"\1 kg", shown)
        assert "if there are 2000 rows" in shown
        # The shell's answer and Python's are near to the means of the rows.
        answer = followed.names["answer"]
        for sex in "FM":
            assert abs(answer[sex].value - truth[sex]) < 20  # four error bars
            asked = re.search(rf"│ {sex} +│ +([\d.]+) kg", shown)
            assert asked is not None, shown
            assert abs(float(asked[1]) - truth[sex]) < 20
        with dp.Ledger("patients.ledger") as ledger:
            assert ledger.verify() >= 1
            assert 0.1 <= float(ledger.spent().epsilon) <= 0.2


def test_a_csv_of_your_own(tmp_path: Path) -> None:
    with page("how-to/own-csv.md", tmp_path) as followed:
        table, ledger = followed.names["table"], followed.names["ledger"]
        assert ledger.spent().epsilon > 0
        found = dp.stats.mean(
            dp.Table("visits.csv", table.domain, dp.testing.simulate(1)),
            "crp",
            by="sex",
            epsilon=100,
        )
        # 0,5 to 39,5 in turn: odd numbers are Female, which is an alias of F.
        assert abs(found["F"].value - 20.5) < 0.1
        assert abs(found["M"].value - 19.5) < 0.1
