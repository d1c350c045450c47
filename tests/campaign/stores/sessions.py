"""Sessions of the host: audit chain, session log, registry and answers, with an agent whose calls leave files."""

import asyncio
import json
import random
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from operable.gate.approvals import Decision, answer_ask, pending_asks
from operable.gate.audit.chain import verify_audit
from operable.gate.policy.pattern import ASK
from operable.gate.policy.rules import Policy
from operable.host.arms.json_stream import ARM as JSON_STREAM
from operable.host.session.registry import ALIVE, Registry
from operable.host.start.assembly import Start, start_session
from operable.kernel.errors import Fail
from operable.wire.events import TextDelta
from tests.campaign.command import verify
from tests.campaign.store import Store, require
from tests.host.scene import scripted, steps

_ANSWERS = 2  # the writer that answers the questions of the others


class Sessions(Store):
    span = 0.8

    def prepare(self) -> None:
        self._work = self.notes.folder / "work"
        self._work.mkdir()
        self._root = str(self.home / "state")

    def locks(self) -> list[str]:
        return [str(path) for path in Path(self._root).glob("*/audit.jsonl.lock")]

    def step(self, chance: random.Random, name: str, writer: int) -> None:
        if writer == _ANSWERS:
            self._answer(chance)
        else:
            asyncio.run(self._talk(chance, name))

    async def _talk(self, chance: random.Random, name: str) -> None:
        start = Start(
            workspace=str(self._work),
            arm=JSON_STREAM,
            spawn=scripted(),
            registry=Registry(self._root),
            policy=Policy(default=ASK),
        )
        asyncio.get_running_loop().set_exception_handler(self._failed)
        talk = await start_session(start)
        try:
            for number in range(20):
                call = f"{name}-{number}"
                asked = {
                    "call": "Write",
                    "id": call,
                    "kind": "edit",
                    "ask": True,
                    "touch": str(self._work / call),
                }
                turn = talk.send(
                    steps({**asked, "args": {"path": call}, "result": "ok"}, {"say": f"[{call}]"})
                )
                async for event in turn:
                    if isinstance(event, TextDelta):
                        self.notes.add("acknowledged", talk.id, event.text)
        finally:
            await talk.close()

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        told = traceback.format_exception(problem) if problem else []
        self.notes.add("crashed", context["message"], "".join(told)[-3000:])

    def _answer(self, chance: random.Random) -> None:
        answered = {call for call, _ in self.notes.all("answering")}
        for home in Registry(self._root).sessions():
            asks = pending_asks(home.folder) if home.meta.status in ALIVE else []
            for ask in [ask for ask in asks if ask.arguments["path"] not in answered]:
                call, is_allowed = ask.arguments["path"], chance.random() < 0.8
                self.notes.add("answering", call, is_allowed)
                try:
                    answer_ask(home.folder, ask.id, Decision(is_allowed, by="me"))
                except Fail as problem:
                    self.notes.add("refused", problem.code, problem.message)
                else:
                    self.notes.add("answered", call, is_allowed)
        time.sleep(0.01)

    def judge(self, counts: Counter[str]) -> None:
        said: dict[str, str] = {}
        for home in Registry(self._root).sessions():
            require(home.meta.status not in ALIVE, "a dead session runs", home.meta)
            said[home.meta.id] = "".join(path.read_text() for path in Path(home.folder).glob("events-*"))
        for session, text in self.notes.all("acknowledged"):
            require(text in said.get(session, ""), "shown and not kept", session, text)
        begun, allowed = set(), set()
        for chain in Path(self._root).glob("*/audit.jsonl"):
            found = verify_audit(str(chain))
            require(found.ok, "false alarm", found.problems)
            for line in chain.read_text().splitlines(keepends=True):
                if not line.endswith("\n"):
                    continue  # torn by a kill: `verify_audit` counts it
                record = json.loads(line)
                if record["action"] == "agent.tool-call.started":
                    begun.add(record["metadata"]["call"])
                if record["action"] == "agent.decision" and record["policy"]["decision"] == "allow":
                    allowed.add(record["input"]["arguments"]["path"])
        effects = {path.name for path in self._work.iterdir()}
        yes = {call for call, is_allowed in self.notes.all("answering") if is_allowed}
        no = {call for call, is_allowed in self.notes.all("answered") if not is_allowed}
        require(effects <= begun, "an effect without a record", effects - begun)
        require(effects <= allowed, "an effect without a recorded decision", effects - allowed)
        require(effects <= yes, "an effect that nobody allowed", effects - yes)
        require(not effects & no, "an effect after a no", effects & no)
        counts["effects"] += len(effects) - counts["effects of this store"]
        counts["effects of this store"] = len(effects)

    def finish(self) -> None:
        for chain in Path(self._root).glob("*/audit.jsonl"):
            verify("agent", "audit", "verify", "--file", str(chain))


STORE = Sessions
