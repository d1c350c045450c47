"""Runs the sample tool as real processes: to the end, or step by step while it lives. Every wait has a limit."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

Found = TypeVar("Found")
SAMPLE = Path(__file__).with_name("sample_tool.py")
# No test waits longer than this for anything; what it waits for takes milliseconds.
LIMIT = 200.0
SIGINT, SIGTERM = signal.SIGINT, signal.SIGTERM


class Outcome:
    """What a process left behind."""

    def __init__(self, exit_code: int, stdout: bytes, stderr: bytes) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr.decode("utf-8", "backslashreplace")

    @property
    def events(self) -> list[dict[str, Any]]:
        """The stream, which must be one: complete UTF-8 lines, meta first, exactly one summary and that last."""
        events = parsed(self.stdout)
        kinds = [event["type"] for event in events]
        assert kinds[0] == "aoi:meta", self.stdout
        assert (kinds[-1], kinds.count("aoi:summary")) == ("aoi:summary", 1), self.stdout
        return events

    @property
    def summary(self) -> dict[str, Any]:
        return self.events[-1]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The domain events."""
        return [event for event in self.events if not event["type"].startswith("aoi:")]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]

    @property
    def error(self) -> dict[str, Any]:
        """The one error."""
        (error,) = self.of("aoi:error")
        return error

    def __repr__(self) -> str:
        return f"exit {self.exit_code}\n{self.stdout.decode('utf-8', 'backslashreplace')}\n{self.stderr}"


def parsed(stdout: bytes) -> list[dict[str, Any]]:
    """Each line as an object with a type."""
    assert stdout.endswith(b"\n"), stdout[-300:]
    events = [json.loads(line.decode("utf-8")) for line in stdout.removesuffix(b"\n").split(b"\n")]
    assert all(isinstance(event, dict) and isinstance(event["type"], str) for event in events)
    return events


def command_line(*words: str, output: str | None = "jsonl", tool: Path = SAMPLE) -> list[str]:
    return [sys.executable, str(tool), *words, *(["--output", output] if output else [])]


