"""Whether a sealed log is what was written: every record, in order, up to its head.

Readers see the log as it is at one moment (`frozen`): they hold the writers' lock while they read the head and open the
files, and read afterwards. So a long check delays no writer, and takes none for tampering. It streams: memory does not
grow with the log, and at most PROBLEM_LIMIT problems are kept.

One torn last line, records after the head that were announced, and full files that were about to be removed, are what a
crash leaves, and are not problems. The signature of a signed log is also required if the caller gives no key: the log names
it. What
no chain shows by itself: a person who may write all files can make a new, consistent history. An anchor that is kept
elsewhere shows that.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field

from operable.kernel.data_class import dataclass
from operable.state.atomic import open_private, opened
from operable.state.lock import SHARED, WAIT, held, is_held
from operable.state.sealed_file import LogLines, full_files
from operable.state.sealed_head import (
    Head,
    Stated,
    UnreadableHeadError,
    decode_key,
    digest_name,
    is_signed_by,
    read_head,
)
from operable.state.sealed_log import LockError
from operable.state.sealed_record import DAMAGE, LOST, RESTARTED, RETIRED, SIGNED, RecordFormat, SealedRecord

PROBLEM_LIMIT = 1000
TAMPERED, GAP, BROKEN, TRUNCATED = "tampered", "gap", "broken", "truncated"
UNREADABLE, DAMAGED, UNSIGNED = "unreadable", "damaged", "unsigned"

Part = tuple[str, LogLines]


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One thing that is wrong; `file` and `line` say where, if that is one line."""

    code: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(slots=True)
class LogVerdict:
    """What a check found. Only `problems` mark a log as changed."""

    records: int = 0
    unsealed: int = 0  # lines of another program before the chain
    head: Head | None = None
    problems: list[LogProblem] = field(default_factory=list)
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
            self.problems.append(LogProblem(code, message, *place))
        else:
            self.more_problems += 1


def check(
    path: str,
    format: RecordFormat,
    *,
    anchors: Iterable[Head] = (),
    public_key: bytes | None = None,
    name: str | None = None,
    is_future: Callable[[str], bool] = lambda _: False,
    wait: float = WAIT,
) -> LogVerdict:
    """Check every record of every file. `anchors` were kept elsewhere; `public_key` must have signed the head.

    `name`: the log's, where the caller knows it; a signed head of another log is then a problem.
    """
    verdict = LogVerdict()
    with frozen(path, wait=wait) as (stated, complaint, parts):
        if complaint is not None:
            verdict.add(TRUNCATED, f"the file with the log's head cannot be read: {complaint}")
        walk = _Walk(format, verdict, [*anchors, *([] if stated is None else [stated.head])], is_future)
        for file, lines in parts:
            for number, line in enumerate(lines, 1):
                walk.take(line, os.path.basename(file), number, is_newest=file == path)
    walk.finish(is_headless=stated is None and complaint is None)
    if stated is not None:
        _judge_head(verdict, stated, walk, public_key, None if name is None else digest_name(name))
    elif public_key is not None:
        verdict.add(UNSIGNED, "the head is not signed by the given key")
    for number in walk.open:
        if is_held(f"{path}.alive", number) is False:
            verdict.lost += 1
        else:
            verdict.running += 1
    return verdict


