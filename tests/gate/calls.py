"""Calls and gates for the tests of `operable.gate`."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from operable.gate.approvals import Ask, Decision
from operable.gate.audit.chain import read_audit
from operable.gate.audit.place import audit_path
from operable.gate.call import CallerId, GatedCall
from operable.gate.call_gate import CallGate
from operable.gate.call_queue import answer_question, waiting_questions
from operable.gate.policy.call_policy import CallPolicy

LIMIT = 200.0


def push(caller: str = "mcp:test", **facts: Any) -> GatedCall:
    """A call of `wrap git push origin main`."""
    given: dict[str, Any] = {
        "arguments": {"remote": "origin", "branch": "main"},
        "effect": "change",
        "workspace": "/",
        "command": ("git", "push", "origin", "main"),
    }
    return GatedCall(CallerId.parse(caller), "wrap", "git", "push", **{**given, **facts})


class GateScene:
    """A gate with a state of its own, and a policy file that the test writes."""

    def __init__(self, folder: Path, rules: str | None = None, **options: Any) -> None:
        self.folder = folder
        self.file = folder / "policy.toml"
        if rules is not None:
            self.file.write_text(rules)
        named = str(self.file) if rules is not None else None
        self.root, self.questions = str(folder / "agents"), str(folder / "gate")
        policy = CallPolicy(named) if named is not None else CallPolicy(str(_empty(folder)))
        self.gate = CallGate(policy=policy, root=self.root, questions=self.questions, **options)

    def records(self, workspace: str = "/") -> list[dict[str, Any]]:
        return [json.loads(line) for _, _, line in read_audit(audit_path(workspace, self.root))]

    def actions(self) -> list[str]:
        return [record["action"] for record in self.records()]

    async def answer(self, allowed: bool, **facts: Any) -> Ask:
        """Answer the next question as another process would."""
        ask = await self.waiting()
        given = {"by": "inbox:test", "digest": ask.digest, **facts}
        answer_question(ask.id, Decision(allowed, **given), self.questions)
        return ask

    async def waiting(self) -> Ask:
        return await asyncio.to_thread(self._wait)

    def _wait(self) -> Ask:
        ends = time.monotonic() + LIMIT
        while not (found := waiting_questions(self.questions)):
            assert time.monotonic() < ends, "nothing is asked"
            time.sleep(0.01)
        return found[0]


def _empty(folder: Path) -> Path:
    """A policy file that says nothing: the built-in rules hold."""
    path = folder / "empty.toml"
    path.write_text("")
    return path


def run(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, LIMIT))
