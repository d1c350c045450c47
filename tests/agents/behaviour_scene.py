"""One real agent through everything that a person does with one in a day, and what became of each.

An outcome is a word or two: "right", or what happened instead. It is looked up in the world (files, processes, what reached
the model) and in the events of the session. The start of an agent is what costs: four sessions play all cells, and one more
for each cell that leaves the session of its agent unusable.
"""

import asyncio
import contextlib
import json
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from operable.host import Ask, Decision, Session, rules
from operable.kernel.errors import Fail
from operable.testing.models import ModelServer
from operable.wire.events import AgentError, Notice, TextDelta, Thought, TurnEnd
from tests.agents.behaviour_rows import CELLS, BehaviourRow
from tests.agents.loopback import SHORT_LIVED, environment

RIGHT = "right"
LOST = "session lost"
START_LIMIT = 120.0
TURN_LIMIT = 60.0
# Agents try again in silence: longer than this is longer than a person watches a cursor.
RETRY_LIMIT = 25.0
TRIES_ON = "tries again, in silence"
NOTICED = "ends as completed; the host notices it"
_SAYS_IT = "etrying"  # in a notice, a thought or a text
_WORDS = (Notice, TextDelta, Thought)
MARK = "OPERABLE_TEST_MARK"
LARGE = 300_000
_LOOK = 0.1
_PROBLEMS: dict[str, list[dict[str, Any]]] = {
    "400": [{"status": 400, "message": "the request is bad"}],
    "401": [{"status": 401, "message": "Incorrect API key provided: sk-none."}],
    "429": [{"status": 429, "message": "Rate limit reached for requests."}],
    "500": [{"status": 500, "message": "the model is broken"}],
    "cut": [{"say": "Half of it"}, {"drop": "cut"}],
}
# Which code an error of the model has to have for its reader: the exit status follows from it.
_CODES = {"401": ("auth_required",), "429": ("rate_limited", "model_error")}


