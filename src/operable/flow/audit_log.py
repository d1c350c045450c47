"""The audit log of executions: one JSON line per record, each sealed with the one before.

Records keep their own members, so that readers of the plain log go on working; a record gains `chain`, an object with
`seq` (counting from 0 over all files), `prev` (the hash of the record before; of everything before the chain, when a log
without seals is continued) and `hash` (over the canonical text of the record without `hash`). Beside the log,
`<name>.head` holds the last seq and hash: without it, dropping the newest records would not show. When a file is full it
becomes `<name>.<seq of its first record>` and the chain goes on in a new one.

Appends of any number of processes hold an exclusive lock, files have mode 0600, links are refused, and a line that a
crash cut short is removed by the next append: no head ever named it. What a chain cannot show by itself: somebody who
may write both files can make a new, consistent history. Keep a copy of the head elsewhere to find that too.
"""

import fcntl
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from operable.flow.attesting import SECTIONS, without_secrets
from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.contracts import FlowError
from operable.kernel.redact import MASK, Redactor
from operable.kernel.redact_forms import forms

Json = dict[str, Any]
GENESIS = "sha256:" + "0" * 64
ROTATE_AT = 16 * 1024 * 1024
_TAIL = 64 * 1024
# An append takes a millisecond; a lock that is held for half a minute belongs to something that hangs.
_PATIENCE, _POLL = 30.0, 0.01
_HEAD = re.compile(r"(\d+) (sha256:[0-9a-f]{64})\n\Z")


@dataclass(frozen=True, slots=True)
class Head:
    """The last record of a chain."""

    seq: int = -1
    hash: str = GENESIS


def append(
    path: str, record: Mapping[str, Any], *, secrets: Iterable[str] = (), rotate_at: int = ROTATE_AT
) -> Head:
    """Seal and write one record, after removing what it must not show. FlowError when it cannot be written."""
    try:
        plain = parse(json.dumps(_shown(record, list(secrets))))  # as every reader will see its numbers
    except (TypeError, ValueError):
        raise FlowError("internal_error", "the audit record is not JSON") from None
    plain.pop("chain", None)
    try:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        with _locked(path), _opened(path) as fd:
            size, line = _last_line(fd)
            if size < os.fstat(fd).st_size:
                os.ftruncate(fd, size)
            head = _head_after(path, fd, line, size)
            if size < rotate_at or (first := _first_seq(path)) is None:
                return _write(path, fd, plain, head, size)
            _rename(path, f"{path}.{first:012d}")
            with _opened(path) as fresh:
                return _write(path, fresh, plain, head, 0)
    except OSError as error:
        raise FlowError("internal_error", f"the audit log cannot be written: {error.strerror}") from None


def _shown(record: Mapping[str, Any], secrets: list[str]) -> Json:
    """The record without secrets.

    Known values and members with the name of a secret go everywhere; what merely looks like one stays in sections that
    are signed elsewhere, because changing them would make their signatures fail.
    """
    spellings, redactor = forms(secrets), Redactor(secrets)
    signed = {*SECTIONS, "evidence", "attestation"}
    return {
        name: _masked(without_secrets(value), spellings) if name in signed else redactor.value(value)
        for name, value in record.items()
    }


def _masked(value: Any, spellings: list[str]) -> Any:
    if isinstance(value, str):
        for spelling in spellings:
            value = value.replace(spelling, MASK)
        return value
    if isinstance(value, Mapping):
        return {name: _masked(item, spellings) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, spellings) for item in value]
    return value


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """An exclusive lock beside the log: the log itself is renamed when it is full."""
    with _opened(f"{path}.lock") as fd:
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > ends:
                    raise
                time.sleep(_POLL)
        yield


@contextmanager
def _opened(path: str) -> Iterator[int]:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FlowError("internal_error", f"Refusing to use a non-regular file: {path}")
        yield fd
    finally:
        os.close(fd)


def _rename(path: str, full: str) -> None:
    if os.path.lexists(full):
        raise FlowError("internal_error", f"the audit log cannot be rotated: {full} exists")
    os.rename(path, full)


def _write(path: str, fd: int, record: Json, head: Head, size: int) -> Head:
    chain = {"seq": head.seq + 1, "prev": head.hash}
    sealed = _seal(record, chain)
    line = _line({**record, "chain": {**chain, "hash": sealed}})
    try:
        at = 0
        while at < len(line):
            at += os.write(fd, line[at:])
        os.fsync(fd)
    except OSError:
        os.ftruncate(fd, size)
        raise
    new = Head(head.seq + 1, sealed)
    _write_head(path, new)
    return new


def _seal(record: Json, chain: Json) -> str:
    return hash_text(canonical_text({**record, "chain": chain}))


