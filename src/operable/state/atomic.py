"""Private files: opened without following links, and replaced as a whole.

A file that `write_whole` replaces is either the old one or the new one, also after a crash: the new content is on disk
before it gets the name, and the name is on disk before the call returns. Files have mode 0600, folders 0700. A symbolic
link, a FIFO or a device in the place of a file is refused, and opening one never waits.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_PRIVATE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class NotRegularError(OSError):
    """Something else than a regular file has the place of one."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


@contextmanager
def opened(path: str, flags: int) -> Iterator[int]:
    """The descriptor of a private regular file, closed afterwards."""
    fd = open_private(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def open_private(path: str, flags: int) -> int:
    """Open a regular file of ours. Raises NotRegularError for anything else in its place, OSError like `os.open`."""
    try:
        fd = os.open(path, flags | _PRIVATE, 0o600)
    except FileNotFoundError:
        raise
    except OSError as error:
        if _is_other(path):
            raise NotRegularError(path) from error
        raise
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise NotRegularError(path)


def _is_other(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def make_folder(path: str) -> None:
    """The folder and those above it, each private and with its name on disk. Raises OSError if it cannot be made."""
    if not path or os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    sync_folder(above or ".")


def write_all(fd: int, data: bytes) -> None:
    """Write every byte; a single `write` may take fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_whole(path: str, data: bytes, *, draft: str | None = None) -> None:
    """Replace a file: other processes see the old or the new content, and a power cut leaves one of them.

    `draft` is the name of the file until it is whole. Callers that hold a lock give a fixed one, so that a killed process
    leaves at most one behind.
    """
    unfinished = draft or f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
    with opened(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
        try:
            write_all(fd, data)
            os.fsync(fd)
        except OSError:
            os.unlink(unfinished)
            raise
    os.replace(unfinished, path)
    sync_folder(os.path.dirname(path) or ".")


def sync_folder(folder: str) -> None:
    """Put the names in a folder on disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
