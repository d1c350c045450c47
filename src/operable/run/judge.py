"""The judge of one stream in a call: the wire's reader, the tool's schema, and how the process came to its end.

Sans-I/O. `read` takes chunks and gives events; when it wants the tool's description first, `asks` says so and the driver
calls `answer`; `deliver` then passes the events that are valid. `conclude` gives the verdict. The reader knows what the
stream says; only here is known that we ended the process ourselves, or that its reader went away, and that comes before
what an unfinished stream looks like. A tool that said "ok" and exited 0 has succeeded, however late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, structs

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.proc.child import ChildEnd
from operable.proc.excerpt import Excerpt
from operable.run.discovery import Description
from operable.run.options import CheckedOptions
from operable.run.validator import Validator
from operable.wire.aoi import Reader
from operable.wire.framework import Event, Meta, Open
from operable.wire.lines import LINE_LIMIT
from operable.wire.notes import Note
from operable.wire.verdict import Outcome, Verdict

# Words for `Child.cancel`; "deadline" is the ladder's own.
CANCELLED = "cancelled"
DOWNSTREAM = "downstream"

# The verdicts that only a host can give, beside those of `operable.wire.verdict`: code -> outcome and reason.
CODES: dict[str, tuple[Outcome, str]] = {
    "DEADLINE_EXCEEDED": ("failed", "It did not end within {detail} s, so its process group was ended."),
    "CANCELLED": ("interrupted", "The caller ended it."),
    "DOWNSTREAM_CLOSED": ("incomplete", "Its reader went away before it had written its summary."),
    "EVENT_LIMIT_REACHED": (
        "interrupted",
        "It gave more than the {detail} events that the caller wanted to keep.",
    ),
    "SCHEMA_VIOLATION": ("violation", "Line {line} does not fit the tool's own schema at {detail}."),
    "TYPE_MISMATCH": ("violation", "Line {line} is not what its type promises: {detail}."),
}


class Judge:
    """Judges one stream."""

    def __init__(self, options: CheckedOptions, *, description: Description | None = None) -> None:
        self._options = options
        self._validating = options.validate is not False
        # What is to be validated must be seen as it was sent, so the caller's types are applied afterwards.
        own = () if self._validating else options.types
        self._types = {kind.__struct_config__.tag: kind for kind in options.types} if self._validating else {}
        self._reader = Reader(
            types=own,
            limit=options.limit,
            unbounded=options.unbounded is True,
            accept_partial=options.accept_partial,
            strict=options.strict,
        )
        self._line = 0
        self._flaw: tuple[str, int, str] | None = None
        self._notes: list[Note] = []
        self._description: Description | None = None
        self._validator: Validator | None = None
        self._answered = not self._validating
        if description is not None:
            self._use(description)

    @property
    def asks(self) -> Meta | None:
        """The meta event, while a description that fits it is still wanted: `answer` before `deliver`."""
        meta = self._reader.meta
        if self._answered or meta is None:
            return None
        return meta if self._validator is None or self.stale else None

    @property
    def violated(self) -> bool:
        """Whether an offence was found: no more events will come, whatever the tool writes."""
        return self._flaw is not None or self._reader.violated

    @property
    def stale(self) -> bool:
        """Whether the description at hand is of another release than the stream."""
        meta = self._reader.meta
        return meta is not None and self._description is not None and not self._description.fits(meta)

    def read(self, chunk: bytes) -> list[Event]:
        return [] if self._flaw else self._reader.feed(chunk)

    def close(self) -> list[Event]:
        """No more bytes: what the last line without LF gave."""
        return [] if self._flaw else self._reader.close()

    def answer(self, description: Description | None, reason: str = "") -> None:
        """What the tool says about itself; None with a reason when it could not be asked."""
        self._answered = True
        self._validator = None
        if description is not None:
            self._use(description)
            reason = reason or "; ".join(description.notes)
        if self._validator is None:
            self._remark("NOT_VALIDATED", f"the events were not checked against a schema: {reason}")

    def deliver(self, events: list[Event]) -> list[Event]:
        """The events that may be shown: up to the first that breaks the tool's own schema."""
        if not self._validating:
            return events
        meta, valid = self._reader.meta, list[Event]()
        if meta is not None and meta.reduced is True and self._validator is not None:
            self._validator = self._validator.for_reduced()
        for event in events:
            self._line += 1
            flaw = self._validator.flaw(_plain(event)) if self._validator is not None else None
            if flaw is not None:
                self._flaw = ("SCHEMA_VIOLATION", self._line, redact_text(flaw))
                break
            try:
                valid.append(self._typed(event))
            except msgspec.ValidationError as error:
                self._flaw = ("TYPE_MISMATCH", self._line, str(error))
                break
        return valid

    def conclude(
        self,
        end: ChildEnd,
        *,
        unread: bool = False,
        cut: bool = False,
        known: Callable[[], Description | None] = lambda: None,
        more: Iterable[Note] = (),
    ) -> Verdict:
        """The verdict; `unread` when the caller did not want the rest, `cut` when the next stage went away before it."""
        self._learn_whether_unbounded(known)
        if self._validating and not self._answered and self._validator is None:
            why = "the caller ended it first" if self._reader.meta else "there is no aoi:meta"
            self._remark("NOT_VALIDATED", f"the events were not checked against a schema: {why}")
        verdict = self._reader.eof(end.status)
        changes: dict[str, Any] = {"notes": (*verdict.notes, *self._notes, *_about(end), *more)}
        if self._flaw is not None:
            code, line, detail = self._flaw
            changes |= ruling(code, line=line, detail=detail)
        elif not _speaks_for_itself(verdict):
            changes |= self._circumstances(end, unread=unread, cut=cut)
        return structs.replace(verdict, **changes)

    def _use(self, description: Description) -> None:
        self._description = description
        if description.schema is None or not self._validating:
            return
        try:
            self._validator = Validator(description.schema)
        except Fail as problem:
            if self._options.validate is True:
                raise
            self._remark("NOT_VALIDATED", problem.message)

    def _learn_whether_unbounded(self, known: Callable[[], Description | None]) -> None:
        """Only the end of a stream without a summary depends on it; `known` then says what is kept about the tool."""
        meta = self._reader.meta
        if self._options.unbounded is not None or meta is None or self._reader.summary is not None:
            return
        if isinstance(meta.unbounded, bool):
            self._reader.unbounded = meta.unbounded
        elif isinstance(meta.command, str):
            description = self._description or known() or Description()
            self._reader.unbounded = description.unbounded(meta.command) is True

    def _circumstances(self, end: ChildEnd, *, unread: bool, cut: bool) -> dict[str, Any]:
        """Why the stream is not what it should be, when that is not the tool's doing."""
        if end.cause == "deadline":
            return ruling("DEADLINE_EXCEEDED", detail=f"{self._options.timeout or 0:g}")
        if cut and end.cause in (None, DOWNSTREAM):
            return ruling("DOWNSTREAM_CLOSED")
        return ruling("CANCELLED") if end.cause is not None or unread else {}

    def _remark(self, code: str, message: str) -> None:
        if all(note.code != code for note in self._notes):
            self._notes.append(Note(code, message))

    def _typed(self, event: Event) -> Event:
        if not isinstance(event, dict) or not self._types:
            return event
        kind = self._types.get(event["type"])
        return event if kind is None else msgspec.convert(event, kind)