def _line(record: Json) -> bytes:
    """One spelling for one record, so that not even a blank can be changed."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def read(path: str, limit: int | None = None) -> tuple[list[Json], list[Json]]:
    """The newest records, oldest first, over all files; and a warning per malformed line."""
    records: list[Json] = []
    warnings: list[Json] = []
    for file in reversed(_files(path)):
        found, bad = _read_one(file)
        records, warnings = found + records, bad + warnings
        if limit is not None and len(records) >= limit:
            return records[len(records) - limit :], warnings
    return records, warnings


def _read_one(path: str) -> tuple[list[Json], list[Json]]:
    records, warnings = [], []
    for number, line in enumerate(_lines(path), 1):
        try:
            record = parse(line)
        except ValueError:
            record = None
        if isinstance(record, dict):
            records.append(record)
        elif line.strip():
            warnings.append({"line_number": number, "message": "malformed audit record skipped"})
    return records, warnings


def find(path: str, execution_id: str) -> Json:
    """The newest record of an execution."""
    for file in reversed(_files(path)):
        for record in reversed(_read_one(file)[0]):
            if record.get("execution_id") == execution_id:
                return record
    raise FlowError("invalid_argument", f"Execution not found in audit log: {execution_id}")


def verify(path: str, *, anchor: Head | None = None) -> Json:
    """Check every record of every file. `anchor`: a head that was kept elsewhere, which must be part of the chain."""
    problems: list[Json] = []
    before = hashlib.sha256()  # of what stands before the chain
    last, count, unsealed = Head(), 0, 0
    stated = _stated_head(path, problems)
    wanted = [head for head in (stated, anchor) if head is not None and head.seq >= 0]
    for file in _files(path):
        for number, line in enumerate(_lines(file), 1):
            place = {"file": os.path.basename(file), "line": number}
            found = _checked(line, last, place, problems)
            if found is not None:
                last, count = found, count + 1
                wanted = [head for head in wanted if head != last]
            elif count == 0:
                unsealed += 1
                before.update(line)
                last = Head(-1, f"sha256:{before.hexdigest()}")
    for head in wanted:
        problems.append(
            {"code": "truncated", "message": f"the chain does not hold record {head.seq} as it was"}
        )
    # One record may be ahead of its head: the process was killed between the two writes.
    if count and (stated is None or last.seq > stated.seq + 1):
        problems.append({"code": "truncated", "message": "the log's head does not name its last record"})
    return {
        "verified": not problems,
        "records": count,
        "unsealed_lines": unsealed,
        "head": {"seq": last.seq, "hash": last.hash} if count else None,
        "problems": problems,
    }


def _checked(line: bytes, last: Head, place: Json, problems: list[Json]) -> Head | None:
    """The head after this line; None for a line without a seal, which is wrong after the chain has begun."""
    try:
        record = parse(line)
        whole = _line(record)
        chain = record.pop("chain")
        own = str(chain.pop("hash"))
        seq, before = chain["seq"], chain["prev"]
        sealed = _seal(record, chain)
        if not isinstance(seq, int):
            raise TypeError
    except (ValueError, TypeError, LookupError, AttributeError):
        if last.seq >= 0:
            problems.append({"code": "unreadable", **place, "message": "the line is no sealed record"})
        return None
    if sealed != own or whole != line:
        problems.append({"code": "tampered", **place, "message": "the record was changed"})
    if seq != last.seq + 1:
        problems.append({"code": "gap", **place, "message": f"record {seq} follows record {last.seq}"})
    elif before != last.hash:
        problems.append(
            {"code": "broken", **place, "message": "the record does not continue what stands before"}
        )
    return Head(seq, own)


def _files(path: str) -> list[str]:
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    rotated = sorted(one for one in names if re.fullmatch(re.escape(name) + r"\.\d{12}", one))
    return [os.path.join(folder, one) for one in rotated] + ([path] if name in names else [])


def _lines(path: str) -> Iterator[bytes]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        yield from file


def _last_line(fd: int) -> tuple[int, bytes | None]:
    """Where the last whole line ends, and the line."""
    size, window = os.fstat(fd).st_size, _TAIL
    while True:
        start = max(0, size - window)
        data = os.pread(fd, size - start, start)
        end = data.rfind(b"\n")
        before = data.rfind(b"\n", 0, max(end, 0))
        if end >= 0 and (before >= 0 or start == 0):
            return start + end + 1, data[before + 1 : end]
        if start == 0:
            return 0, None
        window *= 4


def _head_after(path: str, fd: int, line: bytes | None, size: int) -> Head:
    """What the next record continues."""
    stated = _stated_head(path, [])
    if line is None:
        return stated or Head()
    try:
        chain = parse(line)["chain"]
        return Head(int(chain["seq"]), str(chain["hash"]))
    except (ValueError, LookupError, TypeError):
        if stated is not None:
            message = "the audit log's last record is damaged; nothing is appended to it"
            raise FlowError("internal_error", message) from None
    # A log that another program wrote, without seals: the chain begins after it and seals it whole.
    digest = hashlib.sha256()
    for at in range(0, size, _TAIL):
        digest.update(os.pread(fd, min(_TAIL, size - at), at))
    return Head(-1, f"sha256:{digest.hexdigest()}")


def _first_seq(path: str) -> int | None:
    for line in _lines(path):
        try:
            return int(parse(line)["chain"]["seq"])
        except (ValueError, LookupError, TypeError):
            continue
    return None


def _stated_head(path: str, problems: list[Json]) -> Head | None:
    try:
        with open(f"{path}.head", encoding="ascii", errors="replace") as file:
            match = _HEAD.match(file.read(200))
    except FileNotFoundError:
        return None
    if match is None:
        problems.append({"code": "truncated", "message": "the file with the log's head cannot be read"})
        return None
    return Head(int(match[1]), match[2])


def _write_head(path: str, head: Head) -> None:
    draft = f"{path}.head.new"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, f"{head.seq} {head.hash}\n".encode())
    finally:
        os.close(fd)
    os.replace(draft, f"{path}.head")
