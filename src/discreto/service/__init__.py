"""A server that answers questions about tables without showing rows.

``config`` is what the owner writes down; ``questions`` decodes JSON; ``door`` is the
only way to a table: it checks, charges, answers; ``payer`` makes asking again free;
``jobs`` is long work; ``state`` and ``credentials`` know people. ``guard``, ``api`` and
``app`` speak HTTP. ``docs/service.md`` explains how to run one.
"""

from __future__ import annotations

from discreto.errors import MissingExtraError
from discreto.text.install_commands import install_command

try:
    import argon2 as _argon2  # noqa: F401
    import fastapi as _fastapi  # noqa: F401
except ImportError:
    raise MissingExtraError(
        f"the service needs FastAPI and others: {install_command('service')}"
    ) from None

from discreto.service.asking import Door
from discreto.service.config import ServiceConfig, read_config
from discreto.service.service import Service

__all__ = ["Door", "Service", "ServiceConfig", "read_config"]