class _Walk:
    """The check of one line after the other."""

    def __init__(
        self, format: RecordFormat, verdict: LogVerdict, wanted: list[Head], is_future: Callable[[str], bool]
    ) -> None:
        self._format = format
        self._verdict = verdict
        self._wanted = [head for head in wanted if head.seq >= 0]
        self._is_future = is_future
        self.last = Head(-1, format.genesis)
        self.key: bytes | None = None  # that the log says it is signed with
        self._file = ""
        self._ends: set[str] = set()  # the last record of each full file
        self._at = ""
        self._before = hashlib.sha256()  # of what is before the chain
        self._floor: tuple[Head, str, int] | None = None  # what the first record continues, and its place
        self.open: dict[int, None] = {}

    def take(self, line: bytes, file: str, number: int, *, is_newest: bool) -> None:
        verdict, place = self._verdict, (file, number)
        if file != self._file:
            self._ends.add(str(self.last))
            self._file = file
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
        self._at, self.last = record.at, record.head
        self._wanted = [head for head in self._wanted if head != record.head]
        verdict.records += 1
        self._note(record, place)

    def _take_other(self, line: bytes, place: tuple[str, int]) -> None:
        if self._verdict.records or not self._format.continues_unsealed:
            self._verdict.add(UNREADABLE, "the line is not a sealed record", place)
            return
        self._verdict.unsealed += 1
        self._before.update(line)
        self.last = Head(-1, f"sha256:{self._before.hexdigest()}")

    def _follow(self, record: SealedRecord, place: tuple[str, int]) -> None:
        seq, before = record.head.seq, self.last
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
        elif record.kind == RESTARTED:
            reason = str(record.facts.get("reason"))[:200]
            self._verdict.add(TRUNCATED, f"the records before this one were removed: {reason}", place)
        elif record.kind == SIGNED:
            self.key = decode_key(record.facts.get("key"))
            if self._verdict.signed_from is None:
                self._verdict.signed_from, self._verdict.unsigned = record.head.seq, self._verdict.records - 1
        elif record.kind == RETIRED and self._floor is not None:
            self._retire(str(record.facts.get("through")), *self._floor)

    def _retire(self, through: str, floor: Head, file: str, line: int) -> None:
        """Accept that the log begins after `floor`: all files up to there were retired, or a crash left some of them."""
        begins_file = line == 1 and file.endswith(f".{floor.seq + 1:012d}")
        if through == str(floor) or (begins_file and through in self._ends):
            self._floor = None

    def finish(self, *, is_headless: bool) -> None:
        verdict, last = self._verdict, self.last
        if self._floor is not None:
            head, file, line = self._floor
            verdict.add(GAP, f"the records up to {head.seq} are missing", (file, line))
        for head in self._wanted:
            if head.seq > last.seq:
                verdict.add(TRUNCATED, f"the log ends at record {last.seq}, but had reached {head.seq}")
            else:
                verdict.add(TAMPERED, f"record {head.seq} is not the one that was kept as a head")
        if verdict.records and is_headless:
            verdict.add(TRUNCATED, "the file with the log's head is missing")
        verdict.head = last if verdict.records else None


def _judge_head(
    verdict: LogVerdict, stated: Stated, walk: _Walk, public_key: bytes | None, name: str | None
) -> None:
    """Compare the end of the log with its head and with what was announced, and look at their signatures and names."""
    key = public_key or walk.key or stated.key
    coming = None  # what the writer said before a crash that it is going to write
    if verdict.records and walk.last.seq > stated.head.seq:
        vouched = (
            each for each in stated.coming if each.announces(walk.last) and _is_vouched(each, stated, key)
        )
        coming = next(vouched, None)
        if coming is None:
            message = f"the records after {stated.head.seq} were added, or the head was set back"
            verdict.add(TAMPERED, message)
    if not all(each.is_of(name) for each in (stated, coming) if each is not None):
        verdict.add(TAMPERED, "the head belongs to another log")
    signed_after = verdict.signed_from is None or verdict.signed_from > stated.head.seq
    if coming is not None and coming.signature is not None and signed_after and stated.is_unsigned:
        return  # a crash in the first signed write
    if public_key is not None and not is_signed_by(stated, public_key):
        verdict.add(UNSIGNED, "the head is not signed by the given key")
    elif stated.signature is None and (verdict.signed_from is not None or stated.is_marked):
        message = "the log was signed, and its head is not: the key or the signature was taken away"
        verdict.add(UNSIGNED, message)
    elif stated.signature is not None and not _is_vouched(stated, stated, key):
        verdict.add(UNSIGNED, "the head is not signed by the key that the log names")


def _is_vouched(head: Stated, stated: Stated, key: bytes | None) -> bool:
    """Whether a head has the signature that it must have. One of a log that never was signed needs none."""
    if key is None:
        return stated.is_unsigned
    return is_signed_by(head, key)


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
