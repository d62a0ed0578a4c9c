"""Compute how much noise many Gaussian steps need to be (epsilon, delta)-private.

Without sampling the answer is a closed form: composed Gaussian steps are exactly one
Gaussian step (Gaussian differential privacy). With Poisson sampling Google's
``dp-accounting`` finds it from privacy loss distributions. Both hold for neighbours
that differ by one row (``rate=1``: by whatever the sensitivity of the step covers).
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreto.core.cost import rho_for
from discreto.core.noise.gaussian import GRID_PART, epsilon_of, kept_delta
from discreto.errors import MissingExtraError, ParameterError
from discreto.text.install_commands import install_command

_DIGITS = 10**6  # noise is rounded up to this denominator
_ORDERS = [*range(2, 33), 40, 48, 64, 128, 256, 512]  # whole ones have a finite sum


@lru_cache(maxsize=256)
def noise_multiplier(
    epsilon: Fraction, delta: Fraction, count: int, rate: Fraction
) -> Fraction:
    """Return the least noise of ``count`` steps that (epsilon, delta) allows.

    It is the standard deviation of one step's noise divided by the l2 sensitivity of
    the step. Each step takes every row with probability ``rate``.

    >>> float(noise_multiplier(Fraction(1), Fraction(1, 10**5), 100, Fraction(1)))
    37.309848
    """
    if rate == 1:
        rho = rho_for(epsilon, delta)
        noise = _rounded_up(math.sqrt(count / (2 * float(rho))))
        while count > 2 * noise**2 * rho:  # the square root was rounded down
            noise += Fraction(1, _DIGITS)
        return noise
    _dp_accounting()  # or the message of a missing package
    # The accountant raises errors of many kinds where its search or its memory ends.
    # They depend on these four public numbers only.
    with suppress(Exception):
        return _sampled_noise(epsilon, delta, count, rate)
    raise ParameterError(
        f"{count} steps on samples of rate {float(rate):.4g} cannot be accounted for "
        f"at epsilon {float(epsilon):.4g}. Use rate=1, or another epsilon."
    )


def _rounded_up(noise: float) -> Fraction:
    return Fraction(math.ceil(noise * _DIGITS), _DIGITS)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian privacy implies (epsilon, delta)-privacy.

    >>> round(gaussian_mu(1, 1e-5), 4)
    0.2681
    """
    low, high = 1e-9, 2 * (math.sqrt(2 * epsilon) + 10)
    for _ in range(100):
        middle = (low + high) / 2
        if epsilon_of(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def _sampled_noise(
    epsilon: Fraction, delta: Fraction, count: int, rate: Fraction
) -> Fraction:
    # Drawing noise on a grid uses up a part of both (docs/proofs/noise.md).
    target = float(epsilon * (1 - GRID_PART)), kept_delta(delta, epsilon)
    noise = _calibrated_noise(*target, count, float(rate))
    for _ in range(200):
        exact = _rounded_up(noise)
        event = _event(float(exact), count, float(rate))
        # The search above stops within a tolerance, on either side.
        if _accountant().compose(event).get_epsilon(target[1]) <= target[0]:
            return exact
        noise *= 1.0005
    raise ArithmeticError


def _calibrated_noise(epsilon: float, delta: float, count: int, rate: float) -> float:
    """Search with Renyi privacy, which is quick, then with tight loss distributions."""
    accounting = _dp_accounting()
    calibration = accounting.mechanism_calibration

    def event(noise: float) -> Any:
        return _event(noise, count, rate)

    rough = calibration.calibrate_dp_mechanism(
        lambda: accounting.rdp.RdpAccountant(orders=_ORDERS),
        event,
        epsilon,
        delta,
        calibration.LowerEndpointAndGuess(0.2, 2.0),
        tol=1e-3,
    )
    try:
        return float(
            calibration.calibrate_dp_mechanism(
                _accountant,
                event,
                epsilon,
                delta,
                calibration.ExplicitBracketInterval(0.8 * rough, rough),
                tol=1e-3,
            )
        )
    except ValueError:  # all of the bracket is enough: rare, at large epsilon
        return float(rough)


def _event(noise: float, count: int, rate: float) -> Any:
    events = _dp_accounting().dp_event
    step = events.PoissonSampledDpEvent(rate, events.GaussianDpEvent(noise))
    return events.SelfComposedDpEvent(step, count)


def _accountant() -> Any:
    return _dp_accounting().pld.PLDAccountant(value_discretization_interval=1e-3)


def _dp_accounting() -> Any:
    try:
        import dp_accounting
        from dp_accounting import mechanism_calibration, pld, rdp  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "random samples (rate < 1) need dp-accounting: "
            f"{install_command('federated')}"
        ) from None
    return dp_accounting


__all__ = ["gaussian_mu", "noise_multiplier"]
