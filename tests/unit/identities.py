"""Certificates of nodes with Ed25519 keys, made in memory for a test."""

from __future__ import annotations

import datetime

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID

from discreto.federated.peer.identity import Identity


class Issuer:
    """An authority that issues certificates to nodes."""

    def __init__(self, name: str = "authority") -> None:
        self._key = ed25519.Ed25519PrivateKey.generate()
        self.certificate = self._issued(name, self._key, name, 0)
        self._name = name

    def _issued(self, name, key, issuer, days_ago):
        titled = [
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)])
            for one in (name, issuer)
        ]
        now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days_ago)
        made = x509.CertificateBuilder(titled[1], titled[0], key.public_key())
        made = made.serial_number(x509.random_serial_number())
        made = made.not_valid_before(now - datetime.timedelta(hours=1))
        made = made.not_valid_after(now + datetime.timedelta(hours=1))
        return made.sign(self._key, None)

    def identity(self, name: str, days_ago: int = 0) -> Identity:
        """Return the identity of a node of this name."""
        key = ed25519.Ed25519PrivateKey.generate()
        shown = self._issued(name, key, self._name, days_ago)
        return Identity(key, shown, [self.certificate])
