"""A pipeline around a private model: which of its steps have learned from the rows?

A model sees only what the steps before it hand over. But they are there, in the
pipeline that is calling: what they are is public, and if they were fitted to private
rows, then the noise of the model does not cover what they have learned.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sklearn.utils import get_tags

from discreto.errors import PrivacyWarning

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

_CALLERS = 14  # frames between Pipeline.fit and a model's fit, with room
_PUBLIC_CATEGORIES = ("OneHotEncoder", "OrdinalEncoder")


def warn_of_leaks() -> None:
    """Warn if this fit is called by a pipeline with steps that learn from rows."""
    pipeline = _calling_pipeline()
    if pipeline is None:
        return
    found = list(dict.fromkeys(map(_name, leaking_steps(pipeline.steps[:-1]))))
    if not found:
        return
    warnings.warn(
        f"{', '.join(found)} before this model learned from the private rows, and what "
        "was learned is in the model without noise and without a charge. Use "
        "discreto.preprocessing.PublicScaler and PublicOneHotEncoder, which take it "
        "from the domain; see docs/pipelines.md.",
        PrivacyWarning,
        stacklevel=3,
    )


def leaking_steps(steps: Any) -> Iterator[Any]:
    """Yield the transformers among nested steps that take something from the rows.

    >>> from sklearn.preprocessing import FunctionTransformer, MinMaxScaler
    >>> steps = [("a", MinMaxScaler()), ("b", FunctionTransformer())]
    >>> list(leaking_steps(steps))
    [MinMaxScaler()]
    """
    for _, step, *_ in steps:
        inner = getattr(
            step, "steps", None
        )  # a pipeline, a column transformer, a union
        inner = inner or getattr(step, "transformers", None)
        inner = inner or getattr(step, "transformer_list", None)
        if inner is not None:
            yield from leaking_steps(inner)
        elif not isinstance(step, str) and step is not None and _learns(step):
            yield step


def _learns(step: Any) -> bool:
    if type(step).__module__.startswith("discreto."):
        return False  # public, or perturbed and paid for
    if type(step).__name__ in _PUBLIC_CATEGORIES and step.categories != "auto":
        return False
    try:
        return bool(get_tags(step).requires_fit)
    except (AttributeError, TypeError):
        return True


def _name(step: Any) -> str:
    return type(step).__name__


def _calling_pipeline() -> Pipeline | None:
    """Return the pipeline whose last step is being fitted, if there is one."""
    loaded, frame = sys.modules.get("sklearn.pipeline"), sys._getframe(1)
    if loaded is None:  # then there is none
        return None
    for _ in range(_CALLERS):
        if frame is None:
            return None
        owner = frame.f_locals.get("self")
        own = isinstance(owner, loaded.Pipeline)
        if own and frame.f_code.co_name.startswith("fit"):
            return owner
        frame = frame.f_back  # type: ignore[assignment]
    return None
