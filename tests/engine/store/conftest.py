"""Every test of the store runs on SQLite, and on PostgreSQL where its server is installed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from operable.engine.store.database import Database, open_database, prepare
from tests.engine.postgres import PostgresServer, server_programs


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    if server_programs() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresServer.started() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        address = str(tmp_path / "engine.db")
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        address = server.new_database()
    opened = open_database(address)
    prepare(opened)
    yield opened
    opened.close()
