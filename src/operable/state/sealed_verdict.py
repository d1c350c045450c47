"""Whether a sealed log is what was written: every record, in order, up to its head.

Readers see the log as it is at one moment (`frozen`): they hold the writers' lock while they read the head and open the
files, and read afterwards. So a long check delays no writer, and takes none for tampering. It streams: memory does not
grow with the log, and at most PROBLEM_LIMIT problems are kept.

One torn last line, and records after the head that were announced, are what a crash leaves, and are not problems. What
no chain shows by itself: a person who may write all files can make a new, consistent history. An anchor that is kept
elsewhere shows that.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from operable.state.atomic import open_private, opened
from operable.state.lock import SHARED, WAIT, held, is_held
from operable.state.sealed_file import LogLines, full_files
from operable.state.sealed_head import Head, Stated, UnreadableHeadError, is_signed_by, read_head
from operable.state.sealed_log import LockError
from operable.state.sealed_record import DAMAGE, LOST, RETIRED, SIGNED, RecordFormat, SealedRecord

PROBLEM_LIMIT = 1000
TAMPERED, GAP, BROKEN, TRUNCATED = "tampered", "gap", "broken", "truncated"
UNREADABLE, DAMAGED, UNSIGNED = "unreadable", "damaged", "unsigned"

Part = tuple[str, LogLines]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; `file` and `line` say where, if that is one line."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(slots=True)
class Verdict:
    """What a check found. Nothing but `problems` makes a log a changed one."""

    records: int = 0
    unsealed: int = 0  # lines of another program before the chain
    head: Head | None = None
    problems: list[Problem] = field(default_factory=list)
    more_problems: int = 0
    lost: int = 0  # records whose end was never recorded, because their process ended
    running: int = 0  # records that are begun, and may still be closed
    is_torn: bool = False
    times_ahead: int = 0  # records of a time that has not come yet: a clock was wrong
    signed_from: int | None = None  # the record from which on heads are signed
    unsigned: int = 0  # records before that one: no key vouches for them

    @property
    def ok(self) -> bool:
        return not self.problems

    def add(self, code: str, message: str, place: tuple[str | None, int | None] = (None, None)) -> None:
        if len(self.problems) < PROBLEM_LIMIT:
            self.problems.append(Problem(code, message, *place))
        else:
            self.more_problems += 1


def check(
    path: str,
    format: RecordFormat,
    *,
    anchors: Iterable[Head] = (),
    public_key: bytes | None = None,
    is_future: Callable[[str], bool] = lambda _: False,
    wait: float = WAIT,
) -> Verdict:
    """Check every record of every file. `anchors` were kept elsewhere; `public_key` must have signed the head."""
    verdict = Verdict()
    with frozen(path, wait=wait) as (stated, complaint, parts):
        if complaint is not None:
            verdict.add(TRUNCATED, f"the file with the log's head cannot be read: {complaint}")
        is_unsigned = public_key is not None and (stated is None or not is_signed_by(stated, public_key))
        if is_unsigned:
            verdict.add(UNSIGNED, "the head is not signed by the given key")
        walk = _Walk(format, verdict, [*anchors, *([] if stated is None else [stated.head])], is_future)
        for file, lines in parts:
            for number, line in enumerate(lines, 1):
                walk.take(line, os.path.basename(file), number, is_newest=file == path)
    walk.finish(stated, public_key, had_complaint=complaint is not None)
    was_signed = verdict.signed_from is not None or (stated is not None and stated.is_marked)
    if was_signed and not is_unsigned and stated is not None and stated.signature is None:
        verdict.add(
            UNSIGNED, "the log was signed, and its head is not: the key or the signature was taken away"
        )
    for number in walk.open:
        if is_held(f"{path}.alive", number) is False:
            verdict.lost += 1
        else:
            verdict.running += 1
    return verdict


class _Walk:
    """The check of one line after the other."""

    def __init__(
        self, format: RecordFormat, verdict: Verdict, wanted: list[Head], is_future: Callable[[str], bool]
    ) -> None:
        self._format = format
        self._verdict = verdict
        self._wanted = [head for head in wanted if head.seq >= 0]
        self._is_future = is_future
        self._last = Head(-1, format.genesis)
        self._at = ""
        self._before = hashlib.sha256()  # of what stands before the chain
        self._floor: tuple[Head, str, int] | None = None  # what the first record continues, and its place
        self.open: dict[int, None] = {}

    def take(self, line: bytes, file: str, number: int, *, is_newest: bool) -> None:
        verdict, place = self._verdict, (file, number)
        if is_newest and not line.endswith(b"\n"):
            verdict.is_torn = (
                True  # the write that a crash cut short; the head says whether it was acknowledged
            )
            return
        try:
            record = self._format.read(line)
        except ValueError:
            self._take_other(line, place)
            return
        if not record.intact:
            verdict.add(TAMPERED, "the record was changed", place)
        self._follow(record, place)
        if record.at < self._at:
            verdict.add(BROKEN, "the record is older than the one before", place)
        verdict.times_ahead += self._is_future(record.at)
        self._at, self._last = record.at, record.head
        self._wanted = [head for head in self._wanted if head != record.head]
        verdict.records += 1
        self._note(record, place)

    def _take_other(self, line: bytes, place: tuple[str, int]) -> None:
        if self._verdict.records or not self._format.continues_unsealed:
            self._verdict.add(UNREADABLE, "the line is not a sealed record", place)
            return
        self._verdict.unsealed += 1
        self._before.update(line)
        self._last = Head(-1, f"sha256:{self._before.hexdigest()}")

    def _follow(self, record: SealedRecord, place: tuple[str, int]) -> None:
        seq, before = record.head.seq, self._last
        if self._verdict.records == 0 and self._verdict.unsealed == 0 and seq > 0:
            self._floor = (Head(seq - 1, record.prev), *place)
        elif seq != before.seq + 1:
            self._verdict.add(GAP, f"record {seq} follows record {before.seq}", place)
        elif record.prev != before.hash:
            self._verdict.add(BROKEN, "the record does not continue the one before", place)

    def _note(self, record: SealedRecord, place: tuple[str, int]) -> None:
        if record.opens:
            self.open[record.head.seq] = None
        if record.closes is not None:
            self.open.pop(record.closes, None)
        if record.kind == DAMAGE:
            reason = str(record.facts.get("reason"))[:200]
            self._verdict.add(DAMAGED, f"the log was changed before this record: {reason}", place)
        elif record.kind == LOST:
            self._verdict.lost += 1
        elif record.kind == SIGNED and self._verdict.signed_from is None:
            self._verdict.signed_from, self._verdict.unsigned = record.head.seq, self._verdict.records - 1
        elif (
            record.kind == RETIRED
            and self._floor is not None
            and record.facts.get("through") == str(self._floor[0])
        ):
            self._floor = None

    def finish(self, stated: Stated | None, public_key: bytes | None, *, had_complaint: bool) -> None:
        verdict, last = self._verdict, self._last
        if self._floor is not None:
            head, file, line = self._floor
            verdict.add(GAP, f"the records up to {head.seq} are missing", (file, line))
        for head in self._wanted:
            if head.seq > last.seq:
                verdict.add(TRUNCATED, f"the log ends at record {last.seq}, but had reached {head.seq}")
            else:
                verdict.add(TAMPERED, f"record {head.seq} is not the one that was kept as a head")
        if verdict.records and not had_complaint:
            if stated is None:
                verdict.add(TRUNCATED, "the file with the log's head is missing")
            elif last.seq > stated.head.seq and not _is_announced(stated.next, last, public_key):
                verdict.add(
                    TAMPERED, f"the records after {stated.head.seq} were added, or the head was set back"
                )
        verdict.head = last if verdict.records else None


def _is_announced(coming: Stated | None, last: Head, public_key: bytes | None) -> bool:
    """Whether the writer said before a crash that it is going to write the records up to here."""
    if coming is None or not coming.announces(last):
        return False
    return public_key is None or is_signed_by(coming, public_key)


@contextmanager
def frozen(path: str, *, wait: float = WAIT) -> Iterator[tuple[Stated | None, str | None, list[Part]]]:
    """(the stated head, why it cannot be read, the files with their lines, oldest first), all of one moment.

    All files are held open: a full one may be retired meanwhile. Raises NotRegularError, LockError or TimeoutError.
    """
    with ExitStack() as stack:
        with _no_writes(path, wait):
            stated, complaint = None, None
            try:
                stated = read_head(path)
            except UnreadableHeadError as error:
                complaint = str(error)
            parts: list[Part] = []
            for name in (*full_files(path), *([path] if os.path.lexists(path) else [])):
                file = stack.enter_context(os.fdopen(open_private(name, os.O_RDONLY), "rb"))
                parts.append((name, LogLines(file, os.fstat(file.fileno()).st_size)))
        yield stated, complaint, parts


@contextmanager
def _no_writes(path: str, wait: float) -> Iterator[None]:
    """A log that was copied elsewhere has no lock beside it, and no writers."""
    with ExitStack() as stack:
        try:
            stack.enter_context(
                held(f"{path}.lock", SHARED, lambda name: opened(name, os.O_RDONLY), wait=wait)
            )
        except FileNotFoundError:
            pass
        except TimeoutError:
            raise
        except OSError as error:
            raise LockError(error.errno, error.strerror, error.filename) from error
        yield
