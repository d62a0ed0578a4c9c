"""``discreto silo``: answer a coordinator's questions, by rules of your own."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from discreto.cli import terminal
from discreto.text.language import tr

app = typer.Typer(
    help="Serve a table to a federation; rows and exact sums stay here.",
    no_args_is_help=True,
)
Config = Annotated[
    Path, typer.Option("--config", help="The silo's TOML file; see docs/flower.md.")
]


@app.command(epilog="Example: `discreto silo check --config silo.toml`")
def check(config: Config) -> None:
    """Open a silo as `serve` would and show what it sends to a partner."""
    from discreto.federated import messages
    from discreto.federated.config import read_silo, read_wire

    wire, silo = read_wire(config), read_silo(config)
    facts = silo.answer(messages.hello(), wire.partner)
    if facts["kind"] == "refusal":
        messages.read_release(facts)  # raises what it says
    console = terminal.out()
    console.print(
        terminal.plain(tr("columns    {names}", names=", ".join(silo.domain)))
    )
    console.print(terminal.plain(tr("schema     {schema}", schema=facts["schema"])))
    rows = tr("private") if facts["rows"] is None else facts["rows"]
    console.print(terminal.plain(tr("rows       {rows}", rows=rows)))
    console.print(
        terminal.plain(
            tr(
                "partner    {partner}, at {superlink}",
                partner=wire.partner,
                superlink=wire.superlink,
            )
        )
    )
    console.print(
        terminal.plain(tr("left       ε {remaining}", remaining=facts["remaining"]))
    )


@app.command(epilog="Example: `discreto silo serve --config silo.toml`")
def serve(config: Config) -> None:
    """Serve a silo over HTTPS or Flower, as its file says, until it is stopped."""
    from discreto.federated.config import read_https, read_silo, read_wire

    secured = read_https(config)
    if secured is not None:
        _serve_https(config, secured)
        return
    from discreto.federated import flower
    from discreto.federated import flower_checks as link_checks

    wire = read_wire(config)
    read_silo(config)  # whatever is wrong with it is said now
    link_checks.check_port("127.0.0.1", wire.port, "port in [flower] of the file")
    command, environment = flower.supernode(config, wire)
    terminal.err().print(
        terminal.plain(
            tr(
                "serving {config} to {superlink}",
                config=config,
                superlink=wire.superlink,
            )
        )
    )
    os.execvpe(command[0], command, environment)  # noqa: S606 - no shell, fixed command


def _serve_https(config: Path, wire: Any) -> None:
    from discreto.federated.config import read_silo
    from discreto.federated.https import Certificates, HttpsServer

    files = Certificates(wire.certificate, wire.private_key, wire.authority)
    server = HttpsServer(
        read_silo(config).answer, files, host=wire.host, port=wire.port
    )
    # What is under way ends; a partner who got no reply asks again, for free.
    signal.signal(
        signal.SIGTERM, lambda *_: threading.Thread(target=server.close).start()
    )
    place = f"https://{wire.host}:{server.port}"
    terminal.err().print(
        terminal.plain(tr("serving {config} at {place}", config=config, place=place))
    )
    server.serve()
