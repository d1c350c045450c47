"""Files that appear whole: written under another name, put on disk, then given their name in one step.

A file that `write_whole` or `WholeFile` replaces is either the old one or the new one, also after a crash: the new content
is on disk before it gets the name, and the name is on disk before the call returns. `move` and `link_new` are that last
step for drafts that something else has written (SQLite, an archive). Files have mode 0600, folders 0700, unless they are
documents of the user (`private=False`): those keep the mode that they had, or get that of any new file.

`open_private` never follows a link and never waits: a symbolic link, a FIFO or a device in the place of a file is refused.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Self

from operable.kernel.errors import EX_CANTCREAT, Fail

# Short lines, as recordings have them, cost one call for many.
_PIECE = 64 * 1024
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_PRIVATE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# What a disk says that cannot take a file; what was there before is whole.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)


class NotRegularError(OSError):
    """Something else than a regular file has the place of one."""

    def __init__(self, path: str) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


def is_disk_problem(problem: BaseException | None) -> bool:
    """Whether the disk took no more; else it was the name, the rights or the content of the file."""
    return isinstance(problem, OSError) and problem.errno in _NO_ROOM


def advise(problem: BaseException, elsewhere: str = "set OPERABLE_HOME to a folder on another disk") -> str:
    """The hint of an error about a file that could not be written. `elsewhere` says how to choose another place."""
    return f"free space, or {elsewhere}" if is_disk_problem(problem) else f"make it writable, or {elsewhere}"


@contextmanager
def opened(path: str, flags: int) -> Iterator[int]:
    """The descriptor of a private regular file, closed afterwards."""
    fd = open_private(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


def open_private(path: str, flags: int, mode: int = 0o600) -> int:
    """Open a regular file of ours. Raises NotRegularError for anything else in its place, OSError like `os.open`."""
    try:
        fd = os.open(path, flags | _PRIVATE, mode)
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


def write_all(fd: int, data: bytes | bytearray) -> None:
    """Write every byte; a single `write` may take fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class WholeFile:
    """`write` as often as needed, then `commit` or `discard`. As a context manager it commits unless an exception passes.

    `draft` is the name of the file until it is whole. Callers that hold a lock give a fixed one, so that a killed process
    leaves at most one behind. `new`: the name must be free. `durable=False` leaves it to the kernel when the content is on
    disk: for what a power cut may undo. Every method raises OSError, and then nothing is left.
    """

    def __init__(
        self,
        path: str,
        *,
        draft: str | None = None,
        new: bool = False,
        private: bool = True,
        durable: bool = True,
    ) -> None:
        self.path = path
        self._new, self._durable = new, durable
        self._waiting = bytearray()
        self._draft = draft or f"{path}.{os.getpid()}.{os.urandom(4).hex()}.new"
        mode = None if private else _mode_of(path)
        self.fd = open_private(self._draft, _DRAFT, 0o666 if mode is None and not private else 0o600)
        if mode is not None:
            os.fchmod(self.fd, mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def write(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self._flush()

    def flush(self) -> None:
        """Put what was written on disk, still under the name of the draft."""
        self._flush()
        os.fsync(self.fd)

    def _flush(self) -> None:
        try:
            write_all(self.fd, self._waiting)
        except OSError:
            self.discard()
            raise
        self._waiting = bytearray()

    def commit(self) -> None:
        """Give it its name. Raises FileExistsError if it has to be new and something has the name."""
        try:
            self._flush()
            if self._durable:
                os.fsync(self.fd)
            give_name = link_new if self._new else move
            give_name(self._draft, self.path, durable=self._durable)
        except OSError:
            self.discard()
            raise
        self._close()

    def discard(self) -> None:
        """Leave no trace."""
        self._close()
        with suppress(FileNotFoundError):
            os.unlink(self._draft)

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def _mode_of(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        return None


def write_whole(
    path: str, data: bytes, *, draft: str | None = None, private: bool = True, durable: bool = True
) -> None:
    """Replace a file: other processes see the old or the new content, and a power cut leaves one of them."""
    with WholeFile(path, draft=draft, private=private, durable=durable) as file:
        file.write(data)


def write_together(files: Mapping[str, bytes]) -> None:
    """Replace documents of the user that belong together: all are on disk before the first gets its name."""
    drafts: list[WholeFile] = []
    try:
        for path, data in files.items():
            drafts.append(WholeFile(path, private=False))
            drafts[-1].write(data)
            drafts[-1].flush()
        for draft in drafts:
            draft.commit()
    except BaseException:
        for draft in drafts:
            draft.discard()
        raise


def create_whole(path: str, data: bytes) -> None:
    """Make a file that other processes never see in part. Raises FileExistsError if something has its name."""
    with WholeFile(path, new=True) as file:
        file.write(data)


def move(draft: str, path: str, *, folder: int | None = None, durable: bool = True) -> None:
    """Give a finished file or folder its name, in one step. `folder`: a descriptor that both names are relative to."""
    os.replace(draft, path, src_dir_fd=folder, dst_dir_fd=folder)
    if durable:
        _sync_name(path, folder)


def link_new(draft: str, path: str, *, durable: bool = True) -> None:
    """Give a finished file its name if the name is free, else raise FileExistsError. The draft is gone afterwards."""
    os.link(draft, path)
    os.unlink(draft)
    if durable:
        _sync_name(path, None)


def _sync_name(path: str, folder: int | None) -> None:
    if folder is not None:
        os.fsync(folder)
    else:
        sync_folder(os.path.dirname(path) or ".")


def sync_folder(folder: str) -> None:
    """Put the names in a folder on disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_folder(folder: str, files: Mapping[str, str]) -> None:
    """Make the folder with these files, named by their paths from it; Fail CANNOT_WRITE when that is impossible.

    They are written to a folder beside the place, which takes that place when all of them are there; whatever stops that,
    a signal too, leaves nothing.
    """
    import shutil
    import tempfile

    parent, name = os.path.split(folder)
    try:
        os.makedirs(parent or ".", exist_ok=True)
        made = tempfile.mkdtemp(prefix=f".{name}-", dir=parent or ".")
        try:
            for path, text in files.items():
                os.makedirs(os.path.join(made, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(made, path), "w", encoding="utf-8") as file:
                    file.write(text)
            os.chmod(made, 0o755)  # noqa: S103 - mkdtemp makes private ones; this is a folder of a project
            move(made, folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as problem:
        raise Fail(
            "io",
            "CANNOT_WRITE",
            f"cannot write {folder}: {problem.strerror}",
            target=folder,
            hint=advise(problem, "choose a folder on another disk"),
            exit_code=EX_CANTCREAT,
        ) from problem
