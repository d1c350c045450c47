"""Reading what a backend contains, straight from its database: newest first, filtered, paged, masked.

Looking changes nothing and delays no other process (`operable.state.sqlite`). A query that takes too long is ended.

`BY_TARGET` lists the entities of each backend, their tables, and the column by which the newest come first.
"""

import base64
import json
import os
import re
import sqlite3
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import field
from typing import Any, NamedTuple

from operable.flow.canonical import spelled
from operable.flow.errors import invalid_argument
from operable.flow.manifest.findings import js_trim
from operable.flow.manifest.inheritance import Json
from operable.flow.operation import truthy
from operable.flow.scheduler.job_rows import JobReader
from operable.flow.scheduler.job_store import open_jobs
from operable.kernel.data_class import dataclass
from operable.state.database import is_shared
from operable.state.sqlite import read_database

LIMIT = 20
_QUERY_TIMEOUT = 30.0
_STEPS = 10_000  # instructions of SQLite between two looks at the clock: about a millisecond
_MOST = 2**62  # what SQLite can count
SANITIZE = ("none", "basic")
# Terminal sequences: CSI (also as one C1 character), and OSC up to its end.
_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FENCE, _BROKEN_FENCE = "```", "``\u2060`"


class Entity(NamedTuple):
    """`documents` are columns of our own that contain JSON, shown as what they spell."""

    table: str
    newest: str
    documents: tuple[str, ...] = ()


# In the order in which descriptions list them.
ENTITIES = {
    "jobs": Entity("jobs", "created_at"),
    "runs": Entity("runs", "started_at"),
    "queue": Entity("job_dispatch_queue", "created_at"),
    "approvals": Entity("approvals", "requested_at"),
    "evidence": Entity("evidence_records", "created_at"),
    "artifacts": Entity("handoff_artifacts", "created_at"),
    "events": Entity("runtime_events", "id"),
    "provider_sessions": Entity("provider_sessions", "updated_at"),
    "credential_presentations": Entity("credential_presentations", "created_at"),
}
OF_OPERABLE = {
    "jobs": Entity("jobs", "updated_at", ("document",)),
    "applies": Entity("applies", "id", ("actions",)),
}
BY_TARGET = {"openclaw-scheduler": ENTITIES, "operable": OF_OPERABLE}


@dataclass(frozen=True, slots=True)
class Inspection:
    """What to show. `where` compares columns as text; None there means null."""

    entity: str = "jobs"
    limit: int = LIMIT
    offset: int = 0
    fields: tuple[str, ...] | None = None
    sanitize: str | None = None
    where: Mapping[str, str | None] = field(default_factory=dict)
    target: str = "openclaw-scheduler"


def inspection_of(params: Mapping[str, Any]) -> Inspection:
    """From the params of a request, with their errors in their documented words."""
    target: Any = params.get("target")
    entity: Any = params.get("entity")
    target = target if truthy(target) else "openclaw-scheduler"
    entity = entity if truthy(entity) else "jobs"
    if not isinstance(target, str) or target not in BY_TARGET:
        raise invalid_argument(f"Unsupported inspect target: {spelled(target)}")
    if not isinstance(entity, str) or entity not in BY_TARGET[target]:
        raise invalid_argument(f"Unsupported inspect entity: {spelled(entity)}")
    sanitize = params.get("sanitize")
    if sanitize is not None and sanitize not in SANITIZE:
        raise invalid_argument(f"Unsupported sanitize mode: {spelled(sanitize)}")
    return Inspection(
        entity=entity,
        limit=limit_of(params.get("limit"), default=LIMIT),
        offset=_offset(params.get("offset")),
        fields=_fields(params.get("fields")),
        sanitize=sanitize,
        where=_where(params.get("where")),
        target=target,
    )


def limit_of(value: Any, default: int) -> int:
    """A positive integer, also in digits."""
    number = default if value is None else _whole(value)
    if number is None or number < 1:
        raise invalid_argument("inspect limit must be a positive integer")
    return number


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        digits = value.isascii() and value.isdigit() and len(value) <= 15
        return int(value) if digits and (value == "0" or value[0] != "0") else None
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return min(value, _MOST) if isinstance(value, int) else None


def _offset(value: Any) -> int:
    number = 0 if value is None else _whole(value)
    if number is None or number < 0:
        raise invalid_argument("inspect offset must be a non-negative integer")
    return number


