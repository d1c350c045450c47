"""The reader of an AOI stream: bytes in, events out, and at the end a verdict. AOI-CLI sections 2, 4, 6, 8 and 13.

Theory of operation. `operable.wire.lines` makes lines of chunks, `operable.wire.decode` makes events of lines, and
here is what remains: the order of events, which is a small state machine (`TRANSITIONS`), and the end, which
`operable.wire.verdict` judges. The first offence ends reading: what came before it has been delivered, nothing after it
will be, and `eof` reports it with its line. Any chunking of the same bytes gives the same events and the same verdict.

The reader keeps no events but the last meta, summary and error, and one note of each kind; its memory is flat.
CR before LF is accepted and noted once. A last line without LF counts if it is a complete object; else the stream was
cut there.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from operable.wire.decode import FRAMEWORK_TYPES, LineDecoder, Offence, is_domain, is_object, repeated_key
from operable.wire.framework import Error, Event, Meta, Summary, Warning  # noqa: A004 - the wire's name for it
from operable.wire.lines import LINE_LIMIT, LineSplitter
from operable.wire.notes import DOUBTS, Note, Tally, quoted, remarks
from operable.wire.verdict import Counts, Verdict, explain, with_summary, without_summary

State = Literal["idle", "failing", "bare", "open", "ended"]
Kind = Literal["meta", "error", "summary", "other"]

# `failing`: only errors so far, so the operation itself may never have begun. `bare`: events but no meta, which is only
# advised (section 4).
TRANSITIONS: Final[dict[State, dict[Kind, State]]] = {
    "idle": {"meta": "open", "error": "failing", "other": "bare", "summary": "ended"},
    "failing": {"meta": "open", "error": "failing", "other": "bare", "summary": "ended"},
    "bare": {"meta": "open", "error": "bare", "other": "bare", "summary": "ended"},
    "open": {"error": "open", "other": "open", "summary": "ended"},
    "ended": {},
}
# What it means to have no transition. A second meta is an offence because in two streams glued together it would hide that
# the first one lacks its summary.
OFFENCES: Final[dict[State, str]] = {"open": "SECOND_META", "ended": "OUTPUT_AFTER_SUMMARY"}

_KINDS: Final[dict[type, Kind]] = {Meta: "meta", Error: "error", Summary: "summary"}


# Lines that are searched for repeated keys when reading is not strict.
LOOKED_AT: Final = 200


class Reader:
    """Reads one stream: `feed` every chunk, `close` at its end, `eof` when the exit status is known.

    `types` are the caller's own event types: msgspec Structs with `tag_field="type"`; an event that does not fit its type
    is a violation. `limit` bounds a line. `unbounded` streams need no summary; it may be set until `eof`, since a caller may
    learn it from the meta event. With `accept_partial` partial results are good enough. `strict` does not accept
    what is doubtful (`notes.DOUBTS`).
    """

    def __init__(
        self,
        *,
        types: Sequence[type[Struct]] = (),
        limit: int = LINE_LIMIT,
        unbounded: bool = False,
        accept_partial: bool = False,
        strict: bool = False,
    ) -> None:
        self.unbounded = unbounded
        self.accept_partial = accept_partial
        self.strict = strict
        self.meta: Meta | None = None
        self.summary: Summary | None = None
        self.last_error: Error | None = None
        self.counts = Counts()
        self._splitter = LineSplitter(limit)
        self._decoder = LineDecoder(types)
        self._state: State = "idle"
        self._line = 0
        self._has_cr = False
        self._closed = False
        self._offence: tuple[str, str] | None = None
        self._truncated = False
        self._notes: dict[str, Note] = {}
        self._tally = Tally()
        self._looked = 0  # lines that were searched for repeated keys

    @property
    def violated(self) -> bool:
        """Whether an offence was found: no more events will come, whatever is fed."""
        return self._offence is not None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        if self._closed:
            raise RuntimeError("feed() after close()")
        if self._offence is not None or not chunk:
            return []
        if self._has_ended():
            self._offend("OUTPUT_AFTER_SUMMARY")
            return []
        self._has_cr = self._has_cr or b"\r" in chunk
        lines = self._splitter.feed(chunk)
        events = self._read(lines) if lines else []
        if self._splitter.error is not None and self._offence is None:
            code = "OUTPUT_AFTER_SUMMARY" if self._has_ended() else "LINE_TOO_LONG"
            self._offend(code, str(self._splitter.limit))
        return events

    def close(self) -> list[Event]:
        """No more bytes: the event of a last line without LF, if that is a complete object; else it was cut."""
        if self._closed:
            return []
        self._closed = True
        rest = self._splitter.eof() if self._offence is None else None
        if rest is None:
            return []
        if self._has_ended():
            self._offend("OUTPUT_AFTER_SUMMARY")
            return []
        if not is_object(rest):
            self._truncated = True
            self._line += 1
            return []
        self._note("LAST_LINE_UNTERMINATED", "the last line has no line end (2)")
        self._note_repeat(rest, 1)
        return self._read_each([rest])

    def eof(self, exit_status: int | None) -> Verdict:
        """Judge the stream. Implies `close`. May be asked again when the exit status becomes known."""
        tail = tuple(self.close())
        detail = ""
        if self._offence is not None:
            code, detail = self._offence
        elif self.summary is not None:
            code = with_summary(self.summary, exit_status, accept_partial=self.accept_partial)
        else:
            code = without_summary(
                exit_status,
                unbounded=self.unbounded,
                started=self._state not in {"idle", "failing"},
                truncated=self._truncated,
            )
        line = self._line or None
        doubt = self._doubt()
        if doubt is not None and self.strict and code in ("OK", "PARTIAL", "PARTIAL_FAILURE", "STREAM_ENDED"):
            code, detail, line = "DOUBTFUL", doubt.message, doubt.line or line
        notes = self._remarks()
        if self.meta is None and self.counts.events and code != "NEVER_STARTED":
            notes.append(Note("META_MISSING", "there is no aoi:meta (4)"))
        outcome, reason = explain(code, line=line, detail=detail, exit_status=exit_status)
        return Verdict(
            outcome=outcome,
            code=code,
            reason=reason,
            line=line,
            exit_status=exit_status,
            meta=self.meta,
            summary=self.summary,
            last_error=self.last_error,
            counts=msgspec.structs.replace(self.counts),
            notes=tuple(notes),
            partial_accepted=self.accept_partial,
            tail=tail,
        )

    def _doubt(self) -> Note | None:
        """The first reason to doubt what was read, now that all of it was."""
        if self.summary is not None and self._offence is None:
            counts = self.counts
            for kind, message in self._tally.doubts(
                self.summary, domain=counts.domain, warnings=counts.warnings, errors=counts.errors
            ):
                self._notes.setdefault(kind, Note(kind, message, self._line))
        return next((note for note in self._remarks() if note.code in DOUBTS), None)

    def _remarks(self) -> list[Note]:
        """The notes in the order of the lines, however the bytes came: a look ahead remarks on a later line first."""
        return sorted(self._notes.values(), key=lambda note: note.line or 0)

    def _read(self, lines: list[bytes]) -> list[Event]:
        if self.strict or self._looked < LOOKED_AT:
            self._look_for_repeats(lines)
        # As long as it is not known whether its CRs end lines, a stream that has some is read line by line.
        batch = None if self._has_cr and "CRLF" not in self._notes else self._decoder.batch(lines)
        if batch is None:
            return self._read_each(lines)
        for place in batch[1] if self._looked >= LOOKED_AT else ():
            self._note_repeat(lines[place], place + 1)
        return self._accept_all(*batch)

    def _look_for_repeats(self, lines: list[bytes]) -> None:
        """Look for objects that have a key twice: in all lines when reading is strict, else in the first ones.

        It costs half as much as reading does. The framework's events are always searched.
        """
        some = lines if self.strict else lines[: LOOKED_AT - self._looked]
        self._looked += len(some)
        for number, line in enumerate(some, start=1):
            self._note_repeat(line, number)

    def _note_repeat(self, line: bytes, ahead: int) -> None:
        if "DUPLICATE_KEYS" not in self._notes and (name := repeated_key(line)) is not None:
            text = f"the key {quoted(name)} is there twice in one object; the last value counts (2)"
            self._notes["DUPLICATE_KEYS"] = Note("DUPLICATE_KEYS", text, self._line + ahead)

    def _accept_all(self, events: list[Any], places: list[int]) -> list[Event]:
        """Accept a batch: between the given places there are only domain events, which only need counting."""
        done = 0
        try:
            for place in places:
                self._accept_domain(place - done)
                done = place
                if isinstance(events[place], dict) and not self._has_ended():
                    events[place] = self._decoder.shape(events[place])
                self._accept(events[place])
                done += 1
            self._accept_domain(len(events) - done)
        except Offence as offence:
            self._offend(offence.code, offence.detail)
            return events[:done]
        return events

    def _read_each(self, lines: list[bytes]) -> list[Event]:
        """The exact path."""
        events: list[Event] = []
        try:
            for line in lines:
                if self._has_ended():  # whatever follows, it is not even looked at
                    raise Offence("OUTPUT_AFTER_SUMMARY")
                if line.endswith(b"\r"):
                    self._note("CRLF", "lines end with CR LF; LF is enough (2)")
                event = self._decoder.decode(line)
                if self._looked >= LOOKED_AT and type(event) in FRAMEWORK_TYPES:
                    self._note_repeat(line, 1)
                self._accept(event)
                events.append(event)
        except Offence as offence:
            self._offend(offence.code, offence.detail)
        return events

    def _accept_domain(self, count: int) -> None:
        if not count:
            return
        self._move("other")
        self._line += count
        self.counts.events += count
        self.counts.domain += count

    def _accept(self, event: Event) -> None:
        self._move(_KINDS.get(type(event), "other"))
        for code, message in remarks(event):
            self._note(code, message)
        match event:
            case Meta():
                self.meta = event
                if self.counts.events:
                    self._note("META_NOT_FIRST", "aoi:meta is not the first event (4)")
            case Summary():
                self.summary = event
            case Error():
                self.last_error = event
                self.counts.errors += 1
            case Warning():
                self.counts.warnings += 1
            case _ if is_domain(event):
                self.counts.domain += 1
            case _:
                self._tally.add(event)
        self._line += 1
        self.counts.events += 1

    def _move(self, kind: Kind) -> None:
        state = TRANSITIONS[self._state].get(kind)
        if state is None:
            raise Offence(OFFENCES[self._state])
        self._state = state

    def _has_ended(self) -> bool:
        return self._state == "ended"

    def _offend(self, code: str, detail: str = "") -> None:
        """Stop at the line after those that were accepted. A look ahead may have seen more: that was not read."""
        self._line += 1
        repeat = self._notes.get("DUPLICATE_KEYS")
        if repeat is not None and (repeat.line or 0) > self._line:
            del self._notes["DUPLICATE_KEYS"]
        self._offence = code, detail

    def _note(self, code: str, message: str) -> None:
        """Remark on the line after those that were accepted; the first remark of each kind stays."""
        self._notes.setdefault(code, Note(code, message, self._line + 1))
