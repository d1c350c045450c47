"""An editor, as far as the agent can tell: the client of the official SDK, in front of a real `operable-agent --acp`.

The process is a fork of one that has the agent imported (`tests.cli.forks`): its imports cost more than a whole scene.
Where the start or the end of a process is the point, it is started anew (`started=True`, and tests/agent/test_front.py).
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import acp
from acp import schema
from acp.transports import default_environment, spawn_stdio_transport

from tests.cli.forks import Prepared, Program, begin

LINE = 8 * 1024 * 1024
# Imported when a server starts: what the agent imports before the first answer, and none of the SDKs of providers.
AGENT_FORKS = Program(
    "operable.agent.front", Prepared(("operable.agent", "operable.offer", "acp"), at_start=())
)
AGENT = [sys.executable, "-c", "from operable.agent.front import main; main()", "--acp"]
PATIENCE = 100.0  # seconds; what takes longer has hung, also on a busy machine
LIMIT = 160.0  # for a whole scene; below that of the tests that import it


class Editor:
    """Keeps every update, and answers questions with what `answer` says: the kind of an option, or `cancelled`."""

    def __init__(self, answer: Callable[[Any], Any] | str = "allow_once") -> None:
        self.answer = answer
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[Any] = []
        self.changed = asyncio.Condition()

    def on_connect(self, conn: acp.Agent) -> None:
        self.agent = conn

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        async with self.changed:
            self.updates.append((session_id, update))
            self.changed.notify_all()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> acp.RequestPermissionResponse:
        async with self.changed:
            self.asked.append((tool_call, options))
            self.changed.notify_all()
        answer: Any = self.answer(tool_call) if callable(self.answer) else self.answer
        if asyncio.iscoroutine(answer):
            answer = await answer
        kind, _mark, reason = str(answer).partition(":")
        meta = {"reason": reason} if reason else None
        chosen = next((option for option in options if option.kind == kind), None)
        if chosen is None:
            outcome: Any = schema.DeniedOutcome(outcome="cancelled")
        else:
            outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return acp.RequestPermissionResponse(outcome=outcome, field_meta=meta)

    async def until(self, condition: Callable[["Editor"], Any]) -> None:
        async with self.changed:
            await asyncio.wait_for(self.changed.wait_for(lambda: condition(self)), PATIENCE)

    def of(self, kind: str, session_id: str | None = None) -> list[Any]:
        """The updates of one kind, in order."""
        return [
            update
            for of_session, update in self.updates
            if update.session_update == kind and session_id in (None, of_session)
        ]

    def text(self, session_id: str | None = None) -> str:
        return "".join(update.content.text for update in self.of("agent_message_chunk", session_id))

    def thoughts(self) -> str:
        return "".join(update.content.text for update in self.of("agent_thought_chunk"))


@asynccontextmanager
async def editing(
    tmp_path: Path,
    *flags: str,
    answer: Any = "allow_once",
    env: dict[str, str] | None = None,
    started: bool = False,
):
    """(editor, connection) around a process of the agent, initialised, with a state folder of the test's own."""
    editor = Editor(answer)
    flags = flags or ("--offline",)
    environment = {
        **default_environment(),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "OPERABLE_HOME": str(tmp_path / "state"),
        **(env or {}),
    }
    argv, cwd = ["-c", "--acp", *flags], str(tmp_path)
    # A key is taken out of the environment by another start of the program, which a fork is not.
    forked = None if started or env else begin(argv, env=environment, cwd=cwd, program=AGENT_FORKS)
    streams: AbstractAsyncContextManager[tuple[asyncio.StreamReader, asyncio.StreamWriter, Any]]
    if forked is None:
        streams = spawn_stdio_transport(*AGENT, *flags, env=environment, cwd=cwd, limit=LINE)
    else:
        streams = _streams(forked)
    async with streams as (reader, writer, process):
        connection = acp.connect_to_agent(
            editor,  # type: ignore[arg-type]  # only the methods that the agent calls
            writer,
            reader,
            use_unstable_protocol=True,
        )
        try:
            editor.process = process  # type: ignore[attr-defined]
            editor.hello = await asyncio.wait_for(connection.initialize(protocol_version=1), PATIENCE)  # type: ignore[attr-defined]
            yield editor, connection
        finally:
            await connection.close()


@asynccontextmanager
async def _streams(
    forked: list[int],
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter, None]]:
    """The streams of a fork. It ends by itself when its stdin does, or the test fails."""
    loop = asyncio.get_running_loop()
    stdin, *reading = forked
    readers, transports = [], []
    for descriptor in reading:
        reader = asyncio.StreamReader(limit=LINE)
        transport, _ = await loop.connect_read_pipe(
            partial(asyncio.StreamReaderProtocol, reader), os.fdopen(descriptor, "rb", 0)
        )
        readers.append(reader)
        transports.append(transport)
    writing, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(stdin, "wb", 0)
    )
    stdout, _, told = readers
    pid = int(await asyncio.wait_for(told.readline(), PATIENCE))
    try:
        yield stdout, asyncio.StreamWriter(writing, protocol, None, loop), None
    finally:
        writing.close()
        try:
            await asyncio.wait_for(told.readline(), PATIENCE)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            for transport in transports:
                transport.close()


def run(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, LIMIT))


async def say(connection: Any, session_id: str, text: str) -> acp.PromptResponse:
    answer: acp.PromptResponse = await asyncio.wait_for(
        connection.prompt(session_id=session_id, prompt=[acp.text_block(text)]), PATIENCE
    )
    return answer
