"""Silos as arrays: the sums of many silos and seeds in a few operations."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreto.core import aggregate
from discreto.core.domain.domain import Domain
from discreto.core.maps import proximal
from discreto.core.maps.gradients import TOP, limits_of, norms, pulls_of
from discreto.core.query import Batch, Block, Everyone, Floats, Ints, Sum
from discreto.core.sampled_steps import check_sampling
from discreto.errors import DiscretoError
from discreto.federated.rounds import (
    Descent,
    MomentsRequest,
    Nearby,
    Reply,
    Request,
    Setting,
)
from discreto.federated.silo import local_steps
from discreto.testing import SimulationLedger
from discreto.testing import simulate as simulation_ledger


class BatchEngine:
    """All silos of all seeds as arrays (seeds, width, silos, rows), padded with 0."""

    def __init__(
        self,
        setting: Setting,
        batches: list[tuple[Batch, int]],
        seeds: list[int],
        noise: bool,
        drops: dict[int, int],
    ) -> None:
        self._setting, self._batches = setting, batches
        self._last = np.array([drops.get(k, 1 << 62) for k in range(setting.silos)])
        self._changes = {0, *drops.values()}
        self._round, self._noisy = 0, noise and setting.terms is not None
        self._ledgers = [simulation_ledger(seed) for seed in seeds]
        self._basis: Floats | None = None
        self._exact: Ints | None = None
        self._pools: dict[int, Ints] = {}
        self._load()
        if setting.terms is not None:
            check_sampling(setting.terms.rate, setting.domain)

    def _load(self) -> None:
        setting, domain = self._setting, self._setting.domain
        most = max(1, *(length for _, length in self._batches))
        width = len(setting.columns.names) + 1
        self._z = np.zeros((width, setting.silos, most))
        self._targets = np.zeros((setting.silos, most))
        self._shares = np.ones((setting.silos, most))
        plain = Descent(
            setting,
            np.empty((1, 0, 0)),
            np.ones(1),
            np.zeros((1, setting.silos, width)),
            np.ones(1),
        )
        ask = plain.gradient(0, 0)
        self._square = Block(ask).bind(domain, 1).square
        self._numbers = width * setting.silos
        for k, (batch, length) in enumerate(self._batches):
            if length:
                ask = plain.gradient(0, k)
                targets = ask.goals(batch, domain)
                known = ~np.isnan(targets)
                points, self._shares[k, :length] = ask.weighed(batch, domain)
                self._z[:, k, :length] = points * known
                self._targets[k, :length] = np.where(known, targets, 0.0)

    def answer(self, request: Request) -> Reply:
        if self._round in self._changes:
            self._alive = self._last > self._round
            if not self._alive.any():
                raise DiscretoError("no silo is left to answer.")
        self._round += 1
        if isinstance(request, MomentsRequest):
            sums = self._moments(request)
        elif isinstance(request, Nearby):
            sums = self._proximal(request)
        else:
            sums = self._descend(request)
        if not self._alive.all():
            sums[:, ~self._alive] = 0
        return Reply(sums, self._alive)

    # Moments

    def _moments(self, request: MomentsRequest) -> Ints:
        domain = self._setting.domain
        asked = [request.query(k) for k in range(self._setting.silos)]
        if self._exact is None or self._setting.rate < 1:
            self._exact = self._bounded(self._fold(asked, domain))
        square = asked[0].blocks[0].bind(domain, 1).square
        return self._exact + self._noise(self._exact.shape, square)

    def _fold(self, asked: list[Sum], domain: Domain) -> Ints:
        found = []
        for query, (batch, length) in zip(asked, self._batches, strict=True):
            block, cells = query.blocks[0], query.cells
            shape = block.features.shape(domain)
            with np.errstate(all="ignore"):
                rows = block.features.rows(batch, domain)
            rows = (
                aggregate.clamp(rows, shape) if length else np.zeros((shape.width, 0))
            )
            if length and not isinstance(cells, Everyone):
                rows *= cells.codes(batch, domain) == 0
            found.append(self._products(rows))
        return np.stack(found, axis=1)

    def _products(self, rows: Floats) -> Ints:
        """Upper triangles of products of whole numbers, for every seed and step."""
        upper = np.triu_indices(len(rows))
        if self._setting.rate == 1:
            one = (rows @ rows.T)[upper].astype(np.int64)
            return np.tile(one, (self._setting.seeds, self._setting.steps, 1))
        out = []
        for ledger in self._ledgers:
            masks = [
                self._sample(ledger, rows.shape[1]) for _ in range(self._setting.steps)
            ]
            out.append([((rows * mask) @ rows.T)[upper] for mask in masks])
        return np.array(out).astype(np.int64)

    # Gradients

    def _descend(self, request: Descent) -> Ints:
        self._face(request)
        rates, steps = request.rates[:, :, None], self._setting.steps
        units = self._units[:, None, None]

        def noisy(weights: Floats, number: int) -> Ints:
            exact = self._bounded(self._measure(weights, slice(None), self._mask()))
            return exact + self._noise(exact.shape, self._square)

        taken = local_steps(noisy, request.weights, steps, units, rates)
        return np.stack(taken, axis=2) if steps > 1 else taken[0][:, :, None]

    def _proximal(self, request: Nearby) -> Ints:
        self._face(request)
        out = []
        counts = np.array([length for _, length in self._batches])
        for seed in range(self._setting.seeds):
            gradient = request.gradient(seed, 0)
            proximal.check_rows(gradient, int(counts.max()))
            limits = [
                proximal.limits_for(
                    request.gradient(seed, k), request.mu, rows, int(counts[k])
                )
                for k, rows in enumerate(request.rates.tolist())
            ]

            def sums(
                points: Floats, seed: int = seed, unit: float = gradient.unit
            ) -> Any:
                return (
                    self._measure(points[None], slice(seed, seed + 1), None)[0] * unit
                )

            start = request.weights[seed]
            out.append(
                proximal.shifts(
                    sums, start, gradient, request.mu, request.rates, limits
                ).astype(np.int64)
            )
        exact = self._bounded(np.stack(out)[:, :, None, :])
        return exact + self._noise(exact.shape, self._square)

    def _face(self, request: Descent) -> None:
        """Turn rows into the coordinates of a run, once."""
        if self._basis is request.basis:
            return
        self._basis, self._units = request.basis, request.units
        self._points = np.zeros((len(request.basis), *self._z.shape))
        for j, part in enumerate(self._z):
            self._points += request.basis[:, :, j, None, None] * part
        sizes = norms(np.moveaxis(self._points, 1, 0))
        self._limits = limits_of(sizes, request.clip[:, None, None])
        self._finer = (1 / self._units)[:, None, None]

    def _measure(self, weights: Floats, seeds: slice, mask: Any) -> Ints:
        """Exact gradient sums, as the clamp would add them up."""
        points = self._points[seeds]
        scores = weights[:, :, 0, None] * points[:, 0]
        for j in range(1, weights.shape[-1]):
            scores += weights[:, :, j, None] * points[:, j]
        limits = self._limits[seeds]
        loss, shares = self._setting.loss, self._shares
        pulls = pulls_of(loss, scores, self._targets, shares, limits)
        pulls *= self._finer[seeds]
        if mask is not None:
            pulls *= mask
        grads = points * pulls[:, None]
        np.rint(grads, out=grads)
        # Whole numbers below 2^53: exact in any order.
        return grads.sum(axis=-1).swapaxes(1, 2).astype(np.int64)

    def _bounded(self, sums: Ints) -> Ints:
        """Sums of silos that weigh no more than a silo may, if silos are protected."""
        if self._setting.protect == "row":
            return sums
        most = float(self._setting.most) * TOP
        sizes = np.sqrt((sums.astype(float) ** 2).sum(axis=-1, keepdims=True))
        share = np.minimum(1.0, most * (1 - 1e-9) / np.maximum(sizes, 1.0))
        return np.trunc(sums * share).astype(np.int64)

    # Samples and noise, from simulation ledgers

    def _mask(self) -> Any:
        if self._setting.rate == 1:
            return None
        size = self._targets.size
        masks = [self._sample(ledger, size) for ledger in self._ledgers]
        return np.stack(masks).reshape(len(masks), *self._targets.shape)

    def _sample(self, ledger: SimulationLedger, size: int) -> Any:
        rate = self._setting.terms.rate if self._setting.terms else Fraction(1)
        words = ledger.simulation.sampler.entropy.below(rate.denominator, size)
        return words < rate.numerator

    def _noise(self, shape: tuple[int, ...], square: int) -> Any:
        if not self._noisy:
            return 0
        if self._setting.protect == "silo":
            square = TOP**2  # whatever the rows' neighbours are: a silo comes or goes
        size = math.prod(shape[1:])
        pool = self._pools.get(square)
        if pool is None or pool.shape[1] < size:
            # Drawn for many rounds at once: a call costs more than a draw.
            variance = self._setting.variance * square
            count = max(
                size, self._setting.rounds * self._setting.steps * self._numbers
            )
            pool = np.stack(
                [
                    ledger.simulation.sampler.gaussian(variance, count)
                    for ledger in self._ledgers
                ]
            )
        self._pools[square] = pool[:, size:]
        return pool[:, :size].reshape(shape)
