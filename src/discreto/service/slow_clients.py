"""Connections that must say what they want soon: slow senders do not hold a place."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class ImpatientLine(H11Protocol):
    """A connection that is closed when the head of a request takes too long.

    The rest of a request has a limit of its own (``Guard``), and so has a connection
    that waits for its next request.
    """

    seconds = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Take some bytes; the header may be complete."""
        super().data_received(data)
        if self._under_way():
            self._stop()
        elif self._deadline is None:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def _under_way(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        self._deadline = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._under_way():
            self.transport.close()


def line_of(seconds: float) -> type[ImpatientLine]:
    """Return a connection class that limits the seconds for a request header."""
    return type("Line", (ImpatientLine,), {"seconds": seconds})
