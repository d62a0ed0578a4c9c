"""What integration tests share: helper modules on the path, a PostgreSQL server."""

from collections.abc import Iterator

import pytest
from postgres import Postgres, programs


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that tests share; each makes ledgers or tables of its own."""
    if programs() is None:
        pytest.skip("needs PostgreSQL: the Debian package, or pip install pgserver")
    server = Postgres()
    yield server
    server.stop()
