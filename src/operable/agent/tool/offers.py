"""Tools of the agent from an offer: the commands of agent-operable tools (`--tool`) and of applications (`--app`).

Each command becomes one ability; `operable.offer` says what it takes, calls it and bounds its result. A command that
only reads is of category `info`, every other one is `exec`. A command that destroys, or that its author wants
confirmed, is asked about each time, in every mode but yolo; that approval is the confirmation. If such a command can plan,
a call without `confirm` is made as a dry run, and its answer shows the model how to confirm exactly that plan.

Each call passes the gate of every call (`operable.gate`), as `agent:operable-agent`: the rules of the user's policy file
come before every mode. What they leave to people was asked by the agent itself where its mode asks, else it waits in
`operable inbox list`.

Not offered: commands about the tool itself (schemas, completion), streams without an end, and applications whose content
the user has not approved as it is now.
"""

import asyncio
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.app.packages import Package, activate
from operable.app.shelf import find
from operable.app.trust import Approvals
from operable.gate.approvals import Decision
from operable.gate.call import CallerId, GatedCall
from operable.gate.call_gate import CallGate
from operable.kernel.errors import Fail
from operable.offer.action import (
    Action,
    Adapter,
    Confirmation,
    Result,
    actions,
    check_arguments,
    tool_name,
)
from operable.offer.aoi import AoiAdapter
from operable.offer.app import AppAdapter, app_actions
from operable.offer.gate_call import effect_of, gated_call
from operable.offer.result import remove
from operable.offer.words import PLAN, described
from operable.proc.tree.escalation import Graces
from operable.run.discovery import ToolSource, describe

_TIMEOUT = 300.0
# A stopped run has a second to end; a program that does not listen gets a part of it.
_GRACES = Graces(interrupt=0.2, terminate=0.2)
_CAP = 50_000
_DESCRIBED = 60.0  # seconds for all schemas of one tool
_AT_ONCE = 4  # tools are asked for this many schemas at a time
_BRIEF = 200  # characters of arguments in the line for the person who approves
_CONFIRM = {
    "type": ["string", "boolean"],
    "description": "the digest of the plan that a call without it has shown; without it nothing is done",
}


def operable_tools(lines: Sequence[str], workspace: str, environment: Mapping[str, str]) -> list[Ability]:
    """The commands of these tools, each given as on a command line. Raises Fail if one is not an AOI tool."""
    return [ability for line in lines for ability in _tool(line, workspace, environment)]


def app_tools(names: Sequence[str], workspace: str) -> list[Ability]:
    """The commands of these applications, by slug or path. Raises Fail if one is missing, not valid, or not approved."""
    return [ability for name in names for ability in _app(name, workspace)]


def _tool(line: str, workspace: str, environment: Mapping[str, str]) -> list[Ability]:
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise Fail("usage", "TOOL_UNREADABLE", f"--tool {line}: {error}") from error
    if not words:
        raise Fail("usage", "TOOL_UNREADABLE", "--tool needs a command")
    description = describe(ToolSource(words, env=environment, cwd=workspace))
    capabilities = description.capabilities
    if capabilities is None:
        raise Fail(
            "config",
            "NOT_OPERABLE",
            f"--tool {line}: it does not describe itself ({'; '.join(description.notes)})",
            hint=f"operable lint {line}",
        )
    name = capabilities.get("tool")
    name = name if isinstance(name, str) and name else os.path.basename(words[0])
    adapter = AoiAdapter(words, env=environment, cwd=workspace, timeout=_TIMEOUT, graces=_GRACES, name=name)
    everything = list(actions(capabilities))
    offered = [action for action in everything if not action.unbounded]
    owner = (
        _Owner("wrap", words[2])
        if words[:2] == ("operable", "wrap") and len(words) == 3
        else _Owner("tool", name)
    )
    return asyncio.run(_abilities(owner, adapter, offered, "no description", everything))


def _app(name: str, workspace: str) -> list[Ability]:
    approvals = Approvals()
    package = find(name, workspace, approvals=approvals)
    package.require()
    approvals.require(package)
    usage = _usage(package)
    offered = app_actions(package)
    about = f"{usage.name} explains it"
    owner = _Owner("app", package.slug)
    commands = asyncio.run(_abilities(owner, AppAdapter(package), offered, about, offered))
    return [usage, *commands]


def _usage(package: Package) -> Ability:
    def run(_given: Mapping[str, Any], _scene: Scene) -> AbilityOutcome:
        try:
            active = activate(package)
        except (Fail, OSError) as error:
            return AbilityOutcome(str(error), ok=False)
        return AbilityOutcome("\n\n".join([active.body, *active.skills.values()]))

    return Ability(
        name=tool_name(package.slug, "usage"),
        category="info",
        description=f"How to use the application {package.slug}: {package.require().description} Read this first.",
        schema={"type": "object", "properties": {}, "additionalProperties": False},
        run=run,
        describe=lambda _given: f"Read how {package.slug} is used",
        cap=_CAP,
        concurrent=True,
    )


class _Owner(NamedTuple):
    """What has the commands, for the gate."""

    kind: str
    name: str


