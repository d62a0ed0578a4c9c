"""``discreto peer``: learn with neighbours, without a coordinator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreto.cli import terminal
from discreto.errors import ParameterError
from discreto.text.language import number, tr

app = typer.Typer(
    help="Learn with neighbouring silos; there is no coordinator.",
    no_args_is_help=True,
)
Config = Annotated[
    Path, typer.Option("--config", help="The node's TOML file; see docs/peers.md.")
]


@app.command(epilog="Example: `discreto peer rows graph.txt --mixing metropolis`")
def rows(
    graph: Annotated[
        Path,
        typer.Argument(metavar="GRAPH", help="Lines with two neighbours: north south."),
    ],
    mixing: Annotated[
        str, typer.Option(help="metropolis, constant or optimal.")
    ] = "metropolis",
    alpha: Annotated[
        float | None, typer.Option(help="Weight of each edge, for constant.")
    ] = None,
) -> None:
    """Show every node's own row of a graph's mixing matrix, for its file."""
    import networkx as nx

    from discreto.federated.graph import Neighbourhood, mixing_by_rule

    edges = [line.split() for line in _lines(graph)]
    if not edges or any(len(pair) != 2 for pair in edges):
        raise ParameterError(f"{str(graph)!r} needs lines with two names each.")
    drawn = nx.Graph(edges)
    names = sorted(drawn.nodes)
    found = Neighbourhood.rows_of(mixing_by_rule(drawn, mixing, alpha), names)
    out = terminal.out()
    listed = ", ".join(f'"{name}"' for name in names)
    for name, own in found.items():
        out.print(terminal.plain(f'[peer]\nname = "{name}"\nnodes = [{listed}]'))
        out.print(terminal.plain(f"second = {own.second!r}\n\n[peer.weights]"))
        for other, weight in own.weights.items():
            out.print(terminal.plain(f'"{other}" = {weight!r}'))
        out.print("")


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"{str(path)!r} is not a readable text file.") from None
    return [line for line in text.splitlines() if line.strip()]


@app.command(epilog="Example: `discreto peer check --config north.toml`")
def check(config: Config) -> None:
    """Open a node as `run` would and show what it would do; nothing is charged."""
    from discreto.federated.peer.config import read_peer, read_plan

    plan, wire = read_plan(config)
    read_peer(config)
    out = terminal.out()
    out.print(
        terminal.plain(
            tr("node       {name}, at port {port}", name=plan.name, port=wire.port)
        )
    )
    out.print(
        terminal.plain(tr("talks to   {names}", names=", ".join(plan.neighbours)))
    )
    out.print(
        terminal.plain(
            tr("run        {run}, {rounds} rounds", run=plan.run, rounds=plan.rounds)
        )
    )
    out.print(
        terminal.plain(
            tr(
                "cost       ε {epsilon}, δ {delta}",
                epsilon=number(plan.epsilon),
                delta=plan.delta,
            )
        )
    )


@app.command(epilog="Example: `discreto peer run --config north.toml --out model.json`")
def run(
    config: Config,
    out: Annotated[Path, typer.Option(help="File for this node's model.")],
) -> None:
    """Take part in a run until its end, and write this node's model.

    A node that was stopped goes on when it is started again: it is charged once.
    """
    from discreto.federated.https import Certificates, HttpsServer
    from discreto.federated.peer.config import lines_of, read_peer, read_plan

    if out.exists():
        raise ParameterError(f"{str(out)!r} exists already. Choose another name.")
    plan, wire = read_plan(config)
    peer, lines = read_peer(config), lines_of(plan, wire)
    files = Certificates(wire.certificate, wire.private_key, wire.authority)
    server = HttpsServer(peer.answer, files, host=wire.host, port=wire.port)
    server.start()
    say = terminal.err()
    say.print(
        terminal.plain(
            tr(
                "{name} listens at {host}:{port}",
                name=plan.name,
                host=wire.host,
                port=server.port,
            )
        )
    )
    try:
        model = peer.learn({name: line.ask for name, line in lines.items()})
    finally:
        server.close()
        for line in lines.values():
            line.close()
    model.save(out)
    for note in peer.missed:
        say.print(terminal.plain(note))
    terminal.out().print(terminal.plain(tr("the model is in {out}", out=out)))
