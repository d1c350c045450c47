"""Running a workflow here: from its roots along its triggers, one task after the other.

A task that is ready later (`delay_s`) waits in a queue ordered by time. What a task triggers is decided by how it ended and
by its output; each task passes every gate of `executor` by itself. A run is ok when no task failed, also when a failure
handler succeeded. Fan-out and queue have their budgets; a condition that cannot be decided fails its task.
"""

import heapq
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from operable.flow.audit.record import ending
from operable.flow.compile.plan import approval_policy, normal_shell
from operable.flow.compile.target import require_valid
from operable.flow.errors import FlowError, invalid_argument
from operable.flow.manifest.failure_handlers import expand
from operable.flow.manifest.inheritance import first
from operable.flow.manifest.selection import Selected, workflow_of
from operable.flow.run.budgets import check_fanout, check_queue
from operable.flow.run.caller import Caller
from operable.flow.run.executor import execute_selected, record_refusal
from operable.flow.run.options import ExecOptions
from operable.flow.run.triggers import chosen_roots, condition_holds, graph

Json = dict[str, Any]
_DRY = "dry-run does not evaluate trigger outcomes or conditions"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Where to begin, and how each task is executed."""

    workflow_id: str | None = None
    root: str | None = None
    all_roots: bool = False
    prompts: bool = False  # run prompt tasks on agents; else a workflow that has some is refused
    retry: bool = False  # as often as each task's reliability.max_retries says
    each: ExecOptions = field(default_factory=ExecOptions)


@dataclass(order=True, slots=True)
class _Waiting:
    ready_at: float
    sequence: int
    task_id: str = field(compare=False)
    outcome: str | None = field(default=None, compare=False)  # of the parent
    skipped: str | None = field(default=None, compare=False)


class WorkflowRun:
    """One run. Iterate over it for the records of the tasks as they end; `result` is the whole, after that."""

    def __init__(self, manifest: Any, caller: Caller, options: RunOptions | None = None) -> None:
        chosen = options or RunOptions()
        require_valid(manifest)
        self._original, self._expanded = manifest, expand(manifest)
        self._caller, self._options = caller, chosen
        self._graph = graph(workflow_of(self._expanded, chosen.workflow_id))
        self.roots = chosen_roots(self._graph, chosen.root, all_roots=chosen.all_roots)
        self._is_root = frozenset(self.roots)
        self.selected = self._graph.reachable(self.roots)
        self._require_shell()
        self.warnings = self._warnings()
        self.records: list[Json] = []
        self._sequence = itertools.count()
        self._queue: list[_Waiting] = []

    def __iter__(self) -> Iterator[Json]:
        for task_id in self.roots:
            self._push(task_id, 0)
        while self._queue:
            waiting = heapq.heappop(self._queue)
            time.sleep(max(0.0, waiting.ready_at - time.monotonic()))
            for record in self._next(waiting):
                self.records.append(record)
                yield record

    def result(self) -> Json:
        return self._result(self.records, dry_run=False)

    def select(self, task_id: str) -> Selected:
        """One task of this run. The manifest was validated and expanded once, for all of them."""
        return Selected(self._original, self._expanded, self._graph.workflow, self._graph.tasks[task_id])

    @property
    def answered(self) -> dict[str, str]:
        """WORKFLOW/TASK -> the person who said yes to it at the gate of their request."""
        return self._options.each.answered

    def preview(self) -> Json:
        """Every task that could run, once. Nothing is run, and no condition is looked at."""
        tasks = []
        blockers = self._graph.disabled_by(self.selected)
        for task_id in self.selected:
            blocker = blockers[task_id]
            reason = _DRY if self._graph.tasks[task_id].get("trigger") is not None else None
            if blocker is not None:
                reason = (
                    "task is disabled" if blocker == task_id else f'ancestor task "{blocker}" is disabled'
                )
            record = self._record(task_id, None)
            for name in ("execution_id", "execution", "error"):
                del record[name]
            if record["trigger"] is not None:
                del record["trigger"]["parent_outcome"]
            tasks.append({**record, "status": "planned" if blocker is None else "skipped", "reason": reason})
        return self._result(tasks, dry_run=True)

    # -- one task after the other

    def _next(self, waiting: _Waiting) -> Iterator[Json]:
        task = self._graph.tasks[waiting.task_id]
        record = self._record(waiting.task_id, waiting.outcome, matched=waiting.skipped is None)
        skipped = waiting.skipped or ("task is disabled" if task.get("enabled") is False else None)
        if skipped is not None:
            yield {**record, "status": "skipped", "reason": skipped}
            # Of the task that the skipping began with: a reason that names all between grows with the depth.
            why = waiting.skipped or f'ancestor task "{waiting.task_id}" was skipped: {skipped}'
            for child in self._graph.children.get(waiting.task_id, ()):
                self._push(child, 0, outcome="skipped", skipped=why)
            return
        record = self._executed(record, task)
        yield record
        yield from self._triggered(task, record)

    def _executed(self, record: Json, task: Json) -> Json:
        attempts = 1
        if self._options.retry and approval_policy(task.get("approval")) != "manual":
            attempts += int(first((task.get("reliability") or {}).get("max_retries"), 0))
        for attempt in range(1, attempts + 1):
            record = self._attempt(record, task)
            if attempts > 1:
                record["attempts"] = attempt
            if record["status"] == "success":
                break
        return record

    def _attempt(self, record: Json, task: Json) -> Json:
        try:
            answer = execute_selected(self.select(task["id"]), self._caller, self._options.each)
        except FlowError as problem:
            return {**record, **_failure(problem)}
        return {
            **record,
            "execution_id": answer["execution_id"],
            "execution": answer,
            "status": "success" if answer["ok"] else "failed",
            "reason": None if answer["ok"] else f"task ended: {ending(answer['result'])}",
        }

    def _triggered(self, task: Json, record: Json) -> Iterator[Json]:
        """Put what this task triggers into the queue; the records of what it does not."""
        outcome = "success" if record["status"] == "success" else "failure"
        stdout = ((record["execution"] or {}).get("result") or {}).get("stdout") or ""
        matched: list[str] = []
        for child in self._graph.children.get(task["id"], ()):
            try:
                reason = _unmatched(self._graph.tasks[child]["trigger"], outcome, stdout)
            except FlowError as problem:
                yield self._refused(child, outcome, problem)
                continue
            if reason is None:
                matched.append(child)
            else:
                skipped = self._record(child, outcome, matched=False)
                yield {**skipped, "status": "skipped", "reason": reason}
        try:
            check_fanout(task, len(matched))
            check_queue(task, len(self._queue) + len(matched))
        except FlowError as problem:
            yield from (self._refused(child, outcome, problem) for child in matched)
            return
        for child in matched:
            delay = first(self._graph.tasks[child]["trigger"].get("delay_s"), 0)
            self._push(child, float(delay), outcome=outcome)

    def _refused(self, task_id: str, outcome: str, problem: FlowError) -> Json:
        told = record_refusal(self.select(task_id), self._caller, self._options.each, problem)
        return {**self._record(task_id, outcome), **_failure(told)}

    def _push(self, task_id: str, delay: float, **facts: Any) -> None:
        ready = time.monotonic() + delay
        heapq.heappush(self._queue, _Waiting(ready, next(self._sequence), task_id, **facts))

    # -- what is reported

    def _require_shell(self) -> None:
        if self._options.prompts:
            return
        others = [
            f"{task_id} ({self._graph.tasks[task_id]['target']['session_target']})"
            for task_id in self.selected
            if self._graph.tasks[task_id]["target"]["session_target"] != "shell"
        ]
        if others:
            message = f'Unsupported tasks in workflow "{self._graph.workflow["id"]}": {", ".join(others)}'
            raise invalid_argument(f"agentcli run only supports shell tasks. {message}")

    def _warnings(self) -> list[str]:
        disabled = [each for each in self.selected if self._graph.tasks[each].get("enabled") is False]
        found = [f"Trigger cycle detected: {ring}; these tasks never run" for ring in self._graph.cycles()]
        if disabled:
            names = ", ".join(disabled)
            found.insert(0, f"Disabled tasks and their dependent trigger branches will be skipped: {names}")
        return found

    def _record(self, task_id: str, outcome: str | None, *, matched: bool | None = None) -> Json:
        task = self._graph.tasks[task_id]
        trigger = task.get("trigger")
        reported = None
        if trigger is not None:
            reported = {
                **trigger_of(trigger),
                "matched": None if outcome is None else matched,
                "parent_outcome": outcome,
            }
        return {
            "source": {"workflow_id": self._graph.workflow["id"], "task_id": task_id},
            "name": task["name"],
            "selected_as_root": task_id in self._is_root,
            "invocation": invocation_of(task),
            "command": command_of(task, self._caller.cwd),
            "trigger": reported,
            "execution_id": None,
            "execution": None,
            "error": None,
            "status": "failed",
            "reason": None,
        }

    def _result(self, tasks: list[Json], *, dry_run: bool) -> Json:
        count = {
            status: sum(task["status"] == status for task in tasks)
            for status in ("planned", "success", "failed", "skipped")
        }
        return {
            "ok": count["failed"] == 0,
            "dry_run": dry_run,
            "mode": "run",
            "workflow_id": self._graph.workflow["id"],
            "root_task_ids": list(self.roots),
            "selected_task_ids": list(self.selected),
            "summary": {
                "total": len(tasks),
                "planned": count["planned"],
                "succeeded": count["success"],
                "failed": count["failed"],
                "skipped": count["skipped"],
            },
            "warnings": list(self.warnings),
            "tasks": tasks,
        }


def run(manifest: Any, caller: Caller, options: RunOptions | None = None, *, dry_run: bool = False) -> Json:
    """The whole run in one value."""
    found = WorkflowRun(manifest, caller, options)
    if dry_run:
        return found.preview()
    for _ in found:
        pass
    return found.result()


def _failure(problem: FlowError) -> Json:
    return {
        "execution_id": problem.details.get("execution_id"),
        "error": {"message": problem.message, "code": problem.flow_code, **problem.details},
        "status": "failed",
        "reason": problem.message,
    }


def _unmatched(trigger: Json, outcome: str, stdout: str) -> str | None:
    """Why a trigger does not fire; None: it does."""
    if trigger["on"] not in ("complete", outcome):
        return f"trigger.on={trigger['on']} did not match parent outcome {outcome}"
    condition = trigger.get("condition")
    if condition_holds(condition, stdout):
        return None
    return f'trigger condition "{condition}" did not match parent stdout'


# How the records of a run describe a task: what starts it, and what it would do.


def trigger_of(trigger: Json) -> Json:
    return {
        "parent": trigger["parent"],
        "on": trigger["on"],
        "delay_s": first(trigger.get("delay_s"), 0),
        "condition": trigger.get("condition"),
    }


def invocation_of(task: Json) -> Json:
    trigger = task.get("trigger")
    if trigger is not None:
        return {"mode": "trigger", **trigger_of(trigger)}
    return {
        "mode": "schedule",
        "cron": task["schedule"]["cron"],
        "tz": first(task["schedule"].get("tz"), "UTC"),
    }


def command_of(task: Json, cwd: str) -> Json:
    if task.get("shell") is None:
        return {
            "session_target": task["target"]["session_target"],
            "agent_id": task["target"].get("agent_id"),
        }
    shell = normal_shell(task["shell"])
    return {
        "program": shell["program"],
        "args": shell["args"],
        "cwd": shell["cwd"] or cwd,
        "env_keys": list(shell["env"]),
        "stdin_present": shell["stdin"] is not None,
    }
