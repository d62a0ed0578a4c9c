"""``discreto explain``: what an epsilon means for one person, in odds and rates."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from discreto.cli import options, terminal
from discreto.core.cost import Cost, read_delta
from discreto.text.language import number, tr
from discreto.text.meaning import DEPLOYMENTS, explain_cost
from discreto.text.meaning import explain as meaning_of

EXAMPLE = """Examples:

`discreto explain --epsilon 1`

`discreto explain --epsilon 1 --delta 1e-5 --prior 0.1`

`discreto explain --epsilon "ln 3"`
"""


def explain(
    epsilon: Annotated[
        str, typer.Option("--epsilon", help='The guarantee: 1, 1/2, "ln 3".')
    ],
    delta: Annotated[
        str, typer.Option("--delta", help="Delta of the guarantee.")
    ] = "0",
    prior: Annotated[
        str,
        typer.Option("--prior", help="Prior probability of the attacker: 0.1 is 10 %."),
    ] = "0.5",
    as_json: options.JsonFlag = False,
) -> None:
    """Say what an epsilon means for one person: odds, beliefs, an attacker's success.

    Nothing is read or spent. The attacker knows everything but whether this person
    took part. Values that others published stand beside it.
    """
    found = meaning_of(epsilon, delta, prior=prior)
    if as_json:
        others = [asdict(one) for one in DEPLOYMENTS]
        terminal.print_json(found.to_dict() | {"deployments": others})
        return
    console = terminal.out()
    console.print(terminal.plain_lines(str(found)), soft_wrap=True)
    if read_delta(delta):
        ours = explain_cost(Cost.of(epsilon, delta), prior=found.prior)
        console.print(
            tr("The Gaussian noise that such a question gets here guarantees more:")
        )
        console.print(terminal.plain_lines(str(ours)), soft_wrap=True)
    console.print(tr("What others published (compare the units before the values):"))
    rows = [
        (one.epsilon, tr("{who}: {unit}", who=tr(one.who), unit=tr(one.unit)))
        for one in DEPLOYMENTS
    ]
    rows = sorted([*rows, (found.points[0][0], tr("yours"))], key=lambda row: row[0])
    for value, words in rows:
        line = f"  ε {number(value, '.3g'):<6} {words}"
        console.print(terminal.plain_lines(line), soft_wrap=True)
