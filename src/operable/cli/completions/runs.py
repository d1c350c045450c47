"""Runs of the engine by id, newest first, with their task and state."""

from __future__ import annotations

from operable.cli.completions._engine import query
from operable.tool.discovery.candidates import Candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_RUNS = "SELECT run_id, job_id, state FROM runs ORDER BY created_at DESC LIMIT 2000"


def runs(_words: list[str]) -> Iterator[tuple[str, str]]:
    jobs = dict(query("jobs.db", "SELECT id, workflow_id || '/' || task_id FROM jobs"))
    for run, job, state in query("engine/engine.db", _RUNS):
        yield run, f"{jobs.get(job, job)}, {state}"


CANDIDATES = Candidates("engine *:run", find=runs)
