"""The audit chain: one record per turn, tool call, decision and secret use, each sealed with the one before (AIP-7).

Records are lines of canonical JSON (RFC 8785) in the form of `agentgovernance/v1`: `seq` counts from 0, `prevHash` is the
hash of the record before (64 zeros for the first), `hash` is SHA-256 over the record without `hash`. Processes share one
chain per workspace: an append holds an exclusive lock, and continues from whatever the file then ends with. What is
written passes redaction, and large values are replaced by `{"$redacted":true}` and their digest, so that a record can
neither leak nor grow without limit.

Beside the chain, `<name>.head` holds the last seq and hash. `verify_audit` finds each line that was edited, removed, moved
or added, and with the head (or an anchor kept elsewhere) a chain that was cut short. What no chain can show by itself:
somebody who may write both files can make a new, consistent history. Keep an anchor where that somebody cannot write.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from operable.kernel.canonical import canonical_json, digest
from operable.kernel.errors import Fail
from operable.kernel.redact import Redactor

GENESIS = "0" * 64
# A record is for people and machines that ask "what happened", not a copy of the data.
VALUE_LIMIT = 4096
_TAIL = 64 * 1024
_REDACTED = {"$redacted": True}


@dataclass(frozen=True, slots=True)
class Head:
    """The last record of a chain."""

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a chain. `code`: chain.broken, chain.seq_gap, chain.tampered, chain.truncated, chain.unreadable."""

    code: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What `verify_audit` found. A chain without problems is as it was written, as far as its head reaches."""

    records: int
    head: Head | None
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


class Audit:
    """Appends to one chain. Any number of these, in any number of processes, may share the file."""

    def __init__(self, path: str, *, actor: str, secrets: Iterable[str] = ()) -> None:
        self.path = path
        self._actor = actor
        self._redactor = Redactor(secrets)
        self._known: tuple[int, Head, str] | None = None  # size of the file, its last record, its time

    def record(
        self,
        action: str,
        *,
        subject: Mapping[str, str],
        input: Any = None,
        output: Any = None,
        decision: tuple[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Head:
        """Append one record; `decision` is (policy reference, allow|deny|…). Fail io/AUDIT_UNWRITABLE."""
        entry: dict[str, Any] = {
            "$schema": "agentgovernance/v1",
            "doctype": "audit-event",
            "actor": {"id": self._actor},
            "action": action,
            "subject": dict(subject),
        }
        for name, value in (("input", input), ("output", output), ("metadata", metadata)):
            if value is not None:
                entry[name] = self._bounded(value)
        if decision is not None:
            entry["policy"] = {"ref": self._redactor.text(decision[0]), "decision": decision[1]}
        try:
            return self._append(entry)
        except OSError as error:
            raise Fail(
                "io",
                "AUDIT_UNWRITABLE",
                f"the audit chain cannot be written: {error.strerror}",
                target=self.path,
                hint="nothing goes on unrecorded; make the file writable",
            ) from error

    def _append(self, entry: dict[str, Any]) -> Head:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            size, head, last_time = self._end_of(fd)
            entry["seq"] = head.seq + 1
            entry["ts"] = max(_now(), last_time)  # never before the record before, whatever the clock does
            entry["prevHash"] = head.hash
            sealed = sha256(canonical_json(entry)).hexdigest()
            line = canonical_json({**entry, "hash": sealed}) + b"\n"
            _write_all(fd, line, size)
            new = Head(entry["seq"], sealed)
            self._known = (size + len(line), new, entry["ts"])
            _write_head(self.path, new)
            return new
        finally:
            os.close(fd)

    def _end_of(self, fd: int) -> tuple[int, Head, str]:
        size = os.fstat(fd).st_size
        if self._known is not None and self._known[0] == size:
            return self._known
        if size == 0:
            return 0, Head(-1, GENESIS), ""
        end, line = _last_line(fd, size)
        if end < size:
            os.ftruncate(fd, end)  # the tail of a write that a crash cut short: no head ever named it
        if line is None:
            return 0, Head(-1, GENESIS), ""
        try:
            last = msgspec.json.decode(line)
            return end, Head(int(last["seq"]), str(last["hash"])), str(last["ts"])
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
            raise Fail(
                "validation",
                "AUDIT_DAMAGED",
                "the last record of the audit chain cannot be read; nothing is appended to it",
                target=self.path,
                hint="verify the chain, then move the damaged file away",
            ) from error

    def _bounded(self, value: Any) -> Any:
        plain = self._redactor.value(msgspec.to_builtins(value))
        try:
            size = len(canonical_json(plain))
        except (TypeError, ValueError):
            return dict(_REDACTED)
        if size <= VALUE_LIMIT:
            return plain
        return {**_REDACTED, "bytes": size, "digest": digest(plain)}


def verify_audit(path: str, *, anchor: Head | None = None) -> Verified:
    """Check a whole chain, offline. `anchor`: a record that must be in it (else the head file beside it is used)."""
    problems: list[Problem] = []
    previous = Head(-1, GENESIS)
    records, last_time = 0, ""
    wanted = [head for head in (anchor, _read_head(path)) if head is not None]
    seen: set[Head] = set()
    for number, line in enumerate(_lines(path), 1):
        found = _check(line, number, previous, last_time, problems)
        if found is None:
            continue
        records += 1
        previous, last_time = found
        if any(previous.seq == head.seq for head in wanted):
            seen.add(previous)
    for head in wanted:
        if head.seq > previous.seq:
            text = f"the chain ends at seq {previous.seq}, but had reached {head.seq}"
            problems.append(Problem("chain.truncated", records, text))
        elif head not in seen:
            text = f"the record with seq {head.seq} is not the one that was anchored"
            problems.append(Problem("chain.tampered", head.seq + 1, text))
    return Verified(records, previous if records else None, tuple(problems))


def _check(
    line: bytes, number: int, previous: Head, last_time: str, problems: list[Problem]
) -> tuple[Head, str] | None:
    try:
        record = msgspec.json.decode(line.rstrip(b"\n"))
        seq, own, before, ts = record["seq"], record.pop("hash"), record["prevHash"], str(record["ts"])
        sealed = sha256(canonical_json(record)).hexdigest()
        exact = canonical_json({**record, "hash": own}) + b"\n" == line
    except (msgspec.MsgspecError, UnicodeDecodeError, LookupError, TypeError, ValueError, AttributeError):
        problems.append(Problem("chain.unreadable", number, f"line {number} is no whole record"))
        return None
    if sealed != own or not exact:
        problems.append(Problem("chain.tampered", number, f"the record on line {number} was changed"))
    if seq != previous.seq + 1:
        text = f"line {number} has seq {seq} after {previous.seq}"
        problems.append(Problem("chain.seq_gap", number, text))
    elif before != previous.hash:
        problems.append(Problem("chain.broken", number, f"line {number} does not continue the line before"))
    if ts < last_time:
        problems.append(Problem("chain.broken", number, f"line {number} is older than the line before"))
    return Head(seq if isinstance(seq, int) else previous.seq + 1, str(own)), ts


def _lines(path: str) -> Iterable[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except FileNotFoundError:
        return


def _last_line(fd: int, size: int) -> tuple[int, bytes | None]:
    """Where the last whole line ends, and the line; records are bounded, so that a few blocks hold it."""
    window = _TAIL
    while True:
        start = max(0, size - window)
        data = os.pread(fd, size - start, start)
        last = data.rfind(b"\n")
        before = data.rfind(b"\n", 0, max(last, 0))
        if last >= 0 and (before >= 0 or start == 0):
            return start + last + 1, data[before + 1 : last]
        if start == 0:
            return 0, None
        window *= 4


def _write_all(fd: int, line: bytes, size: int) -> None:
    try:
        written = os.write(fd, line)
        while written < len(line):
            written += os.write(fd, line[written:])
    except OSError:
        os.ftruncate(fd, size)
        raise


def _write_head(path: str, head: Head) -> None:
    """Replace the head beside the chain. Called with the chain's lock held."""
    draft = f"{path}.head.new"
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, f"{head.seq} {head.hash}\n".encode())
    finally:
        os.close(fd)
    os.replace(draft, f"{path}.head")


def _read_head(path: str) -> Head | None:
    try:
        with open(f"{path}.head", encoding="ascii", errors="replace") as file:
            return parse_head(file.read())
    except FileNotFoundError:
        return None


def parse_head(text: str) -> Head:
    """`SEQ HASH`, as the head file has it and as an anchor is written down elsewhere."""
    match = re.fullmatch(r"(-?\d+) ([0-9a-f]{64})\s*", text)
    if match is None:
        raise Fail(
            "validation", "ANCHOR_INVALID", "an anchor is a sequence number and a hash of 64 hex digits"
        )
    return Head(int(match[1]), match[2])


def _now() -> str:
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03d}Z"
