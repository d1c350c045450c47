"""Jobs of applied flows (`operable flow apply`): a call of `trigger` runs a job now, `runs` lists its latest runs.

The run passes every gate of the job, and a worker (`operable engine start`) executes it. A machine on
which nothing was applied has no flows: no store is made to find that out.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.place import EnginePlace, engine_place
from operable.engine.store import queries
from operable.engine.store.rows import Definition, Run
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.worker.definitions import AppliedJobs
from operable.kernel.errors import Fail
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.result import ResultCollector
from operable.serve.catalog import Operable, OperableSource
from operable.serve.flow_call import TRIGGER

_RUNS = 20
_LIST = Action("runs", "List the latest runs of this job.", read_only=True, idempotent=True)
_KEY = {"type": "string", "minLength": 1, "maxLength": 200, "description": "what makes two requests the same"}

_TEXT = {"type": "string"}
_RUN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": _TEXT,
        "state": _TEXT,
        "cause": _TEXT,
        "attempts": {"type": "integer"},
        "reason": {"type": ["string", "null"]},
    },
    "required": ["run_id", "state", "cause", "attempts", "reason"],
}


def find(workspace: str) -> Iterator[Operable]:
    """Every applied job of this user's home."""
    place = engine_place(os.environ, cwd=workspace)
    if not place.is_shared and not os.path.exists(place.jobs):
        return
    jobs = AppliedJobs(place.jobs)
    try:
        jobs.refresh()
        for job in jobs.jobs.values():
            name = job.label
            yield Operable(
                "flow",
                name,
                description=str(job.document.get("name") or name),
                place=job.job_id,
                actions=(TRIGGER, _LIST),
                adapter=FlowAdapter(place, job.job_id),
            )
    finally:
        jobs.close()


class FlowAdapter:
    """Calls of one job."""

    def __init__(self, place: EnginePlace, job_id: str) -> None:
        self._place, self._job_id = place, job_id
        self._judged: str | None = None

    async def input_schema(self, action: Action) -> dict[str, Any]:
        properties = {"key": _KEY} if action.name == TRIGGER.name else {}
        return {"type": "object", "properties": properties, "required": [], "additionalProperties": False}

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        del action  # both give runs
        return _RUN

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        del action, arguments  # what the job runs is judged when it runs
        return ()

    def definition(self) -> str:
        self._judged = self._definition()[0].digest
        return self._judged

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        del confirmed, progress
        made = self._triggered if action.name == TRIGGER.name else self._listed
        rows = await asyncio.to_thread(made, arguments)
        with ResultCollector() as collector:
            for row in rows:
                collector.entry(row)
            return collector.result({"count": len(rows)})

    def _triggered(self, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        definition, text = self._definition()
        if self._judged not in (None, definition.digest):
            message = "another definition was applied since the call was judged; nothing was run"
            raise Fail("conflict", "CALL_CHANGED", message, target=self._job_id)
        database = self._place.open_store()
        try:
            key = arguments.get("key") or secrets.token_hex(8)
            return [_row(RunStore(database, wall_clock).request(definition, RunCause.MANUAL, key, text))]
        finally:
            database.close()

    def _listed(self, _arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        database = self._place.read_store()
        if database is None:
            return []
        try:
            with database.snapshot() as connection:
                return [_row(run) for run in queries.list_runs(connection, job_id=self._job_id, limit=_RUNS)]
        finally:
            database.close()

    def _definition(self) -> tuple[Definition, str]:
        """The job as it is applied now: a server lives longer than an apply."""
        jobs = AppliedJobs(self._place.jobs)
        try:
            jobs.refresh()
            definition = jobs.require(self._job_id)
            return definition, jobs.manifest(definition.manifest_digest)
        except Fail as problem:
            raise Fail(
                "not_found", "JOB_GONE", f"the job is no longer applied: {problem.message}"
            ) from problem
        finally:
            jobs.close()


def _row(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "state": str(run.state),
        "cause": str(run.cause),
        "attempts": run.attempts,
        "reason": run.reason,
    }


SOURCE = OperableSource("flow", "jobs of applied flows", find)
