"""One file for many threads: transactions that come together share a commit, and each stays whole by itself."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from operable.kernel.errors import Fail
from operable.state.database import SqliteDatabase, shown_address

LIMIT = 60.0
THREADS = 8


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    with closing(SqliteDatabase(str(tmp_path / "some.db"))) as opened:
        with opened.transaction() as connection:
            connection.execute("CREATE TABLE numbers (number BIGINT PRIMARY KEY)")
        yield opened


def numbers(database: SqliteDatabase) -> list[int]:
    """What another process sees."""
    with closing(sqlite3.connect(database.address)) as other:
        return [number for (number,) in other.execute("SELECT number FROM numbers ORDER BY number")]


def add(database: SqliteDatabase, number: int) -> None:
    with database.transaction() as connection:
        connection.execute("INSERT INTO numbers VALUES (?)", (number,))


def together(database: SqliteDatabase, act: Callable[[int], None]) -> list[str]:
    """Let threads act at the same time: while this one writes, all of them wait. Returns the statements of the writer."""
    statements: list[str] = []
    problems: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    try:
        with database.transaction() as connection:
            writer: Any = connection
            writer._connection.set_trace_callback(statements.append)
            connection.execute("INSERT INTO numbers VALUES (1000)")
            for thread in threads:
                thread.start()
            ends = time.monotonic() + LIMIT
            while database._waiting < THREADS:  # nothing else says that they wait
                assert time.monotonic() < ends
                time.sleep(0.001)
    finally:
        for thread in threads:
            thread.join(LIMIT)
            assert not thread.is_alive()
    if problems:
        raise problems[0]
    return statements


def test_threads_that_write_together_share_one_commit(database: SqliteDatabase) -> None:
    seen: list[bool] = []

    def act(number: int) -> None:
        add(database, number)
        seen.append(number in numbers(database))  # it is there for everyone when its transaction has ended

    statements = together(database, act)
    assert statements.count("COMMIT") == 1
    assert seen == [True] * THREADS
    assert numbers(database) == [*range(THREADS), 1000]


def test_one_that_fails_takes_back_only_its_own_part(database: SqliteDatabase) -> None:
    refused: list[tuple[int, str]] = []

    def act(number: int) -> None:
        try:
            with database.transaction() as connection:
                connection.execute("INSERT INTO numbers VALUES (?)", (number,))
                if number % 2:
                    raise Fail("conflict", "NO", "not this one")
        except Fail as error:
            refused.append((number, error.code))

    together(database, act)
    assert sorted(refused) == [(number, "NO") for number in (1, 3, 5, 7)]
    assert numbers(database) == [0, 2, 4, 6, 1000]


def test_a_commit_that_fails_is_the_failure_of_every_member(database: SqliteDatabase) -> None:
    failed: list[str] = []

    def act(number: int) -> None:
        try:
            with database.transaction() as connection:
                connection.execute("INSERT INTO numbers VALUES (?)", (number,))
                if len(failed) == 0 and database._waiting == 0:  # the last member
                    # As an error of the disk does: SQLite takes back everything by itself.
                    connection.execute("ROLLBACK")
        except Fail as error:
            failed.append(error.code)

    with pytest.raises(Fail, match="cannot be used"):
        together(database, act)
    assert failed == ["STORE_UNAVAILABLE"] * THREADS
    assert numbers(database) == []
    add(database, 5)
    assert numbers(database) == [5]


def test_a_refusal_is_not_reported_before_what_it_rests_on_is_durable(database: SqliteDatabase) -> None:
    reported: list[bool] = []

    def act(_: int) -> None:
        try:
            add(database, 1000)
        except Fail:
            reported.append(1000 in numbers(database))

    together(database, act)
    assert reported == [True] * THREADS


@pytest.mark.parametrize(
    "address, shown",
    [
        ("/home/ann/runs?@.db", "/home/ann/runs?@.db"),
        ("postgresql://ann:secret@db:5433/x?password=secret", "postgresql://ann@db:5433/x"),
        ("postgresql://db/x#secret", "postgresql://db/x"),
        # Signs that an address has only encoded: what is left of the password may be in any part.
        ("postgresql://ann:sec?ret@db/x", "postgresql://…"),
        ("postgresql://ann:sec#ret@db/x", "postgresql://…"),
        ("postgresql://ann:sec@ret@db/x", "postgresql://ann@db/x"),
    ],
)
def test_an_address_in_a_message_has_no_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown
