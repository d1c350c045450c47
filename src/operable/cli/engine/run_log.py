"""The log of a run: its timeline, then the outputs of its attempts in parts, so that no event and no page is large.

A position is what a page ends with: `t:3` behind the third entry of the timeline, `o:2:65536` behind that byte of the output
of attempt 2. An output is read where it is kept: in a file of this machine, or in the store, at least its first bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from operable.cli.engine.events import EngineLogEntry, EngineTimeline
from operable.cli.engine.people import duration
from operable.engine.place import EnginePlace
from operable.engine.store import queries
from operable.engine.store.rows import Run, RunAttempt, TimelineEntry, find_definition
from operable.engine.view.reader import iso, reading
from operable.kernel.errors import Fail
from operable.tool import Context, Page

_PART = 32_768  # bytes of an output in one event
_SHOWN = 16_384  # bytes of an output that people see: its end, where errors are


@dataclass(frozen=True, slots=True)
class OutputRange:
    """Which bytes of which attempt; the whole log if no attempt is named."""

    attempt: int | None = None
    first: int | None = None
    size: int | None = None

    def check(self) -> None:
        for name, value in (("--from", self.first), ("--bytes", self.size)):
            if value is not None and self.attempt is None:
                raise Fail("usage", "ATTEMPT_NEEDED", f"{name} needs --attempt", target=name)
            if value is not None and value < 0:
                raise Fail("usage", "INVALID_VALUE", f"{name} must not be negative", target=name)


def shown_log(
    place: EnginePlace, run_id: str, wanted: OutputRange, page: Page, context: Context
) -> Iterator[EngineLogEntry]:
    wanted.check()
    with reading(place) as connection:
        if connection is None:
            raise queries.no_such_run(run_id)
        run = queries.find_by_prefix(connection, run_id)
        timeline = queries.read_timeline(connection, run.run_id)
        attempts = [each for each in queries.list_attempts(connection, run.run_id) if each.ended_at]
    if wanted.attempt is not None:
        attempts = [each for each in attempts if each.number == wanted.attempt]
        if not attempts:
            message = f"{run.run_id} has no attempt {wanted.attempt} that has ended"
            raise Fail("not_found", "ATTEMPT_NOT_FOUND", message, target=str(wanted.attempt))
        timeline = []
    if context.machine:
        yield from _entries(place, run, timeline, attempts, wanted, str(page.after or "t:0"))
        return
    context.show("".join(f"{_entry_line(entry)}\n" for entry in timeline))
    for attempt in attempts:
        context.show(_shown_output(place, attempt, wanted))


def drawn_timeline(
    place: EnginePlace, run_id: str, draw: Literal["text", "svg"], context: Context
) -> Iterator[EngineTimeline]:
    """One run as a drawing."""
    from operable.engine.view.timeline import bars_of, draw_svg, draw_text

    with reading(place) as connection:
        if connection is None:
            raise queries.no_such_run(run_id)
        run = queries.find_by_prefix(connection, run_id)
        definition = find_definition(connection, run.definition)
        bars = bars_of(
            queries.read_timeline(connection, run.run_id),
            queries.list_attempts(connection, run.run_id),
            round(time.time() * 1000),
        )
    if not bars:
        message = f"the timeline of {run.run_id} was removed by operable engine gc"
        raise Fail("not_found", "TIMELINE_REMOVED", message, target=run.run_id)
    title = f"{definition.document['name']}  {run.run_id}  {iso(run.created_at)[:19]}Z"
    text = draw_svg(title, bars) if draw == "svg" else draw_text(title, bars)
    if context.machine:
        yield EngineTimeline(run_id=run.run_id, language=draw, text=text)
    else:
        context.show(text)


def _entries(
    place: EnginePlace,
    run: Run,
    timeline: list[TimelineEntry],
    attempts: list[RunAttempt],
    wanted: OutputRange,
    after: str,
) -> Iterator[EngineLogEntry]:
    kind, _, rest = after.partition(":")
    passed, _, offset = rest.partition(":")
    for entry in timeline:
        if kind == "t" and entry.number > int(passed):
            yield _entry(entry)
    for attempt in attempts:
        first = wanted.first or 0
        if kind == "o" and attempt.number < int(passed):
            continue
        if kind == "o" and attempt.number == int(passed):
            first = int(offset)
            if first >= _end(attempt, wanted):
                continue
        yield from _parts(place, run, attempt, first, _end(attempt, wanted))


def _end(attempt: RunAttempt, wanted: OutputRange) -> int:
    whole = attempt.output_bytes or 0
    return whole if wanted.size is None else min(whole, (wanted.first or 0) + wanted.size)


def _entry(entry: TimelineEntry) -> EngineLogEntry:
    return EngineLogEntry(
        run_id=entry.run_id,
        at=iso(entry.at),
        event=entry.event,
        state=entry.state,
        detail=entry.detail,
        output=None,
        attempt=None,
        offset=None,
        output_bytes=None,
        position=f"t:{entry.number}",
    )


def _parts(
    place: EnginePlace, run: Run, attempt: RunAttempt, first: int, end: int
) -> Iterator[EngineLogEntry]:
    while True:
        text, following = read_part(place, attempt, first, min(_PART, max(end - first, 0)))
        yield EngineLogEntry(
            run_id=run.run_id,
            at=iso(attempt.ended_at or attempt.started_at),
            event=f"output of attempt {attempt.number}",
            state=str(attempt.state),
            detail=attempt.reason,
            output=text,
            attempt=attempt.number,
            offset=first,
            output_bytes=attempt.output_bytes,
            position=f"o:{attempt.number}:{following}",
        )
        split = end < (attempt.output_bytes or 0) and end - following < 4  # the range ends within a character
        if following >= end or following == first or split:
            return
        first = following


def read_part(place: EnginePlace, attempt: RunAttempt, first: int, size: int) -> tuple[str, int]:
    """A part of an output, cut between characters, and the byte behind it. Empty where nothing is kept."""
    data = (attempt.preview or "").encode()[first : first + size]
    if attempt.output_path is not None:
        try:
            with open(os.path.join(place.output, attempt.output_path), "rb") as file:
                file.seek(first)
                data = file.read(size)
        except FileNotFoundError:  # it is in the database, or on another machine, or was removed
            data = _shared_part(place, attempt, first, size) or data
    if len(data) == size and first + size < (attempt.output_bytes or 0):
        data = data[: _whole(data)] or data
    return data.decode("utf-8", "replace"), first + len(data)


def _shared_part(place: EnginePlace, attempt: RunAttempt, first: int, size: int) -> bytes:
    with reading(place) as connection:
        return b"" if connection is None else queries.output_part(connection, attempt, first, size)


def _whole(data: bytes) -> int:
    """The length without an incomplete character at the end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return len(data)
        if byte >= 0xC0:  # the first byte of a character says how many it has
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if back < needed else len(data)
    return len(data)


