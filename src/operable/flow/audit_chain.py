"""The chain of an audit log: how records are sealed, and finding out whether anything was changed.

Each record has `chain`: `seq` (counting from 0 over all files), `prev` (the hash of the record before; of everything before
the chain, when a log without seals is continued) and `hash` (over the canonical text of the record without `hash`). A record
has one spelling, so that not even a blank can be changed. Beside the log, `<name>.head` holds the last seq and hash: without
it, dropping the newest records would not show. What a chain cannot show by itself: somebody who may write both files can
make a new, consistent history. Keep a copy of the head elsewhere and give it as `anchor` to find that too.

Readers see the log as it is at one moment (`frozen`): they hold the writers' lock while they look at the head and open the
newest file, and read afterwards, so that a long check neither holds up an execution nor takes one for tampering.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.contracts import FlowError
from operable.flow.file_lock import SHARED, held

Json = dict[str, Any]
GENESIS = "sha256:" + "0" * 64
_HEAD = re.compile(r"(\d+) (sha256:[0-9a-f]{64})\n\Z")


@dataclass(frozen=True, slots=True)
class Head:
    """The last record of a chain."""

    seq: int = -1
    hash: str = GENESIS


def seal(record: Json, chain: Json) -> str:
    """The hash of a record with its chain, which has no hash yet."""
    return hash_text(canonical_text({**record, "chain": chain}))


def spelled(record: Json) -> bytes:
    """The one line for a record."""
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def verify(path: str, *, anchor: Head | None = None) -> Json:
    """Check every record of every file. `anchor`: a head that was kept elsewhere, which must be part of the chain."""
    problems: list[Json] = []
    before = hashlib.sha256()  # of what stands before the chain
    last, count, unsealed = Head(), 0, 0
    with frozen(path, problems) as (stated, parts):
        wanted = [head for head in (stated, anchor) if head is not None and head.seq >= 0]
        for place, line in _numbered(parts):
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


def _numbered(parts: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[tuple[Json, bytes]]:
    for file, found in parts:
        for number, line in enumerate(found, 1):
            yield {"file": os.path.basename(file), "line": number}, line


def _checked(line: bytes, last: Head, place: Json, problems: list[Json]) -> Head | None:
    """The head after this line; None for a line without a seal, which is wrong after the chain has begun."""
    try:
        record = parse(line)
        whole = spelled(record)
        chain = record.pop("chain")
        own = str(chain.pop("hash"))
        seq, before = chain["seq"], chain["prev"]
        sealed = seal(record, chain)
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


@contextmanager
def frozen(
    path: str, problems: list[Json] | None = None
) -> Iterator[tuple[Head | None, list[tuple[str, Iterator[bytes]]]]]:
    """The stated head, and the files with their lines, oldest first: all of one moment, whoever appends meanwhile.

    Full files never change, so that only the newest is held open. FlowError for what is no regular file: a FIFO in its
    place would read like an empty log.
    """
    with ExitStack() as stack:
        with _no_appends(path):
            stated = stated_head(path, [] if problems is None else problems)
            names = _files(path)
            parts = [(name, lines(name)) for name in names if name != path]
            if path in names:
                newest = stack.enter_context(_open(path))
                parts.append((path, _bounded(newest, os.fstat(newest.fileno()).st_size)))
        yield stated, parts


@contextmanager
def _no_appends(path: str) -> Iterator[None]:
    """A log that was copied elsewhere has no lock beside it, and nobody who appends."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(f"{path}.lock", SHARED, _readable))
        except FileNotFoundError:
            pass
        except OSError as problem:
            raise unlockable(problem) from None
        yield


@contextmanager
def _readable(path: str) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)


def unlockable(problem: OSError) -> FlowError:
    """What is said of a lock that cannot be had."""
    if isinstance(problem, TimeoutError):
        return FlowError("internal_error", "the audit log is locked by something that hangs")
    return FlowError("internal_error", f"the audit log cannot be locked: {problem.strerror}")


def _files(path: str) -> list[str]:
    folder, name = os.path.dirname(path) or ".", os.path.basename(path)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    rotated = sorted(one for one in names if re.fullmatch(re.escape(name) + r"\.\d{12}", one))
    return [os.path.join(folder, one) for one in rotated] + ([path] if name in names else [])


def lines(path: str) -> Iterator[bytes]:
    with _open(path) as file:
        yield from file


def _bounded(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (line := file.readline(size)):
        size -= len(line)
        yield line


def _open(path: str) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as problem:
        if os.path.islink(path):
            raise FlowError("internal_error", f"Refusing to use a non-regular file: {path}") from None
        raise FlowError("internal_error", f"the audit log cannot be read: {problem.strerror}") from None
    return os.fdopen(_regular(fd, path), "rb")


def _regular(fd: int, path: str) -> int:
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FlowError("internal_error", f"Refusing to use a non-regular file: {path}")


def stated_head(path: str, problems: list[Json]) -> Head | None:
    """What the file beside the log says; None when it is missing or says nothing."""
    try:
        fd = os.open(f"{path}.head", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(_regular(fd, f"{path}.head"), encoding="ascii", errors="replace") as file:
            match = _HEAD.match(file.read(200))
    except FileNotFoundError:
        return None
    except (OSError, FlowError):
        match = None  # a link, a FIFO, a folder
    if match is None:
        problems.append({"code": "truncated", "message": "the file with the log's head cannot be read"})
        return None
    return Head(int(match[1]), match[2])
