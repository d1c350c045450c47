"""The end of a sealed log as a writer finds it: what the next record continues, and whether that is what was left there.

Called with the log's lock held. It removes a torn line, accepts records that a crash left ahead of the head, and makes
the first head of a new log. Any other difference is damage. Records ahead of the head are those of a crash only
if they were announced. With a key, the head and the announcement must have its signature: else this writer would sign
what another program wrote. Neither may have the name of another log. The one exception is a log that never was signed:
it is signed from now on (`is_to_mark`), and a SIGNED record says up to where it was not. A signed log without the key is
damage: the key was taken away.
"""

import hashlib
import os
from dataclasses import field

from operable.kernel.data_class import dataclass
from operable.state.atomic import opened
from operable.state.line_file import lines_back, tail
from operable.state.sealed_file import LINE_LIMIT, full_files, last_line, lines_of
from operable.state.sealed_head import Head, Signer, Stated, UnreadableHeadError, read_head, write_head
from operable.state.sealed_record import SIGNED, Json, RecordFormat, SealedRecord

_PIECE = 64 * 1024


class DamagedError(ValueError):
    """The log was changed, and nothing is appended to it."""


@dataclass(frozen=True, slots=True)
class LogEnd:
    """What the next record continues. `damage`: how the log differs from its head."""

    head: Head
    open: tuple[int, ...] = ()
    size: int = 0
    at: str = ""
    damage: Json | None = None
    seen: int = field(default=-1)  # the largest number in the file, where that is not the head's
    is_marked: bool = False  # a record of the log says that it is signed
    is_to_mark: bool = False  # the next record says so


def read_end(
    path: str, format: RecordFormat, signer: Signer | None, *, most_ahead: int, name: str | None = None
) -> LogEnd:
    """Raises DamagedError if the last line is not a record: nothing says what the next one would continue."""
    stated, complaint = _stated(path)
    with opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as fd:
        whole, size = tail(fd, limit=LINE_LIMIT)
        if whole < 0:
            raise DamagedError("the log ends with a line that is too long for a record")
        if whole < size:
            os.ftruncate(fd, whole)
        line = next(lines_back(fd, whole, limit=LINE_LIMIT), None)
        if stated is None and complaint is None and not _is_sealed(path, line, format):
            return _begun(path, fd, whole, format, signer, name)
        newest = _newest(path, line, format, stated)
        if newest is not None and stated is not None and _is_announced(stated, newest.head, signer, name):
            # A power cut may undo the heads of several writes; what is carried vouches for all records before it.
            most = whole if stated.has_carried else most_ahead
            ahead = _ahead(fd, whole, stated.head, format, most)
            if ahead is not None:
                os.fsync(fd)
                numbers = _opened_after(stated.open, ahead)
                marked = stated.is_marked or any(record.kind == SIGNED for record in ahead)
                write_head(path, newest.head, numbers, signer, is_marked=marked, name=name)
                to_mark = signer is not None and not marked
                return LogEnd(newest.head, numbers, whole, newest.at, is_marked=marked, is_to_mark=to_mark)
    found = newest.head if newest is not None else Head(-1, format.genesis)
    at = newest.at if newest is not None else ""
    if stated is None:
        return LogEnd(found, (), whole, at, _damage(None, found, complaint or "the head is missing"))
    if stated.head == found or (stated.head.seq == -1 and newest is None):
        reason = _distrust(path, format, stated, signer, name)
        if reason is None:
            to_mark = signer is not None and not stated.is_marked
            return LogEnd(stated.head, stated.open, whole, at, is_marked=stated.is_marked, is_to_mark=to_mark)
    elif found.seq < stated.head.seq:
        reason = "records are missing"
    else:
        reason = "the newest records are different, or not ours"
    damage = _damage(stated.head, found, reason)
    return LogEnd(stated.head, stated.open, whole, at, damage, seen=found.seq, is_marked=stated.is_marked)


def find_record(path: str, format: RecordFormat, seq: int) -> Json | None:
    """A record by its number. Returns None if it is not there any more."""
    files = [*full_files(path), path]
    firsts = [int(name.rpartition(".")[2]) for name in files[:-1]]
    index = sum(first <= seq for first in firsts)
    for name in files[max(0, index - 1) : index + 1]:
        for line in lines_of(name):
            try:
                sealed = format.read(line)
            except ValueError:
                continue
            if sealed.head.seq == seq:
                return sealed.record
            if sealed.head.seq > seq:
                break
    return None


def _stated(path: str) -> tuple[Stated | None, str | None]:
    try:
        return read_head(path), None
    except UnreadableHeadError:
        return None, "the head cannot be read"


