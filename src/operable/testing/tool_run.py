"""Runs a command inside the process of a test: as the process would, with its parser, guards, events and exit code.

What a process adds is left out: signals, deadlines, the private stdout. So the state of the author's module can be set up
and looked at, a debugger stops where it should, and a call takes a millisecond. Every event is held to its annotation.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from operable.kernel.errors import Fail
from operable.tool import Tool
from operable.tool import process as tool_process
from operable.tool.document import document_of
from operable.tool.front import HUMAN, JSON, requested_output, suspects, understand
from operable.tool.human.mode import PeopleSink
from operable.tool.interrupt import Interrupts
from operable.tool.runner import CommandRun
from operable.tool.writer import Emitter, MachineSink


class ToolRun:
    """What a call left behind."""

    def __init__(self, exit_code: int, stdout: str, stderr: str) -> None:
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr

    @property
    def events(self) -> list[dict[str, Any]]:
        """Every line of the stream."""
        return [msgspec.json.decode(line) for line in self.stdout.splitlines()]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The domain events."""
        return [event for event in self.events if not event["type"].startswith("aoi:")]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def summary(self) -> dict[str, Any]:
        return self.events[-1]

    @property
    def error(self) -> dict[str, Any]:
        """The last error."""
        errors = self.of("aoi:error")
        if not errors:
            raise AssertionError(f"the call has no error: {self!r}")
        return errors[-1]

    def __repr__(self) -> str:
        return f"exit {self.exit_code}\n{self.stdout}{self.stderr}"


def run_tool(
    tool: Tool,
    *words: str,
    input: bytes | str = b"",
    env: Mapping[str, str] | None = None,
    output: str = "jsonl",
) -> ToolRun:
    """Call a command in this process. `env` is added to the environment; `output` may be `human` or `json`."""
    argv = [*words, f"--{tool.machine_flags[0]}", output] if output != HUMAN else list(words)
    data = input.encode() if isinstance(input, str) else input
    with _surroundings(env or {}, data), io.StringIO() as stdout, io.StringIO() as stderr:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            call, refusal = understand(tool, argv)
            secrets = suspects(argv, call, refused=refusal is not None)
            mode = requested_output(tool, argv)
            if mode == JSON:
                document, exit_code = document_of(call, refusal, secrets)
                stdout.write(document.decode())
            elif mode == HUMAN:
                interrupts = Interrupts()
                people = PeopleSink(tool, call, secrets, interrupts.told)
                exit_code = _Run(tool, call, people, interrupts, refusal=refusal).execute()
            else:
                lines, exit_code = _machine(tool, call, refusal, secrets)
                # What the author's code prints is on stderr of a process.
                return ToolRun(exit_code, lines.decode(), stdout.getvalue() + stderr.getvalue())
        return ToolRun(exit_code, stdout.getvalue(), stderr.getvalue())


class _Run(CommandRun):
    """A run that holds every event to its annotation, and that no thread watches."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.held = True

    def _supervise(self) -> None:
        return


def _machine(tool: Tool, call: Any, refusal: Fail | None, secrets: tuple[str, ...]) -> tuple[bytes, int]:
    descriptor = os.memfd_create("stdout", os.MFD_CLOEXEC)
    try:
        interrupts = Interrupts()
        sink = MachineSink(Emitter(descriptor, interrupts, for_process=False), secrets)
        exit_code = _Run(tool, call, sink, interrupts, refusal=refusal).execute()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0), exit_code
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _surroundings(env: Mapping[str, str], data: bytes) -> Iterator[None]:
    """The environment and the standard input of the call."""
    before, known = dict(os.environ), tool_process._stdin  # noqa: SLF001 - the stdin of the process is put back
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.environ.update(env)
        tool_process._stdin = descriptor  # noqa: SLF001
        yield
    finally:
        tool_process._stdin = known  # noqa: SLF001
        os.close(descriptor)
        os.environ.clear()
        os.environ.update(before)
