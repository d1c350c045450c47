"""The loop of `run`, `record` and `pipe`: a call on one side, our own stream on the other, and the verdict at the end.

Theory of operation. A call gives chunks, each with the events that it completed. For machines the bytes go on as they
came: `_Lines` cuts the chunks at the ends of lines, and only where a chunk contains framework events, or a limit is near,
is it taken apart. The tool's meta becomes part of ours and its summary part of ours; everything else passes. For people
each event is shown. A limit ends the showing and not the tool, whose effects must not be torn and whose verdict must be
known; only a stream that has no end of its own is ended by it.

A stop of our own (a signal, a reader that left) closes the call, which ends the tool's process group. The verdict on
what was read until then is still in our summary. What left the group is ended before the summary says so.
"""

from __future__ import annotations

import os
import select
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from operable.cli.call.verdicts import as_event, as_fields, closing_word, failure, plain
from operable.cli.variables import warn_of_exposed
from operable.kernel.errors import EX_OK
from operable.kernel.redact import Redactor, redact_text
from operable.run.failure import speaks_for_itself
from operable.run.session import decisive
from operable.wire.framework import Check, Error, Meta, Plan, Summary, Warning  # noqa: A004 - the wire's name for it
from operable.wire.lines import BlockSplitter, SkippingSplitter, split_lines
from operable.wire.notes import Note
from operable.wire.reserved_names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from operable.proc.tree.orphans import Adoption, Swept
    from operable.run import Call, Verdict
    from operable.tool import Relay
    from operable.wire.framework import Event

_type_of: Callable[[Any], str] = itemgetter("type")
_ONLY_DICTS = {dict}
# What our own summary counts or concludes; everything else that the tool's summary says (`plan_digest`) is said again.
_OURS = frozenset(
    {"ok", "count", "warning_count", "error_count", "partial", "truncated", "next_cursor", "elapsed_ms"}
    | {"exit_code", "verdict", "message", "cassette"}
)


# A pipe that can be written to takes this much without blocking (POSIX: PIPE_BUF).
_PIECE = 512
# A diagnostic line that is longer than this is not text; it is not shown.
_LINE_LIMIT = 64 * 1024
# As much of what a tool says of its failure.
_SHOWN = 300


def pass_on(
    call: Call, relay: Relay, names: list[str], adoption: Adoption, env: Sequence[str] | None = None
) -> None:
    """Run the call to its end, pass its events on, and conclude with its verdict. `names` are those of its stages.

    `env` are the words of --env. A secret among them is warned about at the end: our first event is for the tool's meta.
    """
    passing = Passing(relay, names[-1], call.cancel)
    with call:
        try:
            for chunk, events in call.passages():
                passing.take(chunk, events)
        except KeyboardInterrupt:  # a stop of ours
            call.cancel()
            call.wait()  # for its last words: they decide the verdict, although they are not shown
            _conclude(call, relay, names, passing, adoption.sweep())
            raise
    warn_of_exposed(env or (), relay)
    _conclude(call, relay, names, passing, adoption.sweep())
    if len(names) > 1:
        _tell_stages(call, relay, names)
    stage = decisive(call.stages)
    reported = stage is call.stages[-1] and speaks_for_itself(stage.verdict)
    if not stage.ok and not passing.cut_short and not reported:
        place = call.stages.index(stage)
        more = {} if len(names) == 1 else {"stage": place + 1}
        error = failure(stage.verdict, names[place], stage.stderr, **more)
        if more:
            error.message = f"stage {place + 1} of {len(names)}, {error.message}{_own_error(stage.verdict)}"
            error.exit_code = call.exit_code
        raise error


def _own_error(verdict: Verdict) -> str:
    """What a tool said of its failure. In a pipeline, its events go to the next stage and not to the caller."""
    error = verdict.last_error
    if error is None or not isinstance(error.message, str) or error.message in verdict.reason:
        return ""
    return f" Its error: {redact_text(error.message)[:_SHOWN]}"


