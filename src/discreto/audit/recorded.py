"""One release as a recorder sees it, and what two tables gave away by it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.audit.losses import (
    PrivacyLoss,
    loss_of_choice,
    loss_of_sum,
    movement,
    range_of_choice,
    rho_of,
)
from discreto.core.cost import Cost
from discreto.core.gate import Noise
from discreto.core.query import Ints


class Diverged(Exception):
    """Two neighbouring tables gave conversations of different form."""


@dataclass(frozen=True)
class RecordedRelease:
    """One release: its public facts, the exact values behind it, and the answer."""

    door: str
    label: str
    facts: tuple[Any, ...] = field(repr=False)
    cost: Cost
    noises: tuple[Noise, ...]  # of each part of ``exact``; for a choice, its scale
    declared: tuple[int, ...]  # how far neighbours may move each part
    exact: tuple[Ints, ...] = field(repr=False)
    answer: Any = field(repr=False)


def difference(one: RecordedRelease, two: RecordedRelease) -> str:
    """Return the differences of two releases that should be equal."""
    shapes = [[part.shape for part in release.exact] for release in (one, two)]
    if shapes[0] != shapes[1]:
        return f"the shape of the answer depends on rows ({shapes[0]} or {shapes[1]})"
    if one.declared != two.declared or one.noises != two.noises:
        return "its sensitivity or its noise depends on rows"
    return "what is asked depends on rows"


def judge(one: RecordedRelease, two: RecordedRelease) -> tuple[PrivacyLoss, str]:
    """Return a release's privacy loss between two tables, and a broken bound."""
    if one.door == "select":
        scale = one.noises[0].amount
        told = float(Fraction(one.declared[0]) / scale)
        if one.cost.rho:
            ranges = range_of_choice(one.exact[0], two.exact[0], scale)
            loss, rho = float(ranges.sum()), sum(rho_of(r / 2) for r in ranges)
        else:
            loss, rho = loss_of_choice(one.exact[0], two.exact[0], scale), 0.0
        wrong = f"{one.label!r} lost {loss:.4g}, its scores cover {told:.4g}"
        lost = PrivacyLoss(rho=rho) if one.cost.rho else PrivacyLoss(epsilon=loss)
        return lost, wrong if loss > told * (1 + 1e-9) + 1e-9 else ""
    total, complaint = PrivacyLoss(), ""
    for distribution, told, a, b in zip(
        one.noises, one.declared, one.exact, two.exact, strict=True
    ):
        if one.door == "randomise" and told == 1:
            moved = int((a != b).sum())
        else:
            moved = movement(distribution.law, a, b)
        if moved > told:
            complaint = (
                f"{one.label!r} moved {moved / max(told, 1):.4g} times its bound"
            )
        if not told and moved:
            return PrivacyLoss(epsilon=np.inf), f"{one.label!r} got no noise but moved"
        if one.door != "step":  # a training's steps were accounted for as a block
            total += loss_of_sum(distribution, moved)
    return total, complaint
