"""What was run and what was seen: the values that checks ask for, look at, and cite.

An `Invocation` says everything about one start of the tool, so that equal invocations in equal rooms are the same
experiment and need to be made only once. An `Observation` is what came of it. Lines are taken apart one by one and
leniently: a line that is not an event is a fact for the check that looks for such lines, and must not blind the others.

No I/O here; `probe` makes observations.
"""

from __future__ import annotations

import math
import shlex
from dataclasses import field
from functools import cached_property
from typing import Any, Literal

import msgspec

from operable.kernel.data_class import dataclass
from operable.wire.lines import split_lines

# Of the offending bytes, as many as a person needs to recognise them.
EXCERPT = 200
# 128 + SIGILL, SIGABRT, SIGFPE, SIGKILL (as for want of memory) and SIGSEGV.
_CRASHES = (132, 134, 136, 137, 139)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One start of the tool."""

    words: tuple[str, ...]  # after the program
    raw: bytes = b""  # one operand more, last: bytes that need not be text
    stdin: bytes | None = None  # None: /dev/null
    hold_stdin: bool = False  # leave it open after `stdin`, as a producer that is still busy does
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # path below HOME -> content
    bare: bool = False  # no environment but PATH, an empty read-only HOME, no network
    terminal: bool = False  # stdin and the controlling terminal are a pty that does not answer
    reader: Literal["patient", "gone", "leaves"] = (
        "patient"  # gone: before the first byte; leaves: after the first line
    )
    output: Literal["pipe", "full", "terminal"] = (
        "pipe"  # full: a device on which no byte finds room; terminal: the one of `terminal`
    )
    signal: Literal["", "SIGINT", "SIGTERM"] = ""  # sent when the stream has begun
    settle: float = 0.0  # seconds of silence that must have passed since the last output before the signal
    watch: float = 0.0  # instead: the signal comes so many seconds after the first output
    lead: float = 0.0  # seconds that it may take to write, and so to notice that its reader is gone
    room: int = (
        0  # bytes that the reader leaves room for before it stalls; the signal, or its end, comes then
    )
    timeout: float | None = None  # None: the profile's
    beside: tuple[tuple[str, ...], ...] = ()  # programs that run in the room, besides those of every room
    litter: bool = False  # say what is left in /tmp, which is otherwise empty and gone with the process


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of stdout; `event` is None if it is not a JSON object, and `flaw` says why."""

    number: int
    raw: bytes
    event: dict[str, Any] | None
    flaw: str | None = None


