"""Silos over Flower: real processes on loopback, TLS, keys, ledgers on disk."""

from __future__ import annotations

import datetime
import importlib.util
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import discreto as dp
from discreto import models
from discreto.federated import FederatedAveraging, FederatedModel, simulate
from discreto.models.interop.json import load

ROOT = Path(__file__).parents[2]
OWN = importlib.util.find_spec("flwr") is not None
BIN = Path(sys.executable).parent if OWN else ROOT / ".venv-flower" / "bin"
pytestmark = pytest.mark.skipif(
    not (BIN / "flower-superlink").exists(),
    reason="Flower is not installed: scripts/test makes an environment for it",
)
DOMAIN = dp.Domain(
    {"x": dp.Number(-1, 1), "z": dp.Number(0, 4), "y": dp.Number(-5, 5)}, target="y"
)
ROWS = {"north": 80, "south": 60, "west": 70}
PLAIN = {"plain-1": 50, "plain-2": 90}
COUNTS = ROWS | PLAIN | {"stranger": 10}


def rows_of(name: str) -> dict[str, Any]:
    coins = np.random.default_rng(sum(name.encode()))
    count = COUNTS[name]
    x, z = coins.uniform(-1, 1, count), coins.uniform(0, 4, count)
    return {"x": x, "z": z, "y": 2 * x - z + 1 + coins.normal(0, 0.1, count)}


# Certificates and keys, as docs/flower.md makes them


def certificate(name: str, key: Any, issuer: Any = None, issuer_key: Any = None) -> Any:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    draft = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(issuer is None, None), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
    )
    if issuer is None:
        usage = x509.KeyUsage(True, *[False] * 4, True, True, False, False)
        draft = draft.add_extension(usage, critical=True)
    else:
        local = ipaddress.ip_address("127.0.0.1")
        names = [x509.DNSName("localhost"), x509.IPAddress(local)]
        public = issuer_key.public_key()
        draft = draft.add_extension(x509.SubjectAlternativeName(names), critical=False)
        draft = draft.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False
        )
    return draft.sign(issuer_key or key, hashes.SHA256())


def write_certificates(folder: Path) -> None:
    folder.mkdir()
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = certificate("test authority", root_key)
    server = certificate("localhost", key, root, root_key)
    plain = form.NoEncryption()
    (folder / "ca.crt").write_bytes(root.public_bytes(form.Encoding.PEM))
    (folder / "server.crt").write_bytes(server.public_bytes(form.Encoding.PEM))
    pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain)
    (folder / "server.key").write_bytes(pem)


def write_key(path: Path) -> None:
    key = ec.generate_private_key(ec.SECP384R1())
    kind, plain = form.PrivateFormat.OpenSSH, form.NoEncryption()
    path.write_bytes(key.private_bytes(form.Encoding.PEM, kind, plain))
    public = key.public_key()
    path.with_suffix(".pub").write_bytes(
        public.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    )


# The network


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(what: Callable[[], Any], seconds: int = 120) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds} s")


NOISELESS = """
import discreto as dp
from discreto.federated import Silo
from discreto.federated.flower import make_client_app
from discreto.testing import simulate

def open_silo(path):
    domain = dp.Domain.load(path + ".domain.json")
    ledger = simulate(0, noise=False)
    table = dp.Table(path + ".parquet", domain, ledger)
    rows = int(open(path + ".rows").read())
    return Silo(table, rows=rows), "coordinator"

client_app = make_client_app(open_silo)
"""
# What an untrusted coordinator might send along.
HOSTILE = """
import pathlib
pathlib.Path({owned!r}).write_text("ran")
import discreto.federated.flower as ours
client_app = ours.client_app
"""


