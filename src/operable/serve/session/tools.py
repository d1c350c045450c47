"""The tools by which a model works with sessions: those of AIP-46, and interrupt, delegations and approvals.

Each is a plain function over the registry, with a schema for its arguments; a gateway lists and calls them. What a caller
may is decided here, from who it is: a session reaches only itself and those that it started, and starts others only
through the delegation gate. A question is answered by a caller that may approve. A session never may, so no agent answers
what it asked itself.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final

import msgspec

from operable.gate.approvals import Decision
from operable.gate.call import CallerId
from operable.host.session.registry import ALIVE
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.serve.session.lines import LineProjector
from operable.serve.session.registry import PAGE_LIMIT, SessionRegistry
from operable.serve.session.spawn import SpawnRequest

# Lines of an answer. A model that wants more reads on behind the cursor.
LINES: Final = 50
LINES_LIMIT: Final = 1000
_RECORDS: Final = 20_000  # the newest ones that are looked through for them

Text = Annotated[str, msgspec.Meta(max_length=1024 * 1024)]
Name = Annotated[str, msgspec.Meta(max_length=200)]


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls: `session_id` if it is a session; `may_approve` if it speaks for a person who may."""

    session_id: str | None = None
    may_approve: bool = False
    name: str = ""


class AgentStart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Start a session of an agent, with a first prompt if one is given."""

    adapter: Name = ""
    agent: Name | None = None
    ground: Name | None = None
    prompt: Text | None = None
    label: Name | None = None


class AgentPromptInput(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Send a prompt to a session. While a turn runs: interrupt it, or wait in the queue; else it is a conflict."""

    session_id: Name
    prompt: Text
    interrupt: bool = False
    queue: bool = False


