"""`operable flow exec` and `run`: what would be done, then doing it, reported as events and as text.

`disclosed` says what a task runs, for the person who runs or approves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from operable.cli.flow.command import FlowCall
from operable.cli.flow.input import addressed, warned
from operable.cli.flow.work_events import FlowExecution, FlowTask
from operable.cli.short_ids import short_id
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.selection import Selected, select, value_commands
from operable.flow.run.caller import Bound, Caller, bind, read_content
from operable.flow.run.command_gate import TaskProgram
from operable.flow.run.executor import execute, preview, record_refusal
from operable.flow.run.options import ExecOptions
from operable.flow.run.workflow import RunOptions, WorkflowRun
from operable.flow.task_query import exec_options
from operable.kernel.redact import Redactor
from operable.state.paths import policy_path
from operable.tool import Change, Context, Warn
from operable.tool.human.cells import visible
from operable.tool.process import complain

_FAILED = 65
# They differ from one look to the next; a plan that is confirmed must not.
_VOLATILE = ("ok", "execution_id", "timestamp", "source")


# Of a task: in the plan already, and the arguments as the manifest has them, secrets included.
_OF_PLAN = ("source", "status", "command")
Json = dict[str, Any]


def planned_execution(call: FlowCall, context: Context) -> Change[Callable[[], Any]]:
    params, by, source = call.params(), call.caller(), call.source
    manifest, task, options = params["manifest"], params["taskId"], exec_options(params)
    with addressed(source, task, by=by, workflow=options.workflow_id):
        selected = select(manifest, task, options.workflow_id)
        try:
            shown = preview(manifest, task, by, options)
        except FlowError as problem:
            raise problem if context.dry_run else record_refusal(selected, by, options, problem) from None
        plan = _disclosed(selected, by, options)
    place = shown["source"]

    def work() -> Any:
        answered: dict[str, str] = {}
        with (
            _at_the_gate(selected, answered) as end,
            addressed(source, task, by=by, workflow=options.workflow_id),
        ):
            chosen = replace(options, content=plan.get("content", {}), answered=answered)
            answer = execute(manifest, task, by, chosen)
            end("OK" if answer["ok"] else "TASK_FAILED")
            return answer

    return Change(
        "execute",
        f"{place['workflow_id']}/{place['task_id']}",
        **plan,
        preview={name: value for name, value in shown.items() if name not in _VOLATILE},
    ).carry(work)


def _at_the_gate(
    selected: Selected, answered: dict[str, str]
) -> AbstractContextManager[Callable[[str], None]]:
    """What takes the code of the task's end; free without a policy file, as every call of a person at the command line.

    Who said yes to it is noted in `answered`: the same program is not asked about again when it runs.
    """
    if policy_path() is None:
        return nullcontext(lambda _code: None)
    from operable.cli.gate.command_line import admitted_task

    shell, source = selected.task.get("shell"), selected.source
    program = None if shell is None else TaskProgram.of_task(shell)
    # A question shows the folder of the caller: a yes is not about a task that runs in another one.
    noted = answered if shell is None or shell.get("cwd") is None else {}
    return admitted_task(f"{source['workflow_id']}/{source['task_id']}", program, noted)


def _disclosed(selected: Selected, by: Caller, options: ExecOptions) -> dict[str, Any]:
    """What the task runs, in words; the agent that a prompt is given to; the files by digest, as approvals have them."""
    bound = bind(selected, by, timeout_ms=options.timeout_ms, instance_id=options.instance_id)
    content = read_content(selected, bound, by)
    plan = {
        "runs": disclosed(selected, bound) | ({"agent": options.agent} if options.agent else {}),
        "content": content.digests,
        "unbound": content.unbound,
    }
    return {name: value for name, value in plan.items() if value}


def executed(changes: list[Change[Callable[[], Any]]], context: Context) -> Iterator[FlowExecution | Warn]:
    for change in changes:
        answer = change.payload()
        if not context.machine:
            context.show(answer["result"]["stdout"])
            if printed := answer["result"]["stderr"].rstrip("\n"):
                complain(visible(printed))
        yield from warned(answer["warnings"])
        yield FlowExecution(
            workflow_id=answer["source"]["workflow_id"],
            task_id=answer["source"]["task_id"],
            ok=answer["ok"],
            exit_code=answer["result"]["exit_code"],
            execution_id=_shown_id(answer["execution_id"], context),
            answer=answer,
        )
        if not answer["ok"]:
            context.conclude(exit_code=_FAILED)


def _shown_id(execution_id: Any, context: Context) -> Any:
    """Whole for a machine; a task that did not run has none."""
    return execution_id if context.machine or execution_id is None else short_id(execution_id)


def planned_run(call: FlowCall) -> Iterator[Change[WorkflowRun] | Warn]:
    """One change per task that could run, each with the whole run."""
    params, by = call.params(), call.caller()
    manifest = params["manifest"]
    options = RunOptions(
        workflow_id=call["workflowId"],
        root=call["root"],
        all_roots=call["allRoots"],
        prompts=call["prompts"],
        retry=call["retry"],
        each=exec_options(params),
    )
    with addressed(call.source):
        run = WorkflowRun(manifest, by, options)
        shown = run.preview()
    yield from warned(shown["warnings"])
    for task in shown["tasks"]:
        if task["status"] == "planned":
            yield Change(
                "run",
                f"{task['source']['workflow_id']}/{task['source']['task_id']}",
                **_disclosed(run.select(task["source"]["task_id"]), by, options.each),
                task={name: value for name, value in task.items() if name not in _OF_PLAN},
            ).carry(run)


def ran(changes: list[Change[WorkflowRun]], context: Context) -> Iterator[FlowTask | Warn]:
    run = changes[0].payload
    with ExitStack() as stack:
        tasks = [change.target.partition("/")[2] for change in changes]
        # All of them before the first one runs: a workflow that may not run to its end does not begin.
        ends = {task: stack.enter_context(_at_the_gate(run.select(task), run.answered)) for task in tasks}
        stack.enter_context(addressed(changes[0].target))
        for record in run:
            task = record["source"]["task_id"]
            if task in ends:
                ends[task]("OK" if record["status"] == "succeeded" else f"TASK_{record['status'].upper()}")
            yield from warned([f"{task}: {text}" for text in (record["execution"] or {}).get("warnings", ())])
            yield FlowTask(
                workflow_id=record["source"]["workflow_id"],
                task_id=task,
                status=record["status"],
                reason=record["reason"],
                execution_id=_shown_id(record["execution_id"], context),
                record=record,
            )
    result = run.result()
    counts = {name: result["summary"][name] for name in ("succeeded", "failed", "skipped")}
    context.conclude(exit_code=0 if result["ok"] else _FAILED, **counts)


# What a task runs, in words, for the person who runs or approves it.
# Bindings and records hold hashes, because they are kept. A person decides by the command line, the prompt and the
# shell lines themselves, so dry runs show these beside the hashes: what the manifest says, with secrets masked as
# everywhere. Variables that the task inherits are the person's own; only their names are shown, in the binding.
def disclosed(selected: Selected, bound: Bound) -> Json:
    """The command of a shell task or the prompt of another one, then the shell lines that run beside it."""
    task = selected.task
    shell = task.get("shell")
    shown: Json
    if shell is None:
        shown = {"prompt": task.get("prompt")}
    else:
        shown = {"argv": [shell["program"], *(shell.get("args") or [])], "cwd": bound.cwd}
        shown |= {"variables": shell.get("env"), "stdin": shell.get("stdin")}
    shown["verify"] = (inheritance.merged_verify(selected.workflow, task) or {}).get("shell")
    shown["value_commands"] = list(value_commands(selected))
    masked: Json = Redactor(bound.known).value({name: value for name, value in shown.items() if value})
    return masked
