"""Rate limits."""

from __future__ import annotations

import time

from discreto.service.errors import Refusal


class RateLimit:
    """So many requests a second for each name, and a short burst."""

    def __init__(self, per_second: float, burst: float = 3.0) -> None:
        self._rate, self._most = per_second, max(1.0, per_second * burst)
        self._left: dict[str, tuple[float, float]] = {}

    def check(self, name: str) -> None:
        """Count a request, or refuse it."""
        now = time.monotonic()
        left, since = self._left.get(name, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        if len(self._left) > 10_000:
            self._left.clear()
        if left < 1:
            self._left[name] = (left, now)
            raise Refusal("too_many")
        self._left[name] = (left - 1, now)

    def forgive(self, name: str) -> None:
        """Give one request back: its sender is known."""
        left, since = self._left.get(name, (self._most, 0.0))
        self._left[name] = (left + 1, since)
