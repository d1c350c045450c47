"""One ACP session: prompts become runs of its conversation, and what a run reports becomes updates and questions.

A run works in its own thread and waits there until each of its updates is written. So a slow client slows it down,
and nothing piles up. Everything else lives in the loop: the questions that wait for the client, and the
end of a prompt, which is the end of the run's stream and not of its thread: a tool that does not return must not keep
the client waiting after a cancel.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError
from typing import Any

import acp
from acp import RequestError
from acp.schema import (
    Cost,
    CurrentModeUpdate,
    PermissionOption,
    SessionInfoUpdate,
    StopReason,
    Usage,
    UsageUpdate,
)

from operable.agent.acp import calls
from operable.agent.acp import content as acp_content
from operable.agent.loop.round import STOPPED
from operable.agent.loop.run import AgentRun
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import Block, TextBlock
from operable.agent.tool.mcp import McpServers
from operable.agent.tool.plan import offer_plan
from operable.wire import json_stream as protocol
from operable.wire.jsonrpc import notification

_LOG = logging.getLogger(__name__)
_LEAVING = 2.0  # seconds; for a run that was stopped to release its session
_LOOK = 0.05  # seconds; how soon a prompt notices that it was cancelled while an older run ends
_ONCE = PermissionOption(option_id="allow", name="Allow", kind="allow_once")
_REJECT = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
_TITLE = 80
_STOPS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "max_turns": "max_turn_requests",
    "refusal": "refusal",
}


class AcpSession:
    """Made and used in the loop, except for what a run's thread calls."""

    def __init__(
        self,
        session_id: str,
        conversation: SessionConversation,
        close: Callable[[], None],
        client: acp.Client,
        post: Callable[[dict[str, Any]], None],
    ) -> None:
        self.id = session_id
        self.conversation = conversation
        self._close = close
        self._client = client
        self._post = post
        self._loop = asyncio.get_running_loop()
        self._run: AgentRun | None = None
        self._thread: threading.Thread | None = None
        self._end: asyncio.Future[protocol.FrameUsage | None] | None = (
            None  # of the prompt that is being answered
        )
        self._problem: protocol.FrameProblem | None = None
        self._asks: set[asyncio.Task[None]] = set()
        self._reported: set[str] = set()  # calls that the client knows
        self._servers = McpServers(
            conversation.toolbox, self._heard_server, conversation.workspace, conversation.known
        )
        self._servers.taken = frozenset(conversation.project.servers)
        self._failures: list[
            str
        ] = []  # of servers; reported with the next prompt, when the client knows the session
        offer_plan(conversation, lambda entries: self._tell(calls.plan_update(entries)))

    def add_servers(self, servers: Iterable[protocol.AddMcpServerFrame]) -> None:
        for server in servers:
            self._servers.add(server)

    async def replay(self) -> None:
        for update in calls.replay(self.conversation):
            await self._client.session_update(self.id, update)

    async def tell_mode(self) -> None:
        mode = self.conversation.desk.permissions.mode
        update = CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)
        await self._client.session_update(self.id, update)

    async def prompt(self, content: list[Any]) -> acp.PromptResponse:
        if self._end is not None:
            raise RequestError.invalid_request({"message": "A prompt of this session is being answered"})
        conversation = self.conversation
        blocks = acp_content.blocks(content, images=conversation.tuning.image_input == "supported")
        first = not conversation.turns
        run, before = AgentRun(conversation, "prompt", self._hear), self._thread
        self._run, self._problem, self._end = run, None, self._loop.create_future()
        self._thread = threading.Thread(
            target=self._work, args=(run, blocks, before), daemon=True, name=f"run of {self.id}"
        )
        self._thread.start()
        try:
            usage = await self._end
        finally:
            self._end = None
            for ask in self._asks:
                ask.cancel()  # an answer that comes now finds nothing to allow
        await self._tell_facts(blocks if first else [])
        return self._response(run, usage)

    async def cancel(self) -> None:
        if self._run is not None and self._end is not None:
            await asyncio.to_thread(
                self._run.stop
            )  # it waits, and may report the end from where it is called

    async def leave(self) -> None:
        """Stop what runs, and release the session."""
        if self._run is not None:
            await asyncio.to_thread(self._run.stop)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _LEAVING)
        await asyncio.to_thread(self._servers.close)
        try:
            await asyncio.to_thread(self._close)
        except OSError as error:
            _LOG.error("session %s could not be saved: %s", self.id, error.strerror)

    def _response(self, run: AgentRun, usage: protocol.FrameUsage | None) -> acp.PromptResponse:
        spent = usage or protocol.FrameUsage()
        counted = Usage(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_read_tokens=spent.cache_read_tokens,
            cached_write_tokens=spent.cache_write_tokens,
            total_tokens=spent.input_tokens
            + spent.output_tokens
            + spent.cache_read_tokens
            + spent.cache_write_tokens,
        )
        if run.cancellation.cancelled:
            return acp.PromptResponse(stop_reason="cancelled", usage=counted)
        if self._problem is not None:
            problem = self._problem
            raise RequestError(
                -32603, problem.message, {"code": problem.code, "retryable": problem.retryable}
            )
        return acp.PromptResponse(stop_reason=_STOPS.get(run.finished, "end_turn"), usage=counted)

    async def _tell_facts(self, opening: list[Block]) -> None:
        """What the session has cost so far, and after its first prompt what it is about."""
        conversation = self.conversation
        cost = conversation.cost_usd
        update = UsageUpdate(
            session_update="usage_update",
            used=conversation.window_used,
            size=conversation.window,
            cost=None if cost is None else Cost(amount=cost, currency="USD"),
        )
        await self._client.session_update(self.id, update)
        if title := next(
            (" ".join(block.text.split()) for block in opening if isinstance(block, TextBlock)), ""
        ):
            named = SessionInfoUpdate(session_update="session_info_update", title=title[:_TITLE])
            await self._client.session_update(self.id, named)

    # --- in the thread of a run --------------------------------------------------------------------------------------

    def _work(self, run: AgentRun, blocks: list[Block], before: threading.Thread | None) -> None:
        def ready() -> list[Block]:
            while before is not None and before.is_alive():
                run.cancellation.check()
                before.join(_LOOK)
            self._servers.settle(run.cancellation)
            while self._failures:
                self._tell(acp.update_agent_thought_text(self._failures.pop(0)))
            return blocks

        run.work(ready)

    def _hear(self, event: protocol.Event) -> None:
        match event:
            case protocol.TextDeltaFrame(text=text):
                self._say("agent_message_chunk", text)
            case protocol.ThinkingFrame(text=text) | protocol.InfoFrame(message=text):
                self._say("agent_thought_chunk", text)
            case protocol.ToolRequestFrame():
                self._request(event)
            case protocol.ToolRunningFrame(call_id=call_id, tool_name=name, tool=tool):
                self._introduce(call_id, tool or protocol.FrameTool(name=name))
                self._tell(calls.running(call_id))
            case protocol.ToolResultFrame(call_id=call_id, tool_name=name, tool=tool):
                self._introduce(call_id, tool or protocol.FrameTool(name=name))
                self._tell(calls.ended(event))
            case protocol.ToolCancelledFrame(call_id=call_id, reason=reason):
                if call_id in self._reported:
                    self._tell(calls.refused(call_id, reason or STOPPED))
            case protocol.ErrorFrame(error=problem):
                self._failed(problem)
            case protocol.StreamEndFrame(usage=usage):
                self._loop.call_soon_threadsafe(self._over, usage)

    def _request(self, event: protocol.ToolRequestFrame) -> None:
        tool = event.tool
        call = calls.shown_tool(event.call_id, tool, self.conversation.workspace)
        self._reported.add(event.call_id)
        self._tell(call.start())
        options = _options(event.always)
        self._loop.call_soon_threadsafe(self._begin_ask, call, options)

    def _introduce(self, call_id: str, tool: protocol.FrameTool) -> None:
        """Show the client a call that needed no approval."""
        if call_id in self._reported:
            return
        self._reported.add(call_id)
        self._tell(calls.shown_tool(call_id, tool, self.conversation.workspace).start())

    def _failed(self, problem: protocol.FrameProblem) -> None:
        if problem.code == "internal_error" and problem.retryable:
            self._tell(
                acp.update_agent_thought_text(problem.message)
            )  # the session could not be saved; it goes on
        else:
            self._problem = problem

    def _heard_server(self, event: protocol.Event) -> None:
        if isinstance(event, protocol.ErrorFrame):
            self._failures.append(event.error.message)

    def _say(self, kind: str, text: str) -> None:
        """A piece of text; most of everything, so it takes the short way."""
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        params = {"sessionId": self.id, "update": update}
        self._post(notification("session/update", params))

    def _tell(self, update: Any) -> None:
        """Send an update; returns when it is written, or when the client is gone."""
        self._await(self._client.session_update(self.id, update))

    def _await(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (ConnectionError, CancelledError):
            return  # the client has gone; the run is about to be stopped
        except RuntimeError:
            work.close()  # so is the loop

    # --- in the loop -------------------------------------------------------------------------------------------------

    def _over(self, usage: protocol.FrameUsage | None) -> None:
        if self._end is not None and not self._end.done():
            self._end.set_result(usage)

    def _begin_ask(self, call: calls.Shown, options: list[PermissionOption]) -> None:
        ask = self._loop.create_task(self._ask(call, options))
        self._asks.add(ask)
        ask.add_done_callback(self._asks.discard)

    async def _ask(self, call: calls.Shown, options: list[PermissionOption]) -> None:
        desk = self.conversation.desk
        try:
            answer = await self._client.request_permission(self.id, call.question(), options)
        except (RequestError, ConnectionError, ValueError) as problem:
            desk.deny(call.call_id, f"The client could not be asked: {type(problem).__name__}")
            return
        match getattr(answer.outcome, "option_id", None):
            case "allow":
                desk.approve(call.call_id)
            case "allow-always":
                desk.approve(call.call_id, "always")
            case _:
                reason = (answer.field_meta or {}).get("reason")
                desk.deny(call.call_id, reason if isinstance(reason, str) else "")


def _options(lasting: str | None) -> list[PermissionOption]:
    """`always` only where it would be remembered, with what it covers."""
    if not lasting:
        return [_ONCE, _REJECT]
    always = PermissionOption(
        option_id="allow-always", name=f"Always, in this session: {lasting}", kind="allow_always"
    )
    return [_ONCE, always, _REJECT]