def _fields(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return tuple(filter(None, map(js_trim, value.split(",")))) or None
    if not isinstance(value, list):
        raise invalid_argument("inspect fields must be a comma-delimited string or an array of field names")
    for position, name in enumerate(value):
        if not isinstance(name, str) or not js_trim(name):
            raise invalid_argument(f"inspect fields[{position}] must be a non-empty string")
    return tuple(map(js_trim, value)) or None


def _where(value: Any) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid_argument("inspect where must be an object of columns and values")
    found: dict[str, str | None] = {}
    for name, wanted in value.items():
        if isinstance(wanted, dict | list):
            raise invalid_argument(f"inspect where.{name} must be a string, a number, a boolean or null")
        text = None if wanted is None else str(int(wanted) if isinstance(wanted, bool) else wanted)
        found[name] = None if text is None else text.encode("utf-8", "replace").decode()
    return found


def inspect(path: str | None, asked: Inspection) -> Json:
    """The documented result; FlowError when the database is not there or has no such thing."""
    if not path:
        raise invalid_argument("Missing scheduler database path. Pass dbPath or configure a default.")
    entity = BY_TARGET[asked.target][asked.entity]
    rows = _shared_rows(path, entity, asked) if is_shared(path) else _file_rows(path, entity, asked)
    items = [_item(row, entity, asked) for row in rows]
    return {
        "ok": True,
        "target": asked.target,
        "entity": asked.entity,
        "count": len(items),
        "items": items,
    }


def _shared_rows(url: str, entity: Entity, asked: Inspection) -> list[Json]:
    """Of jobs in PostgreSQL; none if nothing was ever applied there."""

    def read(reader: JobReader) -> list[Json]:
        connection = reader.connection
        connection.execute(f"SET LOCAL statement_timeout = {round(_QUERY_TIMEOUT * 1000)}")
        columns = connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() "
            "AND table_name = ? AND column_name <> 'rowid' ORDER BY ordinal_position",
            (entity.table,),
        )
        known = [str(name) for (name,) in columns]
        query, values = _query(entity, asked, known)
        if entity.table == "applies":
            query = query.replace("rowid", "id")
        return [dict(zip(known, row, strict=True)) for row in connection.execute(query, values)]

    with closing(open_jobs(url)) as store:
        return store.read(read) or []


def _file_rows(path: str, entity: Entity, asked: Inspection) -> list[Json]:
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        raise invalid_argument(f"Scheduler database not found: {path}") from None
    if not regular:
        raise invalid_argument(f"Refusing to use a non-regular file: {path}")
    try:
        return read_database(path, lambda connection: _rows(connection, entity, asked))
    except sqlite3.Error as problem:
        raise invalid_argument(f"The database {path} cannot be read: {problem}") from None


def _rows(connection: sqlite3.Connection, entity: Entity, asked: Inspection) -> list[Json]:
    ends = time.monotonic() + _QUERY_TIMEOUT
    connection.set_progress_handler(lambda: int(time.monotonic() > ends), _STEPS)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    known = [row[1] for row in connection.execute(f"PRAGMA table_info({entity.table})")]
    if not known:
        raise invalid_argument(
            f"The database has no table {entity.table}, so there is no {asked.entity} in it"
        )
    query, values = _query(entity, asked, known)
    return [dict(zip(known, row, strict=True)) for row in connection.execute(query, values)]


def _query(entity: Entity, asked: Inspection, known: list[str]) -> tuple[str, list[Any]]:
    conditions: list[str] = []
    values: list[Any] = []
    for name, wanted in asked.where.items():
        if name not in known:
            raise invalid_argument(f"{asked.entity} have no column {name}; they have: {', '.join(known)}")
        if wanted is None:
            conditions.append(f"{_quoted(name)} IS NULL")
        else:
            conditions.append(f"CAST({_quoted(name)} AS TEXT) = ?")
            values.append(wanted)
    newest = f"{_quoted(entity.newest)} DESC, " if entity.newest in known else ""
    chosen = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    # Only columns that the table has are named, each quoted; values are bound.
    shown = ", ".join(map(_quoted, known))
    query = f"SELECT {shown} FROM {entity.table}{chosen} ORDER BY {newest}rowid DESC LIMIT ? OFFSET ?"  # noqa: S608
    return query, [*values, asked.limit, asked.offset]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _item(row: Json, entity: Entity, asked: Inspection) -> Json:
    item = {name: _shown(value) for name, value in row.items()}
    for name in entity.documents:
        try:
            item[name] = json.loads(item[name])
        except (ValueError, RecursionError):
            continue  # another process changed it; a reader who looks for the damage sees the text as it is
    if asked.fields is not None:
        item = masked(item, asked.fields)
    if asked.sanitize == "basic":
        item = sanitised(item)
    return item


def _shown(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


# Showing part of a record, and showing it harmlessly: field masks and sanitising.


def masked(item: Json, names: Iterable[str]) -> Json:
    """Only these members, nested as they were; `a.b` walks into objects and into JSON text. Unknown ones are left out."""
    shown: Json = {}
    for name in names:
        found, value = _walk(item, name.split("."))
        if found:
            _put(shown, name.split("."), value)
    return shown


def _walk(value: Any, steps: list[str]) -> tuple[bool, Any]:
    for step in steps:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return False, None
        if not isinstance(value, dict) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _put(shown: Json, steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        inner = shown.get(step)
        if not isinstance(inner, dict):
            inner = shown[step] = {}
        shown = inner
    shown[steps[-1]] = value


def sanitised(value: Any) -> Any:
    """Every text without terminal sequences, control characters (tab and line ends stay) and closed code fences."""
    if isinstance(value, str):
        plain = _CONTROL.sub("", _TERMINAL.sub("", value))
        return plain.replace(_FENCE, _BROKEN_FENCE)
    if isinstance(value, dict):
        return {name: sanitised(item) for name, item in value.items()}
    if isinstance(value, list):
        return [sanitised(item) for item in value]
    return value
