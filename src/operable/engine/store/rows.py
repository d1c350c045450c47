"""The rows of the store as values, and how they are read."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from operable.engine.lifecycle.identifiers import RunCause
from operable.engine.lifecycle.policy import RunPolicy, read_policy
from operable.engine.lifecycle.states import AttemptState, EngineRunState
from operable.engine.store.database import StoreConnection

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """A job as it is, or was when a run was made: what apply stored, and the manifest that has the rest."""

    job_id: str
    revision: (
        int  # of this job's row; a job that was pruned and made again begins at 1, so it is not an identity
    )
    document: Json
    manifest_digest: str

    @property
    def digest(self) -> str:
        text = json.dumps([self.document, self.manifest_digest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def policy(self) -> RunPolicy:
        return read_policy(self.document)

    @property
    def label(self) -> str:
        """`workflow/task`, as people and commands name a job."""
        source = self.document["source"]
        return f"{source['workflow_id']}/{source['task_id']}"


@dataclass(frozen=True, slots=True)
class Run:
    run_id: str
    job_id: str
    definition: str
    cause: RunCause
    cause_key: str
    parent_run_id: str | None
    due_at: int
    created_at: int
    state: EngineRunState
    changed_at: int
    not_before: int
    ended_at: int | None
    attempts: int
    failures: int
    losses: int
    wake: int
    sent: int
    settled: int
    reason: str | None

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        values = dict(zip((field.name for field in fields(cls)), row, strict=True))
        return cls(**{**values, "cause": RunCause(values["cause"]), "state": EngineRunState(values["state"])})


@dataclass(frozen=True, slots=True)
class RunAttempt:
    run_id: str
    number: int
    worker_id: str
    state: AttemptState
    started_at: int
    ended_at: int | None
    exit_code: int | None
    signal: str | None
    duration_ms: int | None
    execution_id: str | None
    reason: str | None
    preview: str | None
    output_bytes: int | None
    output_path: str | None
    output_digest: str | None
    facts: str | None = None  # JSON: who it ran as, what allowed it, and what is kept of it elsewhere

    @classmethod
    def read(cls, row: Sequence[Any]) -> Self:
        values = dict(zip((field.name for field in fields(cls)), row, strict=True))
        return cls(**{**values, "state": AttemptState(values["state"])})


@dataclass(frozen=True, slots=True)
class Approval:
    run_id: str
    number: int
    asked_at: int
    expires_at: int
    automatic: str
    scope: str | None
    risk_level: str | None
    decision: str | None
    decided_at: int | None
    decided_by: str | None
    note: str | None
    kind: str | None = (
        None  # "agent": the agent of a running attempt asks; else the run does, before it starts
    )
    question: str | None = None  # of an agent: what it asks
    content: str | None = None  # of a run: JSON with the digests of its files when it asked
    signed: str | None = None  # of a run: JSON, the record that its approver signed

    @property
    def is_of_agent(self) -> bool:
        return self.kind == AGENT


AGENT = "agent"


@dataclass(frozen=True, slots=True)
class WorkerRow:
    worker_id: str
    host: str
    pid: int
    slots: int
    version: str
    started_at: int
    seen_at: int
    ended_at: int | None
    end_cause: str | None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    run_id: str
    number: int
    at: int
    event: str
    state: str
    detail: str | None


def storable(text: str) -> str:
    """What a task or an agent said, as text that every database takes: without NUL and halves of characters."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def columns(kind: type[Any]) -> str:
    return ", ".join(field.name for field in fields(kind))


RUN_COLUMNS, ATTEMPT_COLUMNS = columns(Run), columns(RunAttempt)


def find_run(connection: StoreConnection, run_id: str) -> Run | None:
    rows = connection.execute(f"SELECT {RUN_COLUMNS} FROM runs WHERE run_id = ?", (run_id,))  # noqa: S608 - our names
    return Run.read(rows[0]) if rows else None


def find_attempt(connection: StoreConnection, run_id: str, number: int) -> RunAttempt | None:
    rows = connection.execute(
        f"SELECT {ATTEMPT_COLUMNS} FROM attempts WHERE run_id = ? AND number = ?",  # noqa: S608 - our names
        (run_id, number),
    )
    return RunAttempt.read(rows[0]) if rows else None


def find_definition(connection: StoreConnection, digest: str) -> Definition:
    """The definition that a run was made with; it is kept as long as the run."""
    ((job_id, revision, document, manifest_digest),) = connection.execute(
        "SELECT job_id, revision, document, manifest_digest FROM definitions WHERE digest = ?", (digest,)
    )
    return Definition(job_id, revision, json.loads(document), manifest_digest)


def find_manifest(connection: StoreConnection, digest: str) -> Json:
    """The manifest of a definition."""
    ((text,),) = connection.execute("SELECT text FROM manifests WHERE digest = ?", (digest,))
    manifest: Json = json.loads(text)
    return manifest
