"""Play a cassette (`recording`) as a fake tool: the same bytes, at the same pace, with the same end.

A test of an agent, a demonstration, a bug report need the tool's behaviour, not the tool: its service may be down, cost
money, or change things. What was recorded redacted is played redacted.
"""

from __future__ import annotations

import base64
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from operable.kernel.errors import EX_IOERR, EX_SIGPIPE, Fail
from operable.run.recording import VERSION


@dataclass(frozen=True, slots=True)
class Cassette:
    """A recorded invocation, ready to be played."""

    argv: tuple[str, ...]
    stdin: str | None
    output: tuple[tuple[float, bytes], ...]
    stderr: str
    status: int | None
    verdict: str
    redacted_lines: int


def load(path: str | os.PathLike[str]) -> Cassette:
    """Read a cassette; Fail when it is none, is damaged, or does not hold the whole output."""
    entries = list(_entries(path))
    if not entries or entries[0].get("type") != "cassette" or entries[0].get("version") != VERSION:
        raise _invalid(path, 1, f"it is no cassette of version {VERSION}")
    head, end = entries[0], entries[-1]
    if end.get("type") != "end":
        raise _invalid(path, len(entries), "its last line is missing")
    if end.get("truncated"):
        raise Fail(
            "validation", "CASSETTE_TRUNCATED", f"{path} does not hold the whole output", target=str(path)
        )
    try:
        return Cassette(
            argv=tuple(head["argv"]),
            stdin=head.get("stdin"),
            output=tuple(
                (float(entry["at"]), _bytes_of(entry)) for entry in entries if entry["type"] == "out"
            ),
            stderr="".join(entry["text"] for entry in entries if entry["type"] == "err"),
            status=end["status"],
            verdict=end.get("verdict", ""),
            redacted_lines=end.get("redacted_lines", 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _invalid(path, None, f"a line lacks or garbles a field ({error})") from error


def replay(cassette: Cassette, *, speed: float | None = 1.0, stdout: int = 1, stderr: int = 2) -> int:
    """Play it to these descriptors and return the status it ended with (negative: a signal; see `exit_like`).

    `speed` 2 is twice as fast as it was; None does not wait at all. A reader that goes away ends it quietly with 141.
    """
    if speed is not None and speed <= 0:
        raise Fail("usage", "SPEED_INVALID", f"a speed is more than 0, not {speed:g}")
    started = time.monotonic()
    try:
        for at, data in cassette.output:
            if speed is not None:
                _wait_until(started + at / speed)
            _write_all(stdout, data)
        _write_all(stderr, cassette.stderr.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        return EX_SIGPIPE
    # A status that could not be learnt then cannot be repeated now; it was no success.
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


def _entries(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    entry = msgspec.json.decode(line)
                except (ValueError, RecursionError) as error:
                    raise _invalid(path, number, "it is not JSON") from error
                if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
                    raise _invalid(path, number, "it is not an object with a type")
                yield entry
    except OSError as error:
        raise Fail(
            "not_found", "CASSETTE_NOT_FOUND", f"cannot read {path}: {error.strerror}", target=str(path)
        ) from error


def _bytes_of(entry: dict[str, Any]) -> bytes:
    data = base64.b64decode(entry["base64"], validate=True) if "base64" in entry else entry["line"].encode()
    return bytes(data) if entry.get("eol") is False else bytes(data) + b"\n"


def _invalid(path: str | os.PathLike[str], line: int | None, why: str) -> Fail:
    where = f"{path}" if line is None else f"{path}, line {line}"
    return Fail("validation", "CASSETTE_INVALID", f"{where}: {why}", target=str(path))
