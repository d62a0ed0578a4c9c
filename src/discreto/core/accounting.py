"""How much noise many Gaussian steps need to be (epsilon, delta)-private together.

Without sampling the answer is a closed form: composed Gaussian steps are exactly one
Gaussian step (Gaussian differential privacy). With Poisson sampling Google's
``dp-accounting`` finds it from privacy loss distributions. Both hold for neighbours
that differ by one row (``rate=1``: by whatever the sensitivity of the step covers).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreto.core.cost import Amount, read_amount, read_delta, rho_for
from discreto.core.noise.gaussian import GRID_PART, epsilon_of
from discreto.core.steps import Steps
from discreto.errors import MissingExtraError, ParameterError, UnsafeError
from discreto.installed import install_command

_DIGITS = 10**6  # noise is rounded up to this denominator
_KEPT = float(1 - GRID_PART)
_ORDERS = [*range(2, 33), 40, 48, 64, 128, 256, 512]  # whole ones have a finite sum


def steps_for(epsilon: Amount, delta: Amount, count: int, rate: Amount = 1) -> Steps:
    """Steps with the least noise that (epsilon, delta) allows.

    >>> float(steps_for(1, "1e-5", 100).noise)  # sqrt(100) / 0.268
    37.309848
    """
    budget, chance = read_amount(epsilon, "epsilon"), read_delta(delta)
    share = read_amount(rate, "rate")
    if not chance:
        raise ParameterError("Gaussian steps need a delta above 0, such as 1e-5.")
    if share > 1:
        raise ParameterError(f"rate is a chance, at most 1. Got {rate!r}.")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ParameterError(f"count must be a whole number from 1 up. Got {count!r}.")
    return _steps_for(budget, chance, count, share)


@lru_cache(maxsize=256)
def _steps_for(epsilon: Fraction, delta: Fraction, count: int, rate: Fraction) -> Steps:
    target = float(epsilon) * _KEPT, float(delta) * _KEPT
    if rate == 1:
        noise = math.sqrt(count / (2 * float(rho_for(epsilon, delta))))
    else:
        noise = _sampled_noise(*target, count, float(rate))
    while True:
        exact = Fraction(math.ceil(noise * _DIGITS), _DIGITS)
        steps = Steps(epsilon, delta, count, rate, exact)
        if _enough(steps):
            return steps
        noise *= 1.0005


def check_steps(steps: Steps) -> None:
    """Refuse steps whose noise does not give the privacy they claim."""
    if not (steps.count >= 1 and 0 < steps.rate <= 1 and steps.noise > 0):
        raise ParameterError("Steps: count, rate or noise is out of range.")
    if not (steps.epsilon > 0 and 0 < steps.delta < 1) or not _enough(steps):
        raise UnsafeError(
            f"noise {float(steps.noise):.4g} is too small for {steps.count} steps at "
            f"{steps.cost}. Let discreto.core.accounting.steps_for choose it."
        )


@lru_cache(maxsize=256)
def _enough(steps: Steps) -> bool:
    epsilon, delta = float(steps.epsilon) * _KEPT, float(steps.delta) * _KEPT
    if steps.rate == 1:
        return steps.count <= 2 * steps.noise**2 * rho_for(steps.epsilon, steps.delta)
    event = _event(float(steps.noise), steps.count, float(steps.rate))
    return bool(_accountant().compose(event).get_epsilon(delta) <= epsilon)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian privacy implies (epsilon, delta)-privacy.

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


def _sampled_noise(epsilon: float, delta: float, count: int, rate: float) -> float:
    """Renyi first, which is quick; then loss distributions near it, which are tight."""
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


__all__ = ["Steps", "check_steps", "gaussian_mu", "steps_for"]
