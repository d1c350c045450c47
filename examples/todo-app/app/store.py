"""The state of the to-do application: one SQLite database, and what each command does to it."""

import argparse
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Any

STATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "state")
TABLE = """
CREATE TABLE IF NOT EXISTS items (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'open', due_at TEXT,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, completed_at TEXT, remind_at TEXT
)
"""
# At most so many items in one answer: a model reads them all.
MOST = 500


class Refused(Exception):  # noqa: N818 - reads as a verb where it is raised
    """A failure with a code for agents, a message for people and an exit status for every caller."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@contextmanager
def opened() -> Iterator[sqlite3.Connection]:
    """The database, in one transaction that waits for others and is undone when something fails."""
    os.makedirs(STATE, exist_ok=True)
    connection = sqlite3.connect(os.path.join(STATE, "todo.db"), timeout=20, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(TABLE)
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()


def add(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    title, now = titled(given.title), stamp()
    number = connection.execute(
        "INSERT INTO items (title, description, due_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?)",
        (title, given.description or "", day(given.due_at), now, now),
    ).lastrowid
    return {"item": item(connection, f"td_{number:04}")}


def show(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    limit = max(1, min(given.limit, MOST))
    rows = connection.execute(
        "SELECT number FROM items WHERE number > ? AND (? IS NULL OR status = ?) ORDER BY number LIMIT ?",
        (number_of(given.after) if given.after else 0, given.status, given.status, limit + 1),
    ).fetchall()
    items = [item(connection, f"td_{number:04}") for (number,) in rows[:limit]]
    return {"count": len(items), "items": items, "next": items[-1]["id"] if len(rows) > limit else None}


def get(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    return {"item": item(connection, given.id)}


def update(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    item(connection, given.id)
    if given.title is not None:
        change(connection, given.id, "title", titled(given.title))
    if given.description is not None:
        change(connection, given.id, "description", given.description)
    if given.due_at is not None:
        change(connection, given.id, "due_at", day(given.due_at))
    return {"item": item(connection, given.id)}


def complete(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    if item(connection, given.id)["status"] == "open":
        change(connection, given.id, "status", "done")
        change(connection, given.id, "completed_at", stamp())
    return {"item": item(connection, given.id)}


def remove(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    gone = item(connection, given.id)
    connection.execute("DELETE FROM items WHERE number = ?", (number_of(given.id),))
    return {"item": gone}


def remind(connection: sqlite3.Connection, given: argparse.Namespace) -> dict[str, Any]:
    if given.what == "list":
        rows = connection.execute(
            "SELECT number FROM items WHERE remind_at IS NOT NULL AND (? IS NULL OR remind_at <= ?) "
            "ORDER BY remind_at LIMIT ?",
            (given.due_by, day(given.due_by), MOST),
        ).fetchall()
        items = [item(connection, f"td_{number:04}") for (number,) in rows]
        return {"count": len(items), "items": items}
    if given.what == "drop" and given.id is None:
        raise Refused("USAGE", "remind drop needs the id of an item.", 64)
    if given.what != "drop" and given.at is None:
        raise Refused("USAGE", "remind needs --at DATE.", 64)
    which = given.id if given.what == "drop" else given.what
    item(connection, which)
    change(connection, which, "remind_at", None if given.what == "drop" else day(given.at))
    return {"item": item(connection, which)}


def item(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    """One item as schemas/item.json describes it."""
    row = connection.execute(
        "SELECT title, description, status, due_at, created_at, updated_at, completed_at, remind_at "
        "FROM items WHERE number = ?",
        (number_of(name),),
    ).fetchone()
    if row is None:
        raise Refused("NOT_FOUND", f"There is no item {name[:40]}.", 66)
    keys = ("title", "description", "status", "dueAt", "createdAt", "updatedAt", "completedAt", "remindAt")
    return {"id": name, **dict(zip(keys, row, strict=True))}


def change(connection: sqlite3.Connection, name: str, column: str, value: str | None) -> None:
    # The column is a word of this file, never of a caller.
    connection.execute(
        f"UPDATE items SET {column} = ?, updated_at = ? WHERE number = ?", (value, stamp(), number_of(name))
    )


def number_of(name: str) -> int:
    digits = name.removeprefix("td_")
    if name == digits or not (digits.isascii() and digits.isdigit() and 4 <= len(digits) <= 15):
        raise Refused("NOT_FOUND", f"There is no item {name[:40]}.", 66)
    return int(digits)


def titled(text: str) -> str:
    if not text.strip() or len(text) > 500:
        raise Refused("USAGE", "A title has between 1 and 500 characters.", 64)
    return text.strip()


def day(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise Refused("INVALID_DATE", f"{text[:40]!r} is not a date like 2026-04-05.", 65) from None


def stamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
