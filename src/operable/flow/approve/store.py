"""The file of local approvals: events appended one per line, under a lock that also holds against other programs.

The format is the one of the programs that already use it (`v: 2`; grant, consume, revoke). They lock with a file beside the
store that is made exclusively and counts as abandoned after half a minute; we do that too, so that both can work on one
store, and before it take a kernel lock on a second file, which a killed process cannot leave behind. A process that
holds the kernel lock and finds a lock file of ours, made under this kernel, knows that its owner is dead: locks of
another machine on a shared file system are treated as those of other programs. A lock that was taken from us is noticed
before anything is written.

A line that a crash cut short is skipped by readers and closed by the next append. Links and devices are refused.

A large file is compacted by the next process that locks it. Approvals that nothing can use any more (used, revoked,
expired for a month) go to `<file>.ended`, which is on disk before they leave this one; the newest of them stay, and so
does everything else. A kill in between leaves the old file whole, and perhaps lines that are in both.
"""

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import Any, BinaryIO

from operable.flow.approve.records import Ended
from operable.flow.canonical import parse
from operable.flow.errors import FlowError
from operable.state.atomic import link_new, write_whole
from operable.state.lock import EXCLUSIVE, held, wait_until
from operable.wire.lines import split_lines

Json = dict[str, Any]
# What other programs wait, and when they take a lock for abandoned.
_FOREIGN_PATIENCE, _FOREIGN_STALE = 5.0, 30.0
_OURS = b"operable "
_LIMIT = 64 * 1024 * 1024
COMPACT_AT = 4 * 1024 * 1024
"""Bytes; a grant and its use have about 3,000, so that this is some weeks of a busy machine, read in 0.2 s."""
KEPT_ENDED = 500
"""Approvals that have ended and stay for those who list them, and to notice that the audit log was replaced."""