class Network:
    """A SuperLink and silos, each a process with a log and a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.running = folder, {}
        self.address = f"127.0.0.1:{free_port()}"
        write_certificates(folder / "certificates")
        (folder / "noiseless.py").write_text(NOISELESS)
        self.link = ["--superlink", self.address]
        self.link += ["--root-certificates", str(folder / "certificates" / "ca.crt")]
        self.link += ["--home", str(folder / "coordinator")]
        self.environment = os.environ | {"PYTHONPATH": str(folder)}
        self.environment.pop("FLWR_HOME", None)

    def start(self, name: str, command: list[Any], **options: Any) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                list(map(str, command)),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.folder,
                **{"env": self.environment} | options,
            )

    def serve(self) -> None:
        host, port = self.address.split(":")
        words = ["--certificates", self.folder / "certificates", "--host", host]
        words += ["--port", port, "--home", self.folder / "superlink"]
        self.start("superlink", [BIN / "discreto", "federate", "serve", *words])
        wait_for(self.listens)

    def listens(self) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", int(self.address.split(":")[1]))) == 0

    def discreto(self, *words: Any) -> subprocess.CompletedProcess:
        return subprocess.run(
            [BIN / "discreto", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            timeout=300,
        )

    def register(self, name: str) -> None:
        key = self.folder / f"{name}.pub"
        done = self.discreto("federate", "register", key, "--name", name, *self.link)
        assert done.returncode == 0, done.stdout + done.stderr

    def write_rows(self, name: str) -> None:
        stem = self.folder / name
        pq.write_table(pa.table(rows_of(name)), f"{stem}.parquet")
        DOMAIN.save(f"{stem}.domain.json")
        write_key(self.folder / f"{name}.key")

    def silo(self, name: str) -> None:
        """A silo as an owner sets it up."""
        (self.folder / f"{name}.toml").write_text(
            f'data = "{name}.parquet"\n'
            f'domain = "{name}.domain.json"\n'
            f'ledger = "{name}.ledger"\n'
            'epsilon = 4\ndelta = "1e-4"\n'
            f"rows = {COUNTS[name]}\n"
            "[policy]\nper_round = 2\n[policy.partners]\ncoordinator = 3\n"
            "[flower]\n"
            f'superlink = "{self.address}"\n'
            'root_certificates = "certificates/ca.crt"\n'
            f'private_key = "{name}.key"\n'
            f"port = {free_port()}\n"
            f'home = "flower-{name}"\n'
        )
        config = self.folder / f"{name}.toml"
        self.start(name, [BIN / "discreto", "silo", "serve", "--config", config])

    def plain_silo(self, name: str) -> None:
        """A silo without noise, which discreto has no command for."""
        stem = self.folder / name
        Path(f"{stem}.rows").write_text(str(PLAIN[name]))
        quiet = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        quiet |= {"FLWR_HOME": str(self.folder / f"flower-{name}")}
        quiet |= {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
        words = ["--superlink", self.address, "--port", free_port()]
        words += ["--root-certificates", self.folder / "certificates" / "ca.crt"]
        words += ["--auth-supernode-private-key", f"{stem}.key"]
        words += ["--node-config", f"silo={json.dumps(str(stem))}"]
        command = [BIN / "flower-supernode", *words]
        self.start(name, command, env=self.environment | quiet)

    def submit(self, job: dict[str, Any], bundle: Path, client: str) -> dict[str, Any]:
        """A run with a client of another's choosing; what it writes."""
        code = (
            "import json, sys, pathlib; from discreto.federated import flower;"
            "from discreto.cli import federate; P = pathlib.Path;"
            "job, folder, client, home, link, root = sys.argv[1:];"
            "flower.bundle(P(folder), json.loads(job), clientapp=client);"
            "words = ['run', folder, 'discreto', '--format', 'json'];"
            "federate._flwr(words, P(home), link, P(root))"
        )
        words = [json.dumps(job), bundle, client, self.folder / "coordinator"]
        words += [self.address, self.folder / "certificates" / "ca.crt"]
        done = subprocess.run(
            [BIN / "python", "-c", code, *map(str, words)],
            capture_output=True,
            text=True,
            env=self.environment,
        )
        assert done.returncode == 0, done.stderr
        out = Path(job["out"])
        wait_for(out.exists)
        found: dict[str, Any] = json.loads(out.read_text())
        return found

    def kill(self, name: str) -> None:
        """The whole silo at once, as when a machine loses power."""
        process = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    network = Network(tmp_path_factory.mktemp("flower"))
    try:
        names = [*ROWS, *PLAIN]
        for name in (*names, "stranger"):
            network.write_rows(name)
        network.serve()
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(network.register, names))
        for name in names:
            (network.silo if name in ROWS else network.plain_silo)(name)
        yield network
    finally:
        network.stop()


def entries(network: Network, name: str) -> list[dict[str, Any]]:
    """What was charged and answered; the partner's allowance is left out."""
    path = network.folder / f"{name}.ledger"
    found = dp.Ledger(path).entries() if path.exists() else []
    return [entry for entry in found if not entry["label"].startswith("allow ")]


def learn(
    network: Network, learner: str, out: str, timeout: int, **options: Any
) -> list[Any]:
    """The command of a run of the three silos."""
    words = [learner, "--target", "y", "--silos", "north,south,west", "--epsilon", 1]
    words += ["--timeout", timeout]
    words += ["--out", network.folder / out, *network.link]
    for name, value in options.items():
        words += ["--set", f"{name}={value}"]
    return ["federate", "run", *words]


