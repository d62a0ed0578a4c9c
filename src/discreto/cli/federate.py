"""``discreto federate``: connect silos and learn from what they release."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto import errors
from discreto.cli import options, terminal
from discreto.errors import DiscretoError, ParameterError
from discreto.text.language import tr

app = typer.Typer(
    help="Coordinate silos: each keeps its rows, its ledger and its own rules.",
    no_args_is_help=True,
)
Link = Annotated[str, typer.Option("--superlink", help="Its address, host:port.")]
Root = Annotated[
    Path, typer.Option("--root-certificates", help="The certificate authority's file.")
]
Home = Annotated[Path, typer.Option("--home", help="A folder for Flower's files.")]
HOME = Path("flower")
PAUSE = 5.0  # seconds before the first look at a run; later ones are rarer
TO_START = 25.0  # seconds in which a SuperLink that is well starts a run
WAITING = ("pending", "starting")


@app.command(epilog="Example: `discreto federate serve --certificates certificates`")
def serve(
    certificates: Annotated[
        Path,
        typer.Option(help="A folder with ca.crt, server.crt and server.key."),
    ],
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Where to listen.")] = 8000,
    home: Home = HOME,
) -> None:
    """Start the SuperLink to which silos connect."""
    from discreto.federated import flower
    from discreto.federated import flower_checks as link_checks

    for name in ("ca.crt", "server.crt", "server.key"):
        if not (certificates / name).is_file():
            raise ParameterError(f"there is no file {str(certificates / name)!r}.")
    link_checks.check_certificate(certificates / "server.crt")
    link_checks.check_port(host, port, "--port")
    command, environment = flower.superlink(certificates, host, port, home)
    os.execvpe(command[0], command, environment)  # noqa: S606 - no shell, fixed command


@app.command(epilog="Example: `discreto federate register north.pub --name north ...`")
def register(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="A silo's public key.")],
    name: Annotated[str, typer.Option(help="A name for the silo.")],
    superlink: Link,
    root_certificates: Root,
    home: Home = HOME,
) -> None:
    """Let the silo with this key in."""
    line = ["supernode", "register", str(key), "discreto", "--name", name]
    _flwr(line, home, superlink, root_certificates)
    terminal.out().print(terminal.plain(tr("{name} may connect.", name=name)))


@app.command(
    epilog="Example: `discreto federate run averaging --target y --silos north,south "
    "--epsilon 1 --out model.json ...`"
)
def run(
    learner: Annotated[
        str,
        typer.Argument(
            help="averaging, proximal, graph, or a model such as NaiveBayes."
        ),
    ],
    target: Annotated[str, typer.Option(help="The column to learn.")],
    silos: Annotated[str, typer.Option(help="Names of the nodes: north,south.")],
    epsilon: Annotated[str, typer.Option(help="What the run costs each silo.")],
    out: Annotated[Path, typer.Option(help="File for the model.")],
    superlink: Link,
    root_certificates: Root,
    delta: Annotated[
        str | None, typer.Option(help="The delta of that cost; learners take 1e-5.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Another parameter: NAME=VALUE.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--run", help="A name, to go on with a run that broke off."),
    ] = None,
    count_epsilon: Annotated[
        str | None, typer.Option(help="What asking for numbers of rows may cost.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds after which a silo counts as gone.", min=1)
    ] = 600,
    home: Home = HOME,
) -> None:
    """Learn a model across the silos and write it to a file.

    Run it on the SuperLink's machine: the file is written there.
    """
    from discreto.federated import flower
    from discreto.federated import flower_checks as link_checks
    from discreto.federated.jobs import check_job

    flower.need_flower()
    if out.exists():
        raise ParameterError(f"{str(out)!r} exists already. Choose another name.")
    params = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    params |= dict(map(_setting, settings or []))
    job = {
        "learner": learner,
        "params": params,
        "target": target,
        "silos": [part.strip() for part in silos.split(",")],
        "out": str(out.absolute()),
        "run": name,
        "count_epsilon": count_epsilon,
        "timeout": timeout,
    }
    check_job(job)
    link_checks.check_link(superlink, root_certificates)
    _carry_out(job, home, superlink, root_certificates)


def _carry_out(job: dict[str, Any], home: Path, superlink: str, root: Path) -> None:
    """Submit a job, wait for its result and say what came of it."""
    from discreto.federated import flower

    out = Path(job["out"])
    with tempfile.TemporaryDirectory() as folder:
        bundle = flower.bundle(Path(folder) / "run", job)
        line = ["run", str(bundle), "discreto", "--format", "json"]
        started = _flwr(line, home, superlink, root)
    with terminal.working(
        tr("run {run}: the silos are at work", run=started["run-id"])
    ):
        run = str(started["run-id"])
        _wait(
            out,
            lambda: _status(run, home, superlink, root),
            lambda: _flwr(["stop", run, "discreto"], home, superlink, root),
        )
    result = json.loads(out.read_text(encoding="utf-8"))
    if "error" in result:
        out.unlink()
        kind = getattr(errors, str(result["error"]), DiscretoError)
        raise kind(str(result["reason"]))
    for silo, reason in result.get("dropped", {}).items():
        terminal.err().print(
            terminal.plain(tr("{silo} dropped out. {reason}", silo=silo, reason=reason))
        )
    terminal.out().print(terminal.plain(tr("the model is in {out}", out=out)))


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ParameterError(f"--set needs NAME=VALUE. Got {text!r}.")
    return name, options.value(value)


def _wait(out: Path, status: Callable[[], str], stop: Callable[[], Any]) -> None:
    """Wait until the run has written its result, has ended, or is stuck."""
    started = asked = time.monotonic()
    pause = PAUSE
    while not out.exists():
        time.sleep(0.25)
        if out.exists() or time.monotonic() - asked < pause:
            continue
        found = status()  # a process that costs seconds of its own
        asked = time.monotonic()
        if found.startswith("finished") and not out.exists():
            raise DiscretoError("the run ended without a result; see the SuperLink.")
        if found not in WAITING:
            pause = min(1.5 * pause, 60.0)
        elif asked - started > TO_START:
            stop()  # else it might start after this command has ended
            raise DiscretoError(
                f"the SuperLink took the run but has not started it after "
                f"{TO_START:.0f} s (it is {found!r}), so nothing was asked or charged. "
                "Its log says why; often its certificate is not valid for 127.0.0.1."
            )


def _status(run: str, home: Path, superlink: str, root: Path) -> str:
    line = ["list", "discreto", "--run-id", run, "--format", "json"]
    found = _flwr(line, home, superlink, root)["runs"]
    return str(found[0].get("status")) if found else "finished"


def _flwr(line: list[str], home: Path, superlink: str, root: Path) -> Any:
    """Return the output of Flower's own command, as JSON data on request."""
    from discreto.federated import flower

    environment = flower.connect(home, superlink, root)
    done = subprocess.run(  # noqa: S603 - no shell, fixed command
        ["flwr", *line],  # noqa: S607 - found in our own environment's PATH
        env=environment,
        capture_output=True,
        text=True,
    )
    start = done.stdout.find("{")
    if done.returncode or ("json" in line and start < 0):
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        raise DiscretoError(f"Flower says: {said}")
    return json.loads(done.stdout[start:]) if "json" in line else {}
