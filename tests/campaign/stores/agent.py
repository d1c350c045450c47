"""The journal of the built-in agent: a message whose end was told is there when the session is resumed."""

import os
import random
import time
from collections import Counter

from operable.agent.session.files import SessionState, load, lock
from operable.agent.session.history import TextBlock
from operable.kernel.errors import Fail
from tests.agent.agent_process import AgentProcess, of_type
from tests.campaign.store import Store, require


class AgentJournal(Store):
    """Each writer has one session, which it resumes after every death; the agent is killed with its driver."""

    span = 0.8
    writers = 2
    kills = 12
    conditions = ("full", "read-only")

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        session = f"s{writer}"
        has_begun = (self._root / session).is_dir()
        words = ["--compaction", "off", *(["--resume", session] if has_begun else ["--session-id", session])]
        with AgentProcess(self.notes.folder, *words, env={"OPERABLE_HOME": str(self.home)}) as agent:
            try:
                for number in range(50):
                    text, msg_id = f"[{name}-{number}] " + "x" * chance.choice((0, 0, 20_000)), f"m{number}"
                    agent.message(text, msg_id)
                    answer = agent.answer(msg_id)
                    if not of_type(answer, "error"):
                        self.notes.add("acknowledged", session, f"[{name}-{number}]")
            except (AssertionError, OSError) as problem:
                raise Fail("io", "ENDED", str(problem)) from problem

    @property
    def _root(self):
        return self.home / "state" / "agent" / "sessions"

    def judge(self, counts: Counter[str]) -> None:
        kept: dict[str, str] = {}
        for folder in self._root.iterdir() if self._root.is_dir() else []:
            state = _loaded(os.fspath(folder), folder.name)
            blocks = [block for turn in state.turns for block in turn.blocks]
            kept[folder.name] = "\n".join(block.text for block in blocks if isinstance(block, TextBlock))
        for session, text in self.notes.all("acknowledged"):
            require(text in kept.get(session, ""), "acknowledged and lost", session, text)


def _loaded(folder: str, session: str) -> SessionState:
    """As a resumed session is: by the owner of the lock. An agent that got SIGTERM may still be saving."""
    ends = time.monotonic() + 20
    while True:
        try:
            owned = lock(folder, session)
        except Fail as problem:
            require(time.monotonic() < ends, "an agent does not end", problem.message)
            time.sleep(0.01)
            continue
        try:
            return load(folder, session, repair=folder)
        finally:
            os.close(owned)


STORE = AgentJournal
