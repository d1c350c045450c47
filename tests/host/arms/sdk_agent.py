"""An agent written on the official Python SDK, as a real peer: it echoes, uses a tool after asking, and can be stopped."""

import asyncio
from typing import Any

import acp
from acp import schema

_OPTIONS = [
    schema.PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Echo:
    """What a prompt starts with says what happens: `ask`, `wait`, `read`, `fail`; anything else is echoed."""

    def on_connect(self, conn: acp.Client) -> None:
        self._conn = conn
        self._stop = asyncio.Event()
        self._mode = "ask"

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        capabilities = schema.AgentCapabilities(load_session=True)
        return acp.InitializeResponse(protocol_version=protocol_version, agent_capabilities=capabilities)

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        self._cwd = cwd
        modes = schema.SessionModeState(
            current_mode_id="ask",
            available_modes=[
                schema.SessionMode(id="ask", name="Ask"),
                schema.SessionMode(id="plan", name="Plan"),
            ],
        )
        return acp.NewSessionResponse(session_id="sdk-1", modes=modes)

    async def load_session(self, session_id: str, **_: Any) -> acp.LoadSessionResponse:
        await self._conn.session_update(session_id, acp.update_user_message_text("before"))
        await self._conn.session_update(session_id, acp.update_agent_message_text("said before"))
        return acp.LoadSessionResponse()

    async def set_session_mode(self, mode_id: str, **_: Any) -> schema.SetSessionModeResponse:
        self._mode = mode_id
        return schema.SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        self._stop.clear()
        text = prompt[0].text
        word = text.split()[0]
        if word == "ask":
            await self._ask(session_id)
        elif word == "read":
            read = await self._conn.read_text_file(session_id=session_id, path=f"{self._cwd}/a.txt")
            await self._say(session_id, read.content)
        elif word == "wait":
            await self._say(session_id, "waiting")
            await self._stop.wait()
            return acp.PromptResponse(stop_reason="cancelled")
        elif word == "fail":
            raise acp.RequestError.auth_required()
        else:
            for piece in text:
                await self._say(session_id, piece)
        return acp.PromptResponse(stop_reason="end_turn")

    async def cancel(self, **_: Any) -> None:
        self._stop.set()

    async def _say(self, session_id: str, text: str) -> None:
        await self._conn.session_update(session_id, acp.update_agent_message_text(text))

    async def _ask(self, session_id: str) -> None:
        started = acp.start_tool_call(
            "t1", "rm x", kind="execute", status="pending", raw_input={"command": "rm x"}
        )
        await self._conn.session_update(session_id, started)
        answer = await self._conn.request_permission(
            session_id=session_id, tool_call=schema.ToolCallUpdate(tool_call_id="t1"), options=_OPTIONS
        )
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        ended = acp.update_tool_call(
            "t1", status="completed" if chosen == "yes" else "failed", raw_output=chosen
        )
        await self._conn.session_update(session_id, ended)
        await self._say(session_id, f"{chosen} in {self._mode}")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Echo()))  # type: ignore[arg-type]  # only the methods that the tests need