class ApprovalStore:
    """One store, and the audit log in which its events are recorded too. `append` belongs inside `locked`."""

    def __init__(
        self, path: str, audit: str, *, compact_at: int = COMPACT_AT, kept_ended: int = KEPT_ENDED
    ) -> None:
        self.path = path
        self.audit = audit
        self._compact_at, self._kept_ended = compact_at, kept_ended
        self._held: int | None = None  # the lock file, open: as long as it is, no other file can pass for it

    def events(self) -> list[Json]:
        """What is in it, oldest first; lines that are not events are skipped."""
        try:
            with _opened(self.path, os.O_RDONLY) as fd, os.fdopen(os.dup(fd), "rb") as file:
                data = file.read(_LIMIT + 1)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unusable("read", error) from None
        if len(data) > _LIMIT:
            message = (
                f"the approvals are larger than {_LIMIT} bytes; the next approval or its use compacts them"
            )
            raise FlowError("approval_log_invalid", message)
        lines, torn = split_lines(data)
        return [event for line in (*lines, torn) if (event := _event(line)) is not None]

    def append(self, event: Json) -> None:
        """One more event, on disk before this returns; nothing of it when that fails."""
        self._require_lock()
        line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        try:
            _append(self.path, line.encode("utf-8", "surrogatepass") + b"\n")
        except OSError as error:
            raise _unusable("written", error) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The store for ourselves. FlowError(approval_lock_timeout) if another process does not release it."""
        with ExitStack() as stack:
            try:
                os.makedirs(os.path.dirname(self.path) or ".", mode=0o700, exist_ok=True)
                guard = stack.enter_context(held(f"{self.path}.guard", EXCLUSIVE, _guard))
                stack.callback(self._leave)
                wait_until(lambda: self._made(guard), time.monotonic() + _FOREIGN_PATIENCE)
            except TimeoutError as error:
                message = f"Timed out acquiring approvals lock at {self._lock}: {error}"
                raise FlowError("approval_lock_timeout", message) from None
            except OSError as error:
                raise _unusable("locked", error) from None
            self._compact()
            yield

    def _compact(self) -> None:
        """Move what has ended to the file beside, if this one is large and half of it would go."""
        try:
            with _opened(self.path, os.O_RDONLY) as fd, os.fdopen(os.dup(fd), "rb") as file:
                size = os.fstat(fd).st_size
                if size <= self._compact_at:
                    return
                ended = Ended(time.time())
                for line in file:
                    if (event := _event(line)) is not None:
                        ended.take(event)
                going = ended.oldest(self._kept_ended)
                file.seek(0)
                parts = _parted(file, size, going)
                if len(parts[True]) * 2 < size:
                    return
                self._require_lock()
                _append(f"{self.path}.ended", parts[True])
                write_whole(self.path, parts[False], draft=f"{self.path}.draft")
                # What a program without our lock has added meanwhile, to the file that it had open.
                if late := os.pread(fd, _LIMIT, size):
                    _append(self.path, late)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unusable("compacted", error) from None

    def _require_lock(self) -> None:
        if not self._still_ours():
            # We were held up for so long that another program took the lock for abandoned, and may have used an approval.
            raise FlowError("approval_lock_timeout", f"the approvals lock at {self._lock} was taken away")

    @property
    def _lock(self) -> str:
        return f"{self.path}.lock"

    def _made(self, guard: int) -> bool:
        """Whether the lock file is now ours; one that its owner has left behind is removed."""
        if os.path.lexists(self._lock):
            if self._abandoned(guard):
                with suppress(FileNotFoundError):
                    os.unlink(self._lock)
            return False
        # It says whose it is before it has its name: otherwise a process that is killed between the two would leave a
        # lock that looks like another program's. Every process would wait until that lock counts as abandoned.
        draft = f"{self._lock}.new"
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, b"%s%d %s\n" % (_OURS, os.getpid(), _kernel()))
            link_new(draft, self._lock, durable=False)
        except BaseException as problem:
            os.close(fd)
            if isinstance(problem, FileExistsError):
                return False  # another program was faster
            raise
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)
        self._held = fd
        return True

    def _abandoned(self, guard: int) -> bool:
        try:
            with _opened(self._lock, os.O_RDONLY) as fd:
                owner, made = os.pread(fd, 200, 0), os.fstat(fd).st_mtime
        except FileNotFoundError:
            return False
        if owner.startswith(_OURS) and owner.split()[2:] in ([], [_kernel()]):
            return True  # we have the kernel's lock, so that its owner has not
        os.utime(guard)  # by the clock of the file system, which may be another machine's
        return os.fstat(guard).st_mtime - made > _FOREIGN_STALE

    def _still_ours(self) -> bool:
        try:
            return self._held is not None and os.path.samestat(os.fstat(self._held), os.lstat(self._lock))
        except FileNotFoundError:
            return False

    def _leave(self) -> None:
        if self._still_ours():
            with suppress(FileNotFoundError):
                os.unlink(self._lock)
        if self._held is not None:
            os.close(self._held)
            self._held = None


def _kernel() -> bytes:
    """Which kernel this is, since when it runs: locks of another one say nothing about who lives here."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(100).strip()
    except OSError:
        return b""


def _guard(path: str) -> AbstractContextManager[int]:
    return _opened(path, os.O_RDWR | os.O_CREAT)


def _parted(file: BinaryIO, size: int, going: set[str]) -> dict[bool, bytes]:
    """The whole lines among the first `size` bytes: True those of approvals that go, or of none; False the others."""
    parts: dict[bool, list[bytes]] = {True: [], False: []}
    while size > 0 and (line := file.readline(size)):
        size -= len(line)
        event = _event(line)
        goes = event is None or event["approval_id"] in going
        parts[goes].append(line if line.endswith(b"\n") else line + b"\n")
    return {goes: b"".join(lines) for goes, lines in parts.items()}


def _append(path: str, data: bytes) -> None:
    """On disk when this returns; nothing of it if that fails. A torn line before it is closed."""
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as fd:
        size = os.fstat(fd).st_size
        torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        _write(fd, b"\n" + data if torn else data, size)


def _write(fd: int, data: bytes, size: int) -> None:
    try:
        at = 0
        while at < len(data):
            at += os.write(fd, data[at:])
        os.fsync(fd)
    except OSError:
        os.ftruncate(fd, size)
        raise


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    if os.path.islink(path):
        raise FlowError("approval_log_invalid", f"Refusing to use a symbolic link: {path}")
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise FlowError("approval_log_invalid", f"Refusing to use a non-regular file: {path}")
        yield fd
    finally:
        os.close(fd)


def _unusable(what: str, error: OSError) -> FlowError:
    return FlowError("approval_log_invalid", f"the approvals cannot be {what}: {error.strerror}")


def _event(line: bytes) -> Json | None:
    try:
        event = parse(line.decode("utf-8"))
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    named = all(isinstance(event.get(name), str) for name in ("kind", "approval_id"))
    return event if named else None
