"""The audit log of executions: what was begun, how it ended, and what became of approvals.

The mechanism is `operable.state.sealed_log`, the format `operable.flow.audit.record`. `begin` comes before the first
effect of an execution, `close` after the last: a process that dies in between leaves a record that the next writer closes
as `lost`. Readers get one record per execution, the one that says most. What is written was redacted before, and members
that are too large are replaced by their digest.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from operable.flow.audit.attestation import SECTIONS, without_secrets
from operable.flow.audit.record import STARTED, ExecutionFormat
from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.contracts import FlowError
from operable.kernel.redact import Known, Redactor, as_known
from operable.state.atomic import NotRegularError
from operable.state.sealed_end import DamagedError
from operable.state.sealed_head import Head, UnreadableHeadError, load_public_key, read_head
from operable.state.sealed_log import ROTATE_AT, LockError, Opened, SealedLog
from operable.state.sealed_record import LOST
from operable.state.sealed_settings import SettingError, operator_log
from operable.state.sealed_verdict import check, frozen

Json = dict[str, Any]
# What evidence is signed over is kept as it is up to a size that no manifest was seen to reach; the rest is for reading.
_SIGNED_LIMIT, _MEMBER_LIMIT = 256 * 1024, 16 * 1024
_SIGNED = frozenset({*SECTIONS, "identity", "evidence", "attestation"})
# The end of an execution whose contract records only failures: readers see nothing of it.
_SILENT = "succeeded"


@dataclass(frozen=True, slots=True)
class Begun:
    """An execution whose start is on disk."""

    log: SealedLog
    opened: Opened
    record: Json


def append(
    path: str, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = (), rotate_at: int = ROTATE_AT
) -> Head:
    """Seal and write one record, after removing what it must not show. FlowError when it cannot be written."""
    plain = _plain(record, secrets)
    with _writing():
        return operator_log(path, ExecutionFormat(), rotate_at=rotate_at).append(plain)


def begin(path: str, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = ()) -> Begun:
    """Record that an execution starts. FlowError when that cannot be written: then it must not start."""
    plain = _plain({**record, "status": STARTED}, secrets)
    with _writing():
        log = operator_log(path, ExecutionFormat())
        return Begun(log, log.begin(plain), plain)


def close(begun: Begun, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = ()) -> Head:
    """Record how it ended."""
    plain = _plain(record, secrets)
    with _writing():
        return begun.log.close(begun.opened, plain)


def close_silently(begun: Begun) -> Head:
    """Record only that it ended well: nothing that a reader of executions sees."""
    return close(
        begun, {name: begun.record.get(name) for name in ("execution_id", "timestamp")} | {"status": _SILENT}
    )


def newest(path: str) -> Head | None:
    """The newest record that the log's head names. Returns None for a log without one; FlowError for a damaged head."""
    try:
        stated = read_head(path)
    except UnreadableHeadError as error:
        raise FlowError("internal_error", f"the head of the audit log cannot be read: {error}") from None
    return None if stated is None or stated.head.seq < 0 else stated.head


def verify(path: str, *, anchor: Head | None = None, key: str | None = None) -> Json:
    """Check every record of every file. `anchor` was kept elsewhere, `key` is the file of the key that signs heads."""
    try:
        public = None if key is None else load_public_key(key)
    except ValueError as error:
        raise FlowError("invalid_argument", str(error)) from None
    with _reading():
        found = check(path, ExecutionFormat(), anchors=() if anchor is None else (anchor,), public_key=public)
    problems: list[Json] = [
        {"code": each.code, "message": each.message}
        | ({} if each.file is None else {"file": each.file, "line": each.line})
        for each in found.problems
    ]
    return {
        "verified": found.ok,
        "records": found.records,
        "unsealed_lines": found.unsealed,
        "head": None if found.head is None else {"seq": found.head.seq, "hash": found.head.hash},
        "lost": found.lost,
        "running": found.running,
        "signed_from": found.signed_from,
        "unsigned": found.unsigned,
        "problems": problems,
    }


