"""Known bugs: mistakes seen in real libraries and papers, each with an honest twin.

The audits are judged here: every planted bug must be caught, and no honest twin may be
accused. Simulations only; nothing here is for use.

>>> len(PLANTED_BUGS) >= 16
True
>>> bug = named("forgotten clip")
>>> bug.audit().verdict, bug.audit(honest=True).verdict
('VIOLATION', 'holds')
"""

from __future__ import annotations

from discreto._old_names import renamed
from discreto.errors import ParameterError
from discreto.lab.known_bugs import filters, ledgers, models, noise, silos, sums
from discreto.lab.known_bugs.planted_bug import PlantedBug

PLANTED_BUGS: tuple[PlantedBug, ...] = (
    *sums.PLANTED_BUGS,
    *models.PLANTED_BUGS,
    *ledgers.PLANTED_BUGS,
    *noise.PLANTED_BUGS,
    *silos.PLANTED_BUGS,
    *filters.PLANTED_BUGS,
)


def named(name: str) -> PlantedBug:
    """The planted bug of this name."""
    for bug in PLANTED_BUGS:
        if bug.name == name:
            return bug
    known = ", ".join(bug.name for bug in PLANTED_BUGS)
    raise ParameterError(f"there is no planted bug {name!r}. Known: {known}.")


__all__ = ["PLANTED_BUGS", "PlantedBug", "named"]
__getattr__ = renamed(__name__, {"PIECES": "PLANTED_BUGS", "Piece": "PlantedBug"})
