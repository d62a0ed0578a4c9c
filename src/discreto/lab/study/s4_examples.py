"""S4's worked examples: every printed number, by hand and by the models themselves.

"By hand" is the arithmetic of the slides; "by the model" is a model of this library
without noise (``simulate(noise=False)``) and without shrinkage, as a teacher would run
it. Both must round to the printed digits, but for three slips of the slides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core.domain.domain import Category, Domain
from discreto.lab import published
from discreto.lab.published.regression import Polynomial, squares
from discreto.lab.study.experiment import (
    Experiment,
    Lines,
    ResultTable,
    StudyFinding,
)
from discreto.lab.study.results import Results
from discreto.models import GaussianNB, LinearRegression, NaiveBayes
from discreto.table.table import Table as Rows
from discreto.testing import simulate
from discreto.text.language import mark

ROWS = np.array([[1.0], [0.9], [-0.5]])
TARGET = np.array([0.4, 0.3, -1.0])
NOISY = Polynomial(1.25, np.array([-0.29, -2.54]), np.array([[1.39, 1.18], [0, 2.14]]))
PEOPLE = np.array(
    [
        [182, 81.6, 30], [180, 86.2, 28], [170, 77.1, 30], [180, 74.8, 25],
        [152, 45.4, 15], [168, 68.0, 20], [165, 59.0, 18], [175, 68.0, 23],
    ]
)  # fmt: skip
SEXES = np.array(["m"] * 4 + ["f"] * 4)
SOMEBODY = np.array([183.0, 59.0, 20.0])
DEBTORS = {
    "age": list("YYMOOOMMYO"), "income": list("LHHMHLLMLH"),
    "gender": list("MFMMMFFMMF"), "missed": list("YYNNNYNYNN"),
}  # fmt: skip
WOMAN = {"age": "Y", "income": "M", "gender": "F"}
# What the slides print and what it should be, in the same digits.
SLIPS = {"0.114": "0.113", "0.306": "0.304", "2.36E-5": "2.37E-5"}
PARTS = ("height", "weight", "foot")

Pair = tuple[str, float]  # what is printed, and what was found


def same_digits(printed: str, found: float) -> bool:
    """Whether a number rounds to what is printed.

    >>> same_digits("0.0056", 1 / 180), same_digits("0.114", 0.1134)
    (True, False)
    """
    if "/" in printed:
        return bool(abs(found - float(Fraction(printed))) < 1e-5)
    told = Decimal(printed)
    exponent = told.as_tuple().exponent
    last = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    return bool(abs(Decimal(float(found)) - told) <= last / 2 * Decimal("1.0001"))


# The arithmetic of the slides, and the same from models; both as dicts of numbers


def missed_payment(by_model: bool) -> dict[str, float]:
    """The ten numbers of the discrete example."""
    names, kinds = list(WOMAN), ("YMO", "LMH", "MF")
    if by_model:
        columns = dict(zip(names, kinds, strict=True)) | {"missed": "YN"}
        public = {name: Category(list(kind)) for name, kind in columns.items()}
        domain = Domain(public, target="missed")
        rows = {name: np.array(values) for name, values in DEBTORS.items()}
        ledger = simulate(noise=False)
        model = NaiveBayes(epsilon=1, alpha=0, shrink=False)
        model.fit(Rows(rows, domain, ledger), "missed")
        prior = model.class_prior_
        chances = [
            np.exp(table[:, kind.index(WOMAN[name])])
            for name, kind, table in zip(
                names, kinds, model.feature_log_prob_, strict=True
            )
        ]
        asked = np.array([[WOMAN[name] for name in names]])
        product = np.exp(model.predict_joint_log_proba(asked))[0]
    else:
        late = np.array(DEBTORS["missed"])
        prior = np.array([np.mean(late == who) for who in "YN"])
        chances = [
            np.array(
                [np.mean(np.array(DEBTORS[n])[late == w] == WOMAN[n]) for w in "YN"]
            )
            for n in names
        ]
        product = prior * np.prod(chances, axis=0)
    out = {}
    for place, who in enumerate(("yes", "no")):
        out[f"P[{who}]"] = float(prior[place])
        for name, chance in zip(names, chances, strict=True):
            out[f"P[{name} | {who}]"] = float(chance[place])
        out[f"product, {who}"] = float(product[place])
    return out


def sex(by_model: bool) -> dict[str, float]:
    """The 21 numbers of the Gaussian example."""
    ledger = simulate(noise=False)
    if by_model:
        bounds = ([140, 40, 10], [200, 100, 40])
        model = GaussianNB(
            epsilon=1,
            shrink=False,
            ddof=1,
            bounds=bounds,
            classes=["m", "f"],
            ledger=ledger,
        ).fit(PEOPLE, SEXES)
        means, variances, prior = model.theta_, model.var_, model.class_prior_
        product = np.exp(model.predict_joint_log_proba(SOMEBODY[None, :]))[0]
    else:
        bayes = published.ThesisBayes(epsilon=None, ledger=ledger).fit(PEOPLE, SEXES)
        order = [list(bayes.classes_).index(who) for who in "mf"]
        means, variances = bayes.theta_[order], bayes.sigma_[order] ** 2
        prior = np.array([np.mean(who == SEXES) for who in "mf"])
        product = bayes.joint(SOMEBODY[None, :])[0][order]
    density = np.exp(-((SOMEBODY - means) ** 2) / (2 * variances))
    density /= np.sqrt(2 * np.pi * variances)
    out = {"P[man]": float(prior[0])}
    for i, who in enumerate(("man", "woman")):
        for j, part in enumerate(PARTS):
            out[f"mean {part}, {who}"] = float(means[i, j])
            out[f"variance {part}, {who}"] = float(variances[i, j])
            out[f"density {part}, {who}"] = float(density[i, j])
        out[f"product, {who}"] = float(product[i])
    return out


def line(by_model: bool) -> dict[str, float]:
    """The twelve numbers of least squares."""
    loss = squares(ROWS, TARGET, intercept=True)
    constant, linear, quadratic = loss.constant, loss.linear, loss.quadratic
    best = loss.stationary()
    if by_model:
        model = LinearRegression(
            epsilon=10,
            method="functional",
            alpha=0,
            bounds=(-1, 1),
            target_bounds=(-1, 1),
            ledger=simulate(noise=False),
        ).fit(ROWS, TARGET)
        best = np.array([model.intercept_, model.coef_[0]])
        products = model.moments_  # of 1, x and y
        constant, linear = products[2, 2], -2 * products[:2, 2]
        quadratic = products[:2, :2] * np.array([[1, 2], [0, 1]])
    fitted = best[0] + ROWS[:, 0] * best[1]
    coefficients = {
        "ω0²": quadratic[0, 0],
        "ω0ω1": quadratic[0, 1],
        "ω0": linear[0],
        "ω1²": quadratic[1, 1],
        "ω1": linear[1],
        "1": constant,
    }
    out = {f"coefficient of {name}": float(v) for name, v in coefficients.items()}
    out |= {"best ω0": float(best[0]), "best ω1": float(best[1])}
    out |= {f"ŷ{i}": float(v) for i, v in enumerate(fitted, start=1)}
    return out | {"minimum of f_D": float(((TARGET - fitted) ** 2).sum())}


def noisy_line(by_model: bool) -> dict[str, float]:
    """The six numbers of the noisy line, from the noisy coefficients as printed."""
    if by_model:
        return {}
    best = NOISY.stationary()
    out = {"Δ": 2.0 * (1 + ROWS.shape[1]) ** 2}
    out |= {"noisy ω0": float(best[0]), "noisy ω1": float(best[1])}
    fitted = best[0] + ROWS[:, 0] * best[1]
    return out | {f"noisy ŷ{i}": float(v) for i, v in enumerate(fitted, start=1)}


PRINTED: dict[str, tuple[Any, str]] = {
    "missed payment": (
        missed_payment,
        "4/10 2/4 1/4 2/4 0.025 6/10 1/6 1/6 2/6 0.0056",
    ),
    "sex": (
        sex,
        "1/2 178 29.3 0.0481 79.9 25.5 0.0000146 28.25 5.58 0.000381 1.3404E-10 "
        "165 92.7 0.00721 60.1 114 0.0372 19 11.3 0.114 1.52E-5",
    ),
    "least squares": (
        line,
        "3 2.8 0.6 2.06 -2.34 1.25 -564/1055 393/422 0.397 0.306 -1.0002 2.36E-5",
    ),
    "noisy line": (noisy_line, "8 -0.17 0.64 0.47 0.41 -0.49"),
}


def _cells(quick: bool) -> list[dict[str, Any]]:
    return [{"example": name} for name in PRINTED]


def _measure(*, example: str) -> Lines:
    make, printed = PRINTED[example]
    by_hand, by_model = make(False), make(True)  # the noisy line has no model
    lines: list[Mapping[str, Any]] = []
    for (what, found), told in zip(by_hand.items(), printed.split(), strict=True):
        right = SLIPS.get(told, told)
        lines.append(
            {
                "what": what,
                "printed": told,
                "by hand": found,
                "by the model": by_model.get(what),
                "as printed": same_digits(told, found),
                "as it should be": same_digits(right, found),
                "model agrees": not by_model or same_digits(right, by_model[what]),
            }
        )
    return lines


def _tables(results: Results) -> Iterator[ResultTable]:
    columns = ("example", "what", "printed", "by hand", "by the model")
    rows = tuple(tuple(r[name] for name in columns) for r in results)
    note = "By the model: noise off, without shrinkage (docs/study.md shows how)."
    yield ResultTable("examples", mark("Worked examples"), columns, rows, note)


def _findings(results: Results) -> Iterator[StudyFinding]:
    off = {r["printed"]: r["by hand"] for r in results if not r["as printed"]}
    others = set(off) - set(SLIPS)
    yield StudyFinding(
        f"the numbers of the worked examples but {len(SLIPS)}, to the printed digit",
        f"{results.count - len(off)} of {results.count} by hand",
        agrees=not others and all(r["as it should be"] for r in results),
    )
    yield StudyFinding(
        f"and those {len(SLIPS)}: {', '.join(SLIPS)}",
        ", ".join(f"{told} is {found:.4g}" for told, found in off.items()),
        agrees=not off,
        expected=False,
        why="slips of the slides; ŷ2 is 1281/4220, not 1280/4220",
    )
    crossed = squares(np.array([[1.0], [0.3], [-0.5]]), TARGET, intercept=True)
    found = float(crossed.quadratic[0, 1])
    yield StudyFinding(
        "the matrix X of the line has the row (1, 0.3)",
        f"then the coefficient of ω0ω1 is {found:.1f}; with 0.9 it is the printed 2.8",
        agrees=same_digits("2.8", found),
        expected=False,
        why="0.3 is that row's y; everything after it uses 0.9",
    )
    wrong = [r["what"] for r in results if not r["model agrees"]]
    many = sum(r["by the model"] is not None for r in results)
    yield StudyFinding(
        "(no claim of the source) models of this library without noise and shrinkage",
        f"give {many - len(wrong)} of the {many} numbers that are a model's"
        + (f"; not {', '.join(wrong)}" if wrong else ""),
        agrees=not wrong,
    )
    worst = _swap()
    yield StudyFinding(
        "Δ = 8 at ε = 10 keeps ε = 10 for the line with an intercept",
        f"{10 * worst / 8:.4g}: one row moves the coefficients by {worst:g}",
        agrees=bool(worst <= 8),
        expected=False,
        why="x = 1, y = 1 replaced by x = 0, y = -1; and Σy² is printed without noise",
    )


def _swap() -> float:
    """How far one replaced row moves the coefficients that get noise, in all."""
    parts = []
    for x, y in ((1.0, 1.0), (0.0, -1.0)):
        loss = squares(np.array([[x]]), np.array([y]), intercept=True)
        parts.append(
            np.concatenate([loss.linear, loss.quadratic[[0, 0, 1], [0, 1, 1]]])
        )
    return float(np.abs(parts[0] - parts[1]).sum())


EXPERIMENTS = (
    Experiment(
        name="s4-examples",
        title=mark("Worked examples"),
        source="S4, naive Bayes and linear regression by hand",
        shows=mark("Two classifications and a line, step by step: 49 numbers."),
        cells=_cells,
        measure=_measure,
        repeats=(),
        tables=_tables,
        findings=_findings,
        edition=2,
    ),
)
