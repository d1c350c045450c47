"""One real agent under rules: a workspace, a folder outside of it, an address on loopback, and what happened there.

What happened is looked up in the world, never in what the agent or the host says: whether a file is there or gone, whether
somebody connected to the address. A call that must not happen is looked up again when its session is over.

The start of an agent costs seconds, and an agent never sees the rules: the gate of the session decides. So one session of an
agent plays all rounds. Between two rounds its gate gets the rules of the next one, after the check that a start makes of
them. `--live` and `--keep-verdicts` start one session for each round (`matrix`); the kept verdicts hold for both ways.

Calls that are kept to be carried out are made by the model at once, in one turn. Where they do not all become what is kept, each
is tried again in a turn of its own. A call that must not happen always has its own turn: an agent that stops at the first no
would not try the next one.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from operable.host import Ask, Decision, Policy, Session
from operable.host.start.choices import arm_for, check_rules
from operable.host.start.options import StartOptions
from operable.kernel.errors import Fail
from operable.testing.models import ModelServer
from tests.agents.loopback import SHORT_LIVED, environment
from tests.agents.rule_cells import (
    ACTIONS,
    ASKED,
    DENIED,
    PASSED,
    RAN,
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


class Trial(NamedTuple):
    """A cell that is to be tried, the rules for it, and the address of its round."""

    listener: Listener
    policy: Policy
    cell: Cell


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
    def mode(self) -> str | None:
        return self.subject.mode or None

    @property
    def places(self) -> dict[str, str]:
        """What stands before the name of a cell's file in a pattern."""
        address = f"http://127.0.0.1:{self.listener.port}/"
        return {**dict.fromkeys(ACTIONS, ""), "fetch": address, "outside": f"{self.elsewhere}/"}

    async def played(self, numbers: Sequence[int], kept: Mapping[str, str]) -> dict[Cell, str]:
        """What became of each cell of these rounds, in one session as long as it lasts. `kept`: what became of it before."""
        found: dict[Cell, str] = {}
        waiting: list[Trial] = []
        async with contextlib.AsyncExitStack() as stack:
            for number in numbers:
                # An address of its own: whoever connects did so for a cell of this round.
                self.listener = await stack.enter_async_context(Listener())
                for part in await self._parts(list(rounds(self.subject.ways, self.places))[number]):
                    if await self._is_refused(part):
                        found |= dict.fromkeys(part.cells, REFUSED)
                    else:
                        waiting += (Trial(self.listener, part.policy, cell) for cell in part.cells)
            while waiting:
                # The alarm ends a session; what is left is tried in another one.
                async with self.started(waiting[0].policy) as session:
                    while waiting and session.status == "running":
                        together = _together(waiting, kept)
                        self.listener, session._context.gate.policy, _ = waiting[0]
                        seen = await self._cells(session, [trial.cell for trial in together])
                        if len(together) > 1 and any(kept[cell.key] != seen[cell] for cell in seen):
                            alone = {cell.key for cell in seen}
                            kept = {key: verdict for key, verdict in kept.items() if key not in alone}
                            self._undo(seen)
                            continue
                        found |= seen
                        del waiting[: len(together)]
        for cell, verdict in found.items():
            if verdict == DENIED and cell.action != "fetch" and self._happened(cell, 0):
                found[cell] = PASSED
        return found

    async def _parts(self, wanted: Round) -> list[Round]:
        """The round; where a session with its rules is refused, each of its actions alone."""
        return list(wanted.alone()) if await self._is_refused(wanted) else [wanted]

    async def _is_refused(self, wanted: Round) -> bool:
        """Whether no session starts with these rules. A refusal comes before the agent is started, so it is asked for."""
        manifest, options = self.handle.manifest, StartOptions(policy=wanted.policy, mode=self.mode)
        # A gate that takes over these rules is then as it would be from a start with them (`start/assembly.py`).
        assert wanted.policy.asks
        try:
            check_rules(manifest, arm_for(manifest), options)
        except Fail:
            with pytest.raises(Fail) as refusal:
                async with self.started(wanted.policy):
                    pass
            assert refusal.value.code == "AGENT_NEVER_ASKS"
            return True
        return False

    @contextlib.asynccontextmanager
    async def started(self, policy: Policy, mode: str = "") -> AsyncIterator[Session]:
        session = await self.handle.start(
            workspace=str(self.work),
            env=self.env,
            policy=policy,
            on_ask=self._asked,
            may_install=False,
            timeout=START_LIMIT,
            mode=mode or self.mode,
        )
        try:
            yield session
        finally:
            await session.close()

    def _asked(self, ask: Ask) -> Decision:
        self.asks.append(ask)
        return Decision(self.answer, "" if self.answer else "not in this test")

    async def _cells(self, session: Session, cells: Sequence[Cell]) -> dict[Cell, str]:
        """What became of calls in one turn, all of which get the same answer if somebody is asked."""
        for cell in cells:
            if cell.action == "delete":
                (self.work / cell.name).write_text("there\n")
        self.answer, before, asked = cells[0].answer, self.listener.connections, len(self.asks)
        scripts = [script_of(self.subject.ways[cell.action], self._target(cell)) for cell in cells]
        await self.turn(session, [call for calls, _ in scripts for call in calls], scripts[0][1])
        questions = self.asks[asked:]
        return {
            cell: self.outcome(
                cell,
                connections=before,
                asked=bool(questions)
                if len(cells) == 1
                else any(cell.name in repr(ask) for ask in questions),
            )
            for cell in cells
        }

    def _undo(self, cells: Iterable[Cell]) -> None:
        """Take away what calls have made, so that each can be tried again."""
        for cell in cells:
            folder = self.elsewhere if cell.action == "outside" else self.work
            (folder / cell.name).unlink(missing_ok=True)

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


def _together(waiting: Sequence[Trial], kept: Mapping[str, str]) -> list[Trial]:
    """The first of what waits, with those behind it that are made in the same turn."""
    first = waiting[0]

    def fits(other: Trial) -> bool:
        cell = other.cell
        same = (other.listener, other.policy, cell.answer) == (
            first.listener,
            first.policy,
            first.cell.answer,
        )
        return same and kept.get(cell.key) == (ASKED if cell.answer else RAN)

    return list(takewhile(fits, waiting)) or [first]


async def matrix(
    subject: Subject, root: Path, models: ModelServer, kept: Mapping[str, str], *, apart: bool = False
) -> dict[Cell, str]:
    """The whole row of one agent; `apart`: each round in a session that is started with its rules, each call in its turn."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(numbers: Sequence[int]) -> dict[Cell, str]:
        async with turns:
            scene = Scene(subject, root / str(numbers[0]), models, Listener())
            return await scene.played(numbers, {} if apart else kept)

    count = len(list(rounds(subject.ways, dict.fromkeys(ACTIONS, ""))))
    sessions = [[number] for number in range(count)] if apart else [range(count)]
    found: dict[Cell, str] = {}
    for part in await asyncio.gather(*map(play, sessions)):
        found |= part
    return found
