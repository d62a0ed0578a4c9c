"""Silos and a coordinator on a network, by Flower. No other file knows Flower.

A run is a bundle that is only a ``pyproject.toml``: it names the two apps below, which
every side has installed. A silo runs *its own* copy of ``client_app``, whatever a
bundle names or contains (``guard``): code that others send never runs beside the rows.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from discreto.core.documents import read_json
from discreto.errors import DiscretoError, KernelFault, MissingExtraError
from discreto.federated import messages
from discreto.federated.config import Wire, read_silo, read_wire
from discreto.federated.messages import Message
from discreto.federated.silo import Silo
from discreto.text.install_commands import install_command

try:
    import flwr.app as flower
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
except ImportError:  # what needs Flower says so when it is used
    flower = ClientApp = ServerApp = None

POLL = 0.5  # seconds between looks for replies
OFF = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
}
APPS = {
    "serverapp": "discreto.federated.flower:server_app",
    "clientapp": "discreto.federated.flower:client_app",
}


def need_flower() -> None:
    """Refuse to go on without Flower."""
    if flower is None:
        raise MissingExtraError(
            f"discreto.federated.flower needs Flower: {install_command('federated')}"
        )


# The silo's side


def make_client_app(open_silo: Callable[[str], tuple[Silo, str]]) -> Any:
    """A Flower app that hands every message to the silo named in the node's config.

    Every message may come to a new process: the ledger on disk is all that is kept.
    """
    if ClientApp is None:
        return None
    app = ClientApp()

    @app.query()
    def answer(message: Any, context: Any) -> Any:
        reply = _answer(open_silo, str(context.node_config["silo"]), message)
        return flower.Message(_record(reply), reply_to=message)

    return app


def _answer(open_silo: Any, path: str, message: Any) -> Message:
    try:
        silo, partner = open_silo(path)
        return silo.answer(_message_of(message), partner)
    except Exception:  # Flower would send its text, and that might quote a row
        return messages.refusal(
            KernelFault("this silo is not ready. Its owner can see why: silo check.")
        )


def _open(path: str) -> tuple[Silo, str]:
    return read_silo(path), read_wire(path).partner


client_app = make_client_app(_open)


def _record(message: Message) -> Any:
    text = json.dumps(message)
    return flower.RecordDict({"letter": flower.ConfigRecord({"json": text})})


def _message_of(message: Any) -> Message:
    return dict(read_json(str(message.content["letter"]["json"])))


def run_client() -> None:
    """Flower's process for one message, with our app instead of the bundle's."""
    need_flower()
    from flwr.supernode.cli.flwr_clientapp import flwr_clientapp
    from flwr.supernode.runtime import run_clientapp as runtime

    ours = {
        "get_load_client_app_fn": lambda **_: lambda *_: client_app,
        "install_from_fab": lambda *_, **__: None,
        "install_app_dependencies": lambda *_, **__: None,
    }
    for name, replacement in ours.items():
        if not hasattr(runtime, name):
            raise DiscretoError("this version of Flower cannot be guarded.")
        setattr(runtime, name, replacement)
    flwr_clientapp()


def guard(folder: Path) -> Path:
    """A folder of commands that stand before Flower's: our app, and nothing else."""
    from flwr.supercore.constant import TASK_TYPE_TO_COMMAND

    folder.mkdir(parents=True, exist_ok=True)
    for command in set(TASK_TYPE_TO_COMMAND.values()):
        what = "raise SystemExit('a silo does not run this')"
        if command == "flwr-clientapp":
            what = "from discreto.federated.flower import run_client; run_client()"
        script = folder / command
        # -P: nothing is imported from the folder in which the silo was started.
        line = f'exec {quote(sys.executable)} -P -c {quote(what)} "$@"'
        script.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        script.chmod(stat.S_IRWXU)
    return folder


def supernode(config: Path, wire: Wire) -> tuple[list[str], dict[str, str]]:
    """Return the command that serves a silo, and its environment."""
    need_flower()
    home = Path(wire.home)
    command = ["flower-supernode", "--superlink", wire.superlink]
    command += ["--root-certificates", wire.root_certificates]
    command += ["--auth-supernode-private-key", wire.private_key]
    command += ["--node-config", f"silo={json.dumps(str(config.absolute()))}"]
    command += ["--port", str(wire.port)]
    return command, environment(home, guard(home / "guard"))


# The coordinator's side


