#!/usr/bin/env python3
"""`contacts`: people in a SQLite database. A worked example of the SDK: every kind of type, import, export and watch.

Plans are computed without writing, and applied in one transaction. Every change is a row of `log`, which `watch` reads.
"""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID, uuid4

from operable.tool import (
    Arg,
    Change,
    Context,
    Event,
    Fail,
    Input,
    ItemError,
    Must,
    Options,
    Page,
    Stream,
    Tool,
)


class Store(Options):
    """Which contacts.

    db: the file of the database
    """

    db: Annotated[Path, Arg(env="CONTACTS_DB")] = Path("contacts.sqlite")


tool = Tool(
    "contacts",
    version="1.0.0",
    schema_name="org.example.contacts.events",
    summary="People, and how to reach them.",
    options=Store,
)


class Kind(StrEnum):
    """What it is to us."""

    PERSON = "person"
    COMPANY = "company"


@dataclass
class Address:
    """Where to write to."""

    street: str
    city: str


class Contact(Event):
    """One contact."""

    id: UUID
    name: str
    kind: Kind
    email: str | None = None
    born: date | None = None
    remind: timedelta | None = None
    debt: Decimal = Decimal(0)
    photo: bytes | None = None
    address: Address | None = None
    added: datetime


class Created(Event):
    """A contact is new."""

    id: UUID
    name: str


class Updated(Event):
    """A contact has other fields."""

    id: UUID
    name: str


class Deleted(Event):
    """A contact is gone."""

    id: UUID


class ContactIn(Input, type="contact"):
    """A contact to import; only the name is required. What `contacts export` gives out fits."""

    name: Annotated[str, Must(min=1, max=200)]
    kind: Kind = Kind.PERSON
    email: str | None = None
    born: date | None = None
    remind: timedelta | None = None
    debt: Decimal = Decimal(0)
    photo: bytes | None = None
    address: Address | None = None
    id: UUID | None = None
    added: datetime | None = None


_SCHEMA = """
CREATE TABLE IF NOT EXISTS contact (id TEXT PRIMARY KEY, name TEXT NOT NULL, fields TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, what TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL);
"""
_EVENTS = {"created": Created, "updated": Updated, "deleted": Deleted}
Name = Annotated[str, Must(min=1, max=200)]
Email = Annotated[str, Must(pattern=r"^[^@\s]+@[^@\s]+$")]


@contextmanager
def reading(store: Store) -> Iterator[sqlite3.Connection | None]:
    """The database as it is; None if the file does not exist, which reading does not make."""
    if not store.db.exists():
        yield None
        return
    connection = sqlite3.connect(f"file:{store.db}?mode=ro", uri=True)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def writing(store: Store) -> Iterator[sqlite3.Connection]:
    """One transaction: all of it happens, or nothing."""
    store.db.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(store.db, isolation_level=None)
    try:
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")
    finally:
        connection.close()


def found(connection: sqlite3.Connection | None, id: UUID) -> Contact:
    rows = connection.execute("SELECT * FROM contact WHERE id = ?", (str(id),)) if connection else ()
    for row in rows:
        return _contact(row)
    raise Fail("not_found", "CONTACT_NOT_FOUND", f"There is no contact {id}", target=str(id))


def _contact(row: tuple[str, str, str]) -> Contact:
    return Contact(**_typed(json.loads(row[2])), id=UUID(row[0]), name=row[1])


