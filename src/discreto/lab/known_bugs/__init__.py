"""The museum: mistakes seen in real libraries and papers, each with an honest twin.

The audits are judged here: every planted bug must be caught, and no honest twin may be
accused. Simulations only; nothing here is for use.

>>> len(PIECES) >= 16
True
>>> piece = named("forgotten clip")
>>> piece.audit().verdict, piece.audit(honest=True).verdict
('VIOLATION', 'holds')
"""

from __future__ import annotations

from discreto.errors import ParameterError
from discreto.lab.known_bugs import filters, ledgers, models, noise, silos, sums
from discreto.lab.known_bugs.piece import Piece

PIECES: tuple[Piece, ...] = (
    *sums.PIECES,
    *models.PIECES,
    *ledgers.PIECES,
    *noise.PIECES,
    *silos.PIECES,
    *filters.PIECES,
)


def named(name: str) -> Piece:
    """The piece of this name."""
    for piece in PIECES:
        if piece.name == name:
            return piece
    known = ", ".join(piece.name for piece in PIECES)
    raise ParameterError(f"there is no piece {name!r} in the museum. Known: {known}.")


__all__ = ["PIECES", "Piece", "named"]
