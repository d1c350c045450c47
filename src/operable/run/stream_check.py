"""Judge a recorded stream: the same rules as for a running tool, for bytes that come from a file or a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec import Struct

from operable.proc.child import ChildEnd
from operable.proc.excerpt import Excerpt
from operable.run.discovery import Description
from operable.run.judge import Judge
from operable.run.options import Options
from operable.wire.framework import Event
from operable.wire.lines import LINE_LIMIT
from operable.wire.verdict import Verdict


def check(
    chunks: Iterable[bytes],
    *,
    exit_status: int | None = None,
    schema: dict[str, Any] | None = None,
    types: Sequence[type[Struct]] = (),
    accept_partial: bool = False,
    unbounded: bool | None = None,
    limit: int = LINE_LIMIT,
    on_events: Callable[[list[Event]], object] | None = None,
) -> Verdict:
    """The verdict on these bytes. `exit_status` is what the tool exited with, when it is known; `schema` is the tool's.

    Any iterable of bytes will do: `check(open("stream.jsonl", "rb"))`, or chunks of 64 KB for speed. `on_events` is
    called with the events as they are read.
    """
    options = Options(
        validate=schema is not None,
        types=types,
        accept_partial=accept_partial,
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