def run(
    *words: str,
    input: bytes = b"",
    env: Mapping[str, str] | None = None,
    output: str | None = "jsonl",
    tool: Path = SAMPLE,
    timeout: float = LIMIT,
) -> Outcome:
    """Run a command to its end. `env` is added to the environment of the tests."""
    done = subprocess.run(
        command_line(*words, output=output, tool=tool),
        input=input,
        env=os.environ | dict(env or {}),
        capture_output=True,
        timeout=timeout,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


class Running:
    """A process whose stdout is read when the test says so."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.received = b""
        self._rest = b""

    def line(self) -> bytes:
        """The next line, as soon as it is there."""
        while b"\n" not in self._rest:
            chunk = self.chunk()
            assert chunk, f"the stream ended: {self.received!r} {self._rest!r}"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def event(self, kind: str | None = None) -> dict[str, Any]:
        """The next event, or the next of a kind."""
        while True:
            event: dict[str, Any] = json.loads(self.line())
            if kind is None or event["type"] == kind:
                return event

    def chunk(self, size: int = 65_536) -> bytes:
        """What one read gives; waits for the first byte. Empty at the end of the stream."""
        assert self.process.stdout is not None
        wait_readable(self.process.stdout.fileno())
        chunk = os.read(self.process.stdout.fileno(), size)
        self.received += chunk
        return chunk

    def write(self, data: bytes | None) -> None:
        """Give some input, or end it."""
        assert self.process.stdin is not None
        if data is not None:
            self.process.stdin.write(data)
        else:
            self.process.stdin.close()
            self.process.stdin = None

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def finish(self) -> Outcome:
        """Read the rest and wait for the end."""
        stdout, stderr = self.process.communicate(timeout=LIMIT)
        return Outcome(self.process.returncode, self.received + (stdout or b""), stderr or b"")

    def hang_up(self) -> None:
        """Close our end of the pipe."""
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.stdout = None

    def leave(self) -> Outcome:
        """Close our end of the pipe and wait for the end."""
        self.hang_up()
        return self.finish()

    def wait(self) -> int:
        """Wait for the end without reading anything."""
        return self.process.wait(LIMIT)


@contextmanager
def running(
    *words: str,
    before: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    output: str | None = "jsonl",
    tool: Path = SAMPLE,
    **options: Any,
) -> Iterator[Running]:
    """Start a command, after some words; it is killed at the end of the block if it still lives."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    argv = [*before, *command_line(*words, output=output, tool=tool)]
    process: Any = subprocess.Popen(argv, env=os.environ | dict(env or {}), bufsize=0, **options)
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(LIMIT)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def wait_readable(descriptor: int) -> None:
    assert select.select([descriptor], [], [], LIMIT)[0], "nothing came"


def in_time(attempt: Callable[[float], Found], came_up: Callable[[Found], object]) -> Found:
    """What an attempt with a deadline gives, where the program has to be at work when the deadline comes.

    How long it takes to come up depends on what else this machine does: the deadlines grow until it does in time.
    """
    *shorter, longest = 1.0, 10.0, 60.0
    for deadline in shorter:
        found = attempt(deadline)
        if came_up(found):
            return found
    return attempt(longest)


def eventually(condition: Any, what: str) -> None:
    """Look until something holds; for what cannot be waited for otherwise."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.01)


class Gate:
    """A fifo that a process waits at until the test opens it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        # Both ways, so that neither side has to wait for the other to open it.
        self._descriptor = os.open(path, os.O_RDWR)

    def open(self, times: int = 1) -> None:
        os.write(self._descriptor, b"x" * times)

    def close(self) -> None:
        os.close(self._descriptor)


class Terminal:
    """A pseudo-terminal with a process on it, and a person who reads and types."""

    def __init__(
        self,
        *words: str,
        output: str | None,
        tool: Path = SAMPLE,
        env: Mapping[str, str] | None = None,
        leader: bool,
    ) -> None:
        self._ours, theirs = os.openpty()
        # The first of a session that opens a terminal gets it for the session: a shell, as it is for a person.
        script = 'exec < "$TERMINAL"; ' + ('exec "$@"' if leader else '"$@"; exit $?')
        self._reading, writing = os.pipe() if output else (-1, -1)
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *command_line(*words, output=output, tool=tool)],
            stdin=subprocess.DEVNULL,
            stdout=writing if output else theirs,
            stderr=theirs,
            env=os.environ | {"TERM": "xterm", "TERMINAL": os.ttyname(theirs)} | dict(env or {}),
            start_new_session=True,
        )
        os.close(theirs)
        if output:
            os.close(writing)
        self.screen = ""

    def read_until(self, text: str) -> None:
        """Read the screen until some text is on it."""
        while text not in self.screen:
            assert self._read(), self.screen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def _read(self) -> bool:
        wait_readable(self._ours)
        try:
            chunk = os.read(self._ours, 65_536)
        except OSError:  # all that had the terminal open are gone
            return False
        self.screen += chunk.decode("utf-8", "replace")
        return bool(chunk)

    def finish(self) -> Outcome:
        """Read everything and wait for the end."""
        stdout = b""
        while self._reading >= 0:
            wait_readable(self._reading)
            chunk = os.read(self._reading, 65_536)
            if not chunk:
                break
            stdout += chunk
        while self._read():
            pass
        return Outcome(self.process.wait(LIMIT), stdout, self.screen.encode())

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)
        os.close(self._ours)
        if self._reading >= 0:
            os.close(self._reading)


@contextmanager
def terminal(
    *words: str, output: str | None = None, leader: bool = False, **options: Any
) -> Iterator[Terminal]:
    """Start a command at a terminal; stdout is the terminal too, unless machine mode is asked for."""
    made = Terminal(*words, output=output, leader=leader, **options)
    try:
        yield made
    finally:
        made.close()
