"""`operable serve --acp NAME`: any configured agent for an editor, over stdio, with the gate in between.

The editor speaks ACP, the agent whatever protocol its manifest says. A session is an ordinary session of the host: under
the rules of the user's policy file for `acp:EDITOR`, with its log and its audit, in `operable sessions` and in the inbox.
The editor cannot choose what the rules say; that it offers to read and write files or to run terminals for the agent is
not used, because the gate judges what an agent does on this machine, not in an editor.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import acp
from acp import RequestError, schema

from operable import __version__
from operable.agent.acp.transport import serve
from operable.gate.call import CallerId
from operable.gate.call_gate import CallGate
from operable.gate.policy.rules import Policy
from operable.gate.session_start import SessionStart
from operable.host.agent_cli import AgentCliHandle
from operable.host.session.registry import ALIVE, Registry, SessionHome, SessionOrigin
from operable.host.session.session import Session
from operable.host.start.options import StartOptions
from operable.host.start.placement import NONE
from operable.host.start.project import configured
from operable.kernel.errors import Fail
from operable.serve.acp.editor_session import EditorSession, closed, refusal
from operable.serve.session.continuation import NATIVE, TRANSCRIPT, Predecessor
from operable.serve.session.spawn import find_adapter, keep_request, root_options, rules_for, with_home

_PAGE = 50  # sessions in one answer
_SESSIONS = 50  # of one editor at a time; each is an agent process


async def serve_editor(agent: str, stdin: int, stdout: int) -> int:
    """Until the input ends, a signal comes, or no editor reads; the exit status."""
    return await serve(lambda _: EditorMethods(agent), stdin, stdout)


class EditorMethods:
    """The methods of the protocol, called by the SDK. One editor, one agent, any number of sessions.

    `known_as`: the editor's name where it is proven; else it is what the editor says. `may_answer`: whether a question is
    asked in the editor. `may_bring_servers`: whether sessions may have MCP servers that the editor names. `may_read`:
    whether it sees sessions that it did not begin over this connection.
    """

    def __init__(
        self,
        agent: str,
        known_as: str | None = None,
        *,
        may_answer: bool = True,
        may_bring_servers: bool = True,
        may_read: bool = True,
    ) -> None:
        self._agent = agent
        self._known_as = known_as
        self._editor = "an editor" if known_as is None else CallerId("acp", known_as).name
        self._may_answer, self._may_bring_servers, self._may_read = may_answer, may_bring_servers, may_read
        self._client: acp.Client | None = None
        self._sessions: dict[str, EditorSession] = {}
        self._homes = Registry()
        self._gate = CallGate()

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def leave(self) -> None:
        """The end of the process: every session ends."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await closed(sessions)
        await asyncio.to_thread(self._gate.flush)

    async def initialize(self, client_info: Any = None, **_: Any) -> acp.InitializeResponse:
        if client_info is not None and self._known_as is None:
            self._editor = CallerId("acp", str(client_info.name)).name
        handle = self._handle(os.getcwd())
        known = schema.SessionCapabilities(
            list=schema.SessionListCapabilities(), close=schema.SessionCloseCapabilities()
        )
        capabilities = schema.AgentCapabilities(
            load_session=_goes_on(handle),
            prompt_capabilities=schema.PromptCapabilities(
                image=handle.manifest.capabilities.multimodal is True, audio=False, embedded_context=True
            ),
            mcp_capabilities=schema.McpCapabilities(http=True, sse=True, acp=False),
            session_capabilities=known,
        )
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            agent_info=schema.Implementation(
                name=f"operable-{handle.id}", title=handle.manifest.name, version=__version__
            ),
            auth_methods=[],
        )

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> acp.NewSessionResponse:
        made = await self._started(_workspace(cwd), mcp_servers)
        return acp.NewSessionResponse(session_id=made.id, modes=made.modes(self._mode_names(cwd)))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> acp.LoadSessionResponse:
        """The session goes on natively or by its transcript, as its manifest says, under the id that the editor knows."""
        self._require_reading()
        known = self._sessions.get(session_id)
        home = self._home(session_id, _workspace(cwd))
        chain = await asyncio.to_thread(self._chain, home)
        if known is None:
            if chain[-1].meta.status in ALIVE:
                text = f"session {session_id} runs in another process"
                raise refusal(Fail("conflict", "SESSION_ELSEWHERE", text, target=session_id))
            known = await self._started(
                home.meta.cwd, mcp_servers, before=Predecessor(chain[-1]), own_id=session_id
            )
        for each in chain:
            await known.replay(each.folder)
        return acp.LoadSessionResponse(modes=known.modes(self._mode_names(cwd)))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        self._require_reading()
        if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
            raise RequestError.invalid_params({"message": "This cursor is not one of ours"})
        start = int(cursor or 0)
        homes = await asyncio.to_thread(self._listed, cwd)
        rows = [
            schema.SessionInfo(
                session_id=home.meta.id,
                cwd=home.meta.cwd,
                title=home.meta.label,
                updated_at=home.meta.started_at,
            )
            for home in homes[start : start + _PAGE]
        ]
        more = str(start + _PAGE) if len(homes) > start + _PAGE else None
        return schema.ListSessionsResponse(sessions=rows, next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        session = self._session(session_id)
        del self._sessions[session_id]
        await session.close()
        return schema.CloseSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        self._session(session_id).select_mode(mode_id)
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    # --- sessions

    def _require_reading(self) -> None:
        if not self._may_read:
            text = "sessions of others are read with a token that has the scope read"
            raise refusal(Fail("authz", "SCOPE_MISSING", text))

    async def _started(
        self,
        cwd: str,
        servers: Sequence[Any] | None,
        *,
        before: Predecessor | None = None,
        own_id: str | None = None,
    ) -> EditorSession:
        assert self._client is not None  # noqa: S101 - nothing is called before the connection is made
        if len(self._sessions) >= _SESSIONS:
            raise refusal(Fail("temporary", "TOO_MANY_SESSIONS", f"{_SESSIONS} sessions are open already"))
        if servers and not self._may_bring_servers:
            text = "MCP servers of an editor run with the rights of the daemon: that needs a token with the scope admin"
            raise refusal(Fail("authz", "SERVERS_REFUSED", text))
        made = EditorSession(self._client, self._editor)
        try:
            handle = self._handle(cwd)
            rules = rules_for(f"acp:{self._editor}")
            options = StartOptions(
                cwd,
                policy=rules,
                on_ask=made.ask if self._may_answer else None,
                label=None if before is None else before.home.meta.label,
                mcp_servers=tuple(
                    each.model_dump(by_alias=True, exclude_none=True) for each in servers or ()
                ),
            )
            if before is not None:
                options = _as_confined_as(options, before, rules)
                strategy = before.strategy(handle.manifest)
                native = strategy == NATIVE
                options = replace(
                    options,
                    continuation=strategy,
                    resume=before.home.meta.agent_session_id if native else None,
                    origin=SessionOrigin(continues=before.home.meta.id),
                )
                made.history = [] if native else await asyncio.to_thread(before.history)
            named = before is not None and before.request().policy is not None
            options, _ = configured(
                options, handle.id, handle.manifest.protocol, os.environ, named=named
            )  # what the user's and the project's configuration denies binds an editor also
            start = SessionStart(CallerId("acp", self._editor), handle.names, cwd)
            async with start.admitted(self._gate):
                session = await handle.start(with_home(handle, options))
            if before is not None:
                await _keep(session, before)
        except Fail as problem:
            raise refusal(problem) from problem
        made.opened(session, own_id)
        self._sessions[made.id] = made
        return made

    def _handle(self, cwd: str) -> AgentCliHandle:
        try:
            return find_adapter(self._agent, cwd)
        except Fail as problem:
            raise refusal(problem) from problem

    def _mode_names(self, cwd: str) -> dict[str, str]:
        return {mode.id: mode.description or mode.id for mode in self._handle(cwd).manifest.modes}

    def _home(self, session_id: str, cwd: str) -> SessionHome:
        """A session of this agent in this folder: an editor reaches no other."""
        try:
            home = self._homes.session(session_id)
        except Fail as problem:
            raise refusal(problem) from problem
        if not self._is_ours(home) or os.path.realpath(home.meta.cwd) != cwd or home.meta.id != session_id:
            text = f"there is no such session of {self._agent} in this folder"
            raise refusal(Fail("not_found", "NO_SUCH_SESSION", text, target=session_id[:100]))
        return home

    def _listed(self, cwd: str | None) -> list[SessionHome]:
        wanted = None if cwd is None else os.path.realpath(cwd)
        return [
            home
            for home in self._homes.sessions()
            if self._is_ours(home) and wanted in (None, os.path.realpath(home.meta.cwd))
        ]

    def _chain(self, home: SessionHome) -> list[SessionHome]:
        """This session and those that went on from it, each from the one before; of two, the newest."""
        later = {
            each.meta.continues: each for each in reversed(self._homes.sessions()) if each.meta.continues
        }
        chain = [home]
        while (following := later.pop(chain[-1].meta.id, None)) is not None:
            chain.append(following)
        return chain

    def _is_ours(self, home: SessionHome) -> bool:
        return home.meta.adapter_slug == self._agent

    def _session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(-32002, "There is no such session here", {"sessionId": session_id})
        return self._sessions[session_id]


async def _keep(session: Session, before: Predecessor) -> None:
    """What it was started with, for the next time that it goes on. A session that would lose it is ended."""
    try:
        keep_request(session.home.folder, before.request())
    except Fail:
        await session.close()
        raise


def _as_confined_as(options: StartOptions, before: Predecessor, rules: Policy) -> StartOptions:
    """A session that goes on keeps the sandbox and the rules that it was started with, and the folder that it was in."""
    request = before.request()
    sandbox = None if request.sandbox == NONE else request.sandbox
    kept = root_options(request, options.workspace, rules)
    return replace(options, sandbox=sandbox, policy=kept.policy, is_judged=True)


def _goes_on(handle: AgentCliHandle) -> bool:
    """Whether a session of this agent can go on in another process."""
    supported = () if handle.manifest.continuation is None else handle.manifest.continuation.supported
    return NATIVE in supported or TRANSCRIPT in supported


def _workspace(cwd: str) -> str:
    if not os.path.isabs(cwd) or not os.path.isdir(cwd):
        raise RequestError.invalid_params({"message": f"cwd is not an absolute path of a folder: {cwd}"})
    return os.path.realpath(cwd)
