"""The warning of a fit to rows of which many lack values."""

from __future__ import annotations

import warnings

from discreto.models.base.own_ledger import callers_level
from discreto.release.labels import label_in_words
from discreto.stats._base import is_warning


def warn_of_gaps(note: str) -> None:
    """Warn if what a fit has paid for says that many rows lack values."""
    for remark in filter(is_warning, note.split("; ")):
        level = callers_level()
        warnings.warn(label_in_words(remark), UserWarning, stacklevel=level)
