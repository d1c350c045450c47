"""Reading and replacing files by their real path, without following a link that another process creates meanwhile.

A real path has no links in it. It is walked folder by folder with descriptors that refuse links, so what is opened is
what was judged; a link that appears in between is an error. Replacing is one step: readers see the old content or the
new one, and a full disk leaves the old one.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from itertools import islice

from operable.kernel.data_class import dataclass
from operable.state.atomic import move
from operable.state.real_path import open_place

# Bytes behind a window whose lines are counted: beyond that, that there are more is all that is said.
_BEYOND = 256 * 1024
_BEGIN = 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: a FIFO in the place of a file must not hold the agent.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotAFileError(OSError):
    """It is a folder, a device or a pipe."""


class ChangedError(OSError):
    """The file is not the one that was read."""


class TooLargeError(OSError):
    """More bytes than the caller can use."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The content of a file at one moment. The time alone is not enough: every user can set it back."""

    modified: int  # mtime in ns
    size: int
    digest: bytes

    @classmethod
    def of(cls, data: bytes, modified: int) -> "Seen":
        import hashlib

        return cls(modified, len(data), hashlib.sha256(data).digest())


def read_file(real: str, limit: int) -> tuple[bytes, int]:
    """(content, mtime in ns) of a regular file."""
    with _opened(real, limit) as (file, status):
        return file.read(limit + 1)[:limit], status.st_mtime_ns


def digest_file(real: str) -> tuple[str, int, bytes]:
    """(SHA-256 in hex, mode, first bytes) of a regular file of any size."""
    import hashlib

    with _opened(real, None) as (file, status):
        begin = file.read(_BEGIN)
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest(), stat.S_IMODE(status.st_mode), begin


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, without their ends. `more` follow; not `exact`: at least so many."""

    head: bytes  # the first bytes of the file
    lines: list[bytes]
    more: int
    exact: bool
    size: int
    seen: Seen  # all of the file


def read_window(real: str, offset: int, count: int, *, head: int, limit: int) -> Window:
    """`count` lines of a regular file behind the first `offset`. What follows them is read only a little further."""
    with _opened(real, limit) as (file, status):
        seen = _seen(file, status)
        first = file.read(head)
        file.seek(0)
        for _ in islice(file, offset):
            pass
        lines = [line.removesuffix(b"\n") for line in islice(file, count)]
        rest = file.read(_BEYOND)
        exact = len(rest) < _BEYOND
        more = rest.count(b"\n") + (exact and rest != b"" and not rest.endswith(b"\n"))
        return Window(first, lines, more, exact, status.st_size, seen)


def _seen(file: BufferedReader, status: os.stat_result) -> Seen:
    """Of an open file, which is at its beginning afterwards."""
    import hashlib

    found = hashlib.file_digest(file, "sha256").digest()
    file.seek(0)
    return Seen(status.st_mtime_ns, status.st_size, found)


@contextmanager
def _opened(real: str, limit: int | None) -> Iterator[tuple[BufferedReader, os.stat_result]]:
    """A regular file of at most so many bytes; None: of any size."""
    folder = open_place(os.path.dirname(real))
    try:
        descriptor = os.open(os.path.basename(real), _READ, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotAFileError("not a file")
        if limit is not None and status.st_size > limit:
            raise TooLargeError(f"it has {status.st_size} bytes; the limit is {limit}")
        yield file, status


def replace_file(real: str, data: bytes, *, seen: Seen | None = None) -> tuple[bool, Seen]:
    """(was there before, what is there now). Keeps the mode of a file that was there; makes missing folders.

    `seen`: the content that the caller knows. Raises ChangedError if the file has another one, or another time.
    """
    name = os.path.basename(real)
    with _folder_of(real) as folder:
        mode, owner = _current(name, folder)
        temporary = f".{name[:100]}.{os.urandom(6).hex()}.tmp"
        descriptor = os.open(temporary, _NEW, 0o666 if mode is None else 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
                if mode is not None:
                    with suppress(PermissionError):  # only root gives files away
                        os.fchown(descriptor, *owner)
                    os.fchmod(descriptor, mode)
                modified = os.fstat(descriptor).st_mtime_ns
            # As late as possible: what happens between this line and the next one is not noticed.
            if seen is not None and not _is_still(seen, name, folder):
                raise ChangedError("it has changed since it was read; read it again")
            move(temporary, name, folder=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
    return mode is not None, Seen.of(data, modified)


def _is_still(seen: Seen, name: str, folder: int) -> bool:
    """Whether the file has this content; one that is gone has none that could be lost."""
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        return True
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        is_alike = stat.S_ISREG(status.st_mode) and status.st_size == seen.size
        return is_alike and status.st_mtime_ns == seen.modified and _seen(file, status) == seen


def _current(name: str, folder: int) -> tuple[int | None, tuple[int, int]]:
    """(mode, owner and group) of the file that is there; None if the file does not exist."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None, (-1, -1)
    if not stat.S_ISREG(status.st_mode):
        raise NotAFileError("not a file")
    return stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)


@contextmanager
def _folder_of(real: str) -> Iterator[int]:
    """A descriptor of the folder that contains this file; missing folders are made."""
    current = os.open("/", _FOLDER)
    try:
        for part in os.path.dirname(real).split("/"):
            if part:
                following = _step(current, part)
                os.close(current)
                current = following
        yield current
    finally:
        os.close(current)


def _step(folder: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        try:
            os.mkdir(part, dir_fd=folder)
        except FileExistsError:
            pass  # another process was faster
    return os.open(part, _FOLDER, dir_fd=folder)
