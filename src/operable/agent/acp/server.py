"""The agent as an ACP server: editors spawn it, and hold several sessions with it at once.

The protocol is spoken by the official SDK, over the transport of `transport`; a session is `session`. What the
client chooses is in `answers`. A session is an ordinary session of the agent: kept in the same place, listed,
loaded, resumed and forked by its id, whichever program began it.

Nothing has to be logged in to: keys come from the environment. Without one, the agent still introduces itself, names
the variables, and refuses to begin a session with the error that editors know for it.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import acp
from acp import RequestError, schema

from operable import __version__
from operable.agent.acp import answers, content
from operable.agent.acp.session import AcpSession
from operable.agent.acp.transport import serve
from operable.agent.assembly import assemble
from operable.agent.options import KEYS, choose_provider
from operable.agent.places import new_session_id, sessions_folder
from operable.agent.provider.model import Model
from operable.agent.session.history import HistoryTurn
from operable.agent.session.store import Sessions
from operable.agent.tool.permissions import MODES
from operable.kernel import catalogue
from operable.kernel.errors import Fail

_PAGE = 50  # sessions in one answer


def serve_acp(options: Mapping[str, Any], environment: Mapping[str, str], stdout: int) -> int:
    """Until stdin ends, a signal comes, or stdout is closed; the exit status."""
    return asyncio.run(
        serve(lambda transport: AcpMethods(dict(options), environment, transport.post), 0, stdout)
    )


class AcpMethods:
    """The methods of the protocol, called by the SDK."""

    def __init__(
        self,
        options: dict[str, Any],
        environment: Mapping[str, str],
        post: Callable[[dict[str, Any]], None],
    ) -> None:
        self._post = post
        self._options = options
        self._environment = environment
        self._sessions: dict[str, AcpSession] = {}
        self._client: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def leave(self) -> None:
        """The end of the process: every session is saved."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.leave() for session in sessions), return_exceptions=True)

    async def initialize(self, **_: Any) -> acp.InitializeResponse:
        kept = not self._options.get("no_session")
        known = schema.SessionCapabilities(
            list=schema.SessionListCapabilities() if kept else None,
            resume=schema.SessionResumeCapabilities() if kept else None,
            fork=schema.SessionForkCapabilities(),
            close=schema.SessionCloseCapabilities(),
            delete=schema.SessionDeleteCapabilities() if kept else None,
        )
        capabilities = schema.AgentCapabilities(
            load_session=kept,
            prompt_capabilities=schema.PromptCapabilities(
                image=self._sees_images(), audio=False, embedded_context=True
            ),
            mcp_capabilities=schema.McpCapabilities(http=True, sse=True, acp=False),
            session_capabilities=known,
        )
        return acp.InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=capabilities,
            agent_info=schema.Implementation(
                name="operable-agent", title="Operable Agent", version=__version__
            ),
            auth_methods=[] if self._provider() else [answers.key_method(*known) for known in KEYS.items()],
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        """Nothing to do: a key is in the environment, or it is not."""
        if self._provider() is None:
            raise RequestError.auth_required({"message": f"{method_id}: no key is in the environment"})
        return schema.AuthenticateResponse()

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **given: Any
    ) -> acp.NewSessionResponse:
        session = await self._open(cwd, mcp_servers, given)
        return acp.NewSessionResponse(session_id=session.id, **answers.chosen(session))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **given: Any
    ) -> acp.LoadSessionResponse:
        session = await self._reopen(session_id, cwd, mcp_servers, given)
        await session.replay()
        return acp.LoadSessionResponse(**answers.chosen(session))

    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **given: Any
    ) -> schema.ResumeSessionResponse:
        session = await self._reopen(session_id, cwd, mcp_servers, given)
        return schema.ResumeSessionResponse(**answers.chosen(session))

    async def fork_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **given: Any
    ) -> schema.ForkSessionResponse:
        turns = await self._turns(session_id)
        session = await self._open(cwd, mcp_servers, given)
        for turn in turns:
            session.conversation.add(turn)
        session.conversation.close_open_calls()
        return schema.ForkSessionResponse(session_id=session.id, **answers.chosen(session))

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> acp.schema.ListSessionsResponse:
        try:
            start = int(cursor or 0)
        except ValueError:
            raise RequestError.invalid_params({"message": "This cursor is not one of ours"}) from None
        found = await asyncio.to_thread(answers.listed, cwd)
        rows = [
            schema.SessionInfo(
                session_id=listed.id,
                cwd=listed.cwd,
                title=listed.summary or None,
                updated_at=datetime.fromtimestamp(listed.updated_at, UTC).isoformat(),
            )
            for listed in found[start : start + _PAGE]
        ]
        more = str(start + _PAGE) if len(found) > start + _PAGE else None
        return schema.ListSessionsResponse(sessions=rows, next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        session = self._session(session_id)
        del self._sessions[session_id]
        await session.leave()
        return schema.CloseSessionResponse()

    async def ext_method(self, name: str, params: dict[str, Any]) -> schema.DeleteSessionResponse:
        """Called for what the SDK has no route for (`transport.routed`)."""
        if name != "session/delete" or self._options.get("no_session"):
            raise RequestError.method_not_found(name)
        return await self._delete_session(schema.DeleteSessionRequest.model_validate(params).session_id)

    async def _delete_session(self, session_id: str) -> schema.DeleteSessionResponse:
        """One that is open here is closed first; one that is not there is deleted already."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.leave()
        await asyncio.to_thread(answers.forget, session_id)
        return schema.DeleteSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        session = self._session(session_id)
        if mode_id not in MODES:
            raise RequestError.invalid_params({"message": f"There is no mode {mode_id!r}", "known": MODES})
        session.conversation.desk.permissions.mode = mode_id
        await session.tell_mode()
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, session_id: str, config_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        session = self._session(session_id)
        answers.choose(session.conversation, config_id, value)
        if config_id == "mode":
            await session.tell_mode()
        options = answers.config_options(session.conversation)
        return schema.SetSessionConfigOptionResponse(config_options=list(options))

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        return await self._session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._sessions:
            await self._sessions[session_id].cancel()

    # --- sessions ----------------------------------------------------------------------------------------------------

    def _session(self, session_id: str) -> AcpSession:
        if session_id not in self._sessions:
            raise RequestError(-32002, "There is no such session here", {"sessionId": session_id})
        return self._sessions[session_id]

    async def _reopen(
        self, session_id: str, cwd: str, servers: Sequence[Any] | None, given: Mapping[str, Any]
    ) -> AcpSession:
        """A session that is open already is left as it is; it knows its servers."""
        if session_id == "latest":  # a word of the command line, and no id
            return self._session(session_id)
        found = self._sessions.get(session_id)
        return found or await self._open(cwd, servers, given, resume=session_id)

    async def _turns(self, session_id: str) -> list[HistoryTurn]:
        if session_id in self._sessions:
            return list(self._sessions[session_id].conversation.turns)
        try:
            kept = await asyncio.to_thread(Sessions(sessions_folder()).resume, session_id, cwd="")
        except Fail as problem:
            raise answers.refusal(problem) from problem
        turns = list(kept.state.turns)
        await asyncio.to_thread(kept.close)
        return turns

    async def _open(
        self,
        cwd: str,
        servers: Sequence[Any] | None,
        given: Mapping[str, Any],
        resume: str | None = None,
    ) -> AcpSession:
        workspace = await asyncio.to_thread(answers.workspace, cwd)
        if given.get("additional_directories"):
            raise RequestError.invalid_params({"message": "additionalDirectories are not supported"})
        added = content.mcp_servers(servers)
        options = {**self._options, "workspace": workspace}
        options.pop("session_id", None)
        options.pop("resume", None)
        if resume is not None:
            options["resume"] = resume
        try:
            choose_provider(options, self._environment)
            conversation, close = await asyncio.to_thread(assemble, options, self._environment)
        except Fail as problem:
            raise answers.refusal(problem) from problem
        assert self._client is not None  # noqa: S101 - nothing is called before the connection is made
        session_id = options.get("session_id") or new_session_id()
        session = AcpSession(session_id, conversation, close, self._client, self._post)
        self._sessions[session_id] = session
        threading.Thread(target=conversation.session.prepare, daemon=True, name="prepare").start()
        try:
            session.add_servers(added)
        except Fail as problem:
            del self._sessions[session_id]
            await session.leave()
            raise answers.refusal(problem) from problem
        return session

    def _provider(self) -> Model | None:
        options = dict(self._options)
        try:
            choose_provider(options, self._environment)
            model: Model = catalogue.load(
                "operable.agent.providers", options["provider"], "MODEL", kind="provider"
            )
        except Fail:
            return None
        return model

    def _sees_images(self) -> bool:
        provider = self._provider()
        return (
            provider is not None
            and provider.images(self._options.get("model") or provider.default_model) == "supported"
        )
