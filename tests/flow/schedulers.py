"""Schedulers for tests: the stand-in, or a real openclaw-scheduler when OPENCLAW_SCHEDULER_BIN names one."""

import functools
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from operable.flow.scheduler.client import SchedulerClient, SchedulerCommand, invocation_of
from tests.flow.scheduler_stand_in import FIELDS_OF_A_V4_CONTRACT

PROGRAM = Path(__file__).with_name("scheduler_stand_in.py")
REAL = os.environ.get("OPENCLAW_SCHEDULER_BIN")
LIMIT = 120.0  # seconds for one call of a scheduler on a very busy machine
Json = dict[str, Any]
ENFORCED = (
    "root_approval_gate approval_scope_enforcement structured_output_format authorization_hook trust_evaluation "
    "evidence_generation credential_handoff runtime_identity_resolution"
).split()
OF_V4 = (
    "handoff_v4_artifact artifact_bound_proofs signed_or_provider_verified_evidence provider_session_cache "
    "credential_presentation source_run_bound_delegation immutable_runtime_events authorization_proof_verification"
).split()


def capabilities(version: str = "3", **changed: Any) -> Json:
    """What a scheduler of this handoff version says of itself, with some of it changed."""
    features = dict.fromkeys([*ENFORCED, *(OF_V4 if version == "4" else [])], True)
    features |= changed.pop("features", {})
    return {
        "features": features,
        "scheduler_version": "0.0.0-stand-in",
        "handoff_version": version,
        "schema_version": 30,
        "handoff_contract": FIELDS_OF_A_V4_CONTRACT if version == "4" else None,
        **changed,
    }


# A job that somebody else made, as the smallest that a scheduler takes.
OLD: Json = {
    "id": "old-1",
    "name": "A",
    "enabled": True,
    "schedule_cron": "0 9 * * *",
    "session_target": "shell",
    "payload_kind": "shellCommand",
    "payload_message": "echo old",
    "delivery_mode": "none",
    "run_timeout_ms": 5,
    "origin": "telegram:7",
}


class StandIn:
    """One stand-in scheduler with a database of its own. `said` None: it is too old to know its capabilities."""

    def __init__(self, folder: Path, said: Json | None = None, **behaviour: Any) -> None:
        self.folder = folder
        self.database = folder / "scheduler.db"
        self._behaviour: Json = {}
        if said is not None:
            behaviour["capabilities_answer"] = said
        self.behave(**behaviour)

    def behave(self, **behaviour: Any) -> None:
        """`jobs_add="the disk is full"`, `jobs_delete={"<id>": "locked"}`, `jobs_list="hang"`, `patience=0.1`."""
        self._behaviour |= {
            name
            if name == "capabilities_answer"
            else name.replace("_", " ").replace("dry run", "--dry-run"): how
            for name, how in behaviour.items()
        }
        (self.folder / "stand-in.json").write_text(json.dumps(self._behaviour), "utf-8")

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", os.defpath), "SECRET_OF_THE_CALLER": "canary-7b"}

    def client(self, timeout: float = LIMIT) -> SchedulerClient:
        invocation = SchedulerCommand((sys.executable, str(PROGRAM)), "openclaw-scheduler")
        return SchedulerClient(invocation, str(self.folder), self.environment, str(self.database), timeout)

    def script(self) -> str:
        """A program that can be named with --scheduler-bin."""
        path = self.folder / "openclaw-scheduler"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PROGRAM}" "$@"\n', "utf-8")
        path.chmod(0o755)
        return str(path)

    def rows(self) -> list[Json]:
        """The stored jobs, in the order in which they were made, with their artifacts as text."""
        question = (
            "SELECT jobs.*, payload AS handoff_artifact_payload FROM jobs "
            "LEFT JOIN handoff_artifacts ON digest = handoff_artifact_digest ORDER BY jobs.rowid"
        )
        if not _all(self.database, "SELECT 1 FROM sqlite_master WHERE name = 'handoff_artifacts'"):
            question = "SELECT * FROM jobs ORDER BY rowid"  # of a real scheduler before handoff 4
        return [dict(row) for row in _all(self.database, question)]

    def calls(self) -> list[list[str]]:
        return [json.loads(row["words"]) for row in self._calls()]

    def writes(self) -> list[str]:
        return [
            words[1]
            for words in self.calls()
            if words[0] == "jobs" and words[1] != "list" and "--dry-run" not in words
        ]

    def environments(self) -> list[list[str]]:
        return [json.loads(row["environment"]) for row in self._calls()]

    def _calls(self) -> list[Any]:
        return _all(self.folder / "calls.db", "SELECT * FROM calls ORDER BY rowid")

    def store(self, row: Mapping[str, Any]) -> None:
        self.client().add(dict(row))

    def alter(self, statement: str, *values: Any) -> None:
        """Change the database behind the scheduler's back."""
        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute(statement, values)
        connection.close()


def _all(database: Path, question: str) -> list[Any]:
    if not database.exists():
        return []
    connection = sqlite3.connect(database)
    connection.row_factory = sqlite3.Row
    try:
        return connection.execute(question).fetchall()
    finally:
        connection.close()


@functools.cache
def _real_handoff() -> int:
    assert REAL is not None
    argv = [*invocation_of(None, REAL, os.environ).argv, "--json", "capabilities"]
    done = subprocess.run(argv, capture_output=True, timeout=LIMIT, check=True)
    return int(json.loads(done.stdout)["handoff_version"])


def require_handoff(version: int) -> None:
    """Skip what a real scheduler of an older handoff does not have; decision 0035 lists the differences."""
    if REAL is not None and _real_handoff() < version:
        pytest.skip(f"the real scheduler has handoff {_real_handoff()}, and this needs {version}")


def newest(folder: Path) -> StandIn:
    """`either`, with what the real one says of itself: everything but who may approve."""
    if REAL is not None:
        require_handoff(4)
        return either(folder, knows_capabilities=True)
    return either(folder, capabilities("4", features={"approval_scope_enforcement": False}))


def either(folder: Path, said: Json | None = None, **behaviour: Any) -> StandIn:
    """The scheduler that OPENCLAW_SCHEDULER_BIN names, behind the same front, or else the stand-in."""
    if REAL is not None:
        if said is not None and said["handoff_version"] == "4":
            require_handoff(4)
        behaviour["program"] = list(invocation_of(None, REAL, os.environ).argv)
    return StandIn(folder, said, **behaviour)
