"""One session of an editor: its prompts are turns of an agent, and its permission requests are questions of our gate.

The rules judge first. Only what they leave to people becomes a request to the editor, and the same question waits for
every other place where a person may answer it: the first answer counts. An editor that cannot be asked leaves the
question to the others.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import acp
from acp import RequestError, schema

from operable.gate.approvals import Ask, Decision
from operable.host.arm import Message
from operable.host.session.log_files import read_log
from operable.host.session.session import Session
from operable.host.session.transcript import Said, quoted
from operable.kernel.errors import Fail
from operable.serve.acp import updates
from operable.wire import events as e

_CODES = {"not_found": -32002, "usage": -32602, "validation": -32602, "authn": -32000, "conflict": -32600}


class EditorSession:
    """Belongs to the loop of its connection. `id` is the editor's: that of the session which it began with."""

    def __init__(self, client: acp.Client, editor: str) -> None:
        self._client, self._editor = client, editor
        self.id = ""
        self.session: Session | None = None
        self.history: list[Said] = []  # quoted before the first prompt, for an agent that does not remember
        self._is_answering = False

    def opened(self, session: Session, own_id: str | None = None) -> None:
        self.session, self.id = session, own_id or session.id

    def modes(self, names: dict[str, str]) -> schema.SessionModeState | None:
        """The modes of the agent, named as its manifest does."""
        reported = None if self.session is None else self.session.opened
        if reported is None or not reported.modes:
            return None
        available = [schema.SessionMode(id=mode, name=names.get(mode, mode)) for mode in reported.modes]
        current = reported.current_mode or reported.modes[0]
        return schema.SessionModeState(current_mode_id=current, available_modes=available)

    async def replay(self, folder: str) -> None:
        """Show the editor what was said in the session of this folder."""
        for record in read_log(folder):
            update = updates.replayed(record.event)
            if update is not None:
                await self._client.session_update(self.id, update)

    async def prompt(self, blocks: list[Any]) -> acp.PromptResponse:
        if self._is_answering:
            raise RequestError.invalid_request({"message": "A prompt of this session is being answered"})
        message = updates.message_of(blocks)
        self._is_answering = True
        try:
            return await self._turn(message)
        except Fail as problem:
            raise refusal(problem) from problem
        finally:
            self._is_answering = False

    async def _turn(self, message: Message) -> acp.PromptResponse:
        history, self.history = self.history, []
        if history:
            message = replace(message, text=quoted(history, message.text))
        try:
            turn = self._live().send(message)
        except Fail:
            self.history = history
            raise
        problem: e.Failure | None = None
        async for event in turn:
            update = updates.update_of(event)
            if update is not None:
                await self._client.session_update(self.id, update)
            elif isinstance(event, e.AgentError):
                problem = event.error
        reason = updates.stop_reason(turn.end)
        if reason is None:
            text = "the turn failed" if problem is None else problem.message
            raise RequestError(-32603, text, {"code": "TURN_FAILED" if problem is None else problem.code})
        return acp.PromptResponse(stop_reason=reason, usage=updates.usage_of(turn.end))

    async def cancel(self) -> None:
        if self.session is not None:
            await self.session.cancel()

    def select_mode(self, mode: str) -> None:
        known = self.session.opened.modes if self.session is not None and self.session.opened else ()
        if mode not in known:
            raise RequestError.invalid_params({"message": f"There is no mode {mode!r}", "known": list(known)})
        try:
            self._live().select(mode=mode)
        except Fail as problem:
            raise refusal(problem) from problem

    async def ask(self, ask: Ask) -> Decision | None:
        """What the person at the editor says; None: it could not be asked, and others may answer."""
        if not self.id or ask.kind != "permission":
            return None  # it is a question of the start, or a form, which an editor has no way to show
        call, options = updates.question(ask)
        try:
            answer = await self._client.request_permission(self.id, call, options)
        except (RequestError, ConnectionError, ValueError):
            return None
        chosen = getattr(answer.outcome, "option_id", None)
        by = f"the person at {self._editor}"
        reason = (answer.field_meta or {}).get("reason")
        said = reason if isinstance(reason, str) else ""
        cancelled = getattr(answer.outcome, "outcome", "") == "cancelled"
        return Decision(chosen == updates.ONCE, said[:1000], by, digest=ask.digest, cancelled=cancelled)

    async def close(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            await session.close()

    def _live(self) -> Session:
        if self.session is None:
            raise Fail("conflict", "SESSION_ENDED", "the session has ended", target=self.id)
        return self.session


def refusal(problem: Fail) -> RequestError:
    """A failure of ours in the words of the protocol: our code and hint stay with it."""
    data = {"code": problem.code, "message": problem.message, "hint": problem.hint}
    return RequestError(_CODES.get(problem.category, -32603), problem.message, data)


async def closed(sessions: list[EditorSession]) -> None:
    """End them all."""
    await asyncio.gather(*(each.close() for each in sessions), return_exceptions=True)
