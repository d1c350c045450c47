"""Kinds of operable things by the sides that call them: each cell works under the same rule and leaves the same record."""

import contextlib
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from acp import RequestError
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from operable.agent.tool import offers
from operable.gate.approvals import Decision
from operable.gate.audit.chain import read_audit
from operable.gate.call_queue import answer_question, waiting_questions
from operable.kernel.errors import Fail
from operable.serve import Toolset
from tests.agent.scene import scene
from tests.cli.drive import operable
from tests.engine.manifests import manifest, task
from tests.engine.worker.engines import Engine
from tests.host.scene import steps
from tests.serve.acp.test_editor import editing, opened
from tests.serve.daemon import serving, write_agent
from tests.serve.test_mcp import run
from tests.serve.world import World
from tests.tool.drive import LIMIT

TABLE = json.loads((Path(__file__).parent / "call_table.json").read_text())  # the page is made of it
SERVER = Path(__file__).parent.parent / "host" / "upstream" / "server.py"
RECORDED = 20.0  # seconds; a daemon writes the end of a call within a quarter of one
# Kind -> the tool of MCP and of the agent, and its arguments.
THINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "tool": ("bench_rows", {"query": "x"}),
    "wrap": ("find_files", {"limit": 1}),
    "app": ("todo_list", {}),
    "agent": ("scripted_prompt", {"prompt": steps({"say": "Hello"})}),
    "flow": ("flow_first_trigger", {}),
    "mcp": ("shop_look", {}),
}
RULES = {"deny": ("deny", None), "ask-yes": ("ask", True), "ask-no": ("ask", False), "allow": ("allow", None)}
CELLS = [
    (kind, side)
    for side in TABLE["sides"]
    for kind in TABLE["things"]
    if kind not in TABLE["without"].get(side, {})
]


class Machine:
    """One of everything that can be called, and a daemon."""

    def __init__(self, world, daemon):
        self.world, self.daemon = world, daemon
        self.bench = str(world.home / "config" / "tools" / "bench")

    def records(self, name):
        """Of this call, in every chain."""
        chains = sorted(self.world.home.glob("state/agents/*/audit.jsonl"))
        records = (json.loads(line) for chain in chains for _, _, line in read_audit(str(chain)))
        return [each for each in records if each["subject"].get("ref") == name]


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("world"))
    flow_home = str(world.home / "flow")
    world.env |= {"AGENTCLI_HOME": flow_home, "CALLED": str(world.folder / "called")}
    world.env["LIES"] = json.dumps({"tools": [{"name": "look"}]})
    given = [word for name in ("LIES", "CALLED") for word in ("--env", f"{name}=environment:{name}")]
    added = operable("upstream", "add", "shop", *given, "--", sys.executable, str(SERVER), env=world.env)
    assert added.exit_code == 0, added
    write_agent(world.home)
    Engine(world.folder, task("first", "true"), environment=world.env)
    with contextlib.ExitStack() as stack:
        with contextlib.chdir(world.project):  # the folder whose applications a daemon has
            daemon = stack.enter_context(serving(world.home, env=world.env))
        yield Machine(world, daemon)


def at_command_line(machine, kind, monkeypatch):
    words = {
        "tool": ("run", "--", machine.bench, "rows", "x"),
        "wrap": ("wrap", "find", "files", "--limit", "1"),
        "app": ("app", "call", "--", "todo", "list"),
        "flow": ("engine", "trigger", "flow/first", "--confirm"),
    }.get(kind) or ("call", TABLE["things"][kind], "--input", json.dumps(THINGS[kind][1]))
    return operable(words[0], *words[1:], env=machine.world.env, cwd=machine.world.project).exit_code == 0


def over_mcp(machine, kind, monkeypatch):
    name, arguments = THINGS[kind]
    headers = {"Authorization": f"Bearer {machine.daemon.admin.token}"}

    async def called():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=LIMIT) as web,
            Client(
                streamable_http_client(f"{machine.daemon.url}/mcp", http_client=web), mode="legacy"
            ) as client,
        ):
            return await client.call_tool(name, arguments)

    return not run(called()).is_error


def over_http(machine, kind, monkeypatch):
    path, _, action = TABLE["things"][kind].rpartition("/")
    answer = machine.daemon.admin("POST", f"/catalog/{path}/{action}/call", {"arguments": THINGS[kind][1]})
    return answer.status == 200


def over_json_rpc(machine, kind, monkeypatch):
    params = {"call": TABLE["things"][kind], "arguments": THINGS[kind][1]}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "operable.call", "params": params}
    done = operable(
        "rpc", input=json.dumps(asked).encode(), env=machine.world.env, cwd=machine.world.project, output=None
    )
    return json.loads(done.stdout.splitlines()[-1])["result"]["ok"]


def by_the_built_in_agent(machine, kind, monkeypatch):
    for name, value in machine.world.env.items():
        monkeypatch.setenv(name, value)
    offers._gate.cache_clear()
    name, arguments = THINGS[kind]
    project = str(machine.world.project)
    if kind == "tool":
        made = offers.operable_tools([machine.bench], project, machine.world.env)
    else:
        made = offers.app_tools(["todo"], project)
    ability = next(each for each in made if each.name == name)
    return ability.run(arguments, scene(machine.world.project, environment=machine.world.env)).ok