def _typed(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a row as values; the database has texts."""
    made = {
        "kind": Kind,
        "born": date.fromisoformat,
        "remind": lambda seconds: timedelta(seconds=seconds),
        "debt": Decimal,
        "photo": bytes.fromhex,
        "address": lambda value: Address(**value),
        "added": datetime.fromisoformat,
    }
    return {name: value if value is None else made.get(name, str)(value) for name, value in fields.items()}


def _text(fields: dict[str, Any]) -> str:
    def plain(value: Any) -> Any:
        match value:
            case timedelta():
                return value.total_seconds()
            case bytes():
                return value.hex()
            case Address():
                return vars(value)
            case _:
                return str(value)

    return json.dumps(fields, default=plain)


def _put(connection: sqlite3.Connection, what: str, id: UUID, name: str, fields: dict[str, Any]) -> None:
    text = _text(fields)
    connection.execute("INSERT OR REPLACE INTO contact VALUES (?, ?, ?)", (str(id), name, text))
    connection.execute("INSERT INTO log (what, id, name) VALUES (?, ?, ?)", (what, str(id), name))


@tool.command(name="list", cursor="id", columns=("id", "name", "kind", "email"), examples=["list --limit 20"])
def list_contacts(*, kind: Kind | None = None, page: Page, store: Store) -> Iterator[Contact]:
    """List contacts, in the order of their ids.

    kind: only these
    """
    with reading(store) as connection:
        if connection is not None:
            query = "SELECT * FROM contact WHERE id > ? ORDER BY id"
            for row in connection.execute(query, (page.after or "",)):
                contact = _contact(row)
                if kind is None or contact.kind == kind:
                    yield contact


@tool.command(limit=None, examples=["export --output jsonl"])
def export(*, store: Store) -> Iterator[Contact]:
    """Give out every contact, as `import` takes them."""
    with reading(store) as connection:
        if connection is not None:
            yield from map(_contact, connection.execute("SELECT * FROM contact ORDER BY id"))


@tool.command(examples=["get 7c9e6679-7425-40de-944b-e07fc1f90ae7"])
def get(id: UUID, *, store: Store) -> Iterator[Contact]:
    """Show one contact.

    id: which one
    """
    with reading(store) as connection:
        yield found(connection, id)


@tool.command(mutates=True, examples=["create 'Ada Lovelace' --email ada@example.org --born 1815-12-10"])
def create(
    name: Name,
    *,
    kind: Kind = Kind.PERSON,
    email: Email | None = None,
    born: date | None = None,
    remind: timedelta | None = None,
    debt: Annotated[Decimal, Must(min=0)] = Decimal(0),
    photo: bytes | None = None,
    address: Address | None = None,
) -> Iterator[Change]:
    """Add a contact.

    name: how it is called
    kind: what it is
    email: its address
    born: its birthday
    remind: how long before the birthday to remind us
    debt: what it owes us
    photo: its picture, as base64
    address: where it lives, as JSON with street and city
    """
    yield Change(
        "create",
        name=name,
        kind=kind,
        email=email,
        born=born,
        remind=remind,
        debt=debt,
        photo=photo,
        address=address,
    )


@create.apply
def create_now(changes: list[Change], context: Context) -> list[Created]:
    done = []
    with writing(context.options) as connection:
        for change in changes:
            fields = {name: change[name] for name in _FIELDS} | {"added": datetime.now(UTC)}
            id = uuid4()
            _put(connection, "created", id, change["name"], fields)
            done.append(Created(id=id, name=change["name"]))
    return done


_FIELDS = ("kind", "email", "born", "remind", "debt", "photo", "address")


@tool.command(mutates=True, examples=["update 7c9e6679-7425-40de-944b-e07fc1f90ae7 --email ada@example.org"])
def update(
    id: UUID, *, name: Name | None = None, email: Email | None = None, store: Store
) -> Iterator[Change]:
    """Change a contact.

    id: which one
    name: its new name
    email: its new address
    """
    with reading(store) as connection:
        before = found(connection, id)
    yield Change("update", str(id), name=name or before.name, email=email or before.email)


@update.apply
def update_now(changes: list[Change], context: Context) -> list[Updated]:
    done = []
    with writing(context.options) as connection:
        for change in changes:
            before = found(connection, UUID(change.target))
            fields = {name: getattr(before, name) for name in (*_FIELDS, "added")} | {
                "email": change["email"]
            }
            _put(connection, "updated", before.id, change["name"], fields)
            done.append(Updated(id=before.id, name=change["name"]))
    return done


@tool.command(destructive=True, examples=["delete 7c9e6679-7425-40de-944b-e07fc1f90ae7 --confirm"])
def delete(*ids: UUID, store: Store) -> Iterator[Change]:
    """Remove contacts.

    ids: which ones
    """
    with reading(store) as connection:
        for id in dict.fromkeys(ids):
            yield Change("delete", str(found(connection, id).id))


@delete.apply
def delete_now(changes: list[Change], context: Context) -> list[Deleted]:
    with writing(context.options) as connection:
        for change in changes:
            connection.execute("DELETE FROM contact WHERE id = ?", (change.target,))
            connection.execute("INSERT INTO log (what, id, name) VALUES ('deleted', ?, '')", (change.target,))
    return [Deleted(id=UUID(change.target)) for change in changes]


@tool.command(name="import", mutates=True, examples=["import --input-jsonl contacts.jsonl"])
def import_contacts(items: Stream[ContactIn], *, store: Store) -> Iterator[Change | ItemError]:
    """Take contacts in, all or none. One with an id that is there already is refused."""
    with reading(store) as connection:
        for item in items:
            known = item.id is not None and connection is not None
            query = "SELECT 1 FROM contact WHERE id = ?"
            if known and connection.execute(query, (str(item.id),)).fetchone() is not None:
                yield ItemError(
                    Fail(
                        "conflict",
                        "CONTACT_EXISTS",
                        f"There is a contact {item.id}",
                        line_number=item.line_number,
                    )
                )
                continue
            given = {name: getattr(item, name) for name in ("name", *_FIELDS, "id", "added")}
            yield Change("create", None if item.id is None else str(item.id), **given)


@import_contacts.apply
def import_now(changes: list[Change], context: Context) -> list[Created]:
    done = []
    with writing(context.options) as connection:
        for change in changes:
            id = change["id"] or uuid4()
            fields = {name: change[name] for name in _FIELDS} | {
                "added": change["added"] or datetime.now(UTC)
            }
            _put(connection, "created", id, change["name"], fields)
            done.append(Created(id=id, name=change["name"]))
    return done


@tool.command(unbounded=True, heartbeat=1.0, examples=["watch --timeout 60", "watch --after 0 --limit 5"])
def watch(*, after: int | None = None, store: Store) -> Iterator[Created | Updated | Deleted]:
    """Report every change, until you interrupt it.

    after: begin after this change, not now; 0 for the first one
    """
    last = after
    while True:
        with reading(store) as connection:
            if last is None:
                newest = connection.execute("SELECT max(number) FROM log").fetchone()[0] if connection else 0
                last = newest or 0
            query = "SELECT number, what, id, name FROM log WHERE number > ? ORDER BY number"
            rows = connection.execute(query, (last,)).fetchall() if connection else []
        for number, what, id, name in rows:
            last = number
            yield Deleted(id=UUID(id)) if what == "deleted" else _EVENTS[what](id=UUID(id), name=name)
        time.sleep(0.1)


if __name__ == "__main__":
    tool.main()