@dataclass(frozen=True)
class Observation:
    """What one invocation did."""

    invocation: Invocation
    program: str  # as a shell takes it
    stdout: bytes
    stderr: str
    status: int | None  # as subprocess has it; a sandboxed tool that a signal ended has 128 + its number
    elapsed: float
    ended: Literal["itself", "deadline", "flood", "excess"] = (
        "itself"  # the last two: we stopped it, `notes` say why
    )
    first_output: float | None = None  # seconds until the first byte of stdout
    arrivals: tuple[tuple[float, int], ...] = ()  # seconds, and how many bytes of stdout had come by then
    signalled: float | None = None  # seconds until our signal; None: it ended before, or none was to be sent
    stalled: int | None = (
        None  # so many bytes it had written when it waited for its reader; None: it did not wait
    )
    pending: int | None = None  # with a write of so many bytes; None: that could not be seen
    outgoing: tuple[str, ...] | None = None  # whom it tried to reach; None: that could not be observed
    terminal_output: bytes = b""
    orphans: tuple[str, ...] = ()
    litter: tuple[str, ...] = ()  # what it left in /tmp, where that was looked at
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def lines(self) -> tuple[OutputLine, ...]:
        lines, rest = split_lines(self.stdout)
        if (
            rest and self.ended == "itself"
        ):  # otherwise it is what the tool was about to write when we stopped it
            lines.append(rest)
        return tuple(_line(number, raw) for number, raw in enumerate(lines, 1))

    @cached_property
    def events(self) -> tuple[dict[str, Any], ...]:
        """Every event that can be read, whatever is between them."""
        return tuple(line.event for line in self.lines if line.event is not None and _typed(line.event))

    @cached_property
    def meta(self) -> dict[str, Any] | None:
        return next(iter(self.of("aoi:meta")), None)

    @cached_property
    def summary(self) -> dict[str, Any] | None:
        return next(iter(reversed(self.of("aoi:summary"))), None)

    @cached_property
    def domain(self) -> tuple[dict[str, Any], ...]:
        return tuple(event for event in self.events if not event["type"].startswith("aoi:"))

    @cached_property
    def readable(self) -> bool:
        """Whether every line is an event: only then can anything be said of what is not there."""
        return all(line.flaw is None for line in self.lines)

    def of(self, *types: str) -> tuple[dict[str, Any], ...]:
        return tuple(event for event in self.events if event["type"] in types)

    def times(self, kind: str) -> tuple[float, ...]:
        """When the events of this type came, in seconds since the start."""
        found, end = [], 0
        for line in self.lines:
            end += len(line.raw) + 1
            if line.event is not None and line.event.get("type") == kind:
                found += [when for when, size in self.arrivals if size >= end][:1]
        return tuple(found)

    @property
    def errors(self) -> tuple[dict[str, Any], ...]:
        return self.of("aoi:error")

    @property
    def succeeded(self) -> bool:
        """As its caller would have to see it: exit status 0 and, where there is a summary, an `ok` that is not false."""
        return self.status == 0 and (self.summary is None or self.summary.get("ok") is not False)

    @property
    def refused(self) -> bool:
        return not self.succeeded

    @property
    def crashed(self) -> bool:
        """Ended by a signal that we did not send."""
        ended = self.status is not None and (self.status < 0 or self.status in _CRASHES)
        return ended and self.ended == "itself" and self.signalled is None

    @property
    def excused(self) -> bool:
        """Failed in due form: the sample did not fit, which says nothing about the tool."""
        return bool(self.status) and self.ended == "itself" and bool(self.errors) and self.refused

    @property
    def command_line(self) -> str:
        """What a person can paste to see it again."""
        invocation = self.invocation
        line = " ".join((self.program, *map(shlex.quote, invocation.words))) + _quoted(invocation.raw)
        if invocation.signal and not invocation.room:
            # It waits for the signal, or it ends before: in either case nothing has to be timed.
            seconds = max(2, math.ceil(invocation.watch))
            line = f"timeout --signal={invocation.signal.removeprefix('SIG')} {seconds} {line}"
        elif self.ended == "deadline":
            # A user who pastes it wants the terminal back, also of one that takes no signals.
            line = f"timeout --signal=KILL {math.ceil(self.elapsed) + 1} {line}"
        if invocation.bare:
            line = f'env -i PATH="$PATH" {line}'
        elif invocation.env:
            assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in invocation.env)
            line = f"{assignments} {line}"
        if invocation.stdin is not None:
            text = f"printf %s {shlex.quote(invocation.stdin.decode('utf-8', 'replace'))}"
            line = f"({text}; sleep 3) | {line}" if invocation.hold_stdin else f"{text} | {line}"
        elif not invocation.terminal:
            line = f"{line} < /dev/null"
        if invocation.output == "full":
            line = f"{line} > /dev/full"
        if invocation.reader != "patient" and not invocation.room:
            line = f"{line} | head -{0 if invocation.reader == 'gone' else 1}"
        elif self.ended == "flood":
            line = f"{line} | head -c 1000"
        notes = self._circumstances()
        return f"{line}  # {'; '.join(notes)}" if notes else line

    def _circumstances(self) -> list[str]:
        """What cannot be one word of a shell."""
        invocation = self.invocation
        notes = [f"beside {shlex.join(words)}" for words in invocation.beside]
        if invocation.room:
            event = invocation.signal or "the end of its reader"
            notes.append(f"{event}, while it waits for its reader after {invocation.room} bytes")
        if invocation.terminal:
            notes.append("at a terminal that does not answer")
        if invocation.files:
            notes.append(f"with a secret in {', '.join(f'~/{path}' for path, _ in invocation.files)}")
        if self.ended == "excess":
            notes.append(f"beware: {', '.join(self.notes)}")
        return notes


def _quoted(raw: bytes) -> str:
    """Bytes as a word of bash."""
    return f" $'{''.join(f'{chr(92)}x{byte:02x}' for byte in raw)}'" if raw else ""


def excerpt(data: bytes | str) -> str:
    """The beginning of what offended, printable."""
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[:EXCERPT])
    return shown + ("…" if len(text) > EXCERPT else "")


def encode(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _typed(event: dict[str, Any]) -> bool:
    return isinstance(event.get("type"), str) and bool(event["type"])


def _line(number: int, raw: bytes) -> OutputLine:
    if not raw.strip():
        return OutputLine(number, raw, None, "the line is blank")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return OutputLine(number, raw, None, f"it is not UTF-8: {error.reason} at byte {error.start}")
    if text.startswith("\ufeff"):
        return OutputLine(number, raw, None, "it begins with a byte order mark")
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        return OutputLine(number, raw, None, f"it is not JSON: {error}")
    if not isinstance(value, dict):
        return OutputLine(number, raw, None, f"it is JSON, but not an object: {type(value).__name__}")
    return OutputLine(number, raw, value, None if _typed(value) else "it has no `type` that is a string")