class Passing:
    """From the chunks and events of a stream to our own output; `cancel` ends a stream that would not end."""

    def __init__(self, relay: Relay, name: str, cancel: Callable[[], object]) -> None:
        self.truncated = False
        self.cut_short = False  # the limit has ended a stream that would not have ended
        self._cancel = cancel
        self._relay = relay
        self._name = name
        self._lines = _Lines()
        self._left = relay.limit
        self._bytes_left = relay.max_bytes
        self._bounded = self._left is not None or self._bytes_left is not None
        self._endless = False
        self._dry_run = False

    def take(self, chunk: bytes, events: list[Event]) -> None:
        data = self._lines.take(chunk, len(events))
        if not events:
            return
        if not self._relay.machine:
            self._show(data, events)
        elif self._bounded or self._relay.reduces or not _plain_results(events):
            self._pass_each(data, events)
        else:
            self._relay.lines(data, results=len(events))
        if self.truncated and self._endless and not self.cut_short:
            self.cut_short = True
            self._cancel()

    def _pass_each(self, data: bytes, events: list[Event]) -> None:
        kept: list[bytes] = []
        results = warnings = errors = 0
        for line, event in zip(split_lines(data)[0], events, strict=False):
            if isinstance(event, Meta):
                self._introduce(event)
                continue
            if isinstance(event, Summary):
                continue
            if isinstance(event, Warning):
                warnings += 1
            elif isinstance(event, Error):
                errors += 1
            elif self._is_result(event):
                if self._relay.reduces and not isinstance(event, Check | Plan):
                    line = self._relay.reduced({"type": _wire_type(event), **plain(event)})  # noqa: PLW2901 - what goes out
                if not self._room(len(line) + 1):
                    continue
                results += 1
                errors += isinstance(event, Check) and event.ok is False and event.severity == "error"
            kept.append(line)
        if kept:
            kept.append(b"")
            self._relay.lines(b"\n".join(kept), results=results, warnings=warnings, errors=errors)

    def _show(self, data: bytes, events: list[Event]) -> None:
        for line, event in zip(split_lines(data)[0], events, strict=False):
            if isinstance(event, Meta):
                self._introduce(event)
            elif not isinstance(event, Summary):
                result = self._is_result(event)
                if not result or self._room(len(line) + 1):
                    self._relay.event(
                        {"type": _wire_type(event), **plain(event)}, result=result, source=self._name
                    )
        self._relay.settle()

    def _is_result(self, event: Event) -> bool:
        """What `count` counts in tools that are made with the SDK: domain events, checks, and the plans of a dry run."""
        if isinstance(event, Plan):
            return self._dry_run
        return isinstance(event, Check) or not _wire_type(event).startswith(PREFIX)

    def _introduce(self, meta: Meta) -> None:
        fields: dict[str, Any] = {"upstream": plain(meta)}
        self._dry_run = fields["upstream"].get("dry_run") is True
        if meta.unbounded is True:
            self._endless = True
            fields["unbounded"] = True
            if isinstance(meta.heartbeat_interval, int | float):
                fields["heartbeat_interval"] = meta.heartbeat_interval
        self._relay.introduce(**fields)

    def _room(self, size: int) -> bool:
        """Whether one more result of this size may pass. After the first that may not, none does."""
        if self.truncated:
            return False
        if self._left == 0 or (self._bytes_left is not None and size > self._bytes_left):
            self.truncated = True
            return False
        if self._left is not None:
            self._left -= 1
            # Where nothing would come for a long time, the next result is not waited for.
            self.truncated = self._endless and self._left == 0
        if self._bytes_left is not None:
            self._bytes_left -= size
        return True


class _Lines:
    """The lines that belong to events: as they came, each ended by LF alone."""

    def __init__(self) -> None:
        self._splitter = BlockSplitter()
        self._over = False  # the stream was found faulty: nothing more belongs to events

    def take(self, chunk: bytes, count: int) -> bytes:
        """The bytes of so many lines, which this chunk completes; no chunk ends a last line that has no LF."""
        if self._over:
            return b""
        data = self._splitter.feed(chunk) if chunk else self._splitter.eof() + b"\n"
        if not data:
            self._over = self._splitter.too_long
            return b""
        if data.count(b"\n") != count:
            self._over = True
            data = b"".join(line + b"\n" for line in split_lines(data)[0][:count])
        self._over = self._over or self._splitter.too_long
        return (
            data.replace(b"\r\n", b"\n") if b"\r" in data else data
        )  # one byte is found ten times as fast as two