class FlowerChannel:
    """Silos of a Flower grid; who does not answer in time is left out."""

    def __init__(self, grid: Any, silos: Sequence[str], timeout: float) -> None:
        self._grid, self._timeout = grid, timeout
        self._nodes = self._find(silos)

    def _find(self, silos: Sequence[str]) -> dict[str, int]:
        end = time.monotonic() + self._timeout
        while True:
            here = {node.name: node.node_id for node in self._grid.get_nodes()}
            absent = [name for name in silos if name not in here]
            if not absent:
                return {name: here[name] for name in silos}
            if time.monotonic() > end:
                raise DiscretoError(
                    f"silo {absent[0]!r} did not come within {self._timeout:g} s. Is "
                    "it registered under this name, and is it served?"
                )
            time.sleep(POLL)

    def names(self) -> list[str]:
        """Return the names under which the silos' keys are registered."""
        return list(self._nodes)

    def send(self, outgoing: Mapping[str, Message]) -> dict[str, Message]:
        """Return the replies that come in time."""
        end = time.monotonic() + self._timeout
        mails = [
            flower.Message(
                _record(message),
                dst_node_id=self._nodes[name],
                message_type="query",
                ttl=self._timeout,
            )
            for name, message in outgoing.items()
        ]
        sent = self._grid.push_messages(mails)
        waiting = {i: n for i, n in zip(sent, outgoing, strict=True) if i}
        replies: dict[str, Message] = {}
        while waiting and time.monotonic() < end:
            for reply in self._grid.pull_messages(list(waiting)):
                name = waiting.pop(reply.metadata.reply_to_message_id, None)
                with suppress(Exception):  # a reply that is none is no answer
                    if name is not None and not reply.has_error():
                        replies[name] = _message_of(reply)
            if waiting:
                time.sleep(POLL)
        return replies


def make_server_app() -> Any:
    """A Flower app that carries out the job of a run and writes what comes of it."""
    if ServerApp is None:
        return None
    app = ServerApp()

    @app.main()
    def main(grid: Any, context: Any) -> None:
        # Not above: a silo's process for one message has no use for the models.
        from discreto.federated.jobs import learn, write_result

        job = json.loads(str(context.run_config["job"]))

        def work() -> dict[str, Any]:
            return learn(FlowerChannel(grid, job["silos"], job["timeout"]), job)

        write_result(Path(job["out"]), work)

    return app


server_app = make_server_app()


def bundle(folder: Path, job: Mapping[str, Any], **apps: str) -> Path:
    """Write the bundle of a run: a ``pyproject.toml`` that names installed apps."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "[project]",
        'name = "discreto-run"',
        'version = "1.0.0"',
        'description = "Names the apps of an installed discreto."',
        'license = "Apache-2.0"',
        "[tool.flwr.app]",
        'publisher = "discreto"',
        "[tool.flwr.app.components]",
        *(f'{kind} = "{name}"' for kind, name in (APPS | apps).items()),
        "[tool.flwr.app.config]",
        f"job = {json.dumps(json.dumps(job))}",
    ]
    (folder / "pyproject.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def superlink(
    certificates: Path, host: str, port: int, home: Path
) -> tuple[list[str], dict[str, str]]:
    """Return the command that connects silos, and its environment.

    ``certificates`` is a folder with ``ca.crt``, ``server.crt`` and ``server.key``.
    """
    need_flower()
    command = ["flower-superlink", "--host", host, "--port", str(port)]
    command += ["--ssl-ca-certfile", str(certificates / "ca.crt")]
    command += ["--ssl-certfile", str(certificates / "server.crt")]
    command += ["--ssl-keyfile", str(certificates / "server.key")]
    command += ["--enable-supernode-auth", "--disable-runtime-dependency-installation"]
    return command, environment(home)


def connect(home: Path, address: str, root_certificates: Path) -> dict[str, str]:
    """Return the environment in which ``flwr ... discreto`` talks to a SuperLink."""
    need_flower()
    home.mkdir(parents=True, exist_ok=True)
    lines = [
        "[superlink]",
        'default = "discreto"',
        "[superlink.discreto]",
        f"address = {json.dumps(address)}",
        f"root-certificates = {json.dumps(str(root_certificates.absolute()))}",
    ]
    (home / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return environment(home)


def environment(home: Path, first: Path | None = None) -> dict[str, str]:
    """Flower's environment: nothing is reported, looked up or installed."""
    home.mkdir(parents=True, exist_ok=True)
    places = [str(first)] if first else []
    places += [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    paths = {"PATH": os.pathsep.join(places), "FLWR_HOME": str(home.absolute())}
    return os.environ | OFF | paths