def _is_sealed(path: str, line: bytes | None, format: RecordFormat) -> bool:
    """Whether a log without a head had one: its end is sealed, or it has full files."""
    if full_files(path):
        return True
    if line is None:
        return False
    if not format.continues_unsealed:
        return True
    try:
        format.read(line)
    except ValueError:
        return False
    return True


def _begun(
    path: str, fd: int, size: int, format: RecordFormat, signer: Signer | None, name: str | None
) -> LogEnd:
    """A new log, or one that another program wrote without seals, which the chain then seals as a whole.

    The head comes before the first record, so that a log with records and without a head is always one that lost it.
    """
    head = Head(-1, format.genesis)
    if size:
        digest = hashlib.sha256()
        for at in range(0, size, _PIECE):
            digest.update(os.pread(fd, min(_PIECE, size - at), at))
        head = Head(-1, f"sha256:{digest.hexdigest()}")
    write_head(path, head, (), signer, name=name)
    return LogEnd(head, (), size, is_to_mark=signer is not None)


def _distrust(
    path: str, format: RecordFormat, stated: Stated, signer: Signer | None, name: str | None
) -> str | None:
    """Why a head that names the newest record is not the one that this writer's log had. None: it may be."""
    if signer is None:
        is_signed = stated.signature is not None
        return "the log is signed, and this program was not given the operator's key" if is_signed else None
    if not stated.is_of(name):
        return "the head belongs to another log"
    if stated.is_signed_with(signer) or _never_signed(path, format, stated):
        return None
    return "the head does not have the signature of the operator's key"


def _never_signed(path: str, format: RecordFormat, stated: Stated) -> bool:
    """Whether nothing says that the log was ever signed, and every record of it is whole. Reads all of it, once."""
    if not stated.is_unsigned:
        return False
    before: Head | None = None
    for name in (*full_files(path), path):
        for line in lines_of(name):
            try:
                record = format.read(line)
            except ValueError:
                if before is None and format.continues_unsealed:
                    continue
                return False
            if (
                not record.intact
                or record.kind == SIGNED
                or not (before is None or _continues(record, before))
            ):
                return False
            before = record.head
    return before is None or before == stated.head


def _newest(
    path: str, line: bytes | None, format: RecordFormat, stated: Stated | None
) -> SealedRecord | None:
    """The last record: of the newest file, else of the one before it (a crash came between renaming and the next write)."""
    if line is None:
        full = full_files(path)
        line = last_line(full[-1]) if full else None
    if line is None:
        return None
    try:
        return format.read(line)
    except ValueError:
        if stated is not None and stated.head.seq == -1 and format.continues_unsealed:
            return None  # what another program wrote, with a head and without a record
        raise DamagedError("the last line of the log is not a record") from None


def _is_announced(stated: Stated, newest: Head, signer: Signer | None, name: str | None) -> bool:
    """Whether the records after the head are those that its writer was about to write."""
    if newest.seq <= stated.head.seq:
        return False
    return any(
        _is_from_writer(coming, stated, signer, name) for coming in stated.coming if coming.announces(newest)
    )


def _is_from_writer(coming: Stated, stated: Stated, signer: Signer | None, name: str | None) -> bool:
    if signer is None:
        return stated.signature is None and coming.signature is None
    if not (stated.is_of(name) and coming.is_of(name)):
        return False
    was_unsigned = stated.is_unsigned  # its first signed write crashed
    return coming.is_signed_with(signer) and (was_unsigned or stated.is_signed_with(signer))


def _ahead(fd: int, end: int, head: Head, format: RecordFormat, most: int) -> list[SealedRecord] | None:
    """The records after the head, oldest first. Returns None if they do not continue it."""
    found: list[SealedRecord] = []
    for line in lines_back(fd, end, limit=LINE_LIMIT):
        try:
            record = format.read(line)
        except ValueError:
            break
        if found and not _continues(found[-1], record.head):
            return None
        if record.head == head:
            break
        if not record.intact or len(found) == most or record.head.seq <= head.seq:
            return None
        found.append(record)
    found.reverse()
    return found if found and _continues(found[0], head) else None


def _continues(record: SealedRecord, before: Head) -> bool:
    return record.prev == before.hash and record.head.seq == before.seq + 1


def _opened_after(numbers: tuple[int, ...], records: list[SealedRecord]) -> tuple[int, ...]:
    kept = dict.fromkeys(numbers)
    for record in records:
        if record.opens:
            kept[record.head.seq] = None
        if record.closes is not None:
            kept.pop(record.closes, None)
    return tuple(kept)


def _damage(stated: Head | None, found: Head, reason: str) -> Json:
    return {"reason": reason, "head": None if stated is None else str(stated), "found": str(found)}