def _entry_line(entry: TimelineEntry) -> str:
    return f"{iso(entry.at)[:19]}Z  {entry.event:<18} {entry.state:<10} {entry.detail or ''}".rstrip()


def _shown_output(place: EnginePlace, attempt: RunAttempt, wanted: OutputRange) -> str:
    """The output for people: what was asked for, or its end, and how to get the rest."""
    end = _end(attempt, wanted)
    first = wanted.first if wanted.first is not None else max(0, end - _SHOWN)
    if wanted.size is None:
        end = min(end, first + _SHOWN)
    parts, place_of_part = [], first
    while place_of_part < end:
        text, following = read_part(place, attempt, place_of_part, min(_PART, end - place_of_part))
        if following == place_of_part:
            break
        parts.append(text)
        place_of_part = following
    return "".join(
        (_head(attempt, first, place_of_part), *parts, "" if not parts or parts[-1].endswith("\n") else "\n")
    )


def _head(attempt: RunAttempt, first: int, end: int) -> str:
    whole = attempt.output_bytes or 0
    took = "" if attempt.duration_ms is None else f" in {duration(attempt.duration_ms / 1000)}"
    head = f"-- attempt {attempt.number}: {attempt.state}{took}, {whole} bytes of output"
    if not whole:
        return f"{head}\n"
    if (first, end) == (0, whole):
        return f"{head}:\n"
    rest = f"   bytes {first} to {end}; others: --attempt {attempt.number} --from BYTE --bytes COUNT"
    return f"{head}\n{rest}\n"
