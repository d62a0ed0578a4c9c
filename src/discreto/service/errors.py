"""The fixed list of what a service says when it says no.

A code has one status and one text. What discreto itself refuses keeps its own words,
which are made from public facts; failures of the machine do not.
"""

from __future__ import annotations

from discreto.errors import (
    BudgetError,
    ChangedError,
    DiscretoError,
    DomainError,
    KernelFault,
    LedgerError,
    ParameterError,
    UnsafeError,
)

CODES: dict[str, tuple[int, str]] = {
    "unauthorised": (401, "Sign in, or send a valid token: Authorization: Bearer ..."),
    "forbidden": (403, "Your role does not allow this."),
    "not_found": (404, "There is no such thing, or it is not yours."),
    "method": (405, "This address does not take that method."),
    "slow": (408, "The request came too slowly."),
    "conflict": (409, "This was decided or done before."),
    "budget": (409, "There is less budget left than this costs."),
    "needs_approval": (
        409,
        "This costs more than one question may. Ask the owner for approval: on the "
        "table's page, or table.request(...) in Python.",
    ),
    "too_large": (413, "The request is too large."),
    "bad_request": (422, "The request does not have the form that is described."),
    "domain": (422, "The question does not fit the table's domain."),
    "unsafe": (422, "This would void the privacy guarantee."),
    "too_many": (429, "Too many requests; wait a moment."),
    "failed": (500, "This could not be answered."),
    "ledger": (503, "The ledger cannot be reached or used; try again."),
    "changed": (503, "The table was changed while it was read; ask again."),
    "table": (503, "The table cannot be read now; its owner has to look."),
    "shut": (503, "The ledger is shut until its owner has looked into a failure."),
    "busy": (503, "Too much work is under way; try again."),
}
_OWN_WORDS: dict[type[DiscretoError], str] = {
    ParameterError: "bad_request",
    DomainError: "domain",
    BudgetError: "budget",
    UnsafeError: "unsafe",
}


class Refusal(Exception):
    """A refusal by its code; the text is the code's own unless one is given."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(code)
        self.code, (self.status, text) = code, CODES[code]
        self.message = message or text

    def to_dict(self) -> dict[str, str]:
        """Return the body of the reply."""
        return {"error": self.code, "message": self.message}


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal for an error; an unknown error becomes ``failed``."""
    if isinstance(error, Refusal):
        return error
    for kind, code in _OWN_WORDS.items():
        if isinstance(error, kind):
            return Refusal(code, str(error)[:2000])
    if isinstance(error, ChangedError):
        return Refusal("changed")
    if isinstance(error, KernelFault):
        return Refusal("shut")
    if isinstance(error, LedgerError):
        return Refusal("ledger")  # its words name files and hosts
    return Refusal("failed")
