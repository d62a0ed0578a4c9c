"""What integration tests share: helper modules on the path, a PostgreSQL server."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from postgres import Postgres, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that tests share; each makes ledgers or tables of its own."""
    if programs() is None:
        pytest.skip("needs PostgreSQL: the Debian package, or pip install pgserver")
    server = Postgres()
    yield server
    server.stop()
