"""Play a cassette (`cassette`) as a fake tool: the same bytes, at the same pace, with the same end.

A test of an agent, a demonstration, a bug report need the tool's behaviour, not the tool: its service may be down, cost
money, or change things. What was recorded redacted is played redacted.

A cassette is read twice: once to know that it is whole, before the first byte is played, and once while it is played.
Neither keeps its lines.
"""

from __future__ import annotations

import base64
import os
import select
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NoReturn

import msgspec

from operable.kernel.data_class import dataclass
from operable.kernel.errors import EX_IOERR, EX_SIGPIPE, Fail
from operable.run.cassette import VERSION

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Cassette:
    """A recorded invocation, ready to be played."""

    argv: tuple[str, ...]
    stdin: str | None
    output: Collection[tuple[float, bytes]]
    """(seconds since the start, bytes) of each line; can be read more than once."""
    stderr: str
    status: int | None
    verdict: str
    redacted_lines: int


def load(path: str | os.PathLike[str]) -> Cassette:
    """Read a cassette; Raises Fail if it is not a cassette, is damaged, or does not contain the whole output."""
    output = RecordedOutput(path)
    head: dict[str, Any] = {}
    end: dict[str, Any] = {}
    stderr, count = [], 0
    try:
        for count, end in enumerate(output.entries(), 1):  # noqa: B007 - how many there are, and the last
            head = head or end
            if end["type"] == "out":
                _line_of(end)
                output.lines += 1
            elif end["type"] == "err":
                stderr.append(end["text"])
        if head.get("type") != "cassette" or head.get("version") != VERSION:
            raise _invalid(path, 1, f"it is not a cassette of version {VERSION}")
        if end.get("type") != "end":
            raise _invalid(path, count, "its last line is missing")
        if end.get("truncated"):
            raise Fail(
                "validation",
                "CASSETTE_TRUNCATED",
                f"{path} does not contain the whole output",
                target=str(path),
            )
        return Cassette(
            argv=tuple(head["argv"]),
            stdin=head.get("stdin"),
            output=output,
            stderr="".join(stderr),
            status=end["status"],
            verdict=end.get("verdict", ""),
            redacted_lines=end.get("redacted_lines", 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _invalid(path, None, f"a line lacks or garbles a field ({error})") from error


class RecordedOutput:
    """The output in a cassette. The file is held open: what is played is what was checked, also if another replaces it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._fd = -1
        self.lines = 0  # how many there are, once the cassette was checked
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _unreadable(path, error) from error

    def __iter__(self) -> Iterator[tuple[float, bytes]]:
        return (_line_of(entry) for entry in self.entries() if entry["type"] == "out")

    def __len__(self) -> int:
        return self.lines

    def __contains__(self, line: object) -> bool:
        return any(line == each for each in self)

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every line of the cassette."""
        try:
            with open(self._fd, "rb", closefd=False) as file:
                file.seek(0)
                for number, line in enumerate(file, 1):
                    yield _entry(self._path, number, line)
        except OSError as error:
            raise _unreadable(self._path, error) from error

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def replay(cassette: Cassette, *, speed: float | None = 1.0, stdout: int = 1, stderr: int = 2) -> int:
    """Play it to these descriptors and return the status it ended with (negative: a signal; see `exit_like`).

    `speed` 2 is twice as fast as it was; None does not wait at all. A reader that goes away ends it quietly with 141.
    """
    if speed is not None and speed <= 0:
        raise Fail("usage", "SPEED_INVALID", f"a speed is more than 0, not {speed:g}")
    started = time.monotonic()
    try:
        if speed is None:
            _write_at_once(stdout, cassette.output)
        else:
            for at, data in cassette.output:
                _wait_until(started + at / speed)
                _write_all(stdout, data)
        _write_all(stderr, cassette.stderr.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        return EX_SIGPIPE
    # A status that could not be learnt then cannot be repeated now; it was not a success.
    return EX_IOERR if cassette.status is None else cassette.status


def exit_like(status: int) -> NoReturn:
    """End this process as the recorded one did: with that status, or by that signal."""
    if status < 0:
        if -status not in (signal.SIGKILL, signal.SIGSTOP):  # those two cannot have another disposition
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 128 - status)


def _wait_until(moment: float) -> None:
    delay = moment - time.monotonic()
    if delay > 0:
        time.sleep(delay)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            select.select([], [fd], [], 1.0)


def _write_at_once(fd: int, output: Iterable[tuple[float, bytes]]) -> None:
    """Without a pace there is no reason for one write a line."""
    pieces, size = [], 0
    for _, data in output:
        pieces.append(data)
        size += len(data)
        if size >= _CHUNK:
            _write_all(fd, b"".join(pieces))
            pieces, size = [], 0
    _write_all(fd, b"".join(pieces))


def _entry(path: str | os.PathLike[str], number: int, line: bytes) -> dict[str, Any]:
    try:
        entry = msgspec.json.decode(line)
    except (ValueError, RecursionError) as error:
        raise _invalid(path, number, "it is not JSON") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
        raise _invalid(path, number, "it is not an object with a type")
    return entry


def _line_of(entry: dict[str, Any]) -> tuple[float, bytes]:
    data = base64.b64decode(entry["base64"], validate=True) if "base64" in entry else entry["line"].encode()
    return float(entry["at"]), bytes(data) if entry.get("eol") is False else bytes(data) + b"\n"


def _unreadable(path: str | os.PathLike[str], error: OSError) -> Fail:
    return Fail("not_found", "CASSETTE_NOT_FOUND", f"cannot read {path}: {error.strerror}", target=str(path))


def _invalid(path: str | os.PathLike[str], line: int | None, why: str) -> Fail:
    where = f"{path}" if line is None else f"{path}, line {line}"
    return Fail("validation", "CASSETTE_INVALID", f"{where}: {why}", target=str(path))
