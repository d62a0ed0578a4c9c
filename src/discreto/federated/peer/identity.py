"""A node's certificate and key: what it signs, and whose signatures it accepts.

Moments are passed on from node to node, so the wire does not show who released them.
Each node signs its own with the key of its certificate, and the certificate goes with
them. Every node checks both against the authority of the federation.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import NameOID

from discreto.errors import ParameterError
from discreto.federated.https import Certificates

_LONGEST = 1 << 14  # bytes of a certificate or signature in a message


class Identity:
    """A node's own key, its certificate, and the authority that issued all of them.

    Parameters
    ----------
    key
        The private key: Ed25519, elliptic curve or RSA.
    certificate
        Its certificate, issued by an authority itself.
    authorities
        The certificates of those who issue the nodes' certificates.
    """

    def __init__(
        self,
        key: Any,
        certificate: x509.Certificate,
        authorities: Sequence[x509.Certificate],
    ) -> None:
        self._key, self._authorities = key, tuple(authorities)
        self._shown = certificate.public_bytes(serialization.Encoding.DER)
        self._checked: dict[bytes, tuple[str, Any]] = {}
        try:
            self.name, public = self._read(self._shown)
            _verify(public, _sign(key, b"own"), b"own")
        except (InvalidSignature, TypeError, ValueError):
            raise ParameterError(
                "the certificate of this node cannot sign: it must be issued by the "
                "federation's authority itself, be valid today, and fit its key."
            ) from None

    @classmethod
    def read(cls, files: Certificates) -> Identity:
        """Return the identity of a node's files (PEM).

        Parameters
        ----------
        files
            Those that the node serves HTTPS with.
        """
        try:
            key = serialization.load_pem_private_key(
                Path(files.private_key).read_bytes(), None
            )
            own = x509.load_pem_x509_certificates(Path(files.certificate).read_bytes())
            believed = x509.load_pem_x509_certificates(
                Path(files.authority).read_bytes()
            )
        except (OSError, TypeError, ValueError):
            raise ParameterError(
                "the certificate or key of this node cannot be read: "
                f"{files.certificate}, {files.private_key}, {files.authority}."
            ) from None
        return cls(key, own[0], believed)

    def sign(self, text: bytes) -> dict[str, str]:
        """Return a proof that this node said a text: JSON data."""
        signature = _sign(self._key, text)
        both = {"certificate": self._shown, "signature": signature}
        return {name: base64.b64encode(part).decode() for name, part in both.items()}

    def accepts(self, name: str, text: bytes, proof: Any) -> bool:
        """Return True if the node of this name signed the text.

        Parameters
        ----------
        name
            The common name of its certificate.
        text
            What it is said to have signed.
        proof
            What ``sign`` returned there.
        """
        try:
            shown, signature = (_bytes(proof, n) for n in ("certificate", "signature"))
            if shown not in self._checked:
                self._checked[shown] = self._read(shown)
            owner, key = self._checked[shown]
            _verify(key, signature, text)
        except (InvalidSignature, LookupError, TypeError, ValueError):
            return False
        return owner == name

    def _read(self, shown: bytes) -> tuple[str, Any]:
        """Return the name and key of a certificate that an authority issued."""
        found = x509.load_der_x509_certificate(shown)
        now = datetime.datetime.now(datetime.UTC)
        if not found.not_valid_before_utc <= now <= found.not_valid_after_utc:
            raise ValueError("not valid today")
        issuers = [one for one in self._authorities if one.subject == found.issuer]
        for issuer in issuers:
            try:
                found.verify_directly_issued_by(issuer)
            except InvalidSignature:
                continue
            names = found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
            return str(names[0].value) if names else "", found.public_key()
        raise ValueError("issued by a stranger")


def _bytes(proof: Any, name: str) -> bytes:
    text = proof[name]
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise TypeError
    return base64.b64decode(text, validate=True)


def _sign(key: Any, text: bytes) -> bytes:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(text)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(text, ec.ECDSA(hashes.SHA256()))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(text, padding.PKCS1v15(), hashes.SHA256())
    raise TypeError


def _verify(key: Any, signature: bytes, text: bytes) -> None:
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, text)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signature, text, ec.ECDSA(hashes.SHA256()))
    elif isinstance(key, rsa.RSAPublicKey):
        key.verify(signature, text, padding.PKCS1v15(), hashes.SHA256())
    else:
        raise TypeError
