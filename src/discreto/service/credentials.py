"""Tokens, sessions and links for signing in: shown once, stored as slow hashes."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from discreto.service.errors import Refusal
from discreto.service.state import Person, Secret, State

_MOST = 4096  # checked secrets that a worker remembers
# Second recommendation of RFC 9106 cut down: our secrets are 256 random bits.
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_DECOY = _HASHER.hash("nobody has this one")


class Credentials:
    """Makes secrets and recognises them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = threading.Lock()
        self._checked: OrderedDict[str, str] = OrderedDict()

    def make(
        self, kind: str, person: str, seconds: float, extra: str = ""
    ) -> tuple[str, Secret]:
        """Return a new secret: the text to show once, and what is stored."""
        id_, word = secrets.token_hex(8), secrets.token_urlsafe(32)
        now = time.time()
        if kind == "session":  # the proof that forms carry
            extra = secrets.token_urlsafe(24)
        secret = Secret(
            id_, kind, person, _HASHER.hash(word), extra, now, now + seconds, 0
        )
        self._state.add_secret(secret)
        return f"{id_}.{word}", secret

    def check(self, text: str, kind: str) -> tuple[Secret, Person]:
        """Return the secret that a text is, and its person, or one fixed refusal."""
        secret, person = self._checked_pair(text, kind)
        if person is None or not person.active:
            raise Refusal("unauthorised")
        return secret, person

    def check_alone(self, text: str, kind: str) -> Secret:
        """Return the same for a secret that has no person yet."""
        return self._checked_pair(text, kind)[0]

    def _checked_pair(self, text: str, kind: str) -> tuple[Secret, Person | None]:
        id_, _, word = text.partition(".")
        plain = text.isascii() and len(text) <= 100 and len(id_) == 16
        found = self._state.bearer(id_) if plain else None
        if not self._fits(_DECOY if found is None else found[0].hash, word[:100]):
            raise Refusal("unauthorised")
        if found is None or found[0].kind != kind or not found[0].alive:
            raise Refusal("unauthorised")
        return found

    def _fits(self, stored: str, word: str) -> bool:
        """Return True if a word has this hash; each worker computes it once."""
        quick = hashlib.sha256(f"{stored} {word}".encode()).hexdigest()
        with self._lock:
            if self._checked.get(quick) == stored:
                self._checked.move_to_end(quick)
                return True
        try:
            _HASHER.verify(stored, word)
        except (Argon2Error, InvalidHashError):
            return False
        with self._lock:
            self._checked[quick] = stored
            while len(self._checked) > _MOST:
                self._checked.popitem(last=False)
        return True
