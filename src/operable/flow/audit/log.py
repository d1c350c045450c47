"""The audit log of executions: what was begun, how it ended, and the outcome of approvals.

The mechanism is `operable.state.sealed_log`, the format `operable.flow.audit.record`. `begin` comes before the first
effect of an execution, `close` after the last: a process that dies in between leaves a record that the next writer closes
as `lost`. Readers get one record per execution, the one that says most. What is written was redacted before, and members
that are too large are replaced by their digest.
"""

import json
import os
import shlex
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from operable.flow.audit.attestation import SECTIONS, without_secrets
from operable.flow.audit.record import STARTED, ExecutionFormat
from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.errors import FlowError
from operable.kernel.data_class import dataclass
from operable.kernel.redact import Known, Redactor, as_known
from operable.state.atomic import NotRegularError
from operable.state.sealed_end import DamagedError
from operable.state.sealed_head import Head, UnreadableHeadError, load_public_key, read_head
from operable.state.sealed_log import ROTATE_AT, LockError, OpenRecord, SealedLog
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
    opened: OpenRecord
    record: Json


def append(
    path: str, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = (), rotate_at: int = ROTATE_AT
) -> Head:
    """Seal and write one record, after removing what it must not show. FlowError when it cannot be written."""
    plain = _plain(record, secrets)
    with _writing(path):
        return operator_log(path, ExecutionFormat(), rotate_at=rotate_at, name=_name(path)).append(plain)


def begin(path: str, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = ()) -> Begun:
    """Record that an execution starts. FlowError when that cannot be written: then it must not start."""
    plain = _plain({**record, "status": STARTED}, secrets)
    with _writing(path):
        log = operator_log(path, ExecutionFormat(), name=_name(path))
        return Begun(log, log.begin(plain), plain)


def close(begun: Begun, record: Mapping[str, Any], *, secrets: Known | Iterable[str] = ()) -> Head:
    """Record how it ended."""
    plain = _plain(record, secrets)
    with _writing(begun.log.path):
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
        anchors = () if anchor is None else (anchor,)
        found = check(path, ExecutionFormat(), anchors=anchors, public_key=public, name=_name(path))
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


@dataclass(frozen=True, slots=True)
class MalformedLine:
    """A line that is not a record."""

    line: int

    @property
    def message(self) -> str:
        return "malformed audit record skipped"


def read(path: str, limit: int | None = None) -> tuple[list[Json], list[Json]]:
    """The newest records, oldest first, over all files, one per execution; and a warning per malformed line."""
    records: list[Json] = []
    warnings: list[Json] = []
    ended: dict[int, Json] = {}
    with _reading(), frozen(path) as (_, _, parts):
        for _, part in reversed(parts):
            # The contract's warnings are about a whole file, also where only its newest records are wanted.
            for place, line in part.back():
                record = _parsed(line)
                if record is None and line.strip():
                    problem = MalformedLine(part.number(place))
                    warnings.append({"line_number": problem.line, "message": problem.message})
                elif record is not None and (limit is None or len(records) < limit):
                    records += _shown_before(record, ended)
            if limit is not None and len(records) >= limit:
                break
    return records[::-1], warnings[::-1]


def find(path: str, execution_id: str) -> Json:
    """The newest record of an execution; the unique beginning of its id is enough."""
    found: dict[str, Json] = {}
    for each in newest_first(path):
        if not isinstance(each, dict):
            continue
        known = each.get("execution_id")
        if known == execution_id:
            return each
        if execution_id and isinstance(known, str) and known.startswith(execution_id):
            found.setdefault(known, each)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise FlowError("invalid_argument", f"Several executions in the audit log begin with {execution_id}")
    raise FlowError("invalid_argument", f"Execution not found in audit log: {execution_id}")


def newest_first(path: str) -> Iterator[Json | MalformedLine]:
    """The records over all files, one per execution, read from the end: a reader of a few pays for a few."""
    ended: dict[int, Json] = {}
    with _reading(), frozen(path) as (_, _, parts):
        for _, part in reversed(parts):
            for place, line in part.back():
                record = _parsed(line)
                if record is not None:
                    yield from _shown_before(record, ended)
                elif line.strip():
                    yield MalformedLine(part.number(place))


