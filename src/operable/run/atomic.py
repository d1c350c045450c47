"""A file that appears whole or not at all: written beside its place, private to its owner, moved there when complete."""

import os
import tempfile
from typing import Self

from operable.kernel.errors import EX_CANTCREAT, Fail


class AtomicFile:
    """`write` as often as needed, then `commit` or `discard`. As a context manager: commits unless an exception passes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        try:
            # mkstemp makes it 0600. The same folder, because a rename does not cross file systems.
            self._fd, self._temporary = tempfile.mkstemp(
                dir=os.path.dirname(self.path), prefix=f".{os.path.basename(self.path)}."
            )
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._file = os.fdopen(self._fd, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            self.discard()
            raise _cannot_write(self.path, error) from error

    def commit(self) -> None:
        """Make it visible. On the disk before it is: a crash leaves the old file or the new one."""
        try:
            self._file.flush()
            os.fsync(self._fd)
            self._file.close()
            os.replace(self._temporary, self.path)
        except OSError as error:
            self.discard()
            raise _cannot_write(self.path, error) from error

    def discard(self) -> None:
        """Leave no trace."""
        try:
            self._file.close()
        except OSError:
            pass  # a full disk: what could not be flushed is thrown away anyway
        try:
            os.unlink(self._temporary)
        except FileNotFoundError:
            return


def _cannot_write(path: str, error: OSError) -> Fail:
    return Fail(
        "io", "CANNOT_WRITE", f"cannot write {path}: {error.strerror}", target=path, exit_code=EX_CANTCREAT
    )
