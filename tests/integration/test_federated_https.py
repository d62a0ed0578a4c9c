"""Silos over HTTPS with client certificates: real TLS on loopback."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import Authority
from served import COMMAND, free_port

import discreto as dp
from discreto.errors import DiscretoError, ParameterError
from discreto.federated import FederatedTable, Policy, Silo, messages
from discreto.federated.https import HttpsChannel, HttpsServer
from discreto.models import NaiveBayes

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 120, missing=False),
        "ill": dp.Category(["no", "yes"], missing=False),
    },
    target="ill",
)


def silo(ages: list[int], **options: object) -> Silo:
    rows = {"age": ages, "ill": ["no" if age < 60 else "yes" for age in ages]}
    table = dp.Table(rows, DOMAIN, dp.Ledger(epsilon=100), name="people")
    return Silo(table, Policy(partners={"coordinator": 100}), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def silos(authority: Authority) -> Iterator[dict[str, str]]:
    ages = {"north": [30, 40, 70] * 200, "south": [50, 80] * 200}
    servers = {
        name: HttpsServer(silo(rows).answer, authority.issue(name), timeout=3)
        for name, rows in ages.items()
    }
    for server in servers.values():
        server.start()
    yield {n: f"https://127.0.0.1:{one.port}" for n, one in servers.items()}
    for server in servers.values():
        server.close()


def test_statistics_and_models_work_over_https(
    silos: dict[str, str], authority: Authority
) -> None:
    channel = HttpsChannel(silos, authority.issue("coordinator"))
    table = FederatedTable(channel)
    count = dp.stats.count(table, epsilon=10)
    assert abs(count.value - 1000) < 50  # noise of scale 0.1: p < e^-400
    model = NaiveBayes(epsilon=10).fit(table)
    assert list(model.predict([[20.0], [100.0]])) == ["no", "yes"]


def test_partners_are_known_by_their_certificates(
    silos: dict[str, str], authority: Authority
) -> None:
    stranger = HttpsChannel(silos, authority.issue("stranger"))
    replies = stranger.send({"north": messages.hello() | {"partner": "coordinator"}})
    assert replies["north"]["kind"] == "refusal"
    with pytest.raises(DiscretoError):
        FederatedTable(stranger)


def test_who_has_no_certificate_of_the_federation_gets_nothing(
    silos: dict[str, str], authority: Authority, tmp_path: Path
) -> None:
    foreign = Authority(tmp_path / "foreign", "foreign")
    # They believe our authority, and sign their own certificates.
    channel = HttpsChannel(silos, foreign.issue("coordinator", authority.path))
    assert channel.send({"north": messages.hello()}) == {}
    # We do not talk to silos that another authority has signed.
    fake = HttpsServer(
        silo([1]).answer, foreign.issue("fake", authority.path), timeout=3
    )
    fake.start()
    ours = HttpsChannel(
        {"fake": f"https://127.0.0.1:{fake.port}"}, authority.issue("coordinator")
    )
    assert ours.send({"fake": messages.hello()}) == {}
    fake.close()
    port = int(silos["north"].rpartition(":")[2])
    bare = ssl.create_default_context(cafile=str(authority.path))
    assert without_certificate(port, bare) == b""


def without_certificate(port: int, bare: ssl.SSLContext) -> bytes:
    """What a silo sends to somebody who shows none."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        try:
            with bare.wrap_socket(wire, server_hostname="127.0.0.1") as secured:
                head = b"POST /discreto HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"
                secured.sendall(head)
                return secured.recv(100)
        except (ssl.SSLError, ConnectionError):
            return b""


