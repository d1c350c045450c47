"""An engine while it works: changes of runs as they come, a live table for people, and metrics.

Changes are found by asking the store twice a second: a state has an index on when it changed. Runs that changed within the
last seconds are looked at again, because workers of other machines have other clocks, and each change is reported once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from operable.cli.engine import people
from operable.cli.engine.events import EngineChange, EngineMetrics
from operable.cli.engine.views import moment_of, shown_store
from operable.cli.live_view import can_draw, draw_until_stopped
from operable.engine.place import EnginePlace
from operable.engine.store import queries
from operable.engine.store.database import Database, StoreConnection
from operable.engine.store.rows import Definition, Run, TimelineEntry, find_definition
from operable.engine.view.metrics import openmetrics, read_engine
from operable.engine.view.reader import applied_jobs, is_alive, iso, reading
from operable.kernel.errors import Fail
from operable.tool import Context
from operable.tool.human.cells import cell

_POLL = 0.5  # seconds between two looks
_OVERLAP = 5_000  # milliseconds that are looked at again
_MOST = 1000  # changed runs in one look; the rest comes with the next one
_REFRESH = 1.0
_ROOM = 8  # lines of a terminal that the table of runs leaves to the rest


class ChangeReader:
    """What happened to runs since the last look. It remembers no more than the runs of the overlap."""

    def __init__(self, begin: int, job_id: str | None) -> None:
        self._begin = self._since = begin
        self._job_id = job_id
        self._full = False  # there was more than one look may read
        self._seen: dict[
            str, tuple[int, int]
        ] = {}  # run -> when it changed last, the last number of its timeline

    def read(self, connection: StoreConnection) -> Iterator[tuple[TimelineEntry, Run]]:
        changed = queries.list_changed(connection, self._since - (0 if self._full else _OVERLAP), _MOST)
        self._full = len(changed) == _MOST
        for run in changed:
            if self._job_id not in (None, run.job_id):
                continue
            at, number = self._seen.get(run.run_id, (0, 0))
            if at == run.changed_at:
                continue
            for entry in queries.read_timeline(connection, run.run_id):
                if entry.number > number and entry.at >= self._begin:
                    yield entry, run
                number = max(number, entry.number)
            self._seen[run.run_id] = (run.changed_at, number)
        if changed:
            self._since = max(self._since, changed[-1].changed_at)
        self._seen = {
            run_id: seen for run_id, seen in self._seen.items() if seen[0] >= self._since - _OVERLAP
        }


def watched(place: EnginePlace, job: str | None, since: str, context: Context) -> Iterator[EngineChange]:
    """Changes since then, without an end; for people at a terminal a table that is drawn again."""
    begin = moment_of(since)
    definition = None if job is None else applied_jobs(place).require(job)
    if not context.machine and can_draw():
        draw_until_stopped(lambda height: _drawn(place, definition, height), _REFRESH)
        return
    reader = ChangeReader(begin, None if definition is None else definition.job_id)
    database: Database | None = None
    try:
        while True:
            database = database or place.read_store()  # the first worker makes it
            if database is not None:
                yield from _changes(database, reader)
            time.sleep(_POLL)
    finally:
        if database is not None:
            database.close()


def _changes(database: Database, reader: ChangeReader) -> list[EngineChange]:
    with database.snapshot() as connection:
        found = [
            _change(entry, run, find_definition(connection, run.definition))
            for entry, run in reader.read(connection)
        ]
    return sorted(found, key=lambda change: (change.at, change.run_id, change.number))


def _change(entry: TimelineEntry, run: Run, definition: Definition) -> EngineChange:
    return EngineChange(
        run_id=run.run_id,
        job=definition.label,
        at=iso(entry.at),
        event=entry.event,
        state=entry.state,
        detail=entry.detail,
        number=entry.number,
    )


def _drawn(place: EnginePlace, definition: Definition | None, height: int) -> Any:
    """Workers, counts, and the runs that matter most: active ones first, then the latest."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows, head = _look(place, definition, max(3, height - _ROOM))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "job", "state", "age", "note"):
        table.add_column(name.upper(), no_wrap=name != "note", overflow="ellipsis")
    for row in rows:
        # What an agent asks, or why a run failed, may have sequences that a terminal obeys.
        table.add_row(*(Text(cell(row[name])) for name in ("run", "job", "state", "age", "note")))
    return Group(Text(head), table, Text("Ctrl-C ends this; the engine goes on.", style="dim"))


def _look(place: EnginePlace, definition: Definition | None, most: int) -> tuple[list[people.Row], str]:
    job_id = None if definition is None else definition.job_id
    with reading(place) as connection:
        if connection is None:
            return [], f"{shown_store(place)}: no run was made yet\n"
        counts, questions = queries.count_states(connection), queries.open_questions(connection)
        alive = sum(is_alive(place, worker) for worker in queries.list_workers(connection))
        active = queries.list_active(connection, job_id, most)
        latest = queries.list_runs(connection, job_id=job_id, limit=most)
        runs = [*active, *(run for run in latest if run.ended_at is not None)][:most]
        rows = [
            people.run_row(run, find_definition(connection, run.definition), questions.get(run.run_id))
            for run in runs
        ]
    numbers = ", ".join(f"{count} {state}" for state, count in counts.items())
    clock = time.strftime("%H:%M:%SZ", time.gmtime())
    return rows, f"{clock}  {alive} workers, {len(questions)} questions; {numbers or 'no runs'}\n"


def shown_metrics(place: EnginePlace, context: Context) -> Iterator[EngineMetrics]:
    """The metrics as one text."""
    jobs = len(applied_jobs(place).jobs)
    with reading(place) as connection:
        if connection is None:
            message = (
                "the engine of this home has no store yet: no worker was started and no run was asked for"
            )
            raise Fail("not_found", "STORE_NOT_FOUND", message, target=place.folder)
        alive = [worker for worker in queries.list_workers(connection) if is_alive(place, worker)]
        slots = sum(worker.slots for worker in alive)
        look = read_engine(
            connection, now=round(time.time() * 1000), workers=len(alive), slots=slots, jobs=jobs
        )
    text = openmetrics(look)
    if context.machine:
        yield EngineMetrics(text=text)
    else:
        context.show(text)
