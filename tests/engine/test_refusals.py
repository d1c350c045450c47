"""What an operator may get wrong: refused by the command, in the right category, before a file or a row is written."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from operable.engine.store.schema import VERSION
from operable.state import database as database_module
from operable.state.database import open_database
from tests.absent import HIDDEN
from tests.cli.drive import operable, running
from tests.engine.manifests import manifest, task
from tests.engine.postgres import PostgresServer, server_programs
from tests.engine.temporal import TemporalServer
from tests.engine.worker.engines import Engine

PASSWORD = "cAn4ry-9d1f"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path, task("a"))


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    if server_programs() is None:
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresServer.started() as server:
        yield server


def refusal(engine: Engine, *words: str) -> tuple[str, str, int]:
    """Category, code and status of a refused command, which wrote nothing and repeated no password."""
    before = _files(engine.folder)
    done = operable("engine", *words, env=engine.environment, cwd=engine.folder)
    assert _files(engine.folder) == before
    said = done.stdout.decode() + done.stderr
    assert PASSWORD[:6] not in said
    error = done.error
    assert error["hint"], error
    return error["category"], error["code"], done.exit_code


def _files(folder: Path) -> dict[str, int]:
    """Files and their sizes, without those that SQLite keeps beside a database while it reads."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.stat().st_size for path in files if not path.name.endswith(("-wal", "-shm"))}


ADDRESSES = pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("mysql://h/x", ("config", "DATABASE_UNKNOWN", 78)),
        (f"postgresql://ann:{PASSWORD}%zz@127.0.0.1:1/x", ("config", "DATABASE_URL", 78)),
        (f"postgresql://ann:{PASSWORD}/#?@127.0.0.1:1/x", ("config", "DATABASE_URL", 78)),
        (f"postgresql://ann:{PASSWORD}@127.0.0.1:99999/x", ("config", "DATABASE_URL", 78)),
        (f"postgresql://ann:{PASSWORD}@[::1/x", ("config", "DATABASE_URL", 78)),
        (f"postgresql://ann:{PASSWORD}@127.0.0.1:1/x", ("temporary", "STORE_UNAVAILABLE", 75)),
        ("", ("usage", "INVALID_VALUE", 64)),
    ],
    ids=["scheme", "percent", "signs", "port", "brackets", "unreachable", "empty"],
)


@ADDRESSES
@pytest.mark.parametrize("words", [("start",), ("trigger", "flow/a")], ids=lambda words: words[0])
def test_a_database_that_cannot_be_meant(
    engine: Engine, words: tuple[str, ...], address: str, expected: tuple[str, str, int]
) -> None:
    assert refusal(engine, *words, "--database", address) == expected


def refused_apply(folder: Path, address: str) -> tuple[str, str, int]:
    """What `flow apply` says in a home where nothing is yet: it makes nothing there, and repeats no password."""
    (folder / "flow.json").write_text(json.dumps(manifest(task("a"))))
    words = ("apply", "flow.json", "--database", address)
    done = operable("flow", *words, env={"AGENTCLI_HOME": str(folder / "home")}, cwd=folder)
    assert PASSWORD[:6] not in done.stdout.decode() + done.stderr
    assert not (folder / "home").exists()
    return done.error["category"], done.error["code"], done.exit_code


@ADDRESSES
def test_apply_makes_nothing_for_a_database_that_cannot_be_meant(
    tmp_path: Path, address: str, expected: tuple[str, str, int]
) -> None:
    assert refused_apply(tmp_path, address) == expected


