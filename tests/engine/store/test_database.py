"""The database: made once, migrated, refused if it is newer; nothing of a failed transaction stays."""

import os
import stat
from pathlib import Path

import pytest

from operable.engine.store.database import Database, open_database, prepare, shown_address
from operable.engine.store.schema import VERSION
from operable.kernel.errors import Fail


def test_preparing_twice_changes_nothing(database: Database) -> None:
    assert prepare(database) == prepare(database)


def test_a_store_of_a_newer_version_is_refused(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(VERSION + 1),))
    with pytest.raises(Fail) as raised:
        prepare(database)
    assert raised.value.code == "STORE_NEWER"


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as connection:
            connection.execute("INSERT INTO manifests VALUES ('d', 't')")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with database.snapshot() as connection:
        assert connection.execute("SELECT * FROM manifests") == []


def test_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "engine.db"
    prepare(open_database(str(path)))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_an_unknown_database_is_refused_by_name() -> None:
    with pytest.raises(Fail, match="mysql is not a database"):
        open_database("mysql://host/name")


def test_a_database_that_does_not_answer_is_an_error_without_the_password() -> None:
    database = open_database("postgresql://ann:secret@127.0.0.1:1/name")
    with pytest.raises(Fail) as raised:
        prepare(database)
    assert raised.value.code == "STORE_UNAVAILABLE"
    assert "secret" not in raised.value.message
    assert "refused" in raised.value.message


def test_an_address_is_shown_without_its_password() -> None:
    assert shown_address("postgresql://ann:secret@db:5433/x?password=y") == "postgresql://ann@db:5433/x"
