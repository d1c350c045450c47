"""A store of every version that ever was becomes one of this version, and nothing of it is lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from operable.engine.lifecycle.states import EngineRunState
from operable.engine.store.database import Database, open_database, prepare
from operable.engine.store.rows import RUN_COLUMNS, Run
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.store.schema import VERSION
from operable.kernel.errors import Fail
from operable.state.database import StoreConnection
from tests.engine.postgres import PostgresServer
from tests.engine.store.stored import DEAD, DOCUMENT, FOLDER, load, make, read, statements, tables
from tests.engine.worker.engines import Engine

VERSIONS = range(1, VERSION + 1)


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Database, Database]]:
    """Two databases of the same kind without a store."""
    if request.param == "sqlite":
        addresses = [str(tmp_path / f"{name}.db") for name in ("old", "new")]
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        addresses = [server.new_database(), server.new_database()]
    opened = open_database(addresses[0]), open_database(addresses[1])
    yield opened
    for each in opened:
        each.close()


def shape(connection: StoreConnection) -> set[tuple[str, ...]]:
    """Tables with their columns, and indexes, in whatever order they were made."""
    rows = connection.execute("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'index')")
    found = {(str(kind), str(name)) for kind, name in rows}
    columns = {
        ("column", table, str(row[1]), str(row[2]))
        for kind, table in found
        if kind == "table"
        for row in connection.execute(f"PRAGMA table_info({table})")
    }
    return found | columns


def postgres_shape(connection: StoreConnection) -> set[tuple[str, ...]]:
    columns = connection.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'operable'"
    )
    indexes = connection.execute(
        "SELECT tablename, indexname, '' FROM pg_indexes WHERE schemaname = 'operable'"
    )
    return {tuple(str(value) for value in row) for row in [*columns, *indexes]}


def shape_of(database: Database) -> set[tuple[str, ...]]:
    with database.snapshot() as connection:
        return postgres_shape(connection) if database.address.startswith("postgres") else shape(connection)


@pytest.mark.parametrize("version", VERSIONS)
def test_there_is_a_store_of_each_version_and_no_released_migration_was_edited(version: int) -> None:
    """After a new migration: python -m tests.engine.store.stored."""
    assert read(version)["statements"] == statements(version)
    assert {path.stem for path in FOLDER.iterdir()} == {f"v{each}" for each in VERSIONS}


def test_the_store_of_this_version_is_what_the_program_writes() -> None:
    def members(stored: dict[str, Any]) -> dict[str, list[str]]:
        return {table: sorted(rows[0]) for table, rows in stored["rows"].items()}

    assert members(read(VERSION)) == members(make(VERSION))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_store_is_migrated_and_keeps_every_row(
    version: int, pair: tuple[Database, Database]
) -> None:
    empty, new = pair
    prepare(new)
    stored = load(empty, version)
    with empty.snapshot() as connection:
        before = tables(connection, stored)
    assert before == {table: rows for table, rows in stored["rows"].items() if table != "meta"}
    assert prepare(empty) == f"{version:016x}"
    with empty.snapshot() as connection:
        assert tables(connection, stored) == before
        meta: dict[str, str] = dict(connection.execute("SELECT key, value FROM meta"))
    assert (meta["version"], meta["identity"]) == (str(VERSION), f"{version:016x}")
    assert shape_of(empty) == shape_of(new)
    _go_on(empty)


def _go_on(database: Database) -> None:
    """What the older version left behind is ended, started and answered by this one."""
    store = RunStore(database, wall_clock)
    with database.snapshot() as connection:
        rows = connection.execute(f"SELECT {RUN_COLUMNS} FROM runs")
        runs = {Run.read(row).cause_key: Run.read(row) for row in rows}
    store.reap(DEAD, "its lock is free")
    started = store.start_attempt(runs["waits"].run_id, runs["waits"].wake, "w")
    assert started is not None
    assert started.definition.document["name"] == "waits"
    assert store.decide(runs["asks"].run_id, approve=False, by="ann").state is EngineRunState.REJECTED
    with database.snapshot() as connection:
        states: dict[str, str] = dict(connection.execute("SELECT cause_key, state FROM runs"))
    assert (states["runs"], states["waits"]) == ("lost", "running")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_newer_store_is_refused_and_stays_as_it_is(version: int, pair: tuple[Database, Database]) -> None:
    empty, _ = pair
    stored = load(empty, version)
    with empty.transaction() as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(VERSION + 1),))
    before = shape_of(empty)
    with pytest.raises(Fail) as raised:
        prepare(empty)
    assert (raised.value.code, raised.value.hint) == (
        "STORE_NEWER",
        "install a newer version here: pip install --upgrade operable",
    )
    with empty.snapshot() as connection:
        assert tables(connection, stored) == {k: rows for k, rows in stored["rows"].items() if k != "meta"}
    assert shape_of(empty) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_a_worker_goes_on_with_the_store_of_an_older_version(version: int, tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    (tmp_path / "flow.json").write_text(json.dumps(DOCUMENT))
    engine.call("apply", "flow.json", verb="flow")
    path = tmp_path / "home" / "state" / "engine" / "engine.db"
    (path.parent / "workers").mkdir(mode=0o700, parents=True)
    (path.parent / "workers" / f"{DEAD}.lock").touch()  # what a worker that died leaves: a lock that is free
    database = open_database(str(path))
    load(database, version)
    database.close()
    if version < VERSION:
        assert engine.refused("runs")["code"] == "STORE_OLDER"
    engine.call("start", "--until-idle")
    runs = {run["name"]: run for run in engine.call("runs")}
    assert {name: run["state"] for name, run in runs.items()} == {
        "done": "succeeded",
        "waits": "succeeded",
        "asks": "asking",
        "runs": "lost",
        "handles": "succeeded",
    }
    assert {job["name"]: job["state"] for job in engine.call("jobs")}["done"] == "paused"
    engine.call("approve", runs["asks"]["run_id"])
    engine.call("start", "--until-idle")
    assert engine.outputs(runs["asks"]["run_id"]) == ["approved\n"]