def oldest_first(path: str) -> Iterator[Json | MalformedLine]:
    """The same in the order in which they were written.

    The start of an execution waits for its end, and what was written in between waits with it. Those that run now have none.
    """
    waiting: OrderedDict[int, Json | MalformedLine | None] = (
        OrderedDict()
    )  # None: it was closed, and is not shown
    starts: dict[int, int] = {}  # number of a record whose end is to come -> its place in `waiting`
    with _reading(), frozen(path) as (stated, _, parts):
        running = frozenset(() if stated is None else stated.open)
        for _, part in parts:
            for number, line in enumerate(part, 1):
                record = _parsed(line)
                if record is None and not line.strip():
                    continue
                _queue(MalformedLine(number) if record is None else record, waiting, starts, running)
                first_start = next(iter(starts.values()), None)
                while waiting and next(iter(waiting)) != first_start:
                    shown = waiting.popitem(last=False)[1]
                    if shown is not None:
                        yield shown
    yield from (shown for shown in waiting.values() if shown is not None)


def holding(path: str, needle: bytes, *, newest_first: bool = False) -> Iterator[Json]:
    """The records whose line has these bytes, in either order: reading all of a large log as JSON would take seconds."""
    with _reading(), frozen(path) as (_, _, parts):
        lines = chain.from_iterable(part for _, part in parts)
        if newest_first:
            lines = chain.from_iterable((line for _, line in part.back()) for _, part in reversed(parts))
        for line in lines:
            if needle in line and (record := _parsed(line)) is not None:
                yield record


def _shown_before(record: Json, ended: dict[int, Json]) -> Iterator[Json]:
    """What is shown of a record, when all newer ones were seen. `ended` has what closes those that are still to come."""
    place = _place(record)
    if isinstance(place.get("closes"), int):
        ended[place["closes"]] = record
        if record.get("status") in (_SILENT, LOST):
            return
    seq = place.get("seq")
    end = ended.pop(seq, None) if place.get("kind") == STARTED and isinstance(seq, int) else None
    if end is None:
        yield record
    elif end.get("status") == LOST:
        yield {**record, "status": LOST}


def _queue(
    entry: Json | MalformedLine,
    waiting: OrderedDict[int, Json | MalformedLine | None],
    starts: dict[int, int],
    running: frozenset[int],
) -> None:
    """Put an entry behind those that wait, or let it say how the execution ended that one of them has begun."""
    at = next(reversed(waiting), -1) + 1
    if isinstance(entry, MalformedLine):
        waiting[at] = entry
        return
    place = _place(entry)
    closes = place.get("closes")
    if isinstance(closes, int):
        begun = starts.pop(closes, None)
        if begun is not None:
            start = waiting[begun]
            lost = isinstance(start, dict) and entry.get("status") == LOST
            waiting[begun] = {**start, "status": LOST} if lost else None  # type: ignore[dict-item]
        if entry.get("status") in (_SILENT, LOST):
            return
    waiting[at] = entry
    seq = place.get("seq")
    if place.get("kind") == STARTED and isinstance(seq, int) and seq not in running:
        starts.pop(seq, None)  # so that the first is the one that has waited for the longest
        starts[seq] = at


def _name(path: str) -> str:
    """What signed heads are bound to: there is one log in each home, and nothing else distinguishes them."""
    return os.path.realpath(path)


def _place(record: Json) -> Mapping[str, Any]:
    chain = record.get("chain")
    return chain if isinstance(chain, Mapping) else {}


def _parsed(line: bytes) -> Json | None:
    try:
        record = parse(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


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


def _advice(path: str) -> str:
    """What to type: look at it, then begin a new log. Approvals go with it, because their uses are in it."""
    folder = os.path.dirname(path)
    look = shlex.join(["operable", "flow", "audit", "verify", "--home", os.path.dirname(folder)])
    kept, state = shlex.quote(f"{folder}.damaged"), shlex.quote(folder)
    return f"{look}; then begin a new one: mkdir {kept} && mv {state}/audit.* {state}/approvals.* {kept}/"


@contextmanager
def _writing(path: str) -> Iterator[None]:
    try:
        yield
    except DamagedError as error:
        message = f"the audit log is damaged; nothing is appended to it: {error}"
        damaged = FlowError("internal_error", message)
        damaged.target, damaged.hint = path, _advice(path)
        raise damaged from None
    except SettingError as error:
        message = f"the audit log cannot be written as configured: {error.strerror}"
        failure = FlowError(
            "internal_error",
            message,
            reported_as="AUDIT_SETTING_INVALID",
            setting=error.filename,
            hint=error.hint,
        )
        failure.target, failure.hint = error.filename, error.hint
        raise failure from None
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