def _document(machine, kind):
    if kind == "agent":
        target = {"session_target": "isolated", "agent_id": "scripted"}
        made = {**task("call", "true"), "target": target, "prompt": THINGS[kind][1]["prompt"]}
        return manifest({name: value for name, value in made.items() if name != "shell"})
    named, command = {
        "tool": (machine.bench, "rows"),
        "wrap": ("find", "files"),
        "app": ("todo", "list"),
        "mcp": ("shop", "look"),
    }[kind]
    made = task("call", f"{kind}:{named}", command)
    made["shell"]["stdin"] = json.dumps(THINGS[kind][1])
    return manifest(made)


def by_a_task(machine, kind, monkeypatch):
    path = machine.world.folder / "call.json"
    path.write_text(json.dumps(_document(machine, kind)))
    done = operable("flow", "exec", str(path), "call", env=machine.world.env, cwd=machine.world.project)
    return done.exit_code == 0


def in_an_editor(machine, kind, monkeypatch):
    async def began():
        async with editing(machine.world.home) as (_, connection):
            try:
                await opened(machine.world.home, connection)
            except RequestError as refused:
                return (refused.data or {}).get("code", "")
        return None

    code = run(began())
    assert code in (None, "CALL_DENIED")
    return code is None


def in_a_program(machine, kind, monkeypatch):
    for name, value in machine.world.env.items():
        monkeypatch.setenv(name, value)
    name, arguments = THINGS[kind]
    wanted, project = TABLE["things"][kind], str(machine.world.project)
    with Toolset(wanted, workspace=project, allow_destructive=True) as tools:
        return tools[name].call_now(arguments).ok


SIDES = {
    "person": at_command_line,
    "mcp": over_mcp,
    "http": over_http,
    "rpc": over_json_rpc,
    "flow": by_a_task,
    "agent": by_the_built_in_agent,
    "acp": in_an_editor,
    "program": in_a_program,
}


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
@pytest.mark.parametrize(("kind", "side"), CELLS)
def test_every_cell_obeys_the_same_rule_and_leaves_the_same_record(machine, monkeypatch, kind, side, rule):
    obeys(machine, kind, side, rule, lambda: SIDES[side](machine, kind, monkeypatch))


def obeys(machine, kind, side, rule, call):
    """`call` says whether it ran; what it left on record is looked at."""
    effect, answer = RULES[rule]
    named = TABLE["things"][kind]
    machine.world.rules(f'default = "allow"\n{effect} = ["{named}"]')
    known = len(machine.records(named))
    person = Answerer(str(machine.world.home / "state" / "gate"), answer)
    if answer is not None:
        person.start()
    try:
        ran = call()
    finally:
        person.over.set()

    assert ran is (rule in ("allow", "ask-yes"))
    wanted = ["call.started", "call.ended"] if ran else ["call.denied"]
    # The end of a call is written a moment later.
    ends = time.monotonic() + RECORDED
    while len(machine.records(named)) < known + len(wanted) and time.monotonic() < ends:
        time.sleep(0.05)
    records = sorted(machine.records(named), key=lambda each: (each["ts"], each["seq"]))[known:]
    assert [each["action"] for each in records] == wanted
    first = records[0]
    assert first["actor"]["id"].partition(":")[0] == side
    assert first["subject"] == {"kind": kind, "ref": named}
    assert first["policy"] == {"ref": f"policy:{effect} {named}", "decision": "allow" if ran else "deny"}
    assert first["metadata"].get("answered_by") == (None if answer is None else "anna")
    assert first["input"]["call"] == named
    if ran:
        assert records[1]["output"]["code"] == "OK"


def _posted(machine):
    status = machine.daemon.admin("POST", "/sessions/agent", {"adapter": "scripted"}).status
    assert status in (201, 403)
    return status == 201


def _started_by_a_tool(machine):
    headers = {"Authorization": f"Bearer {machine.daemon.admin.token}"}

    async def started():
        async with (
            httpx2.AsyncClient(headers=headers, timeout=LIMIT) as web,
            Client(
                streamable_http_client(f"{machine.daemon.url}/mcp", http_client=web), mode="legacy"
            ) as client,
        ):
            return await client.call_tool("agent_start", {"adapter": "scripted"})

    return not run(started()).is_error


def _prompted(machine):
    words = ("agent", "prompt", "scripted", "--prompt", steps({"say": "Hello"}))
    return operable(*words, env=machine.world.env, cwd=machine.world.project).exit_code == 0


STARTS = {"http": _posted, "mcp": _started_by_a_tool, "person": _prompted}


@pytest.mark.parametrize("rule", TABLE["rules"])
@pytest.mark.parametrize("side", STARTS)
def test_a_session_begins_only_under_the_rule_of_its_agent(machine, side, rule):
    def sessions():
        return len(machine.daemon.admin("GET", "/sessions?limit=1000").json["sessions"])

    before = sessions()
    obeys(machine, "agent", side, rule, lambda: STARTS[side](machine))
    assert sessions() == before + (rule in ("allow", "ask-yes"))


def test_every_cell_is_a_call_or_has_a_reason():
    for side, cells in TABLE["without"].items():
        assert side in TABLE["sides"]
        assert set(cells) <= set(TABLE["things"])
        assert set(cells.values()) <= set(TABLE["reasons"])
    assert set(TABLE["short"]) == set(TABLE["reasons"])
    assert {side for _, side in CELLS} == set(SIDES)
