"""A log that cannot forget: every record is sealed with the one before, on disk before its writer goes on.

Theory of operation. A write takes an exclusive lock, compares the end of the log with its head, and announces the next
head. It writes its records with one `write`, syncs them (the announcement before, or with them), and only then
replaces the head. So the head names a record that is on disk. A crash leaves at most one announced batch ahead of it
and one torn line: the next write takes over the former and removes the latter. Any other difference means that the log
was cut, extended, edited or replaced. It is then continued from its head with a DAMAGE notice, or refused, as its
owner chose; either way it never verifies again (`sealed_verdict`). So does a log that begins although there must have
been one before (`earlier`).

`begin` writes a record that stays open until `close`, or until its process has ended: then the next process that writes
closes it as LOST. A process holds one byte of `<log>.alive` for each record that it began. What is in a record, and what
may not be, is for its format.
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

from operable.kernel.data_class import dataclass
from operable.state.atomic import make_folder, opened, sync_folder, write_all
from operable.state.lock import EXCLUSIVE, WAIT, held, is_held, presence
from operable.state.sealed_attribute import carry
from operable.state.sealed_end import DamagedError, LogEnd, find_record, read_end
from operable.state.sealed_file import LINE_LIMIT, full_files, last_line, lines_of
from operable.state.sealed_head import (
    OPEN_LIMIT,
    Head,
    Signer,
    announce_head,
    confirm_head,
    digest_name,
    read_head,
    withdraw_head,
)
from operable.state.sealed_record import (
    DAMAGE,
    LOST,
    RESTARTED,
    RETIRED,
    SIGNED,
    Json,
    RecordFormat,
    RecordPosition,
)

ROTATE_AT = 16 * 1024 * 1024
# Records that one write may have: what a crash leaves ahead of the head is at most this.
BATCH_LIMIT = 64
# A crash of a large host leaves many open records; the rest are closed by the writes after the next.
_LOST_LIMIT = BATCH_LIMIT // 2 - 1
_DRAFT_LIMIT = BATCH_LIMIT - _LOST_LIMIT - 3  # and notices of damage or restart, of retirement, of signing


class LockError(OSError):
    """The log cannot be locked. A lock that another process holds for too long is a TimeoutError."""


@dataclass(slots=True)
class OpenRecord:
    """A record that was begun. Its number is known once it is written."""

    head: Head | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class RecordDraft:
    """A record to be written: alone, the beginning of something (`opens`), or its end (`closes`)."""

    record: Json
    opens: OpenRecord | None = None
    closes: OpenRecord | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A record on its way. What it closes has a number, or is opened in the same batch."""

    record: Json
    opens: OpenRecord | None = None
    closes: OpenRecord | int | None = None
    kind: str | None = None