def test_malformed_and_slow_messages_keep_nobody_waiting(
    silos: dict[str, str], authority: Authority
) -> None:
    port = int(silos["north"].rpartition(":")[2])
    slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    coordinator = authority.issue("coordinator")
    context = coordinator.context(server=False)
    for body in (b"{", b"[" * 9999, b"\xff", b"null", b"{}"):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as wire,
            context.wrap_socket(wire, server_hostname="127.0.0.1") as secured,
        ):
            head = f"POST /discreto HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
            secured.sendall(head.encode() + body)
            reply = secured.recv(4096)
            assert b" 400 " in reply or b"refusal" in reply or b" 200 " in reply
            assert b"Traceback" not in reply
    channel = HttpsChannel(silos, coordinator, timeout=60)
    assert channel.send({"north": messages.hello()})["north"]["kind"] == "silo"
    for one in slow:
        one.close()


def test_silent_connections_do_not_stop_a_silo(
    silos: dict[str, str], authority: Authority
) -> None:
    """64 connections without a handshake, and 40 that are silent after it."""
    port = int(silos["north"].rpartition(":")[2])
    coordinator = authority.issue("coordinator")
    context = coordinator.context(server=False)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
    for _ in range(40):
        plain = socket.create_connection(("127.0.0.1", port))
        silent.append(context.wrap_socket(plain, server_hostname="127.0.0.1"))
    channel = HttpsChannel(silos, coordinator, timeout=10)
    assert channel.send({"north": messages.hello()})["north"]["kind"] == "silo"
    # Who shows a certificate and says nothing is let go; see ``timeout`` of the server.
    silent[-1].settimeout(60)
    assert silent[-1].recv(1) == b""
    for one in silent:
        one.close()


def test_a_message_that_is_too_long_is_refused(
    silos: dict[str, str], authority: Authority
) -> None:
    port = int(silos["north"].rpartition(":")[2])
    context = authority.issue("coordinator").context(server=False)
    for head in (
        f"content-length: {1 << 27}\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n",
    ):
        with (
            socket.create_connection(("127.0.0.1", port), timeout=60) as wire,
            context.wrap_socket(wire, server_hostname="127.0.0.1") as secured,
        ):
            secured.sendall(f"POST /discreto HTTP/1.1\r\nhost: x\r\n{head}".encode())
            assert secured.recv(4096).startswith(b"HTTP/1.1 400")


def test_a_silo_that_is_away_is_left_out(
    silos: dict[str, str], authority: Authority
) -> None:
    away = {"away": f"https://127.0.0.1:{free_port()}"}
    channel = HttpsChannel(silos | away, authority.issue("coordinator"), timeout=60)
    replies = channel.send(dict.fromkeys(channel.names(), messages.hello()))
    assert sorted(replies) == ["north", "south"]
    with pytest.raises(ParameterError, match="https"):
        HttpsChannel({"x": "http://127.0.0.1"}, authority.issue("coordinator"))


def test_a_silo_is_served_from_its_file(authority: Authority, tmp_path: Path) -> None:
    import pandas as pd

    pd.DataFrame({"age": [30.0, 70.0], "ill": ["no", "yes"]}).to_csv(
        tmp_path / "people.csv", index=False
    )
    DOMAIN.save(tmp_path / "people.domain.json")
    mine, port = authority.issue("west"), free_port()
    (tmp_path / "silo.toml").write_text(
        'data = "people.csv"\ndomain = "people.domain.json"\nledger = "x.ledger"\n'
        "epsilon = 5\naccept_unchecked = true\n"
        "[policy.partners]\ncoordinator = 5\n[https]\n"
        f'certificate = "{mine.certificate}"\nprivate_key = "{mine.private_key}"\n'
        f'authority = "{mine.authority}"\nport = {port}\n'
    )
    words = ["silo", "serve", "--config", str(tmp_path / "silo.toml")]
    process = subprocess.Popen([sys.executable, "-c", COMMAND, *words])
    channel = HttpsChannel(
        {"west": f"https://127.0.0.1:{port}"}, authority.issue("coordinator")
    )
    end = time.monotonic() + 300
    while not (replies := channel.send({"west": messages.hello()})):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.1)
    assert replies["west"]["remaining"] == 5.0
    process.terminate()
    assert process.wait(timeout=300) == 0