class AgentSessionsList(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """List sessions, newest first."""

    only_alive: bool = False


class AgentOutput(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Read the last lines of a session."""

    session_id: Name
    last_n: Annotated[int, msgspec.Meta(ge=1, le=LINES_LIMIT)] = LINES


class AgentKill(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """End a session, and those that it started."""

    session_id: Name


class AgentInterrupt(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """End the running turn of a session. The session goes on."""

    session_id: Name


class AgentDelegations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Say which agents the calling session may start now, and why not the others."""


class ApprovalsList(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """List the questions of sessions that wait for an answer."""

    session_id: Name | None = None


class ApprovalsRespond(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Answer a question for a person. `digest` is that of what was shown: an answer to something else is refused."""

    session_id: Name
    ask_id: Name
    allowed: bool
    digest: Name
    reason: Text = ""
    option_id: Name | None = None


@dataclass(frozen=True, slots=True)
class SessionTool:
    """One tool: its name, the type of its arguments (whose docstring describes it), and what it does."""

    name: str
    arguments: type[msgspec.Struct]
    run: Callable[[SessionRegistry, ToolCaller, Any], Awaitable[dict[str, Any]]]
    effect: str = "change"  # or read, destroy, unknown: for the rules

    @property
    def description(self) -> str:
        return " ".join((self.arguments.__doc__ or "").split())

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, in one piece."""
        schema = msgspec.json.schema(self.arguments)
        found: dict[str, Any] = dict(schema["$defs"][self.arguments.__name__])
        return found

    async def call(self, registry: SessionRegistry, caller: ToolCaller, arguments: Any) -> dict[str, Any]:
        """Check the arguments and run. Fail usage/ARGUMENTS_INVALID, or what the registry refuses."""
        try:
            given = msgspec.convert(arguments, self.arguments)
        except msgspec.ValidationError as error:
            raise Fail("usage", "ARGUMENTS_INVALID", str(error), target=self.name) from error
        return await self.run(registry, caller, given)


def _reach(registry: SessionRegistry, caller: ToolCaller, session_id: str) -> str:
    """The whole id of a session that the caller may work with."""
    found = registry.get(session_id).id
    if caller.session_id is not None:
        registry.require_reachable(caller.session_id, found)
    return found


async def _start(registry: SessionRegistry, caller: ToolCaller, given: AgentStart) -> dict[str, Any]:
    request = SpawnRequest(
        adapter=given.adapter, agent=given.agent, ground=given.ground, prompt=given.prompt, label=given.label
    )
    by = CallerId("mcp", caller.name.removeprefix("mcp:"))
    return _plain(await registry.spawn(request, caller=caller.session_id, by=by))


async def _prompt(registry: SessionRegistry, caller: ToolCaller, given: AgentPromptInput) -> dict[str, Any]:
    found = _reach(registry, caller, given.session_id)
    receipt = await registry.prompt(
        found, given.prompt, interrupt=given.interrupt, queue=given.queue, by=caller.name
    )
    return {"ok": True, "id": found} | ({"queued": receipt.queued} if receipt.queued else {})


async def _list(registry: SessionRegistry, caller: ToolCaller, given: AgentSessionsList) -> dict[str, Any]:
    views = registry.list(limit=PAGE_LIMIT, caller=caller.session_id).sessions
    if given.only_alive:
        views = [view for view in views if view.status in ALIVE]
    return {"sessions": [_plain(view) for view in views]}


async def _output(registry: SessionRegistry, caller: ToolCaller, given: AgentOutput) -> dict[str, Any]:
    found = _reach(registry, caller, given.session_id)
    newest = registry.get(found).last_id
    projector = LineProjector(str(max(0, newest - _RECORDS)))
    lines = [
        line
        for record in registry.events(found, projector.after, _RECORDS).events
        for line in projector.feed(record)
    ]
    lines += projector.flush()
    shown = lines[-given.last_n :]
    return {
        "id": found,
        "lines": [{"line": each.line, "stream": each.stream} for each in shown],
        "cursor": lines[-1].cursor if lines else "0",
    }


async def _kill(registry: SessionRegistry, caller: ToolCaller, given: AgentKill) -> dict[str, Any]:
    found = _reach(registry, caller, given.session_id)
    await registry.kill(found)
    return {"ok": True, "id": found}


async def _interrupt(registry: SessionRegistry, caller: ToolCaller, given: AgentInterrupt) -> dict[str, Any]:
    found = _reach(registry, caller, given.session_id)
    return {"ok": True, "id": found, "wasBusy": await registry.interrupt(found)}


async def _delegations(registry: SessionRegistry, caller: ToolCaller, _: AgentDelegations) -> dict[str, Any]:
    if caller.session_id is None:
        raise Fail("usage", "NOT_A_SESSION", "only a session delegates: call with its credential")
    found = registry.delegations(caller.session_id)
    return {
        "agents": [
            {"agent": agent, "allowed": refused is None}
            | ({} if refused is None else {"code": refused.details["aip_code"], "why": refused.message})
            for agent, refused in found.items()
        ]
    }


async def _approvals(registry: SessionRegistry, caller: ToolCaller, given: ApprovalsList) -> dict[str, Any]:
    session_id = None if given.session_id is None else _reach(registry, caller, given.session_id)
    waiting = registry.approvals(session_id)
    if caller.session_id is not None:
        waiting = tuple(each for each in waiting if registry.is_reachable(caller.session_id, each[0].id))
    return {"approvals": [{"sessionId": view.id, **msgspec.to_builtins(ask)} for view, ask in waiting]}


async def _respond(registry: SessionRegistry, caller: ToolCaller, given: ApprovalsRespond) -> dict[str, Any]:
    if caller.session_id is not None or not caller.may_approve:
        raise Fail(
            "authz",
            "MAY_NOT_APPROVE",
            "this caller does not speak for a person who may approve",
            target=given.ask_id,
            hint="operable inbox list, or a token with the scope approve",
        )
    decision = Decision(
        given.allowed,
        given.reason,
        caller.name or "mcp",
        given.option_id,
        digest=given.digest,
    )
    ask = registry.answer(given.session_id, given.ask_id, decision)
    return {"ok": True, "sessionId": ask.session_id, "askId": ask.id, "allowed": given.allowed}


def _plain(view: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(view)
    return found


TOOLS: Final = (
    SessionTool("agent_start", AgentStart, _start, "unknown"),
    SessionTool("agent_prompt", AgentPromptInput, _prompt, "unknown"),
    SessionTool("agent_sessions_list", AgentSessionsList, _list, "read"),
    SessionTool("agent_output", AgentOutput, _output, "read"),
    SessionTool("agent_kill", AgentKill, _kill, "destroy"),
    SessionTool("agent_interrupt", AgentInterrupt, _interrupt),
    SessionTool("agent_delegations", AgentDelegations, _delegations, "read"),
    SessionTool("approvals_list", ApprovalsList, _approvals, "read"),
    SessionTool("approvals_respond", ApprovalsRespond, _respond, "unknown"),
)