def ruling(code: str, *, line: int | None = None, detail: str = "") -> dict[str, Any]:
    """The fields of a verdict that this code decides."""
    outcome, reason = CODES[code]
    fields = {"outcome": outcome, "code": code, "reason": reason.format(line=line, detail=detail)}
    return fields if line is None else fields | {"line": line}


def _speaks_for_itself(verdict: Verdict) -> bool:
    """Whether the stream decided before the process was ended: by a completed success, or an offence that was read."""
    if verdict.outcome == "violation":
        return verdict.code != "EXIT0_WITHOUT_SUMMARY"
    return verdict.summary is not None and verdict.summary.ok and verdict.outcome in ("success", "partial")


def _plain(event: Event) -> dict[str, Any]:
    """An event as it was sent."""
    if isinstance(event, dict):
        return event
    plain: dict[str, Any] = msgspec.to_builtins(event)
    if isinstance(event, Open):
        plain.pop("extra", None)
        plain |= event.extra
    return plain


def _about(end: ChildEnd) -> list[Note]:
    notes = []
    if end.leftovers:
        notes.append(
            Note("PROCESSES_LEFT", "descendants outlived the tool and were ended with its process group")
        )
    if end.held_open:
        notes.append(
            Note(
                "OUTPUT_HELD_OPEN",
                "a process outside the group kept the output open; the call did not wait for it",
            )
        )
    if end.gave_up:
        notes.append(Note("UNKILLABLE", "SIGKILL did not end the process in time; it was left behind"))
    if end.stdin_unread:
        notes.append(Note("STDIN_UNREAD", "the tool did not read all of its input"))
    return notes


# Judge a recorded stream: the same rules as for a running tool, for bytes that come from a file or a pipe.


def check(
    chunks: Iterable[bytes],
    *,
    exit_status: int | None = None,
    schema: dict[str, Any] | None = None,
    types: Sequence[type[Struct]] = (),
    accept_partial: bool = False,
    strict: bool = False,
    unbounded: bool | None = None,
    limit: int = LINE_LIMIT,
    on_events: Callable[[list[Event]], object] | None = None,
) -> Verdict:
    """The verdict on these bytes. `exit_status` is what the tool exited with, when it is known; `schema` is the tool's.

    Any iterable of bytes will do: `check(open("stream.jsonl", "rb"))`, or chunks of 64 KB for speed. `on_events` is
    called with the events as they are read.
    """
    options = CheckedOptions(
        validate=schema is not None,
        types=types,
        accept_partial=accept_partial,
        strict=strict,
        unbounded=unbounded,
        limit=limit,
    )
    judge = Judge(options, description=Description(schema=schema) if schema is not None else None)
    for chunk in chunks:
        events = judge.deliver(judge.read(chunk))
        if events and on_events is not None:
            on_events(events)
    events = judge.deliver(judge.close())
    if events and on_events is not None:
        on_events(events)
    return judge.conclude(ChildEnd(status=exit_status, cause=None, elapsed=0.0, stderr=Excerpt()))