def test_a_run_leaves_a_model_and_every_ledger_on_disk(network):
    before = {name: len(entries(network, name)) for name in ROWS}
    done = network.discreto(*learn(network, "averaging", "model.json", 240, rounds=3))
    assert done.returncode == 0, done.stdout + done.stderr
    model = FederatedModel.load(network.folder / "model.json")
    assert model.dropped == {}
    assert not model.guarantee.simulated
    for name in ROWS:
        assert dp.Ledger(network.folder / f"{name}.ledger").verify()
        new = entries(network, name)[before[name] :]
        # The run is paid once, before its first round; then come the three rounds.
        costs = [entry["cost"] for entry in new]
        assert costs == [dp.Cost.of(1, "1e-5").to_dict(), {}, {}, {}]
        assert {entry["analyst"] for entry in new} == {"coordinator"}


def test_without_noise_the_run_is_the_simulation(network):
    params = {"epsilon": 1, "rounds": 2, "local_steps": 2}
    job = {"learner": "averaging", "params": params, "target": "y", "timeout": 90}
    job |= {"silos": list(PLAIN), "out": str(network.folder / "plain.json")}
    found = network.submit(job, network.folder / "plain", "noiseless:client_app")
    assert "error" not in found, found
    parts = {name: rows_of(name) for name in PLAIN}
    learner = FederatedAveraging(**params)
    played = simulate(learner, parts, DOMAIN, noise=False)
    assert found["path"] == played.models[0].path_.tolist()


def test_code_that_comes_with_a_run_does_not_run_in_a_silo(network):
    owned, bundle = network.folder / "owned", network.folder / "hostile"
    bundle.mkdir()
    (bundle / "hostile.py").write_text(HOSTILE.format(owned=str(owned)))
    west = network.folder / "west.ledger"
    before = dp.Ledger(west).spent().rho
    price = {"epsilon": "0.5", "delta": "1e-5"}
    job = {"learner": "LinearRegression", "params": price, "target": "y"}
    job |= {"silos": ["north", "west"], "timeout": 90}
    job |= {"out": str(network.folder / "linear.json")}
    found = network.submit(job, bundle, "hostile:client_app")
    assert "error" not in found, found
    assert isinstance(load(job["out"]), models.LinearRegression)
    assert not owned.exists()
    assert dp.Ledger(west).spent().rho - before == dp.Cost.of("0.5", "1e-5").rho
    # In a node without the guard the same bundle does run, for the first hello.
    job |= {"silos": ["plain-1"], "out": str(network.folder / "again.json")}
    again = network.submit(job | {"target": "x y"}, bundle, "hostile:client_app")
    assert "error" in again
    assert owned.exists()


def test_a_silo_that_is_killed_is_left_out_and_has_paid(network):
    before = len(entries(network, "south"))
    words = learn(network, "proximal", "left.json", 60, rounds=3)
    network.start("run", [BIN / "discreto", *words])
    # It has paid and answered a round, and is at the next.
    wait_for(lambda: len(entries(network, "south")) >= before + 3, 240)
    network.kill("south")
    assert network.running.pop("run").wait(400) == 0
    log = (network.folder / "run.log").read_text()
    model = FederatedModel.load(network.folder / "left.json")
    # On a machine that is busy others may come too late as well.
    assert "south" in model.dropped, log
    number = int(model.dropped["south"].removeprefix("round ").split(":")[0])
    assert 2 <= number <= 3
    book = dp.Ledger(network.folder / "south.ledger")
    assert book.verify()
    new = entries(network, "south")[before:]
    assert [bool(e["cost"]) for e in new][:2] == [True, False]
    assert sum(bool(e["cost"]) for e in new) == 1
    answered = number - 1
    assert len(new) - 1 >= answered, "a round was answered that the ledger lacks"


def test_a_silo_whose_key_is_not_registered_is_not_let_in(network):
    network.silo("stranger")
    process = network.running["stranger"]
    wait_for(lambda: process.poll() is not None)
    network.kill("stranger")
    assert entries(network, "stranger") == []


def test_no_process_reports_looks_up_or_installs_anything(network):
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            facts = (
                (place / "environ").read_bytes().decode(errors="replace").split("\0")
            )
            words = (place / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if any(str(network.folder) in fact for fact in facts if "FLWR_HOME" in fact):
            found.append(words)
            assert "FLWR_TELEMETRY_ENABLED=0" in facts, words
            assert "FLWR_DISABLE_UPDATE_CHECK=1" in facts, words
            assert "--allow-runtime-dependency-installation" not in words
    # At least the SuperLink, the silos, and the process that starts apps for each.
    assert len(found) >= 2 * (1 + len(PLAIN)), found
    assert any("--disable-runtime-dependency-installation" in one for one in found)
