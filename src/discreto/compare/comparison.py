"""A comparison: candidates, their scores, and an advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from discreto import models
from discreto.compare.metrics import HIGHER, WORDS
from discreto.core.cost import Amount
from discreto.session.parameters import read_epsilon
from discreto.session.plan import Plan


@dataclass(frozen=True)
class CandidateModel:
    """A model and the columns it takes part with."""

    model: str
    features: tuple[str, ...]
    part: str = ""  # "numbers" or "categories" when it cannot take all columns

    @property
    def label(self) -> str:
        """Its name in tables and pictures."""
        return f"{self.model} ({self.part} only)" if self.part else self.model

    def make(self, epsilon: Amount, delta: Amount = 0, **options: Any) -> Any:
        """Return the model, ready to fit."""
        kind = getattr(models, self.model)
        known = kind._get_param_names()
        options = {name: value for name, value in options.items() if name in known}
        return kind(epsilon=epsilon, delta=delta, **options)


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """A mean over folds and repeats with its standard deviation."""

    model: str
    epsilon: str | None  # None: without privacy
    mean: float
    spread: float
    count: int

    @property
    def standard_error(self) -> float:
        """Of the mean, as if fits were independent."""
        return self.spread / max(self.count, 1) ** 0.5

    @property
    def price(self) -> float:
        """Epsilon as a number; 0 without privacy."""
        return 0.0 if self.epsilon is None else float(read_epsilon(self.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        return asdict(self)


@dataclass(frozen=True)
class Advice:
    """The scope of a comparison, and its cost on private rows."""

    candidate: CandidateModel
    score: CandidateScore
    plan: Plan
    reason: str
    ties: tuple[str, ...] = ()  # models that do as well at this price, but for chance


@dataclass(frozen=True)
class Comparison:
    """The scores of all candidates. Private if the rows are: see the module."""

    target: str
    metric: str  # one of compare.metrics
    unit: str
    scores: tuple[CandidateScore, ...]
    reference: CandidateScore
    baseline: CandidateScore
    candidates: tuple[CandidateModel, ...]
    left_out: dict[str, str]
    rows: int
    folds: int
    repeats: int
    delta: str = "0"
    remark: str = ""
    advice: Advice | None = None
    simulated: bool = field(default=True, init=False)

    def gain(self, score: CandidateScore) -> float:
        """Return the improvement over the baseline."""
        return (score.mean - self.baseline.mean) * (1 if self.higher else -1)

    @property
    def metric_name(self) -> str:
        """The metric in words."""
        return WORDS[self.metric]

    @property
    def higher(self) -> bool:
        """True if larger scores are better."""
        return self.metric in HIGHER

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON form."""
        advice = self.advice
        return {
            "discreto_comparison": 1,
            "simulated": True,
            "target": self.target,
            "metric": self.metric,
            "rows": self.rows,
            "folds": self.folds,
            "repeats": self.repeats,
            "scores": [score.to_dict() for score in self.scores],
            "reference": self.reference.to_dict(),
            "baseline": self.baseline.to_dict(),
            "left_out": self.left_out,
            "remark": self.remark,
            "advice": advice
            and {
                "model": advice.candidate.model,
                "features": list(advice.candidate.features),
                "epsilon": advice.score.epsilon,
                "reason": advice.reason,
                "ties": list(advice.ties),
                "plan": advice.plan.to_dict(),
            },
        }
