"""Lines to neighbours: messages go out in the background, moments until they arrive."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from discreto.errors import DiscretoError
from discreto.federated.messages import Message
from discreto.federated.peer.mailbox import Mailbox
from discreto.federated.peer.messages import RunShape

Ask = Callable[[Message], Message | None]  # a neighbour's reply, or nothing
_WAITING = 64  # messages to a neighbour that is slow
_PAUSE = 0.2  # seconds between two tries to reach a neighbour that is away


class NeighbourLine:
    """One neighbour: messages to it are sent one after the other by a thread."""

    def __init__(self, name: str, ask: Ask, shape: RunShape, mailbox: Mailbox) -> None:
        self.name, self._ask, self._shape, self._mailbox = name, ask, shape, mailbox
        self._waiting: deque[Message] = deque(maxlen=_WAITING)
        self._changed = threading.Condition()
        self._known: set[str] = set()
        self._closed, self._busy = False, False
        self.up = True  # until a message fails
        self.refusal = ""
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def post(self, message: Message) -> None:
        """Send a message after the others; of too many the oldest are lost."""
        with self._changed:
            self._waiting.append(message)
            self._changed.notify_all()

    def ask(self, say: str) -> Message | None:
        """A neighbour's reply to a question, now; nothing if there is none."""
        reply = self._ask(self._shape.message(say))
        try:
            self._shape.check(reply)
        except DiscretoError as error:
            if isinstance(reply, dict):
                self.refusal = str(error)
            return None
        self.up, self.refusal = True, ""
        return reply

    def close(self, seconds: float) -> None:
        """Send what is left, for so long at most."""
        end = time.monotonic() + seconds
        with self._changed:
            while (self._waiting or self._busy) and self.up:
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, _PAUSE))
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if not self._waiting:
                    self._changed.wait(_PAUSE)
                if self._closed:
                    return
                self._busy = True
            if not set(self._mailbox.moments) <= self._known:
                self._pass_on()
            with self._changed:
                message = self._waiting.popleft() if self._waiting else None
            if message is not None:
                self.up = self._sent(message) is not None

    def _pass_on(self) -> None:
        """Tell the neighbour the moments that it does not have."""
        moments = dict(self._mailbox.moments)
        new = {name: fact for name, fact in moments.items() if name not in self._known}
        reply = self._sent(self._shape.message("moments", heard=new))
        origins: Any = (reply or {}).get("origins")
        if isinstance(origins, list):
            self._known |= {one for one in origins if isinstance(one, str)}

    def _sent(self, message: Message) -> Message | None:
        reply = self._ask(message)
        try:
            self._shape.check(reply)
        except DiscretoError as error:
            self.refusal = str(error) if isinstance(reply, dict) else self.refusal
            return None
        return reply
