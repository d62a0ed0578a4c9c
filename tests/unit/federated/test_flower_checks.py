"""What is wrong with a federation's wire is said before Flower is started."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from discreto.cli import federate
from discreto.errors import DiscretoError, ParameterError
from discreto.federated import flower_checks as link_checks

LOCAL = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def write_pair(folder: Path, *names: x509.GeneralName) -> Path:
    """A certificate that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    draft = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
    if names:
        draft = draft.add_extension(x509.SubjectAlternativeName(names), critical=False)
    pem = serialization.Encoding.PEM
    made = draft.sign(key, hashes.SHA256())
    (folder / "server.crt").write_bytes(made.public_bytes(pem))
    kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "server.key").write_bytes(key.private_bytes(pem, kind, plain))
    return folder / "server.crt"


class TestCertificate:
    def test_one_for_this_machine_is_fine(self, tmp_path):
        link_checks.check_certificate(
            write_pair(tmp_path, x509.DNSName("a.example"), LOCAL)
        )

    @pytest.mark.parametrize("names", [(), (x509.DNSName("localhost"),)])
    def test_one_for_others_alone_is_refused(self, tmp_path, names):
        path = write_pair(tmp_path, *names)
        with pytest.raises(ParameterError, match=r"127\.0\.0\.1.*subjectAltName"):
            link_checks.check_certificate(path)

    def test_something_else_is_refused(self, tmp_path):
        (tmp_path / "x").write_text("no certificate")
        with pytest.raises(ParameterError, match="not a certificate"):
            link_checks.check_certificate(tmp_path / "x")


def test_a_port_that_is_taken_is_refused():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        with pytest.raises(ParameterError, match=f"port {port} .* --port"):
            link_checks.check_port("127.0.0.1", port, "--port")
    link_checks.check_port("127.0.0.1", port, "--port")


class TestLink:
    @pytest.fixture
    def serve(self, tmp_path):
        """A TLS server on loopback, which shakes one hand."""
        sockets = []

        def start(*names: x509.GeneralName) -> tuple[str, Path]:
            path = write_pair(tmp_path, *names)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(path, tmp_path / "server.key")
            listening = socket.socket()
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            listening.settimeout(10)
            sockets.append(listening)

            def shake() -> None:
                try:
                    client, _ = listening.accept()
                    with client, context.wrap_socket(client, server_side=True) as one:
                        one.recv(1)
                except OSError:
                    pass

            threading.Thread(target=shake, daemon=True).start()
            return f"localhost:{listening.getsockname()[1]}", path

        yield start
        for one in sockets:
            one.close()

    def test_a_healthy_one(self, serve):
        link_checks.check_link(*serve(x509.DNSName("localhost"), LOCAL))

    def test_one_that_flower_itself_cannot_reach(self, serve):
        with pytest.raises(DiscretoError, match=r"not valid for 127\.0\.0\.1"):
            link_checks.check_link(*serve(x509.DNSName("localhost")))

    def test_one_of_another_authority(self, serve, tmp_path):
        address, _ = serve(x509.DNSName("localhost"), LOCAL)
        (tmp_path / "other").mkdir()
        other = write_pair(tmp_path / "other", LOCAL)
        with pytest.raises(DiscretoError, match="certificate is refused"):
            link_checks.check_link(address, other)

    def test_none(self, tmp_path):
        path = write_pair(tmp_path, LOCAL)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{one.getsockname()[1]}"
        with pytest.raises(DiscretoError, match="no SuperLink at 127"):
            link_checks.check_link(address, path)
        with pytest.raises(ParameterError, match="HOST:PORT"):
            link_checks.check_link("here", path)


class TestWaiting:
    """A run that is never started is given up, and stopped."""

    @pytest.fixture(autouse=True)
    def hurry(self, monkeypatch):
        monkeypatch.setattr(federate, "PAUSE", 0.1)
        monkeypatch.setattr(federate, "TO_START", 0.5)

    def test_a_run_that_does_not_start(self, tmp_path):
        stopped = []
        started = time.monotonic()
        with pytest.raises(DiscretoError, match=r"not started it .* 'pending'"):
            federate._wait(
                tmp_path / "m.json", lambda: "pending", lambda: stopped.append(1)
            )
        assert stopped == [1]
        assert time.monotonic() - started < 20

    def test_a_run_that_works_is_waited_for(self, tmp_path):
        seen = []

        def status() -> str:
            seen.append(1)
            if len(seen) == 4:
                (tmp_path / "m.json").write_text("{}")
            return "running"

        federate._wait(tmp_path / "m.json", status, pytest.fail)
        assert len(seen) == 4

    def test_a_run_that_is_over(self, tmp_path):
        with pytest.raises(DiscretoError, match="without a result"):
            federate._wait(tmp_path / "m.json", lambda: "finished:failed", pytest.fail)
