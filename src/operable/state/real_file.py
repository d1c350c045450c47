"""Reading and replacing files by their real path, without following a link that another process creates meanwhile.

A real path has no links in it. It is walked folder by folder with descriptors that refuse links, so what is opened is
what was judged; a link that appears in between is an error. Replacing is one step: readers see the old content or the
new one, and a full disk leaves the old one.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from operable.state.atomic import move

# Bytes behind a window whose lines are counted: beyond that, that there are more is all that is said.
_BEYOND = 256 * 1024
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


def read_file(real: str, limit: int) -> tuple[bytes, int]:
    """(content, mtime in ns) of a regular file."""
    with _opened(real, limit) as (file, status):
        return file.read(limit + 1)[:limit], status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, without their ends. `more` follow; not `exact`: at least so many."""

    head: bytes  # the first bytes of the file
    lines: list[bytes]
    more: int
    exact: bool
    size: int
    modified: int  # mtime in ns


def read_window(real: str, offset: int, count: int, *, head: int, limit: int) -> Window:
    """`count` lines of a regular file behind the first `offset`. What follows them is read only a little further."""
    with _opened(real, limit) as (file, status):
        first = file.read(head)
        file.seek(0)
        for _ in islice(file, offset):
            pass
        lines = [line.removesuffix(b"\n") for line in islice(file, count)]
        rest = file.read(_BEYOND)
        exact = len(rest) < _BEYOND
        more = rest.count(b"\n") + (exact and rest != b"" and not rest.endswith(b"\n"))
        return Window(first, lines, more, exact, status.st_size, status.st_mtime_ns)


@contextmanager
def _opened(real: str, limit: int) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """A regular file of at most so many bytes."""
    with _folder_of(real) as folder:
        descriptor = os.open(os.path.basename(real), _READ, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotAFileError("not a file")
        if status.st_size > limit:
            raise TooLargeError(f"it has {status.st_size} bytes; the limit is {limit}")
        yield file, status


def replace_file(real: str, data: bytes, *, read_at: int | None = None) -> tuple[bool, int]:
    """(was there before, new mtime in ns). Keeps the mode of a file that was there; makes missing folders.

    `read_at`: the mtime in ns of the content that the caller has seen. Raises ChangedError if the file has another one.
    """
    name = os.path.basename(real)
    with _folder_of(real, make=True) as folder:
        mode, _, owner = _current(name, folder)
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
            if read_at is not None and _current(name, folder)[1] not in (None, read_at):
                raise ChangedError("it has changed since it was read; read it again")
            move(temporary, name, folder=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
    return mode is not None, modified


def _current(name: str, folder: int) -> tuple[int | None, int | None, tuple[int, int]]:
    """(mode, mtime in ns, owner and group) of the file that is there; None and None if the file does not exist."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None, None, (-1, -1)
    if not stat.S_ISREG(status.st_mode):
        raise NotAFileError("not a file")
    return stat.S_IMODE(status.st_mode), status.st_mtime_ns, (status.st_uid, status.st_gid)


@contextmanager
def _folder_of(real: str, *, make: bool = False) -> Iterator[int]:
    """A descriptor of the folder that contains this file."""
    current = os.open("/", _FOLDER)
    try:
        for part in os.path.dirname(real).split("/"):
            if part:
                following = _step(current, part, make=make)
                os.close(current)
                current = following
        yield current
    finally:
        os.close(current)


def _step(folder: int, part: str, *, make: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(part, dir_fd=folder)
    except FileExistsError:
        pass  # another process was faster
    return os.open(part, _FOLDER, dir_fd=folder)
