"""Checks before Flower is started, with messages that say what to do.

Flower's own processes connect to the SuperLink over 127.0.0.1. With a certificate that
is not valid for it they fail, in a log of Flower's own, and runs are never started.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import ssl
from pathlib import Path

from cryptography import x509

from discreto.errors import DiscretoError, ParameterError

LOCAL = ipaddress.ip_address("127.0.0.1")
REMEDY = (
    "Flower's own processes connect to it. Make it anew with "
    "subjectAltName=DNS:coordinator.example.org,IP:127.0.0.1 (docs/flower.md)."
)
PATIENCE = 5.0  # seconds for a handshake


def check_certificate(path: Path) -> None:
    """Refuse a server certificate that is not valid for 127.0.0.1."""
    try:
        found = x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError):
        raise ParameterError(f"{str(path)!r} is not a certificate (PEM).") from None
    if not _is_local(found):
        raise ParameterError(f"{str(path)!r} is not valid for 127.0.0.1. {REMEDY}")


def check_port(host: str, port: int, option: str) -> None:
    """Refuse a port that another process listens on."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((host, port))
        except OSError as trouble:
            taken = trouble.errno == errno.EADDRINUSE
            why = "another process uses it" if taken else "it cannot be listened on"
            raise ParameterError(
                f"port {port} of {host}: {why}. Choose another with {option}."
            ) from None


def check_link(address: str, root: Path) -> None:
    """Refuse a SuperLink that does not answer, or whose certificate is not right."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ParameterError(f"--superlink must be HOST:PORT. Got {address!r}.")
    try:
        context = ssl.create_default_context(cafile=str(root))
    except (OSError, ssl.SSLError):
        raise ParameterError(f"{str(root)!r} is not a certificate (PEM).") from None
    context.set_alpn_protocols(["h2"])
    try:
        with (
            socket.create_connection((host, int(port)), PATIENCE) as plain,
            context.wrap_socket(plain, server_hostname=host) as secure,
        ):
            shown = secure.getpeercert(binary_form=True)
    except ssl.SSLCertVerificationError as trouble:
        raise DiscretoError(
            f"the SuperLink's certificate is refused: {trouble.verify_message}."
        ) from None
    except (OSError, ssl.SSLError) as trouble:
        raise DiscretoError(
            f"there is no SuperLink at {address} ({type(trouble).__name__}). Start it "
            "with `discreto federate serve`."
        ) from None
    if shown and not _is_local(x509.load_der_x509_certificate(shown)):
        raise DiscretoError(
            f"the SuperLink's certificate is not valid for 127.0.0.1. {REMEDY}"
        )


def _is_local(found: x509.Certificate) -> bool:
    try:
        kind = x509.SubjectAlternativeName
        names = found.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return False
    return LOCAL in names.get_values_for_type(x509.IPAddress)