def test_postgresql_that_does_not_let_us_in(engine: Engine, postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.new_database()
    postgres.new_user(address, "guest", f"{PASSWORD}x")
    place = address.partition("@")[2]
    wrong = f"postgresql://guest:{PASSWORD}@{place}"
    assert refusal(engine, "start", "--database", wrong) == ("authn", "STORE_REFUSED", 77)
    right = f"postgresql://guest:{PASSWORD}x@{place}"
    assert refusal(engine, "start", "--database", right) == ("authz", "STORE_REFUSED", 77)
    (tmp_path / "new").mkdir()
    unknown = f"{address.rpartition('/')[0]}/nowhere"
    assert refusal(engine, "start", "--database", unknown) == ("config", "DATABASE_MISSING", 78)
    assert refused_apply(tmp_path / "new", unknown) == ("config", "DATABASE_MISSING", 78)
    assert refused_apply(tmp_path / "new", wrong) == ("authn", "STORE_REFUSED", 77)
    assert refused_apply(tmp_path / "new", right) == ("authz", "STORE_REFUSED", 77)


def test_postgresql_that_is_too_old(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "OLDEST_POSTGRES", 990000)
    with pytest.raises(Exception, match="99 is the oldest"):
        open_database(postgres.new_database()).exists()


def test_a_store_of_a_newer_version_and_a_second_database(engine: Engine, tmp_path: Path) -> None:
    run = engine.trigger("a")
    database = engine.place.open_store()
    with database.transaction() as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(VERSION + 1),))
    database.close()
    for words in (("start",), ("trigger", "flow/a"), ("cancel", run)):
        assert refusal(engine, *words) == ("config", "STORE_NEWER", 78)
    for words in (("start",), ("trigger", "flow/a"), ("status",)):
        other = ("--database", str(tmp_path / "other.db"))
        assert refusal(engine, *words, *other) == ("config", "DATABASE_DIFFERS", 78)
    jobs = _files(tmp_path)
    apply = ("apply", "flow.json", "--database", "postgresql://127.0.0.1:1/x")
    done = operable("flow", *apply, env=engine.environment, cwd=tmp_path)
    assert (done.error["code"], _files(tmp_path)) == ("DATABASE_DIFFERS", jobs)


def test_jobs_of_a_newer_version_are_refused_and_a_worker_that_runs_waits(engine: Engine) -> None:
    engine.call("start", "--until-idle")

    def write_version(version: int) -> None:
        with closing(sqlite3.connect(engine.place.jobs)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")

    write_version(2)
    for words in (("start",), ("trigger", "flow/a"), ("status",), ("jobs",)):
        assert refusal(engine, *words) == ("config", "CAPABILITY_MISSING", 78)
    write_version(1)
    with running("engine", "start", env=engine.environment, cwd=engine.folder) as started:
        started.event("engine_worker_started")
        write_version(2)
        warning = started.event("aoi:warning")
        assert warning["code"] == "WORKER_WAITS"
        assert "is of version 2" in warning["message"]
        write_version(1)
        engine.wait_for(engine.trigger("a"), "succeeded")


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        ("rabbit://h", ("usage", "UNKNOWN_ENGINE_BACKEND", 64)),
        ("dbos://h", ("usage", "INVALID_VALUE", 64)),
        (f"temporal://ann:{PASSWORD}@127.0.0.1/x", ("usage", "INVALID_VALUE", 64)),
        ("temporal://127.0.0.1:99999/x", ("usage", "INVALID_VALUE", 64)),
        ("temporal://127.0.0.1:1/default", ("temporary", "QUEUE_UNAVAILABLE", 75)),
    ],
)
def test_a_queue_that_cannot_be_used(engine: Engine, queue: str, expected: tuple[str, str, int]) -> None:
    assert refusal(engine, "start", "--queue", queue) == expected


@pytest.mark.needs("temporal")
def test_a_namespace_that_does_not_exist(engine: Engine) -> None:
    with TemporalServer.started() as server:
        queue = f"temporal://{server.address}/nowhere"
        assert refusal(engine, "start", "--queue", queue) == ("config", "QUEUE_UNKNOWN", 78)


def test_a_package_that_is_not_installed(engine: Engine) -> None:
    script = HIDDEN.format(modules=["temporalio"]) + "from operable.cli import main; main()"
    words = ["engine", "start", "--queue", "temporal://127.0.0.1", "--output", "jsonl"]
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env=os.environ | engine.environment,
        cwd=engine.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 78
    assert "pip install 'operable[temporal]'" in done.stdout


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"schedule": {"cron": "99 * * * *"}}, "is not a schedule: bad minute"),
        ({"schedule": {"cron": "0 * * * *", "tz": "Mars/Base"}}, "is not a time zone: Mars/Base"),
        ({"schedule": {"cron": "0 * * * *", "tz": "localtime"}}, "is not a time zone: localtime"),
        ({"schedule": {"cron": "0 * * * *", "tz": "right/UTC"}}, "is not a time zone: right/UTC"),
        ({"trigger": {"parent": "b", "on": "success"}}, "the triggers form a cycle"),
    ],
)
def test_a_manifest_that_would_never_run(engine: Engine, blocks: dict[str, Any], message: str) -> None:
    jobs = engine.call("jobs")
    with pytest.raises(AssertionError, match=message):
        engine.apply(task("a", **blocks), task("b", trigger={"parent": "a", "on": "success"}))
    assert engine.call("jobs") == jobs


def test_a_home_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = operable("engine", "start", "--home", str(tmp_path / "file/home"), cwd=tmp_path)
    assert done.exit_code == 64
    assert f"{tmp_path}/file/home cannot be made: Not a directory" in done.error["message"]