class BehaviourScene:
    """A home, a workspace and the sessions of one agent in it."""

    def __init__(self, row: BehaviourRow, root: Path, models: ModelServer) -> None:
        self.row, self.models = row, models
        self.work = root / "work"
        self.work.mkdir()
        self.mark = uuid.uuid4().hex
        home = environment(row.agent, root / "home", models.url)
        self.env = {**home, **SHORT_LIVED, MARK: self.mark, "PATH": os.environ["PATH"]}
        self.answer = True
        self.asks: list[Ask] = []
        self.word = f"word-{self.mark[:8]}"

    async def played(self) -> dict[str, str]:
        cells: dict[str, str] = {}
        await self._taken_up(await self._first(cells), cells, "resume")
        await self._crashed(cells)
        await self._two(cells)
        await self._errors(cells)
        if cells["crash"] == RIGHT and await self._survivors():
            cells["crash"] = "leaves processes"
        return {cell: cells[cell] for cell in CELLS}

    # --- sessions

    async def start(self, resume: str | None = None) -> Session:
        policy = rules(allow=list(self.row.allow), default="ask") if self.row.allow else None
        return await self.row.handle.start(
            workspace=str(self.work),
            env=self.env,
            on_ask=self._asked,
            may_install=False,
            timeout=START_LIMIT,
            **({} if resume is None else {"resume": resume}),
            **({} if policy is None else {"policy": policy}),
            **self.row.start,
        )

    def _asked(self, ask: Ask) -> Decision:
        self.asks.append(ask)
        return Decision(self.answer, "" if self.answer else "not in this test")

    @contextlib.asynccontextmanager
    async def _started(self, resume: str | None = None) -> AsyncIterator[Session]:
        session = await self.start(resume)
        try:
            yield session
        finally:
            await session.close()

    async def turn(self, session: Session, *replies: Any, limit: float = TURN_LIMIT) -> list[Any]:
        async with asyncio.timeout(limit + START_LIMIT):
            return [event async for event in session.send(script(*replies), timeout=limit)]

    async def _answers(self, session: Session) -> bool:
        """Whether the session goes on."""
        if session.status != "running":
            return False
        text = f"Still here {uuid.uuid4().hex[:6]}."
        return text in text_of(await self.turn(session, [{"say": text}]))

    # --- one session

    async def _first(self, cells: dict[str, str]) -> str | None:
        """The cells that a session without trouble plays; the agent's id of it."""
        session = await self.start()
        try:
            cell: Callable[[Session], Awaitable[str]]
            for name, cell in (
                ("plain", self._plain),
                ("approve", self._approve),
                ("deny", self._deny),
                ("rule", self._rule),
                ("cancel", self._cancel),
                ("large", self._large),
                ("usage", self._usage),
            ):
                if session.status != "running":
                    await session.close()
                    session = await self.start()
                cells[name] = await cell(session)
            return session.agent_session_id
        finally:
            await session.close()

    async def _plain(self, session: Session) -> str:
        events = await self.turn(session, [{"say": f"Remember {self.word}.", "chunks": 4}])
        said, reason = text_of(events), events[-1].reason
        if f"Remember {self.word}." not in said:
            return "no text"
        return RIGHT if reason == "completed" else f"ends as {reason}"

    async def _approve(self, session: Session) -> str:
        self.answer, asked = True, len(self.asks)
        await self.turn(session, *self._write("approved.txt"))
        if not self._made("approved.txt"):
            return "not carried out"
        return RIGHT if len(self.asks) > asked else "unasked"

    async def _deny(self, session: Session) -> str:
        self.answer, asked = False, len(self.asks)
        events = await self.turn(session, *self._write("denied.txt"))
        if self._made("denied.txt"):
            return "unasked" if len(self.asks) == asked else "carried out"
        reason = events[-1].reason
        return RIGHT if reason in ("completed", "cancelled") else f"ends as {reason}"

    async def _rule(self, session: Session) -> str:
        """Rules decide without a person: one file may be written, the others may not."""
        gate, asked = session._context.gate, len(self.asks)
        before = gate.policy
        allow = [*self.row.allow, "edit:**/ruled-in.txt"]
        gate.policy = rules(allow=allow, deny=["edit:**/ruled-out.txt"])
        try:
            await self.turn(session, *self._write("ruled-in.txt"))
            await self.turn(session, *self._write("ruled-out.txt"))
        finally:
            gate.policy = before
        if self._made("ruled-out.txt"):
            return "unasked"
        if not self._made("ruled-in.txt"):
            return "stricter"
        return RIGHT if len(self.asks) == asked else "asked"

    async def _cancel(self, session: Session) -> str:
        going_on = {"say": ["On and on. "] * 2000, "delay": 0.05}
        sent = session.send(script([going_on, {"hang": True}]), timeout=TURN_LIMIT)
        before = len(self.models.exchanges)
        events: list[Any] = []
        async for event in sent:
            events.append(event)
            if isinstance(event, TextDelta) and await session.cancel():
                break
        events += [event async for event in sent]
        if events[-1].reason != "cancelled":
            return f"ends as {events[-1].reason}"
        try:
            gone = lambda each: each.number >= before and each.outcome == "disconnected"  # noqa: E731
            await asyncio.to_thread(self.models.wait, gone, TURN_LIMIT)
        except TimeoutError:
            return "the model goes on"
        return RIGHT if await self._answers(session) else LOST

    async def _large(self, session: Session) -> str:
        # No two lines are equal: some agents stop a model that repeats itself.
        text = "\n".join(f"Line {number} of the large answer." for number in range(LARGE // 30))
        events = await self.turn(session, [{"say": text, "chunks": 100}])
        said = text_of(events)
        if text.strip() in said:
            return RIGHT
        return "shortened" if said else "no text"

    async def _usage(self, session: Session) -> str:
        events = await self.turn(session, [{"say": "Counted."}, {"usage": {"input": 4321, "output": 765}}])
        usage = events[-1].usage
        if usage is None or not (usage.input_tokens or usage.output_tokens):
            return "not reported"
        if usage.output_tokens == 765 and 4321 in (
            usage.input_tokens,
            usage.input_tokens + usage.cache_read_tokens,
        ):
            return RIGHT
        return "of more than the turn" if usage.output_tokens > 765 else "in part"

    # --- several processes

    async def _taken_up(self, agent_session_id: str | None, cells: dict[str, str], name: str) -> None:
        try:
            async with self._started(agent_session_id) as session:
                cells[name] = await self._remembers(session)
        except Fail as failure:
            cells[name] = f"refused: {failure.code}"

    async def _remembers(self, session: Session) -> str:
        before = len(self.models.exchanges)
        if not await self._answers(session):
            return LOST
        told = [json.dumps(each.body) for each in self.models.exchanges[before:] if not each.aside]
        return RIGHT if any(self.word in body for body in told) else "forgotten"

    async def _crashed(self, cells: dict[str, str]) -> None:
        """Killed in the middle of a turn: the turn ends, and the session can be taken up again."""
        session = await self.start()
        try:
            await self._plain(session)
            sent = session.send(script([{"say": "Going on."}, {"hang": True}]), timeout=TURN_LIMIT)
            await self._until_it_hangs()
            process = session._link.process
            assert process is not None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            events = [event async for event in sent]
            again = session.agent_session_id
        finally:
            await session.close()
        errors = [event for event in events if isinstance(event, AgentError)]
        if not isinstance(events[-1], TurnEnd) or events[-1].reason != "error" or not errors:
            cells["crash"] = "not noticed"
            return
        await self._taken_up(again, cells, "crash")

    async def _until_it_hangs(self) -> None:
        """Until the model has been asked; not every agent passes on words before the answer is whole."""
        for _ in range(int(TURN_LIMIT / _LOOK)):
            if any(
                each.outcome == "open" and '"hang"' in json.dumps(each.position.script)
                for each in self.models.exchanges
            ):
                return
            await asyncio.sleep(_LOOK)
        raise TimeoutError("the model was not asked")

    async def _two(self, cells: dict[str, str]) -> None:
        async with self._started() as one, self._started() as other:
            sent = [(one, "This is the first."), (other, "This is the second.")]
            found = await asyncio.gather(
                *(self.turn(session, [{"say": text, "chunks": 20}]) for session, text in sent)
            )
        said = [text_of(events) for events in found]
        right = all(text in mine for mine, (_, text) in zip(said, sent, strict=True))
        mixed = "second" in said[0] or "first" in said[1]
        cells["two"] = RIGHT if right and not mixed else "mixed"

    # --- a model that fails

    async def _errors(self, cells: dict[str, str]) -> None:
        session = await self.start()
        try:
            for name, problem in _PROBLEMS.items():
                cells[name] = await self._failed(session, name, problem)
                if not await self._answers(session):
                    if cells[name] in (RIGHT, TRIES_ON):
                        cells[name] = LOST
                    await session.close()
                    session = await self.start()
        finally:
            await session.close()

    async def _failed(self, session: Session, name: str, problem: list[dict[str, Any]]) -> str:
        events = await self.turn(session, *[problem] * 30, limit=RETRY_LIMIT)
        end = events[-1]
        errors = [event.error for event in events if isinstance(event, AgentError)]
        notices = [event for event in events if isinstance(event, Notice)]
        if end.reason == "timeout":
            said = [
                each.message if isinstance(each, Notice) else each.text
                for each in events
                if isinstance(each, _WORDS)
            ]
            return RIGHT if any(_SAYS_IT in words for words in said) else TRIES_ON
        if end.reason == "error":
            if name in _CODES and not any(error.code in _CODES[name] for error in errors):
                return "its reason is lost"
            return RIGHT
        if any(noticed.code in ("model_error", "empty_turn") for noticed in notices):
            return NOTICED
        return f"ends as {end.reason}"

    # --- the world

    def _write(self, name: str) -> list[Any]:
        call = {"call": "write", "args": {"path": str(self.work / name), "text": "made\n"}}
        return [[{"say": "Writing."}, call], [{"say": "That was it."}]]

    def _made(self, name: str) -> bool:
        return (self.work / name).exists()

    async def _survivors(self) -> list[str]:
        """Processes of this scene that are still there some seconds after its sessions."""
        for _ in range(50):
            if not _marked(self.mark):
                return []
            await asyncio.sleep(0.2)
        return _marked(self.mark)


def _marked(mark: str) -> list[str]:
    found = []
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # gone while we looked, or another user's
    return found


def script(*replies: Any) -> str:
    return "SCRIPT:" + json.dumps(list(replies))


def text_of(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))
