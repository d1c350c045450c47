"""Tool tasks: one command of a tool, a wrapped tool, an application or an MCP server, called through `operable.offer`.

How a manifest names it is in `flow.manifest.tools`. What it answers is the output, one JSON text a line; a verdict that is
not a success fails the task.

Nothing is guessed in its favour. A command that wants a confirmation runs only in a task with a manual approval, which is
the confirmation. A task that says that it only reads cannot call a command that changes something. A contract that asks for
an enclosure is refused: a tool and an application run where their own manifests say.

Each call passes the gate of every call (`operable.gate`), as `flow:WORKFLOW/TASK`, or `rpc:WORKFLOW/TASK` if a client of
JSON-RPC asked for the execution. The manual approval of the task is the answer of a person.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from operable.flow.compile.plan import approval_policy
from operable.flow.errors import FlowError
from operable.flow.manifest.tools import ToolName, tool_arguments, tool_problems
from operable.flow.run import process
from operable.flow.run.credentials import Materialised
from operable.flow.run.enclosure import TaskEnclosure, constraints, unavailable
from operable.flow.run.execution import Execution
from operable.flow.run.process import OUTPUT_LIMIT, TaskResult
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.environment import loads_code
from operable.state.paths import VARIABLES

if TYPE_CHECKING:
    from operable.flow.run.options import ExecOptions
    from operable.gate.call_gate import CallGate
    from operable.offer.action import Action, Adapter, Progress, Result
    from operable.offer.aoi import ProgramLine

Json = dict[str, Any]
_STOP_POLL = 0.2  # seconds; a person who cancels does not notice it
_TIMEOUT = 600.0  # of a task without a limit of its own, as everywhere a tool is called
# The same process that `operable wrap NAME` is, without looking for that on PATH.
_WRAPPED = "import sys; from operable.wrap.front import main; main(sys.argv[1], sys.argv[2:])"


class ToolWork:
    """One call. A tool says itself what its commands are: it is asked after the start is on record, as everything is."""

    def __init__(self, execution: Execution, tool: ToolName, options: "ExecOptions") -> None:
        self._it, self._options, self._tool = execution, options, tool
        task = execution.selected.task
        problems = [f"{member} {message}" for member, message in tool_problems(task)]
        if problems:
            raise FlowError("invalid_argument", f"this task cannot be run: {'; '.join(problems)}")
        wanted = constraints(execution.contract)
        if wanted:
            raise unavailable(wanted, f"a {tool.kind} runs where its own manifest says")
        self._arguments = tool_arguments(task["shell"])

    def run(self, given: Materialised) -> TaskResult:
        self._require_presentable(given)
        it, started = self._it, time.monotonic()
        call = self._found()
        limit = _TIMEOUT if it.bound.timeout_ms is None else it.bound.timeout_ms / 1000
        adapter = call.adapter({**given.environment, **self._options.environment}, limit)
        action = self._described(call, adapter)
        try:
            result = asyncio.run(self._called(adapter, action))
        except Fail as problem:
            timed_out = problem.category == "timeout"
            return TaskResult(timed_out=timed_out, problem=problem.message, duration_ms=_elapsed(started))
        if result is None:
            return TaskResult(problem="it was stopped", duration_ms=_elapsed(started))
        it.verdict = {"ok": result.ok, "code": result.code, "summary": result.summary}
        return _task_result(result, _elapsed(started))

    def _require_presentable(self, given: Materialised) -> None:
        if self._tool.kind == "mcp" and (given.stdin is not None or given.folders or given.environment):
            message = (
                f"{self._tool} takes no credentials of a task: those of the server are registered with it"
            )
            raise FlowError("presentation_target_unsupported", message)
        if given.stdin is not None or given.folders:
            message = f"{self._tool} takes credentials as variables only"
            raise FlowError("presentation_target_unsupported", message)

    def verify(self, verify: Mapping[str, Any]) -> TaskResult:
        bound = self._it.bound
        environment = {**bound.environment, **self._options.environment}
        return process.check(verify, cwd=bound.cwd, environment=environment, enclosure=TaskEnclosure())

    def _found(self) -> "OfferedCall":
        task, tool = self._it.selected.task, self._tool
        try:
            call = find_call(tool, " ".join(task["shell"]["args"]), self._it)
        except Fail as problem:
            message = f"{tool} cannot be used: {problem.message}"
            raise FlowError("no_runtime", message) from None
        self._require_allowed(call.action, task)
        return call

    def _described(self, call: "OfferedCall", adapter: "Adapter") -> "Action":
        """The command as it counts with its arguments. From here on the adapter knows which words they become."""
        from operable.offer.action import check_arguments
        from operable.offer.words import described

        action, schema = asyncio.run(described(adapter, call.action, call.actions))
        try:
            check_arguments(f"{self._tool} {action.name}", schema, self._arguments)
        except Fail as problem:
            raise FlowError("invalid_argument", problem.message) from None
        self._require_allowed(action, self._it.selected.task)
        return action

    def _require_allowed(self, action: "Action", task: Mapping[str, Any]) -> None:
        intent = task.get("intent") or {}
        name = f"{self._tool} {action.name}"
        if (intent.get("mode") == "plan" or intent.get("read_only") is True) and not action.read_only:
            raise FlowError(
                "contract_violation", f"{name} is not read-only, and intent says that this task is"
            )
        if action.risk == "destructive" and approval_policy(task.get("approval")) != "manual":
            message = f"{name} wants a confirmation: its task needs approval.policy manual, which is one"
            raise FlowError("approval_required", message)

    async def _called(self, adapter: "Adapter", action: "Action") -> "Result | None":
        """The result. Returns None if the caller stopped it; everything that it started has ended then."""

        async def silent(_done: float, _total: float | None, _message: str | None) -> None: ...

        from operable.gate.call_gate import CallGate

        gate = CallGate()
        call = asyncio.ensure_future(self._admitted(gate, adapter, action, silent))
        try:
            while not (await asyncio.wait({call}, timeout=_STOP_POLL))[0]:
                if self._options.stop is not None and self._options.stop():
                    call.cancel()
                    await asyncio.wait({call})
                    return None
            return call.result()
        finally:
            await asyncio.to_thread(gate.flush)

    async def _admitted(
        self, gate: "CallGate", adapter: "Adapter", action: "Action", progress: "Progress"
    ) -> "Result":
        from operable.gate.approvals import Decision
        from operable.gate.call import CallerId
        from operable.offer.gate_call import call_gated, gated_call

        it, source = self._it, self._it.selected
        call = gated_call(
            CallerId(it.caller.side, f"{source.workflow['id']}/{source.task['id']}"),
            kind=self._tool.kind,
            name=os.path.basename(self._tool.name),
            action=action,
            adapter=adapter,
            arguments=self._arguments,
            workspace=it.bound.cwd,
        )
        used = it.approval_used
        answer = None if used is None else Decision(True, by="the approval of the task", digest=call.digest)
        return await call_gated(gate, call, action, adapter, progress=progress, answer=answer)


@dataclass(frozen=True, slots=True)
class OfferedCall:
    """What is called, and how: the variables of this attempt and a limit give the adapter."""

    action: "Action"
    actions: "tuple[Action, ...]"  # all commands of the same tool
    adapter: "Callable[[Mapping[str, str], float], Adapter]"


def find_call(tool: ToolName, command: str, execution: Execution) -> OfferedCall:
    """The command of a tool. Raises Fail if either does not exist, or the application is not approved."""
    if tool.kind == "app":
        return _app_call(tool.name, command, execution)
    if tool.kind == "mcp":
        return _upstream_call(tool.name, command)
    if tool.kind == "wrap":
        # -P: no module of the workspace is ever imported in place of one of ours.
        from operable.wrap.tools import load

        program = load(tool.name).program_line
        return _aoi_call((sys.executable, "-P", "-c", _WRAPPED, tool.name), command, execution, program)
    return _aoi_call((tool.name,), command, execution)


def _aoi_call(
    words: tuple[str, ...], command: str, execution: Execution, program: "ProgramLine | None" = None
) -> OfferedCall:
    from operable.offer.action import actions
    from operable.offer.aoi import AoiAdapter
    from operable.run.discovery import ToolSource, describe

    cwd, ours = execution.bound.cwd, execution.caller.environment
    wanted = (*VARIABLES, "OPERABLE_WRAPPERS")
    places = {name: value for name, value in ours.items() if any(fnmatch(name, each) for each in wanted)}
    environment = {**places, **execution.bound.environment}
    description = describe(ToolSource(words, env=environment, cwd=cwd))
    if description.capabilities is None:
        why = "; ".join(description.notes) or "it gives no capabilities"
        raise Fail("config", "NOT_OPERABLE", f"it does not describe itself ({why})", target=words[-1])
    offered = tuple(actions(description.capabilities))
    return OfferedCall(
        _named(offered, command),
        offered,
        lambda given, timeout: AoiAdapter(
            words, env={**environment, **given}, timeout=timeout, cwd=cwd, program=program
        ),
    )


def _app_call(name: str, command: str, execution: Execution) -> OfferedCall:
    from operable.app.shelf import find
    from operable.app.trust import Approvals
    from operable.offer.app import AppAdapter, app_actions

    approvals = Approvals()
    package = find(name, execution.bound.cwd, approvals=approvals)
    approvals.require(package)
    offered = app_actions(package)
    declared = execution.selected.task["shell"].get("env") or {}
    own = {name: value for name, value in declared.items() if not loads_code(name)}
    return OfferedCall(
        _named(offered, command),
        offered,
        lambda given, timeout: AppAdapter(package, env={**own, **given}, timeout=timeout),
    )


def _upstream_call(name: str, command: str) -> OfferedCall:
    """The server has the variables that were registered for it, and gets none of the task."""
    from operable.host.upstream.adapter import UpstreamAdapter
    from operable.host.upstream.registration import find_server

    server = find_server(name)
    offered = tuple(map(server.action, server.tools))
    return OfferedCall(
        _named(offered, command),
        offered,
        lambda _given, timeout: UpstreamAdapter(server, timeout=timeout),
    )


def _named(actions: "Iterable[Action]", command: str) -> "Action":
    known = {action.name: action for action in actions}
    if command not in known:
        offered = ", ".join(sorted(known)) or "none"
        raise Fail("not_found", "NO_SUCH_COMMAND", f"it has no command {command}; it has {offered}")
    return known[command]


def _task_result(result: "Result", elapsed: int) -> TaskResult:
    """The events of the answer as lines, the verdict as the end."""
    code = str(result.code)
    failure = result.errors[-1].get("message") if result.errors else None
    summary = {"type": "aoi:summary", **result.summary}
    lines = [*result.entries, *result.warnings, *result.errors, summary]
    stdout = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    if result.spool is not None:
        stdout = _whole(result.spool) + json.dumps(summary, ensure_ascii=False) + "\n"
    return TaskResult(
        exit_code=0 if result.ok else 1,
        timed_out=code == "DEADLINE_EXCEEDED",
        duration_ms=elapsed,
        stdout=stdout,
        problem=None if result.ok else f"{code}: {failure or 'its answer is not a success'}",
    )


def _whole(spool: str) -> str:
    """All events of an answer, up to the limit of any task; the file was ours alone."""
    try:
        with open(spool, encoding="utf-8", errors="replace") as file:
            return file.read(OUTPUT_LIMIT)
    finally:
        os.unlink(spool)


def _elapsed(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
