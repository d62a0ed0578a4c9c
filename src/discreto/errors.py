"""Everything discreto can refuse, named by what you can do about it.

::

    DiscretoError
      ParameterError(ValueError)      an argument is not possible; see the message
        CallError(TypeError)          an argument is missing, unknown or one too many
        UnknownNameError(AttributeError), UnknownImportError(ImportError)
                                      there is no such name; see what was meant
      DomainError(ValueError)         the public description is missing or wrong; add it
      BudgetError                     the ledger has not enough left; ask for less
      LedgerError                     the ledger file is damaged, locked, or another one
      UnsafeError                     this would break the guarantee; use a simulation
      MissingExtraError(ImportError)  an optional part is not installed; install it
      KernelFault                     the fold failed after the charge, which stands
        ChangedError                  files changed meanwhile; reload and ask again
        StalledError                  no worker did anything for too long

A message is made from public facts only. It never shows a value from a row.
"""

from __future__ import annotations


class DiscretoError(Exception):
    """Base of all errors of this package."""

    exit_code = 1


class ParameterError(DiscretoError, ValueError):
    """An argument is outside of what is possible."""

    exit_code = 2


class CallError(ParameterError, TypeError):
    """A call has other arguments than the function takes."""


class UnknownNameError(ParameterError, AttributeError):
    """An object of this package has no attribute of this name."""


class UnknownImportError(ParameterError, ImportError):
    """A module of this package has nothing of this name to import."""


class DomainError(DiscretoError, ValueError):
    """The public description of the data is missing or does not fit."""

    exit_code = 3


class BudgetError(DiscretoError):
    """The ledger has less left than this would cost."""

    exit_code = 4


class LedgerError(DiscretoError):
    """The ledger cannot be trusted or reached, so nothing may be released."""

    exit_code = 5


class UnsafeError(DiscretoError):
    """The request would void the privacy guarantee."""

    exit_code = 6


class MissingExtraError(DiscretoError, ImportError):
    """An optional dependency is not installed."""

    exit_code = 7


class KernelFault(DiscretoError):
    """The computation failed after it was charged. The charge stands."""

    exit_code = 8


class ChangedError(KernelFault):
    """The rows changed after they were paid for. The ledger stays open."""


class StalledError(KernelFault):
    """No task of a fold was done for too long: workers are gone, or stuck."""


class PrivacyWarning(UserWarning):
    """Something beside the guarantee: it holds, but not for all that is there."""


__all__ = [
    "BudgetError",
    "CallError",
    "ChangedError",
    "DiscretoError",
    "DomainError",
    "KernelFault",
    "LedgerError",
    "MissingExtraError",
    "ParameterError",
    "PrivacyWarning",
    "StalledError",
    "UnknownImportError",
    "UnknownNameError",
    "UnsafeError",
]
