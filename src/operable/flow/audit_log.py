"""The audit log of executions: one JSON line per record, each sealed with the one before (`audit_chain`).

Records keep their own members and gain `chain`, so that readers of the plain log go on working. When a file is full it
becomes `<name>.<seq of its first record>` and the chain goes on in a new one. Appends of any number of processes hold an
exclusive lock, files have mode 0600, links are refused, and a line that a crash cut short is removed by the next append:
no head ever named it. What is written was redacted before.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import Any

from operable.flow.attesting import SECTIONS, without_secrets
from operable.flow.audit_chain import Head, frozen, lines, seal, spelled, stated_head, unlockable
from operable.flow.canonical import parse
from operable.flow.contracts import FlowError
from operable.flow.file_lock import EXCLUSIVE, held
from operable.flow.homes import sync_folder
from operable.flow.masking import Mask
from operable.kernel.redact import Redactor

Json = dict[str, Any]
ROTATE_AT = 16 * 1024 * 1024
_TAIL = 64 * 1024


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
    mask, redactor = Mask(secrets), Redactor(secrets)
    signed = {*SECTIONS, "identity", "evidence", "attestation"}
    return {
        name: mask.value(without_secrets(value)) if name in signed else redactor.value(value)
        for name, value in record.items()
    }


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """An exclusive lock beside the log: the log itself is renamed when it is full."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(f"{path}.lock", EXCLUSIVE, _opened))
        except OSError as problem:
            raise unlockable(problem) from None
        yield


@contextmanager
def _opened(path: str) -> Iterator[int]:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    if os.path.islink(path):
        raise FlowError("internal_error", f"Refusing to use a non-regular file: {path}")
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
    place = {"seq": head.seq + 1, "prev": head.hash}
    sealed = seal(record, place)
    line = spelled({**record, "chain": {**place, "hash": sealed}})
    try:
        at = 0
        while at < len(line):
            at += os.write(fd, line[at:])
        os.fsync(fd)
        new = Head(head.seq + 1, sealed)
        _write_head(path, new)
    except OSError:
        # Also when only the head could not be written: records that run ahead of it would look like dropped ones.
        os.ftruncate(fd, size)
        raise
    # The head on disk like the record: after a power cut, records that run ahead of it would look like added ones.
    sync_folder(os.path.dirname(path) or ".")
    return new


def read(path: str, limit: int | None = None) -> tuple[list[Json], list[Json]]:
    """The newest records, oldest first, over all files; and a warning per malformed line."""
    records: list[Json] = []
    warnings: list[Json] = []
    with frozen(path) as (_, parts):
        for _, part in reversed(parts):
            found, bad = _read_one(part)
            records, warnings = found + records, bad + warnings
            if limit is not None and len(records) >= limit:
                return records[len(records) - limit :], warnings
    return records, warnings


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


def find(path: str, execution_id: str) -> Json:
    """The newest record of an execution."""
    with frozen(path) as (_, parts):
        for _, part in reversed(parts):
            for record in reversed(_read_one(part)[0]):
                if record.get("execution_id") == execution_id:
                    return record
    raise FlowError("invalid_argument", f"Execution not found in audit log: {execution_id}")


def holding(path: str, needle: bytes) -> Iterator[Json]:
    """The records whose line has these bytes, oldest first: reading all of a large log as JSON would take seconds."""
    with frozen(path) as (_, parts):
        for line in chain.from_iterable(part for _, part in parts):
            if needle in line:
                yield from _read_one([line])[0]


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
    stated = stated_head(path, [])
    if line is None:
        return stated or Head()
    try:
        sealed = parse(line)["chain"]
        own = Head(int(sealed["seq"]), str(sealed["hash"]))
        # A head that the log does not reach: its newest records were dropped or changed. Continuing what is left would
        # write a new head, and nobody would ever find out; continuing the head leaves the gap where it is.
        return stated if stated is not None and stated.seq >= own.seq else own
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
    for line in lines(path):
        try:
            return int(parse(line)["chain"]["seq"])
        except (ValueError, LookupError, TypeError):
            continue
    return None


def _write_head(path: str, head: Head) -> None:
    draft = f"{path}.head.new"
    fd = os.open(
        draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
    )
    try:
        os.write(fd, f"{head.seq} {head.hash}\n".encode())
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(draft, f"{path}.head")
