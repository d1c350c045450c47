"""The way of one process into its enclosure: what it does between fork and exec, and the contents that it hands over.

`SandboxEntry` is plain values, part of a `PreparedCommand`; it can be started any number of times, and travels to the
keeper. `Entrance` is one start of it, made in the process that forks. In the child it joins the control groups (or the
command does not run), sets resource limits, takes a session keyring of its own, and applies the Landlock scopes. Contents
(the filter, secret files, secret variables) are in descriptors without a name in any file system, whose numbers take the
place of words of the command line: bubblewrap reads them from there. So they are neither on disk nor in /proc/PID/cmdline
or environ. Files of the host are opened and read in the same way (`Read`), and what is mounted is opened by its real path
without following a link (`Place`): what was checked is what is shown, whatever another process does to the path meanwhile.

Imports the standard library only: the keeper loads it.
"""

import ctypes
import errno
import os
import resource
from collections.abc import Sequence
from typing import NamedTuple

from operable.proc.sandbox import landlock
from operable.proc.sandbox.syscalls import libc, numbers
from operable.state.real_path import open_place

# The placeholder for the number of a descriptor. Not a number: running it directly gives an error.
PLACEHOLDER = "FILTER"
_JOIN_SESSION_KEYRING, _READ = 1, 11
_SESSION_KEYRING = -3
_MOST_KEYS = 64  # more are keys enough to be kept apart


class Read(NamedTuple):
    """A word that represents the number of a descriptor, and says what is read there."""

    content: bytes | str  # str: the path of a file of the host, as it is at the start


class Place(NamedTuple):
    """A word that represents the number of a descriptor of a file or folder of the host, by its real path."""

    real: str


class StatusReport(NamedTuple):
    """A word that represents the number of a descriptor to which the sandbox reports what became of the command."""


# As in `Read`; or a kind of its own (`_OPENERS`) and a path.
Content = bytes | str | tuple[str, str]
Word = str | Read | Place | StatusReport


class SandboxEntry(NamedTuple):
    """What a start needs beside its words. Plain values only: they are marshalled."""

    # Where the placeholder is, counted from the end of argv; what is behind the descriptor.
    contents: tuple[tuple[int, Content], ...] = ()
    scopes: int = 0  # of Landlock
    limits: tuple[tuple[int, int], ...] = ()  # resource, value: as low, or lower where it is lower already
    groups: tuple[str, ...] = ()  # files of control groups that the process writes itself into
    report: str = os.devnull  # the file behind `StatusReport`: of one start, named by who starts


def split_contents(words: Sequence[Word]) -> tuple[tuple[str, ...], tuple[tuple[int, Content], ...]]:
    """Words with placeholders, and the contents of an `SandboxEntry` that belong to them."""
    argv = tuple(word if isinstance(word, str) else PLACEHOLDER for word in words)
    opened = [(len(words) - at, _content(word)) for at, word in enumerate(words) if not isinstance(word, str)]
    return argv, tuple(opened)


def reported(entry: SandboxEntry, path: str) -> SandboxEntry | None:
    """The same entry, with this file behind its `StatusReport`; None if it has none."""
    is_reporting = any(content == (_REPORT, "") for _, content in entry.contents)
    return entry._replace(report=path) if is_reporting else None


def _content(word: Read | Place | StatusReport) -> Content:
    if isinstance(word, Read):
        return word.content
    return (_PLACE, word.real) if isinstance(word, Place) else (_REPORT, "")


class Entrance:
    """One start. `fds` are for the child to inherit; `__call__` runs in the child; `close` when it has been started."""

    def __init__(self, entry: SandboxEntry) -> None:
        self._entry = entry
        self._call = libc().syscall
        self._keyctl = (numbers(os.uname().machine, ("keyctl",)) or [-1])[0]
        self._rules: int | None = None
        self._contents: list[int] = []
        try:
            for _, content in entry.contents:
                self._contents.append(
                    _opened((_REPORT, entry.report) if content == (_REPORT, "") else content)
                )
            if entry.scopes:
                self._rules = landlock.ruleset(writes=False, scopes=entry.scopes)
        except BaseException:
            self.close()
            raise

    @property
    def fds(self) -> tuple[int, ...]:
        return tuple(self._contents)

    def argv(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The words, with the numbers of the descriptors where the placeholders are."""
        words = list(argv)
        for (at, _), descriptor in zip(self._entry.contents, self._contents, strict=True):
            if words[len(argv) - at] != PLACEHOLDER:
                raise ValueError("the words of an enclosed command were changed behind its contents")
            words[len(argv) - at] = str(descriptor)
        return tuple(words)

    @property
    def needed(self) -> bool:
        """Whether there is anything to do in the child. Code between fork and exec costs two milliseconds in a host of
        some size, because the host then has to be forked whole; a host without keys has none to keep apart.
        """
        return bool(self._entry.groups or self._entry.limits or self._rules is not None or self._has_keys())

    def _has_keys(self) -> bool:
        """Whether our session keyring contains a key, or a keyring that is not empty. What cannot be determined counts as
        one.
        """
        serials = (ctypes.c_int32 * _MOST_KEYS)()
        size = self._call(self._keyctl, _READ, _SESSION_KEYRING, serials, ctypes.sizeof(serials))
        if size < 0:
            return ctypes.get_errno() != errno.ENOSYS
        count = size // ctypes.sizeof(ctypes.c_int32)
        return count > _MOST_KEYS or any(
            self._call(self._keyctl, _READ, serial, None, 0) != 0 for serial in serials[:count]
        )

    def __call__(self) -> None:
        for path in self._entry.groups:
            group = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            os.write(group, b"0")  # the writing process
            os.close(group)
        for resource_number, value in self._entry.limits:
            _limit(resource_number, value)
        # Where it is refused (a container without keys) there is nothing to take; the filter refuses keys anyway.
        self._call(self._keyctl, _JOIN_SESSION_KEYRING, None)
        if self._rules is not None:
            landlock.restrict(self._rules)

    def close(self) -> None:
        for fd in (*self._contents, *(() if self._rules is None else (self._rules,))):
            os.close(fd)
        self._contents, self._rules = [], None


def _opened(content: Content) -> int:
    if not isinstance(content, bytes):
        kind, path = (_FILE, content) if isinstance(content, str) else content
        try:
            return _OPENERS[kind](path)
        except FileNotFoundError as error:
            # Not "not found": that is what a start says of the program.
            raise OSError(errno.ESTALE, f"{path} no longer exists") from error
    descriptor = os.memfd_create("operable-content")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _read(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _written(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CLOEXEC)


_FILE, _PLACE, _REPORT = "file", "place", "report"
_OPENERS = {_FILE: _read, _PLACE: open_place, _REPORT: _written}


def _limit(number: int, value: int) -> None:
    _, hard = resource.getrlimit(number)
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (wanted, wanted))