@dataclass(slots=True)
class SealedLog:
    """One log. Any number of these, in any number of threads and processes, may write it.

    `keep`: how many full files stay beside the newest; None: all. `refuses_damage`: nothing is appended to a log that was
    changed. `signer`: signs every head. `wait`: how long the lock is waited for, in seconds.
    `name`: what signed heads are bound to, so that those of another log do not pass for this one's. `earlier`: asked
    when the log begins: what shows that it had records before (with a `reason`), or None.
    """

    path: str
    format: RecordFormat
    rotate_at: int = ROTATE_AT
    keep: int | None = None
    refuses_damage: bool = False
    signer: Signer | None = None
    wait: float = WAIT
    clock: Callable[[], float] = time.time
    name: str | None = None
    earlier: Callable[[], Json | None] = lambda: None
    _has_settled: bool = field(default=False, init=False)

    def append(self, record: Json) -> Head:
        """Write one record. It is on disk when this returns; OSError or DamagedError: nothing was written."""
        return self.write([RecordDraft(record)])[0]

    def begin(self, record: Json) -> OpenRecord:
        """Write a record that is open until it is closed. Do nothing of what it announces before this returns."""
        opened = OpenRecord()
        self.write([RecordDraft(record, opens=opened)])
        return opened

    def close(self, opened: OpenRecord, record: Json) -> Head:
        """Write how it ended. If that fails, it counts as lost: its end was not recorded."""
        return self.write([RecordDraft(record, closes=opened)])[0]

    def write(self, drafts: Sequence[RecordDraft]) -> list[Head]:
        """Write several records at the price of one. Up to 30 of them are all on disk when this returns, or none is."""
        if not drafts:
            return []
        if len(drafts) > _DRAFT_LIMIT:
            half = len(drafts) // 2
            return self.write(drafts[:half]) + self.write(drafts[half:])
        try:
            make_folder(os.path.dirname(self.path))
            with self._locked():
                return self._write(drafts)[-len(drafts) :]
        finally:
            for draft in drafts:
                self._is_closed(draft.closes)

    def settle(self) -> int:
        """Close as lost what dead processes began. Returns how many are written now."""
        if not os.path.lexists(f"{self.path}.head"):
            return 0
        with self._locked():
            self._has_settled = False
            return len(self._write([]))

    def _is_closed(self, opened: OpenRecord | None) -> None:
        if opened is not None and opened.head is not None and not opened.closed:
            opened.closed = True
            presence(f"{self.path}.alive").release(opened.head.seq)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(held(f"{self.path}.lock", EXCLUSIVE, wait=self.wait))
            except TimeoutError:
                raise
            except OSError as error:
                raise LockError(error.errno, error.strerror, error.filename) from error
            yield

    def _write(self, drafts: Sequence[RecordDraft]) -> list[Head]:
        """With the lock held: what the log itself has to say first, then the records. The head of each."""
        end = read_end(self.path, self.format, self.signer, most_ahead=BATCH_LIMIT, name=self._bound())
        begins = end.head.seq == -1 and bool(drafts)
        kind, facts = (DAMAGE, end.damage) if end.damage else (RESTARTED, self.earlier() if begins else None)
        if facts and self.refuses_damage:
            raise DamagedError(str(facts["reason"]))
        lines = [_Line(self._notice(kind, facts, None), kind=kind)] if facts else []
        if end.is_to_mark and self.signer is not None and (lines or drafts):
            facts = {"through": str(end.head), "key": self.signer(b"").split(" ")[1]}
            lines.append(_Line(self._notice(SIGNED, facts, None), kind=SIGNED))
        if not self._has_settled:
            lines += self._lost(end)
        end, retired, dropped = self._rotated(end)
        lines += retired
        lines += [_Line(draft.record, draft.opens, draft.closes) for draft in drafts]
        heads = self._put(end, lines) if lines else []
        self._has_settled = True
        for path in dropped:  # oldest first, one after the other also on disk: what a crash leaves has no gap
            os.unlink(path)
            sync_folder(os.path.dirname(path) or ".")
        return heads

    def _bound(self) -> str | None:
        return None if self.name is None else digest_name(self.name)

    def _notice(self, kind: str, facts: Json, about: Json | None) -> Json:
        return self.format.notice(kind, facts, about, self.clock())

    def _lost(self, end: LogEnd) -> list[_Line]:
        dead = [number for number in end.open if is_held(f"{self.path}.alive", number) is False]
        lines = []
        for number in dead[:_LOST_LIMIT]:
            facts = {"reason": "the process that began it ended without closing it", "begun": number}
            record = self._notice(LOST, facts, find_record(self.path, self.format, number))
            lines.append(_Line(record, closes=number, kind=LOST))
        return lines

    def _rotated(self, end: LogEnd) -> tuple[LogEnd, list[_Line], list[str]]:
        """A full file gets its own name; too many of them are named in a notice, and removed after it is on disk."""
        if end.size < self.rotate_at or (first := _first_seq(self.path, self.format)) is None:
            return end, [], []
        full = f"{self.path}.{first:012d}"
        if os.path.lexists(full):
            raise FileExistsError(errno.EEXIST, "the full file cannot be renamed: its name is taken", full)
        os.rename(self.path, full)
        sync_folder(os.path.dirname(self.path) or ".")
        fresh = replace(end, size=0)
        files = full_files(self.path)
        dropped = [] if self.keep is None else files[: max(0, len(files) - self.keep)]
        line = last_line(dropped[-1]) if dropped else None
        if line is None:
            return fresh, [], []
        facts = {"through": str(self.format.read(line).head), "files": len(dropped)}
        return fresh, [_Line(self._notice(RETIRED, facts, None), kind=RETIRED)], dropped

    def _put(self, end: LogEnd, lines: Sequence[_Line]) -> list[Head]:
        """Seal the records, hold the numbers of those that are begun, and write all of it."""
        numbers, begun = dict.fromkeys(end.open), dict[int, int]()
        data, heads = bytearray(), list[Head]()
        head, after, now = end.head, end.at, self.clock()
        alive = presence(f"{self.path}.alive")
        try:
            for each in lines:
                seq, closes = max(head.seq, end.seen) + 1, _number(each.closes, begun)
                place = RecordPosition(
                    seq, head.hash, now, after, opens=each.opens is not None, closes=closes, kind=each.kind
                )
                line, sealed, after = self.format.seal(each.record, place)
                if len(line) >= LINE_LIMIT:
                    raise OSError(errno.EFBIG, "the record is too large")
                head = Head(seq, sealed)
                data += line
                heads.append(head)
                numbers.pop(-1 if closes is None else closes, None)
                if each.opens is not None:
                    alive.hold(seq)
                    begun[id(each.opens)] = seq
                    numbers[seq] = None
            if len(numbers) > OPEN_LIMIT:
                raise OSError(errno.EAGAIN, f"{OPEN_LIMIT} records are begun and not closed")
            marked = end.is_marked or any(each.kind == SIGNED for each in lines)
            self._commit(end, bytes(data), heads, tuple(numbers), is_marked=marked)
        except BaseException:
            for seq in begun.values():
                alive.release(seq)
            raise
        for each, at in zip(lines, heads, strict=True):
            if each.opens is not None:
                each.opens.head = at
        return heads

    def _commit(
        self, end: LogEnd, data: bytes, heads: Sequence[Head], numbers: tuple[int, ...], *, is_marked: bool
    ) -> None:
        *before, head = heads
        hashes = tuple(each.hash for each in before)
        with opened(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as fd:
            # A new file is not sure to keep its name, and what was changed is not continued: nothing is carried then.
            can_carry = end.size > 0 and end.damage is None
            announce_head(
                *(self.path, head, numbers, hashes, self.signer),
                is_marked=is_marked, name=self._bound(), before=end.head.hash,
                carry=partial(carry, fd) if can_carry else None,
            )  # fmt: skip
            try:
                write_all(fd, data)
                os.fsync(fd)
                confirm_head(self.path)
            except OSError:
                # Also if only the head could not be replaced: this batch was not acknowledged. What was written must
                # be gone from the disk before its announcement is.
                if not _is_stated(self.path, head):
                    os.ftruncate(fd, end.size)
                    os.fsync(fd)
                    withdraw_head(self.path)
                raise


def _number(opened: OpenRecord | int | None, begun: dict[int, int]) -> int | None:
    """The number of what a record closes; it may have been opened a line before."""
    if not isinstance(opened, OpenRecord):
        return opened
    return begun.get(id(opened)) if opened.head is None else opened.head.seq


def _is_stated(path: str, head: Head) -> bool:
    """Whether the head was replaced although the call failed: then the records must stay."""
    with contextlib.suppress(ValueError):
        stated = read_head(path)
        return stated is not None and stated.head == head
    return True


def _first_seq(path: str, format: RecordFormat) -> int | None:
    for line in lines_of(path):
        with contextlib.suppress(ValueError):
            return format.read(line).head.seq
    return None
