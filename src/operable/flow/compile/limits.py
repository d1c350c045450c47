"""What a manifest may declare and Operable's own engine cannot do: named when it is compiled, so that nothing is applied.

By the text of the manifest alone (`unsupported`), and by what this machine has (`missing_runtimes`): an agent, a tool or an
application that no task could call here. What is not listed here is done, or refused by a gate when a run starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from operable.flow.compile.plan import normal_approval
from operable.flow.errors import FlowError
from operable.flow.manifest import inheritance
from operable.flow.manifest.delivery import delivery_problems
from operable.flow.manifest.inheritance import Json
from operable.flow.manifest.tools import ToolName, tool_of, tool_problems
from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from operable.host.agent_cli import AgentCliHandle

_HANDED_ON = ("inherit", "downscope")
_MOST = 2**31 - 1  # of seconds that is 68 years
_NUMBERS = {
    ("trigger", "delay_s"): _MOST,
    ("runtime", "timeout_ms"): _MOST * 1000,
    ("approval", "timeout_s"): _MOST,
    ("reliability", "max_retries"): _MOST,
    ("context", "limit"): _MOST,
    ("output", "preview_bytes"): 1024 * 1024,  # what is longer is a file, not a part of the store
    **{
        ("budgets", name): _MOST
        for name in "max_iterations max_fanout max_context_items max_pending_approvals max_queued_dispatches".split()
    },
}


def unsupported(manifest: Json) -> Iterator[tuple[str, str]]:
    """(path, message) for every member of an expanded manifest that the engine cannot do."""
    for path in _surrogates(manifest, "$"):
        yield path, "has a lone surrogate, which no database and no program takes"
    for index, workflow in enumerate(manifest["workflows"]):
        for number, task in enumerate(workflow["tasks"]):
            for member, message in task_problems(manifest, workflow, task):
                yield f"$.workflows[{index}].tasks[{number}].{member}", message


def task_problems(manifest: Json, workflow: Json, task: Json) -> Iterator[tuple[str, str]]:
    """(member, message) of one task."""
    yield from tool_problems(task)
    yield from _enclosed_tool(workflow, task)
    yield from _too_large(workflow, task)
    yield from delivery_problems(task, inheritance.merged_contract(workflow, task))
    policy = inheritance.child_policy(workflow, task)
    if policy in _HANDED_ON:
        yield (
            "child_credential_policy",
            f"is {policy}, and the engine hands no credentials on: every run resolves its own",
        )
    is_shell = task["target"]["session_target"] == "shell"
    if is_shell and (task.get("session") or {}).get("preferred_key") is not None:
        yield "session.preferred_key", "names a conversation, and a shell task has none"
    if is_shell and (task.get("budgets") or {}).get("max_iterations") is not None:
        yield "budgets.max_iterations", "counts turns of an agent, and a shell task has none"
    if task.get("auth_profile") is not None:
        yield "auth_profile", "names credentials of openclaw-scheduler; use identity"
    approval = normal_approval(task.get("approval"))
    if approval["policy"] == "manual" and approval["auto"] == "approve" and approval["approver_scope"]:
        yield "approval.auto", "is approve, and silence satisfies no approval.approver_scope"
    identity = inheritance.effective_identity(manifest, workflow, task) or {}
    handoff = (identity.get("presentation") or {}).get("handoff")
    if handoff not in (None, "none"):
        yield "identity.presentation.handoff", f"is {handoff}, and the engine hands no credentials on"
    for message in _binding_problems(task, (identity.get("presentation") or {}).get("bindings") or ()):
        yield "identity.presentation.bindings", message


def _binding_problems(task: Json, bindings: Sequence[Json]) -> Iterator[str]:
    if not bindings:
        return
    from operable.flow.run.credentials import binding_problems

    kinds: tuple[str, ...] = (
        "env",
        "file",
        "stdin",
    )  # a program takes all of them, an agent has no standard input of its own
    tool = tool_of(task)
    if tool is not None:
        kinds = () if tool.kind == "mcp" else ("env",)  # a server has what is registered for it
    elif task["target"]["session_target"] != "shell":
        kinds = ("env", "file")
    given = tool is None and (task.get("shell") or {}).get("stdin") is not None
    yield from binding_problems(bindings, shell_stdin=given, kinds=kinds)


def _enclosed_tool(workflow: Json, task: Json) -> Iterator[tuple[str, str]]:
    from operable.flow.run.enclosure import constraints

    tool = tool_of(task)
    wanted = constraints(inheritance.merged_contract(workflow, task)) if tool is not None else []
    if tool is not None and wanted:
        yield "contract", f"asks for {', '.join(wanted)}, and a {tool.kind} runs where its own manifest says"


def _too_large(workflow: Json, task: Json) -> Iterator[tuple[str, str]]:
    """Numbers that no clock, counter or store of ours holds."""
    for (block, name), most in _NUMBERS.items():
        value = (task.get(block) or {}).get(name)
        if value is not None and value > most:
            yield f"{block}.{name}", f"is more than {most}, the most that the engine takes"
    verify = task.get("verify") or workflow.get("verify") or {}
    if (verify.get("timeout_seconds") or 0) > _MOST:
        yield "verify.timeout_seconds", f"is more than {_MOST}, the most that the engine takes"


def _surrogates(value: Any, path: str) -> Iterator[str]:
    """Where a text cannot be written in UTF-8. Only JSON's escapes can spell that."""
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= sign <= "\udfff" for sign in value):
            yield path
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _surrogates(each, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            shown = name.encode("utf-8", "replace").decode()
            if shown != name:
                yield f"{path}.{shown}"
            yield from _surrogates(each, f"{path}.{shown}")


def missing_runtimes(
    manifest: Json, *, cwd: str, environment: Mapping[str, str]
) -> Iterator[tuple[str, Fail]]:
    """(path, problem) for agents, tools and applications that cannot be found here, or that cannot do what a task declares.

    Nothing is started.
    """
    seen: dict[Any, Fail | AgentCliHandle | None] = {}
    for index, workflow in enumerate(manifest["workflows"]):
        for number, task in enumerate(workflow["tasks"]):
            path, tool = f"$.workflows[{index}].tasks[{number}]", tool_of(task)
            if tool is not None:
                member, wanted = "shell.program", tool
            elif task["target"]["session_target"] != "shell":
                member, wanted = "target.agent_id", task["target"].get("agent_id")
            else:
                continue
            if wanted not in seen:
                seen[wanted] = _look(wanted, cwd, environment)
            runtime = seen[wanted]
            if isinstance(runtime, Fail):
                yield f"{path}.{member}", runtime
            elif runtime is not None:
                yield from _agent_problems(path, workflow, task, runtime)


def _agent_problems(
    path: str, workflow: Json, task: Json, agent: "AgentCliHandle"
) -> Iterator[tuple[str, Fail]]:
    from operable.flow.run.prompt_task import agent_problems

    for member, message in agent_problems(workflow, task, agent):
        yield f"{path}.{member}", FlowError("unsupported_capability", message)


def _look(
    wanted: "ToolName | str | None", cwd: str, environment: Mapping[str, str]
) -> "Fail | AgentCliHandle | None":
    """Why it cannot be called here; of an agent that can, what is known of it."""
    try:
        if not isinstance(wanted, ToolName):
            from operable.flow.run.prompt_task import agent_of, find_agent

            return find_agent(agent_of(wanted), cwd)
        if wanted.kind == "app":
            from operable.app.shelf import find
            from operable.app.trust import Approvals

            Approvals().require(find(wanted.name, cwd))
        elif wanted.kind == "wrap":
            from operable.wrap import load

            load(wanted.name)
        elif wanted.kind == "mcp":
            from operable.host.upstream.registration import find_server

            find_server(wanted.name)
        else:
            from operable.proc.command import resolve

            resolve(wanted.name, env=environment, cwd=cwd)
    except Fail as problem:
        return problem
    return None
