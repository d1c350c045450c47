"""The events of `operable engine …`. Times are ISO 8601 in UTC."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class EngineWorkerStarted(Event):
    """A worker runs jobs from now on. One that was detached has a process of its own, and its output is in `log`."""

    worker_id: str
    database: str
    slots: int
    pid: int | None = None
    log: str | None = None


class EngineStatus(Event):
    """What an engine does now. `runs` counts runs by their states.

    `last_gc` is when a worker has last removed old runs, and `last_gc_runs` how many those were.
    """

    database: str
    workers: int
    jobs: int
    runs: dict[str, int]
    open_questions: int
    next_tick: str | None
    last_gc: str | None = None
    last_gc_runs: int | None = None


class EngineWorker(Event):
    """One worker that was not buried. `alive` is what its lock says."""

    worker_id: str
    alive: bool
    host: str
    pid: int
    slots: int
    version: str
    started_at: str
    seen_at: str


class EngineJob(Event):
    """One applied job, and when it runs. `missed_ticks` are those of its schedule that made no run, of all time."""

    job_id: str
    name: str
    workflow_id: str
    task_id: str
    state: Literal["enabled", "disabled", "paused", "finished"]
    invocation: str
    next_tick: str | None
    last_run: str | None
    last_state: str | None
    missed_ticks: int = 0


class EngineRun(Event):
    """One run. `not_before` is when its next attempt may start, if it has to wait: a delay, or the pause before a retry.

    `asks` is the question of its agent, or "approval"; it is answered by `approve_by`. `trace_id` is that of its spans.
    """

    run_id: str
    job_id: str
    name: str
    state: str
    cause: str
    attempts: int
    due_at: str
    created_at: str
    not_before: str | None
    ended_at: str | None
    parent_run_id: str | None
    reason: str | None
    approve_by: str | None
    asks: str | None = None
    trace_id: str = ""


class EngineRunFields(Event):
    """The fields of a run that were asked for."""

    run_id: str
    fields: dict[str, str | int | None]


class EngineJobFields(Event):
    """The fields of a job that were asked for."""

    job_id: str
    fields: dict[str, str | int | None]


class EngineLogEntry(Event):
    """One entry of a run's timeline, or a part of the output of an attempt.

    `offset` is the byte at which the part begins, `output_bytes` how many bytes the whole output has. The next page begins
    behind `position`.
    """

    run_id: str
    at: str
    event: str
    state: str
    detail: str | None
    output: str | None
    attempt: int | None
    offset: int | None
    output_bytes: int | None
    position: str


class EngineChange(Event):
    """Something that happened to a run. `number` counts within the run, and `state` is the one that it is in then."""

    run_id: str
    job: str
    at: str
    event: str
    state: str
    detail: str | None
    number: int


class EngineTimeline(Event):
    """A drawing of a run."""

    run_id: str
    language: Literal["text", "svg"]
    text: str


class EngineMetrics(Event):
    """Metrics in the OpenMetrics text form."""

    text: str


class EngineRemoval(Event):
    """What retention has removed: runs of one job, or outputs that belong to no run (`job_id` is null)."""

    job_id: str | None
    name: str
    runs: int
    outputs: int


class EngineUnit(Event):
    """A systemd unit."""

    text: str