async def _abilities(
    owner: _Owner, adapter: Adapter, offered: Sequence[Action], about: str, reached: Sequence[Action]
) -> list[Ability]:
    """`about`: for a command without a summary. `reached`: what the words of a command without a schema may name."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(action: Action) -> tuple[Action, dict[str, Any]]:
        async with slots:
            return await described(adapter, action, reached)

    try:
        async with asyncio.timeout(_DESCRIBED):
            found = await asyncio.gather(*map(one, offered))
    except TimeoutError:
        raise Fail(
            "timeout",
            "TOOL_SILENT",
            f"{owner.name} did not describe its {len(offered)} commands within {_DESCRIBED:g} s",
            target=owner.name,
        ) from None
    return [_ability(owner, adapter, action, schema, about) for action, schema in found]


def _ability(owner: _Owner, adapter: Adapter, action: Action, schema: dict[str, Any], about: str) -> Ability:
    shown = f"{owner.name} {action.name}"
    plans = action.confirm and action.dry_run and PLAN in schema["properties"]
    if plans:
        schema = {**schema, "properties": {**schema["properties"], "confirm": _CONFIRM}}

    def run(given: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
        try:
            check_arguments(shown, schema, given)
            called = partial(_called, owner, adapter, action, scene)
            if not plans:
                # A call that has to be confirmed is approved by the user each time (`always_ask`).
                return _outcome(called(given, action.confirm))
            return _planned(called, given)
        except asyncio.CancelledError:
            return AbilityOutcome("Stopped", ok=False)
        except Fail as error:
            return AbilityOutcome(error.message, ok=False)

    return Ability(
        name=tool_name(owner.name, action.name),
        category="info" if action.read_only else "exec",
        description=_described(action, shown, about, plans=plans),
        schema=schema,
        run=run,
        describe=lambda given: f"Run {shown} {_brief(given)}".strip(),
        cap=_CAP,
        concurrent=action.read_only,
        always_ask=action.destructive or action.confirm,
    )


def _planned(
    called: Callable[[Mapping[str, Any], Confirmation], Result], given: Mapping[str, Any]
) -> AbilityOutcome:
    """A call of a command that wants a confirmation: without one it is a dry run."""
    arguments = {name: value for name, value in given.items() if name != "confirm"}
    confirmation = given.get("confirm") or False
    if confirmation or arguments.get(PLAN):
        return _outcome(called(arguments, confirmation))
    result = called({**arguments, PLAN: True}, False)
    digest = result.summary.get("plan_digest") or "true"
    heading = f"Nothing was done yet. This is the plan; to do it, call again with confirm={digest}"
    return _outcome(result, heading if result.ok else "")


def _called(
    owner: _Owner,
    adapter: Adapter,
    action: Action,
    scene: Scene,
    arguments: Mapping[str, Any],
    confirmed: Confirmation,
) -> Result:
    """In the tool's thread, with a loop of its own, so that a stop ends what the call has started."""
    gate = _gate()
    plan = {"confirm": confirmed} if isinstance(confirmed, str) else {}  # what is approved is this plan
    call = gated_call(
        CallerId("agent", "operable-agent"),
        kind=owner.kind,
        name=owner.name,
        action=action,
        adapter=adapter,
        arguments={**arguments, **plan},
        workspace=scene.workspace,
        effect=effect_of(action, arguments),
    )

    async def admitted() -> Result:
        async with await gate.admit(call, answer=_answer(gate, call, scene)) as admission:
            result = await adapter.call(action, arguments, confirmed=confirmed, progress=_no_progress)
            admission.close(result.code)
            return result

    async def stoppable() -> Result:
        task = asyncio.ensure_future(admitted())
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        with scene.cancellation.waking(stop):
            return await task

    try:
        return asyncio.run(stoppable())
    finally:
        gate.flush()


def _answer(gate: CallGate, call: GatedCall, scene: Scene) -> Decision | None:
    """What the user of the agent said to this call; None: the agent did not ask.

    What the built-in rules ask about is asked in every mode but yolo (`always_ask`): then the mode is the user's answer. A
    rule of the policy file is another matter.
    """
    if scene.approved:
        return Decision(True, by="the user of the agent", digest=call.digest)
    if gate.judge(call).is_of_file:
        return None
    return Decision(True, "the user chose this mode", "mode yolo", digest=call.digest)


@cache
def _gate() -> CallGate:
    """One for the process: calls of several threads share its writes."""
    return CallGate()


async def _no_progress(_done: float, _total: float | None, _message: str | None) -> None:
    """The protocol of the agent has no event for it."""


def _outcome(result: Result, heading: str = "") -> AbilityOutcome:
    """The result for the model: its events, one a line, the summary last."""
    events = [*result.warnings, *result.entries, *result.errors]
    if result.summary:
        events.append({"type": "aoi:summary"} | result.summary)
    lines = [heading] if heading else []
    lines += [json.dumps(event, ensure_ascii=False) for event in events]
    if not result.ok:
        message = result.errors[-1].get("message", "") if result.errors else ""
        lines.insert(0, f"{result.code}: {message}")
    if result.spool is not None:
        remove(result.spool)
        lines.append("(not all of the result is shown; use limit and cursor)")
    return AbilityOutcome("\n".join(lines), ok=result.ok)


def _described(action: Action, shown: str, about: str, *, plans: bool) -> str:
    parts = [f"{shown}: {action.summary or about}", action.assurance]
    if plans:
        parts.append("The first call only plans; repeat it with the plan's digest as `confirm` to do it.")
    elif action.dry_run:
        parts.append("With `dry-run` it only says what it would do.")
    return " ".join(part for part in parts if part)


def _brief(given: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())[:_BRIEF]
