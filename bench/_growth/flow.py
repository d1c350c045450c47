"""Workflow manifests by their number of tasks, and the files of a flow home by their number of records.

The manifests have every shape that once was quadratic: a chain of triggers, many roots, a profile for every tenth task,
and names that lead nowhere.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench._growth.operation import Operation, Run, operable
from operable.flow.audit.record import ExecutionFormat
from operable.state.sealed_head import Head, write_head
from operable.state.sealed_record import RecordPosition

_TASKS = (100, 1000, 10_000)
_RECORDS = (1000, 10_000, 100_000)
_STARTED = 1_700_000_000


def manifest(tasks: int, *, dangling: bool = False) -> dict[str, Any]:
    """Half of the tasks are roots, the others a chain; each refers to one of the profiles."""
    profiles = max(1, tasks // 10)
    return {
        "version": "0.2",
        "identity_profiles": [
            {"id": f"profile-{number}", "provider": "none", "subject": {"kind": "service"}}
            for number in range(profiles)
        ],
        "workflows": [
            {
                "id": "w",
                "name": "W",
                "tasks": [
                    _task(number, profiles, chained=number % 2 == 1, dangling=dangling)
                    for number in range(max(1, tasks))
                ],
            }
        ],
    }


def _task(number: int, profiles: int, *, chained: bool, dangling: bool) -> dict[str, Any]:
    parent = f"tsak-{number:05d}" if dangling else f"task-{number - (1 if number == 1 else 2):05d}"
    start = (
        {"trigger": {"parent": parent, "on": "success"}}
        if chained
        else {"schedule": {"cron": "0 9 * * *", "tz": "UTC"}}
    )
    return {
        "id": f"task-{number:05d}",
        "name": f"Task {number}",
        "target": {"session_target": "shell", "agent_id": "main"},
        "shell": {"program": "/bin/true", "args": ["hello"], "cwd": "/tmp"},
        "identity": {"ref": f"profile-{number % profiles}"},
        "contract": {"sandbox": "permissive", "audit": "always"},
        "runtime": {"timeout_ms": 30000},
        **start,
    }


def _on_manifest(
    *words: str, dangling: bool = False, fine: tuple[int, ...] = (0,)
) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        (folder / "flow.json").write_text(json.dumps(manifest(size, dangling=dangling)))
        return operable(folder, *words, str(folder / "flow.json"), fine=fine)

    return make


def _run_of_tasks(folder: Path, size: int) -> Run:
    """Every task really runs; the chain alone, so that one root leads to all of it."""
    (folder / "flow.json").write_text(json.dumps(manifest(2 * size)))
    return operable(folder, "flow", "run", "--root", "task-00000", str(folder / "flow.json"))


def _run_of_one(folder: Path, size: int) -> Run:
    (folder / "flow.json").write_text(json.dumps(manifest(size)))
    return operable(folder, "flow", "exec", str(folder / "flow.json"), "task-00000")


def _audited(*words: str) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        state = folder / "home/flow/state"
        state.mkdir(parents=True)
        path, format, head = state / "audit.ndjson", ExecutionFormat(), Head(-1, ExecutionFormat.genesis)
        with path.open("wb") as file:
            for number in range(size):
                line, sealed, _ = format.seal(
                    _execution(number), RecordPosition(number, head.hash, float(_STARTED))
                )
                file.write(line)
                head = Head(number, sealed)
        if size:
            write_head(str(path), head, (), None)
        return operable(folder, *words)

    return make


def _execution(number: int) -> dict[str, Any]:
    return {
        "execution_id": f"execution-{number:08d}",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "source": {"workflow_id": "w", "task_id": f"task-{number % 100}"},
        "result": {"exit_code": 0, "signal": None, "timed_out": False, "stdout": "x" * 200},
    }


def _approved(*words: str) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        state = folder / "home/flow/state"
        state.mkdir(parents=True)
        with (state / "approvals.ndjson").open("w") as file:
            for number in range(size):
                for event in _approval(number):
                    file.write(json.dumps(event, separators=(",", ":")) + "\n")
        return operable(folder, *words)

    return make


def _approval(number: int) -> list[dict[str, Any]]:
    identity = {"v": 2, "approval_id": f"{number:032x}"}
    granted = {
        **identity,
        "kind": "grant",
        "workflow_id": "w",
        "task_id": "t",
        "task_hash": f"sha256:{number:064x}",
        "risk_level": None,
        "approver_scope": None,
        "approver": "a@example.com",
        "reason": None,
        "granted_at": "2026-01-01T00:00:00.000Z",
        "expires_at": "2026-01-01T01:00:00.000Z",
        "signature": None,
        "unsigned_explicit": True,
        "content": {"/bin/true": f"sha256:{number:064x}"},
        "bound": {f"part-{part}": f"sha256:{number:064x}" for part in range(25)},
    }
    used = {
        **identity,
        "kind": "consume",
        "execution_id": f"e-{number}",
        "consumed_at": "2026-01-01T00:10:00.000Z",
    }
    return [granted, used]


OPERATIONS = [
    Operation("flow validate", _TASKS, _on_manifest("flow", "validate")),
    Operation("flow digests", _TASKS, _on_manifest("flow", "digests")),
    Operation("flow lint", _TASKS, _on_manifest("flow", "lint", fine=(0, 65))),
    Operation(
        "flow lint, dangling parents", _TASKS, _on_manifest("flow", "lint", dangling=True, fine=(0, 65))
    ),
    Operation("flow compile", _TASKS, _on_manifest("flow", "compile")),
    Operation(
        "flow compile, scheduler", _TASKS, _on_manifest("flow", "compile", "--target", "openclaw-scheduler")
    ),
    Operation("flow graph", _TASKS, _on_manifest("flow", "graph")),
    Operation("flow plan", _TASKS, _on_manifest("flow", "plan")),
    Operation("flow apply --dry-run", _TASKS, _on_manifest("flow", "apply", "--dry-run")),
    Operation("flow run --dry-run", _TASKS, _on_manifest("flow", "run", "--all-roots", "--dry-run")),
    Operation("flow run", (3, 30, 300), _run_of_tasks, rounds=1),
    Operation("flow exec of one task", _TASKS, _run_of_one),
    Operation("flow audit", _RECORDS, _audited("flow", "audit")),
    Operation("flow audit --newest 5", _RECORDS, _audited("flow", "audit", "--newest", "5"), True, True),
    Operation("flow audit --limit 5", _RECORDS, _audited("flow", "audit", "--limit", "5"), True, True),
    Operation("flow audit verify", _RECORDS, _audited("flow", "audit", "verify"), flat_memory=True),
    Operation("flow approvals", (100, 1000, 10_000), _approved("flow", "approvals", "--limit", "100000")),
]  # fmt: skip
