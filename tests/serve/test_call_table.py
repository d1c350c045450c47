"""Kinds of operable things by the sides that call them: each cell works under the same rule and leaves the same record."""

import json
import os
import threading
from pathlib import Path

import pytest

from operable.agent.tool import offers
from operable.gate.approvals import Decision
from operable.gate.audit.chain import read_audit
from operable.gate.audit.place import audit_path
from operable.gate.call_queue import answer_question, waiting_questions
from operable.kernel.errors import Fail
from tests.agent.scene import scene
from tests.cli.drive import operable
from tests.serve.test_mcp import connected, run

TABLE = json.loads((Path(__file__).parent / "call_table.json").read_text())  # the page is made of it
# Kind -> the tool of MCP and of the agent, and its arguments.
THINGS = {"tool": ("bench_rows", {"query": "x"}), "app": ("todo_list", {})}
RULES = {"deny": ("deny", None), "ask-yes": ("ask", True), "ask-no": ("ask", False), "allow": ("allow", None)}


def at_command_line(world, kind, monkeypatch):
    bench = str(world.home / "config" / "tools" / "bench")
    words = {"tool": ("run", "--", bench, "rows", "x"), "app": ("app", "call", "--", "todo", "list")}[kind]
    return operable(words[0], *words[1:], env=world.env, cwd=world.project).exit_code == 0


def over_mcp(world, kind, monkeypatch):
    name, arguments = THINGS[kind]

    async def called():
        async with connected(world, mode="legacy") as client:
            return await client.call_tool(name, arguments)

    return not run(called()).is_error


def by_the_built_in_agent(world, kind, monkeypatch):
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    offers._gate.cache_clear()
    name, arguments = THINGS[kind]
    project = str(world.project)
    if kind == "tool":
        made = offers.operable_tools([str(world.home / "config" / "tools" / "bench")], project, world.env)
    else:
        made = offers.app_tools(["todo"], project)
    ability = next(each for each in made if each.name == name)
    return ability.run(arguments, scene(world.project, environment=world.env)).ok


SIDES = {"person": at_command_line, "mcp": over_mcp, "agent": by_the_built_in_agent}


class Answerer(threading.Thread):
    """A person at another terminal."""

    def __init__(self, folder, allowed):
        super().__init__(daemon=True)
        self._folder, self._allowed, self.over = folder, allowed, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            for ask in waiting_questions(self._folder):
                try:
                    answer_question(
                        ask.id, Decision(self._allowed, by="anna", digest=ask.digest), self._folder
                    )
                except Fail:
                    continue  # it is being taken away at this moment


@pytest.mark.parametrize("rule", TABLE["rules"])
@pytest.mark.parametrize("side", TABLE["sides"])
@pytest.mark.parametrize("kind", TABLE["things"])
def test_every_cell_obeys_the_same_rule_and_leaves_the_same_record(world, monkeypatch, kind, side, rule):
    effect, answer = RULES[rule]
    named = TABLE["things"][kind]
    world.rules(f'default = "allow"\n{effect} = ["{named}"]')
    person = Answerer(str(world.home / "state" / "gate"), answer)
    if answer is not None:
        person.start()
    try:
        ran = SIDES[side](world, kind, monkeypatch)
    finally:
        person.over.set()

    path = audit_path(os.path.realpath(world.project), str(world.home / "state" / "agents"))
    records = [json.loads(line) for _, _, line in read_audit(path)]
    first = records[0]
    assert ran is (rule in ("allow", "ask-yes"))
    assert [each["action"] for each in records] == (
        ["call.started", "call.ended"] if ran else ["call.denied"]
    )
    assert first["actor"]["id"].partition(":")[0] == side
    assert first["subject"] == {"kind": kind, "ref": named}
    assert first["policy"] == {"ref": f"policy:{effect} {named}", "decision": "allow" if ran else "deny"}
    assert first["metadata"].get("answered_by") == (None if answer is None else "anna")
    assert first["input"]["call"] == named
    if ran:
        assert records[1]["output"]["code"] == "OK"
