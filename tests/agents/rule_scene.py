"""One real agent under rules: a workspace, a folder outside of it, an address on loopback, and what happened there.

What happened is looked up in the world, never in what the agent or the host says: whether a file is there or gone, whether
somebody connected to the address. A call that must not happen is looked up again when its session is over.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from operable.host import Ask, Decision, Policy, Session
from operable.kernel.errors import Fail
from operable.testing.models import ModelServer
from tests.agents.loopback import SHORT_LIVED, environment
from tests.agents.rule_cells import (
    ACTIONS,
    DENIED,
    PASSED,
    REFUSED,
    Cell,
    Round,
    outcome,
    rounds,
    script_of,
)
from tests.agents.rule_subjects import Subject

# Every turn is one small call: what takes longer than this hangs.
TURN_LIMIT = 120.0
START_LIMIT = 120.0
# Sessions of one agent at a time: they wait for each other's processors, and some wait for nothing at all.
AT_ONCE = 2


class Listener:
    """An address on loopback that counts who connects, whatever is spoken then."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError, TimeoutError):
            await asyncio.wait_for(reader.read(4096), 5)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello")
            await writer.drain()
        writer.close()


class Scene:
    """One agent, in its own home and workspace."""

    def __init__(self, subject: Subject, root: Path, models: ModelServer, listener: Listener) -> None:
        self.subject = subject
        self.work = root / "work"
        self.elsewhere = root / "elsewhere"
        for folder in (self.work, self.elsewhere):
            folder.mkdir(parents=True)
        self.listener = listener
        self.env = environment(subject.agent, root / "home", models.url) | SHORT_LIVED
        self.handle = subject.handle(root)
        self.asks: list[Ask] = []
        self.answer = False

    @property
    def places(self) -> dict[str, str]:
        """What stands before the name of a cell's file in a pattern."""
        address = f"http://127.0.0.1:{self.listener.port}/"
        return {**dict.fromkeys(ACTIONS, ""), "fetch": address, "outside": f"{self.elsewhere}/"}

    async def played(self, wanted: Round) -> dict[Cell, str]:
        """What became of each cell; a session that is refused whole is tried again, action by action."""
        try:
            return await self._cells(wanted)
        except Fail as failure:
            if failure.code != "AGENT_NEVER_ASKS":
                raise
        parts = list(wanted.alone())
        if len(parts) == 1:
            return dict.fromkeys(wanted.cells, REFUSED)
        found: dict[Cell, str] = {}
        for part in parts:
            found |= await self.played(part)
        return found

    async def _cells(self, wanted: Round) -> dict[Cell, str]:
        found: dict[Cell, str] = {}
        left = list(wanted.cells)
        while left:
            # The alarm ends a session; what is left is tried in another one.
            async with self.started(wanted.policy) as session:
                while left and session.status == "running":
                    found[left[0]] = await self._cell(session, left[0])
                    del left[0]
        for cell, seen in found.items():
            if seen == DENIED and cell.action != "fetch" and self._happened(cell, 0):
                found[cell] = PASSED
        return found

    @contextlib.asynccontextmanager
    async def started(self, policy: Policy, mode: str = "") -> AsyncIterator[Session]:
        session = await self.handle.start(
            workspace=str(self.work),
            env=self.env,
            policy=policy,
            on_ask=self._asked,
            may_install=False,
            timeout=START_LIMIT,
            mode=mode or self.subject.mode or None,
        )
        try:
            yield session
        finally:
            await session.close()

    def _asked(self, ask: Ask) -> Decision:
        self.asks.append(ask)
        return Decision(self.answer, "" if self.answer else "not in this test")

    async def _cell(self, session: Session, cell: Cell) -> str:
        if cell.action == "delete":
            (self.work / cell.name).write_text("there\n")
        self.answer, before, asked = cell.answer, self.listener.connections, len(self.asks)
        await self.turn(session, *script_of(self.subject.ways[cell.action], self._target(cell)))
        return self.outcome(cell, connections=before, asked=len(self.asks) > asked)

    def outcome(self, cell: Cell, *, connections: int, asked: bool) -> str:
        """What became of a call. `connections`: how many there were to the address before it."""
        return outcome(cell, happened=self._happened(cell, connections), asked=asked)

    async def turn(self, session: Session, *replies: list[dict[str, Any]]) -> list[Any]:
        async with asyncio.timeout(TURN_LIMIT):
            return [event async for event in session.send("SCRIPT:" + json.dumps(replies))]

    def _target(self, cell: Cell) -> str:
        if cell.action == "fetch":
            return f"http://127.0.0.1:{self.listener.port}/{cell.name}"
        if cell.action == "outside":
            return str(self.elsewhere / cell.name)
        is_command = self.subject.ways[cell.action].role == "shell"
        return cell.name if is_command else str(self.work / cell.name)

    def _happened(self, cell: Cell, connections: int) -> bool:
        if cell.action == "fetch":
            return self.listener.connections > connections
        folder = self.elsewhere if cell.action == "outside" else self.work
        return (folder / cell.name).exists() != (cell.action == "delete")


async def matrix(subject: Subject, root: Path, models: ModelServer) -> dict[Cell, str]:
    """The whole row of one agent."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(number: int) -> dict[Cell, str]:
        # An address of its own: whoever connects did so for a cell of this session.
        async with turns, Listener() as listener:
            scene = Scene(subject, root / str(number), models, listener)
            return await scene.played(list(rounds(subject.ways, scene.places))[number])

    count = len(list(rounds(subject.ways, dict.fromkeys(ACTIONS, ""))))
    found: dict[Cell, str] = {}
    for part in await asyncio.gather(*(play(number) for number in range(count))):
        found |= part
    return found
