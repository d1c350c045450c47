"""Flows, jobs and runs of the engine, as the daemon shows them; read from the store, so that no engine is imported."""

import os
import secrets
import time
from typing import Final

import msgspec

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.place import EnginePlace, engine_place
from operable.engine.store import queries
from operable.engine.store.database import StoreConnection
from operable.engine.store.rows import Approval, Definition, Run, find_definition
from operable.engine.store.runs import RunStore, wall_clock
from operable.engine.store.ticks import JobTicks, read_ticks
from operable.engine.view.reader import applied_jobs, iso, next_tick, reading
from operable.engine.view.timeline import bars_of
from operable.gate.call import GatedCall
from operable.kernel.errors import Fail

LAST_RUNS = 30
_OUTPUT = 200_000  # characters; `operable engine logs` has all of it


class RunView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One run of a job."""

    id: str
    job_id: str
    flow_id: str
    name: str
    state: str
    is_final: bool  # it does not change any more
    cause: str
    created_at: str
    ended_at: str | None = None
    attempts: int = 0
    reason: str | None = None
    asks: str | None = None


class RunBar(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A state that a run was in; without an end it still is."""

    name: str
    state: str
    begin: str
    end: str | None = None


class RunDetail(RunView, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A run with its states over time and the output of its last attempt; `output_cut`: there is more of it."""

    timeline: list[RunBar] = []
    output: str = ""
    output_cut: bool = False


class JobView(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A task of an applied flow."""

    id: str
    name: str
    task_id: str
    state: str
    trigger: str
    next_at: str | None = None
    last_run: RunView | None = None
    last_runs: list[RunView] = []


class FlowEdge(msgspec.Struct, frozen=True, rename={"begin": "from", "end": "to"}):
    """One task triggers another; `kind` is when: success, failure or complete."""

    begin: str
    end: str
    kind: str


# Which state of its tasks a flow shows: a question first, then failures, then what goes on.
_URGENT: Final = (
    "asking",
    "lost",
    "failed",
    "timed_out",
    "rejected",
    "refused",
    "cancelling",
    "running",
    "ready",
)


class FlowSummary(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """An applied flow: what of its tasks needs attention first, and when it is due."""

    id: str
    jobs: int
    state: str = "idle"
    next_at: str | None = None
    last_runs: list[RunView] = []


class FlowDetail(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    id: str
    jobs: list[JobView]
    edges: list[FlowEdge] = []


def default_place() -> EnginePlace:
    """The engine of this user's home, or the database that OPERABLE_DATABASE names."""
    return engine_place(os.environ, cwd=os.getcwd())


def list_flows(place: EnginePlace) -> list[FlowSummary]:
    return [_summary(flow) for flow in _flows(place)]


def _summary(flow: FlowDetail) -> FlowSummary:
    runs = sorted((run for job in flow.jobs for run in job.last_runs), key=lambda run: run.created_at)
    return FlowSummary(
        id=flow.id,
        jobs=len(flow.jobs),
        state=_state_of(flow.jobs, runs),
        next_at=min((job.next_at for job in flow.jobs if job.next_at is not None), default=None),
        last_runs=runs[-LAST_RUNS:],
    )


def _state_of(jobs: list[JobView], runs: list[RunView]) -> str:
    """Of everything that goes on and of the last run of each task: the state that needs attention first."""
    last = {job.last_run.id for job in jobs if job.last_run is not None}
    found = {run.state for run in runs if not run.is_final or run.id in last}
    return next((state for state in _URGENT if state in found), runs[-1].state if runs else "idle")


def find_flow(place: EnginePlace, flow_id: str) -> FlowDetail:
    for flow in _flows(place):
        if flow.id == flow_id:
            return flow
    hint = "operable flow apply"
    raise Fail("not_found", "FLOW_NOT_FOUND", "there is no such flow", target=flow_id[:100], hint=hint)


def _flows(place: EnginePlace) -> list[FlowDetail]:
    if not place.is_shared and not os.path.exists(place.jobs):
        return []  # nothing was applied; no store is made to find that out
    jobs = applied_jobs(place)
    try:
        definitions = list(jobs.jobs.values())
    finally:
        jobs.close()
    flows: dict[str, FlowDetail] = {}
    with reading(place) as connection:
        pauses = {} if connection is None else queries.job_pauses(connection)
        ticks = {} if connection is None else read_ticks(connection)
        for job in definitions:
            flow_id = str(job.document["source"]["workflow_id"])
            flow = flows.setdefault(flow_id, FlowDetail(id=flow_id, jobs=[]))
            flow.jobs.append(_job(job, pauses, ticks, connection))
            invocation = job.document["invocation"]
            if invocation["mode"] != "schedule":
                flow.edges.append(FlowEdge(str(invocation["parent"]), job.job_id, str(invocation["on"])))
    return [_with_known_edges(flow) for _, flow in sorted(flows.items())]


def _with_known_edges(flow: FlowDetail) -> FlowDetail:
    """A trigger names its parent by task; the page draws between jobs."""
    ids = {job.task_id: job.id for job in flow.jobs} | {job.id: job.id for job in flow.jobs}
    edges = [FlowEdge(ids[edge.begin], edge.end, edge.kind) for edge in flow.edges if edge.begin in ids]
    return msgspec.structs.replace(flow, edges=edges)


def _job(
    job: Definition, pauses: dict[str, str], ticks: dict[str, JobTicks], connection: StoreConnection | None
) -> JobView:
    state = pauses.get(job.job_id, "enabled") if job.policy.enabled else "disabled"
    tick = next_tick(job, ticks.get(job.job_id)) if state == "enabled" else None
    invocation = job.document["invocation"]
    is_scheduled = invocation["mode"] == "schedule"
    runs: list[RunView] = []
    if connection is not None:
        newest = queries.list_runs(connection, job_id=job.job_id, limit=LAST_RUNS)
        runs = [run_view(run, job) for run in reversed(newest)]
    return JobView(
        id=job.job_id,
        name=str(job.document["name"]),
        task_id=str(job.document["source"]["task_id"]),
        state=state,
        trigger=f"{invocation['cron']} {invocation['tz']}" if is_scheduled else f"on {invocation['on']}",
        next_at=None if tick is None else iso(tick * 1000),
        last_run=runs[-1] if runs else None,
        last_runs=runs,
    )


def run_view(run: Run, definition: Definition, asks: str | None = None) -> RunView:
    return RunView(**_facts(run, definition, asks))  # type: ignore[arg-type]  # the same fields


def _facts(run: Run, definition: Definition, asks: str | None) -> dict[str, object]:
    return {
        "id": run.run_id,
        "job_id": run.job_id,
        "flow_id": str(definition.document["source"]["workflow_id"]),
        "name": str(definition.document["name"]),
        "state": str(run.state),
        "is_final": run.state.is_final,
        "cause": str(run.cause),
        "created_at": iso(run.created_at),
        "ended_at": None if run.ended_at is None else iso(run.ended_at),
        "attempts": run.attempts,
        "reason": run.reason,
        "asks": asks,
    }


def list_runs(place: EnginePlace, *, job: str | None, state: str | None, limit: int) -> list[RunView]:
    """Runs, newest first."""
    with reading(place) as connection:
        if connection is None:
            return []
        runs = queries.list_runs(connection, job_id=job, state=state, limit=limit)
        questions = queries.open_questions(connection)
        return [
            run_view(run, find_definition(connection, run.definition), _asks(questions, run.run_id))
            for run in runs
        ]


def _asks(questions: dict[str, Approval], run_id: str) -> str | None:
    question = questions.get(run_id)
    return None if question is None else question.question or "approval"


def find_run(place: EnginePlace, run_id: str) -> RunDetail:
    with reading(place) as connection:
        if connection is None:
            raise _no_run(run_id)
        run = queries.find_by_prefix(connection, run_id)
        definition = find_definition(connection, run.definition)
        attempts = queries.list_attempts(connection, run.run_id)
        now = int(time.time() * 1000)
        bars = bars_of(queries.read_timeline(connection, run.run_id), attempts, now)
        output = queries.read_output(connection, attempts[-1], place.output) if attempts else ""
        asks = _asks(queries.open_questions(connection), run.run_id)
    timeline = [
        RunBar(
            f"{bar.state} {bar.detail}".strip(),
            bar.state,
            iso(bar.begin),
            None if bar.end >= now else iso(bar.end),
        )
        for bar in bars
    ]
    return RunDetail(
        **_facts(run, definition, asks),  # type: ignore[arg-type]  # the same fields
        timeline=timeline,
        output=output[:_OUTPUT],
        output_cut=len(output) > _OUTPUT,
    )


def find_job(place: EnginePlace, job_id: str) -> Definition:
    """A job as it is applied now. Raises Fail not_found/JOB_NOT_FOUND."""
    jobs = applied_jobs(place)
    try:
        return jobs.require(job_id)
    finally:
        jobs.close()


def find_job_of(place: EnginePlace, run_id: str) -> Definition:
    """The job of a run, as it is applied now. Raises Fail not_found."""
    with reading(place) as connection:
        if connection is None:
            raise _no_run(run_id)
        run = queries.find_by_prefix(connection, run_id)
    return find_job(place, run.job_id)


def trigger_job(place: EnginePlace, job_id: str, key: str | None, judged: GatedCall) -> RunView:
    """A run of a job now; the same key is the same run. Raises Fail conflict/CALL_CHANGED if it was applied anew since
    it was judged.
    """
    jobs = applied_jobs(place)
    try:
        definition = jobs.require(job_id)
        judged.require_same(definition.digest)
        manifest = jobs.manifest(definition.manifest_digest)
    finally:
        jobs.close()
    return _requested(place, definition, RunCause.MANUAL, key or secrets.token_hex(8), manifest)


def retry_run(place: EnginePlace, run_id: str, judged: GatedCall) -> RunView:
    """A new run of the job of a run that has ended, with the job as it is applied now. Fails as `trigger_job` does."""
    with reading(place) as connection:
        if connection is None:
            raise _no_run(run_id)
        run = queries.find_by_prefix(connection, run_id)
    if not run.state.is_final:
        raise Fail("conflict", "RUN_STATE_CONFLICT", f"{run.run_id} is {run.state}: it has not ended")
    jobs = applied_jobs(place)
    try:
        definition = jobs.require(run.job_id)
        judged.require_same(definition.digest)
        manifest = jobs.manifest(definition.manifest_digest)
    finally:
        jobs.close()
    key = f"{run.run_id} {secrets.token_hex(8)}"
    return _requested(place, definition, RunCause.RETRY, key, manifest, parent=run.run_id)


def cancel_run(place: EnginePlace, run_id: str, by: str) -> RunView:
    with reading(place) as connection:
        if connection is None:
            raise _no_run(run_id)
        found = queries.find_by_prefix(connection, run_id)
        definition = find_definition(connection, found.definition)
    database = place.open_store()
    try:
        return run_view(RunStore(database, wall_clock).cancel(found.run_id, by), definition)
    finally:
        database.close()


def _requested(
    place: EnginePlace,
    definition: Definition,
    cause: RunCause,
    key: str,
    manifest: str,
    *,
    parent: str | None = None,
) -> RunView:
    database = place.open_store()
    try:
        run = RunStore(database, wall_clock).request(definition, cause, key, manifest, parent_run_id=parent)
        return run_view(run, definition)
    finally:
        database.close()


def _no_run(run_id: str) -> Fail:
    return Fail("not_found", "RUN_NOT_FOUND", "there is no such run", target=run_id[:100])