def read(path: str, limit: int | None = None) -> tuple[list[Json], list[Json]]:
    """The newest records, oldest first, over all files, one per execution; and a warning per malformed line."""
    records: list[Json] = []
    warnings: list[Json] = []
    ended: dict[int, Json] = {}
    with _reading(), frozen(path) as (_, _, parts):
        for _, part in reversed(parts):
            found, bad = _read_one(part)
            records, warnings = _without_stages(found, ended) + records, bad + warnings
            if limit is not None and len(records) >= limit:
                return records[len(records) - limit :], warnings
    return records, warnings


def find(path: str, execution_id: str) -> Json:
    """The newest record of an execution."""
    ended: dict[int, Json] = {}
    with _reading(), frozen(path) as (_, _, parts):
        for _, part in reversed(parts):
            for record in reversed(_without_stages(_read_one(part)[0], ended)):
                if record.get("execution_id") == execution_id:
                    return record
    raise FlowError("invalid_argument", f"Execution not found in audit log: {execution_id}")


def holding(path: str, needle: bytes) -> Iterator[Json]:
    """The records whose line has these bytes, oldest first: reading all of a large log as JSON would take seconds."""
    with _reading(), frozen(path) as (_, _, parts):
        for line in chain.from_iterable(part for _, part in parts):
            if needle in line:
                yield from _read_one([line])[0]


def _without_stages(records: list[Json], ended: dict[int, Json]) -> list[Json]:
    """One record per execution. `ended` has what closes records of older files; records of this one are added."""
    shown: list[Json] = []
    for record in reversed(records):
        chain = record.get("chain")
        place = chain if isinstance(chain, Mapping) else {}
        if isinstance(place.get("closes"), int):
            ended[place["closes"]] = record
            if record.get("status") in (_SILENT, LOST):
                continue
        end = ended.pop(place["seq"], None) if place.get("kind") == STARTED else None
        if end is None:
            shown.append(record)
        elif end.get("status") == LOST:
            shown.append({**record, "status": LOST})
    shown.reverse()
    return shown


def _read_one(part: Iterable[bytes]) -> tuple[list[Json], list[Json]]:
    records, warnings = [], []
    for number, line in enumerate(part, 1):
        try:
            record = parse(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        elif line.strip():
            warnings.append({"line_number": number, "message": "malformed audit record skipped"})
    return records, warnings


def _plain(record: Mapping[str, Any], secrets: Known | Iterable[str]) -> Json:
    """The record as it is written: as every reader will see its numbers, without secrets, bounded."""
    try:
        plain: Json = parse(json.dumps(_shown(record, as_known(secrets))))
        plain.pop("chain", None)
        return {name: _bounded(name, value) for name, value in plain.items()}
    except (TypeError, ValueError):
        raise FlowError("internal_error", "the audit record is not JSON") from None


def _shown(record: Mapping[str, Any], mask: Known) -> Json:
    """The record without secrets.

    Known values and members with the name of a secret go everywhere; what merely looks like one stays in sections that
    are signed elsewhere, because changing them would make their signatures fail.
    """
    redactor = Redactor(mask)
    return {
        name: mask.value(without_secrets(value)) if name in _SIGNED else redactor.value(value)
        for name, value in record.items()
    }


def _bounded(name: str, value: Any) -> Any:
    text = canonical_text(value)
    if len(text) <= (_SIGNED_LIMIT if name in _SIGNED else _MEMBER_LIMIT):
        return value
    return {"$redacted": True, "characters": len(text), "digest": hash_text(text)}


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except DamagedError as error:
        message = f"the audit log is damaged; nothing is appended to it: {error}"
        raise FlowError("internal_error", message) from None
    except SettingError as error:
        message = f"the audit log cannot be written as wanted: {error.strerror}"
        raise FlowError("internal_error", message, setting=error.filename, hint=error.hint) from None
    except OSError as error:
        raise _refused(error, "written") from None


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refused(error, "read") from None


def _refused(error: OSError, what: str) -> FlowError:
    match error:
        case NotRegularError():
            message = f"Refusing to use a non-regular file: {error.filename}"
        case TimeoutError():
            message = "the audit log is locked by something that hangs"
        case LockError():
            message = f"the audit log cannot be locked: {error.strerror}"
        case _:
            message = f"the audit log cannot be {what}: {error.strerror}"
    return FlowError("internal_error", message)