def _plain_results(events: list[Event]) -> bool:
    """Whether these are results and nothing else. Asked for every chunk of a long stream: no loop of Python's."""
    if set(map(type, events)) != _ONLY_DICTS:
        return False
    return not any(kind.startswith(PREFIX) for kind in set(map(_type_of, events)))


def _wire_type(event: Event) -> str:
    return str(event["type"] if isinstance(event, dict) else event.__struct_config__.tag)


def _conclude(call: Call, relay: Relay, names: list[str], passing: Passing, swept: Swept) -> None:
    """Put the verdict into our summary: of the stage that decides, and what the last one says of its results."""
    stage = decisive(call.stages)
    name = names[call.stages.index(stage)]
    last = call.stages[-1].verdict
    place = call.stages.index(stage) + 1 if len(names) > 1 else None
    fields = as_fields(as_event(stage.verdict, name, stage=place, ran=stage))
    notes = [*stage.verdict.notes, *_about(swept)]
    if notes:
        fields["notes"] = [_note(note) for note in notes]
    summary = last.summary
    cursor = summary.next_cursor if summary is not None and not passing.truncated else None
    relay.conclude(
        exit_code=EX_OK if passing.cut_short else call.exit_code,
        partial=bool(summary and summary.partial) or (not stage.ok and last.counts.domain > 0),
        truncated=passing.truncated or bool(summary and summary.truncated),
        next_cursor=cursor or None,
        verdict=fields,
        **{name: value for name, value in plain(summary).items() if name not in _OURS},
    )
    if stage.ok or passing.cut_short:
        relay.conclude(message=closing_word(stage.verdict, name))


def _tell_stages(call: Call, relay: Relay, names: list[str]) -> None:
    """One verdict per stage, after the results."""
    for number, (stage, name) in enumerate(zip(call.stages, names, strict=True), start=1):
        event = as_event(stage.verdict, name, stage=number, ran=stage)
        if relay.machine:
            relay.result(event)
        else:
            shown = ("type", "stage", "source", "outcome", "code", "reason")
            fields = {field: value for field, value in event.to_dict().items() if field in shown}
            relay.event(fields, source=name)


def _about(swept: Swept) -> list[Note]:
    notes = []
    if swept.ended:
        text = f"{swept.ended} processes had left the tool's process group; they were ended"
        notes.append(Note("PROCESSES_ENDED", text))
    if swept.survived:
        text = f"{swept.survived} processes that the tool started could not be ended and still run"
        notes.append(Note("PROCESSES_SURVIVED", text))
    return notes


def _note(note: Note) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": note.code, "message": note.message}
    return fields if note.line is None else {**fields, "line": note.line}


# What a tool writes to its stderr, shown to the person who runs it: as it comes, redacted, and never waited for.
#
# Called in the thread that looks after the process, which must not be held: what the terminal, or the reader of our
# stderr, does not take at once is dropped. The verdict keeps the end of it anyway.


class Diagnostics:
    """Feed it pieces of a stream; whole lines are shown."""

    def __init__(self, descriptor: int = 2) -> None:
        self._descriptor = descriptor
        self._redactor = Redactor()
        self._splitter = SkippingSplitter(_LINE_LIMIT)
        self._poller = select.poll()
        self._poller.register(descriptor, select.POLLOUT)

    def feed(self, piece: bytes) -> None:
        for line in self._splitter.feed(piece):
            if isinstance(line, bytes):
                self._show(_inert(self._redactor.line(line)) + b"\n")

    def _show(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest and self._poller.poll(0):
                rest = rest[os.write(self._descriptor, rest[:_PIECE]) :]
        except OSError:
            return  # it has no reader


def _inert(line: bytes) -> bytes:
    """Without what a terminal would obey."""
    text = line.decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() or letter == "\t" else "·" for letter in text).encode()
