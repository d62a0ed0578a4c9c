"""A planted bug: noise of half its size, while every claim stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreto.core.gate import Noise
from discreto.core.noise.sampler import Sampler


def halve_noise(patch: pytest.MonkeyPatch) -> None:
    """Every law is drawn at half its scale; plans, charges and releases say the old."""
    draw, choose, gumbel = Noise.draw, Sampler.noisy_max, Sampler.gumbel_max
    respond, stairs = Sampler.respond, Sampler.staircase

    def half(noise: Noise, *rest: Any) -> Any:
        part = 4 if noise.law == "gaussian" else 2  # a variance, or a scale
        return draw(replace(noise, amount=noise.amount / part), *rest)

    patch.setattr(Noise, "draw", half)
    patch.setattr(Sampler, "noisy_max", lambda s, x, t: choose(s, x, t / 2))
    patch.setattr(Sampler, "gumbel_max", lambda s, x, t: gumbel(s, x, t / 2))
    patch.setattr(Sampler, "respond", lambda s, x, n, e: respond(s, x, n, 2 * e))
    patch.setattr(Sampler, "staircase", lambda s, e, w, t, n: stairs(s, 2 * e, w, t, n))
