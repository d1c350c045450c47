"""Stores as every version of the schema left them: `stores/v1.json` and on. A file is written once and never again.

`python -m tests.engine.store.stored` writes the file of the newest version, if it is not there: run it after you have added a
migration. Its rows come from the program itself. What an older version could not have written is left out, because a column
or a table of it was not there.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.states import AttemptState
from operable.engine.schedule.clock import Firing
from operable.engine.store.database import SCHEMA, Database, open_database, prepare
from operable.engine.store.rows import WorkerRow
from operable.engine.store.runs import AttemptEnd, RunStore
from operable.engine.store.schema import MIGRATIONS, VERSION
from operable.engine.store.ticks import TickStore
from operable.engine.store.work import WorkStore
from operable.state.database import PostgresDatabase, StoreConnection, create_schema
from tests.engine.manifests import definitions, manifest, task, text

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "stores"
META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
DEAD = "gone-1-0000"
RARELY = {"cron": "0 0 29 2 *"}  # no tick comes while a test runs
DOCUMENT = manifest(
    task("done", "echo", "done", schedule=RARELY),
    task("waits", "echo", "went on", schedule=RARELY),
    task(
        "asks", "echo", "approved", schedule=RARELY, approval={"policy": "manual", "timeout_s": 400_000_000}
    ),
    task("runs", "sleep", "600", schedule=RARELY),
    task("handles", "echo", "handled", trigger={"parent": "runs", "on": "failure"}),
)


def statements(version: int) -> list[str]:
    """The tables of a version, as its migrations make them."""
    found = [META]
    for migration in MIGRATIONS[:version]:
        found += [" ".join(each.split()) for each in migration.split(";") if each.strip()]
    return found


def read(version: int) -> Json:
    stored: Json = json.loads((FOLDER / f"v{version}.json").read_text())
    return stored


def load(database: Database, version: int) -> Json:
    """Fill an empty database with the store of a version, and nothing of the program as it is now."""
    stored = read(version)
    with database.transaction() as connection:
        if isinstance(database, PostgresDatabase):
            create_schema(connection, SCHEMA)
        for statement in stored["statements"]:
            connection.execute(statement)
        for table, rows in stored["rows"].items():
            for row in rows:
                names, marks = ", ".join(row), ", ".join("?" for _ in row)
                values = [
                    bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
                    for value in row.values()
                ]
                connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values)
    return stored


def tables(connection: StoreConnection, stored: Json) -> dict[str, list[Json]]:
    """What is in the columns that a stored version has; its `meta` alone is another after a migration."""
    found = {}
    for table, rows in stored["rows"].items():
        if table != "meta":
            names = list(rows[0])
            order = ", ".join(names[:2])
            selected = connection.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order}")
            found[table] = [dict(zip(names, map(_plain, row), strict=True)) for row in selected]
    return found


def _plain(value: Any) -> Any:
    return {"hex": bytes(value).hex()} if isinstance(value, bytes | memoryview) else value


def _fill(database: Database) -> None:
    """One run in each of the situations that a store has to survive."""
    now = 1_763_000_000_000

    def clock() -> int:
        nonlocal now
        now += 1000
        return now

    store, ticks, work = RunStore(database, clock), TickStore(database, clock), WorkStore(database, clock)
    jobs = {job.document["source"]["task_id"]: job for job in definitions(DOCUMENT)}
    manifests = {job.manifest_digest: text(DOCUMENT) for job in jobs.values()}
    with database.transaction() as connection:
        for key, value in (("queue", "dbos"), ("queue_address", "dbos")):
            connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))
        row = WorkerRow(DEAD, "gone", 1, 8, "0.1.0", now, now, None, None)
        values = [getattr(row, name) for name in WorkerRow.__slots__]
        connection.execute(f"INSERT INTO workers VALUES ({', '.join('?' for _ in values)})", values)
    ticks.begin({jobs["done"].job_id: "0 0 29 2 * UTC"}, {}, 1, now // 1000)
    ticks.fire([(jobs["done"], Firing(fire=(1_763_000_400,), missed=2, last=1_763_000_400))], manifests)
    (done,) = work.to_wake()
    work.mark_sent([(done.run_id, done.wake)])
    assert store.start_attempt(done.run_id, done.wake, DEAD) is not None
    end = AttemptEnd(AttemptState.SUCCEEDED, exit_code=0, preview="done\n", output_bytes=5, facts="{}")
    store.end_attempt(done.run_id, 1, DEAD, end, b"done\n")
    store.settle(done.run_id, [], {})
    store.request(jobs["waits"], RunCause.MANUAL, "waits", text(DOCUMENT))
    store.request(jobs["asks"], RunCause.MANUAL, "asks", text(DOCUMENT))
    running = store.request(jobs["runs"], RunCause.MANUAL, "runs", text(DOCUMENT))
    work.mark_sent([(running.run_id, running.wake)])
    assert store.start_attempt(running.run_id, running.wake, DEAD) is not None
    ticks.pause(jobs["done"].job_id, "ann@example.com", paused=True)
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO conversations VALUES ('agent', 'key', 'id', ?, ?)", (done.run_id, now)
        )
        connection.execute(
            "INSERT INTO deliveries VALUES (?, 'file', 'x', 'made', 1, ?, ?, NULL)", (done.run_id, now, now)
        )


def make(version: int) -> Json:
    """The store of a version."""
    with tempfile.TemporaryDirectory() as folder:
        now, then = open_database(f"{folder}/now.db"), open_database(f"{folder}/then.db")
        prepare(now)
        _fill(now)
        with then.transaction() as old:
            for statement in statements(version):
                old.execute(statement)
            names = [
                str(name) for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            columns = {name: [row[1] for row in old.execute(f"PRAGMA table_info({name})")] for name in names}
        rows: dict[str, list[Json]] = {}
        with now.snapshot() as connection:
            for name, present in columns.items():
                selected = connection.execute(f"SELECT {', '.join(present)} FROM {name} ORDER BY 1, 2")
                rows[name] = [dict(zip(present, map(_plain, row), strict=True)) for row in selected]
        now.close()
        then.close()
    for row in rows["meta"]:
        if row["key"] in ("version", "identity"):
            row["value"] = str(version) if row["key"] == "version" else f"{version:016x}"
    # A table comes behind those that it refers to.
    order = sorted(rows, key=lambda name: (name not in ("meta", "definitions", "manifests", "runs"), name))
    return {
        "version": version,
        "statements": statements(version),
        "rows": {name: rows[name] for name in order if rows[name]},
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for version in range(1, VERSION + 1):
        path = FOLDER / f"v{version}.json"
        if not path.exists():
            path.write_text(json.dumps(make(version), indent=1) + "\n")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
