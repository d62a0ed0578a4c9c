"""``discreto serve``: serve tables over HTTP."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreto.errors import ParameterError
from discreto.text.language import tr

if TYPE_CHECKING:
    from discreto.service import Service

EXAMPLE = """Examples:

`discreto serve --demo`

`discreto serve --config service.toml --token olga`

`discreto serve --config service.toml --port 8000 --workers 2`
"""


def serve(
    config: Annotated[
        Path | None, typer.Option("--config", help="The TOML file; docs/service.md.")
    ] = None,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Serve a synthetic table, to try the service."),
    ] = False,
    folder: Annotated[
        Path, typer.Option("--folder", help="Where the demo keeps its files.")
    ] = Path("discreto-demo"),
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Worker processes.")
    ] = 1,
    token: Annotated[
        str | None,
        typer.Option("--token", help="Print a new token for this person, and end."),
    ] = None,
) -> None:
    """Serve tables over HTTP: analysts ask, owners allow, auditors check.

    Clients send and receive JSON only. Every answer is charged to a ledger before a row
    is read.
    """
    from discreto.service import Service, read_config
    from discreto.service.demo import write_demo
    from discreto.service.run import serve as run

    if (config is None) != demo:
        raise ParameterError("serve needs either --config FILE or --demo.")
    path = write_demo(folder) if config is None else config
    service = Service(read_config(path))  # whatever is wrong with it is said now
    try:
        if token is not None:
            _check_person(service, token)
            typer.echo(service.add_token(token)["token"])
            return
        typer.echo(
            tr(
                "serving {path} at http://{host}:{port}",
                path=path,
                host=host,
                port=port,
            ),
            err=True,
        )
        if demo:
            for person in service.state.people():
                link = f"http://{host}:{port}{service.link(person.name, 86400)}"
                typer.echo(f"  {person.role:<8} {person.name:<8} {link}", err=True)
    finally:
        service.close()
    run(path, host=host, port=port, workers=workers)


def _check_person(service: Service, name: str) -> None:
    """Refuse a name that is not in the service, with those that are."""
    known = [one.name for one in service.state.people() if one.active]
    if name in known:
        return
    close = difflib.get_close_matches(name, known, 1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise ParameterError(
        f"the service has no active person {name!r}.{meant} It has "
        f"{', '.join(known) or 'none'}. Add a person as [people.{name}] in the "
        "TOML file, or on the owner's page."
    )
