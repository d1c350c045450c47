"""Everything operable on one machine."""

import asyncio
import json
import sys

import pytest

from operable.host.launch.ledger import Ledger
from operable.host.launch.places import Places
from operable.host.launch.trust import approve
from operable.kernel.errors import Fail
from operable.serve import catalog as module
from operable.serve.catalog import catalog, kinds, recent_catalog
from tests.app.making import made
from tests.cli.drive import operable
from tests.host.agents import calls, manifest
from tests.host.scene import steps
from tests.wrap.drive import CLI, Made

PROBE = """---
name: Probe
id: probe
description: For a test.
version: 1.0.0
bin: probe-agent
protocol: proprietary
adapter: print
install: [{method: npm, package: probe}]
version_check: {cmd: probe-agent --version, parse: '(.*)', range: '*'}
sandbox: {provider: bubblewrap, config: {}}
capabilities: {streaming: true, resumable: false}
auth: {state: {env: [PROBE_TOKEN], paths: [~/.probe/login]}}
---
# Probe
"""


@pytest.fixture
def here(world, monkeypatch):
    for name, value in world.env.items():
        monkeypatch.setenv(name, value)
    return world


def found(world, **options):
    return {(each.kind, each.name): each for each in catalog(str(world.project), **options)}


def test_tools_wrappers_applications_and_agents_are_in_it(here):
    everything = found(here)
    assert kinds() == ["agent", "app", "flow", "mcp", "tool", "wrap"]
    assert {
        ("tool", "bench"),
        ("tool", "outline"),
        ("app", "todo"),
        ("agent", "operable-agent"),
        ("wrap", "ls"),
    } <= set(everything)
    bench = everything["tool", "bench"]
    assert (bench.version, bench.risk, bench.auth, bench.health) == ("1.0.0", "destructive", "none", "ok")
    assert {action.name: action.risk for action in bench.actions} == {
        "rows": "read-only",
        "long": "read-only",
        "slow": "read-only",
        "wipe": "destructive",
    }
    todo = everything["app", "todo"]
    assert {action.name for action in todo.actions if action.confirm} == {"remove", "item remove"}
    assert (todo.risk, todo.auth, todo.health, todo.capabilities) == (
        *("destructive", "unknown", "ok"),
        ("confirm", "skills"),
    )
    assert bench.capabilities == ("confirm", "dry-run", "idempotency-key")
    ls = everything["wrap", "ls"]
    assert (ls.risk, ls.auth, ls.health, ls.capabilities) == ("read-only", "none", "ok", ("cursor",))
    agent = everything["agent", "operable-agent"]
    assert (agent.risk, agent.auth, agent.health) == ("unknown", "none", "ok")
    assert {"streaming", "tool-calls"} <= set(agent.capabilities)


def test_no_program_is_run_that_was_not_declared(here, monkeypatch):
    trap = here.folder / "bin"
    trap.mkdir()
    for name in ("ls", "git", "rg", "operable-something", "outline"):
        (trap / name).write_text(f"#!/bin/sh\ntouch {here.folder}/ran-{name}\n")
        (trap / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{trap}:/usr/bin:/bin")
    found(here)
    assert list(here.folder.glob("ran-*")) == []


def test_a_declared_tool_that_is_broken_is_listed_with_its_problem(here):
    broken = here.home / "config" / "tools" / "broken"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    one = found(here, only=["tool"])["tool", "broken"]
    assert (one.health, one.adapter) == ("broken", None)
    assert "capabilities" in one.problem


def test_a_declared_tool_that_is_gone_is_listed_with_its_problem(here):
    (here.home / "config" / "tools" / "gone").symlink_to(here.folder / "uninstalled")
    one = found(here, only=["tool"])["tool", "gone"]
    assert (one.health, one.adapter) == ("broken", None)
    assert "gone" in one.problem


@pytest.mark.parametrize(
    "capabilities, health, names",
    [
        ({"commands": 5}, "broken", []),
        ({"commands": {"go": {}}}, "broken", []),
        ({"summary": "x"}, "broken", []),
        ({"commands": [5, {"name": ["go"]}, {"name": {}}], "summary": [1], "auth": [1]}, "ok", []),
        ({"commands": [{"name": "go", "summary": {"a": 1}}, {"name": "--rm"}, {"name": ""}]}, "ok", ["go"]),
        (
            {"commands": [{"name": "a b"}, {"name": " c "}, {"name": "d\x1b[31m"}, {"name": "e\n"}]},
            "ok",
            ["a b"],
        ),
    ],
)
def test_what_a_tool_says_wrongly_of_itself_hides_no_other(here, capabilities, health, names):
    odd = here.home / "config" / "tools" / "odd"
    odd.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(capabilities)}\nEND\n")
    odd.chmod(0o755)
    everything = found(here, only=["tool", "app"])
    assert {("tool", "bench"), ("app", "todo")} <= set(everything)
    one = everything["tool", "odd"]
    assert (one.health, [action.name for action in one.actions]) == (health, names)


def test_a_source_that_fails_as_nobody_foresaw_hides_no_other(here, monkeypatch):
    def failing(_):
        raise OSError("the disk is on fire")

    monkeypatch.setattr("operable.serve.sources.app.catalog", failing)
    everything = found(here, only=["tool", "app"])
    assert (everything["app", "app"].health, everything["tool", "bench"].health) == ("broken", "ok")
    assert "on fire" in str(everything["app", "app"].problem)


def test_a_source_that_cannot_be_imported_hides_no_other(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "operable.serve.sources.app", None)
    everything = found(here, only=["tool", "app"])
    assert (everything["app", "app"].health, everything["tool", "bench"].health) == ("broken", "ok")
    assert "operable.serve.sources.app" in str(everything["app", "app"].problem)


def test_a_list_and_what_is_opened_of_it_are_found_once(here, monkeypatch):
    monkeypatch.chdir(here.project)
    monkeypatch.setattr(module, "_kept", {})
    looks = []
    real = module.catalog

    def counted(*args, **options):
        looks.append(options)
        return real(*args, **options)

    monkeypatch.setattr(module, "catalog", counted)

    async def scene():
        both = await asyncio.gather(recent_catalog(), recent_catalog())
        return [*both, await recent_catalog("tool")]

    everything, again, tools = asyncio.run(scene())
    assert everything == again
    assert {each.kind for each in tools} == {"tool"}
    assert looks == [{"only": ()}]


def test_an_unapproved_application_is_listed_and_cannot_be_called(here):
    made(here.project / "apps" / "new")
    made(here.project / "apps" / "wrong", commands="[]")
    apps = found(here, only=["app"])
    assert (apps["app", "new"].health, apps["app", "new"].adapter) == ("unapproved", None)
    assert apps["app", "wrong"].health == "broken"


def test_an_agent_is_missing_until_its_program_is_there_and_its_login_is_looked_for(here, monkeypatch):
    folder = here.home / "config" / "agents" / "probe"
    folder.mkdir(parents=True)
    (folder / "AGENT-CLI.md").write_text(PROBE)

    def state():
        one = found(here, only=["agent"])["agent", "Probe"]
        return one.health, one.auth, one.capabilities

    assert state() == ("missing", "unauthed", ("streaming",))
    monkeypatch.setenv("PROBE_TOKEN", "x")
    program = here.folder / "programs" / "probe-agent"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {here.folder}/ran-probe\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert state() == ("ok", "authed", ("streaming",))
    assert not (here.folder / "ran-probe").exists()


def test_a_wrapper_tells_of_its_login_and_of_being_a_draft(here, monkeypatch):
    cli = CLI | {
        "auth": {"state": {"env": ["PROG_TOKEN"]}},
        "metadata": {"operable": {"unverified": True}},
        "sandbox": CLI["sandbox"] | {"env": {"pass": ["PROG_TOKEN"], "set": {}}},
    }
    wrapper = Made(here.folder, "#!/bin/sh\n", cli=cli)
    for name, value in wrapper.env.items():
        monkeypatch.setenv(name, value)
    one = found(here, only=["wrap"])["wrap", "prog"]
    assert (one.auth, one.health, one.problem) == ("unauthed", "unknown", "an unfinished draft")
    monkeypatch.setenv("PROG_TOKEN", "x")
    assert found(here, only=["wrap"])["wrap", "prog"].auth == "authed"
    monkeypatch.setenv("PATH", "/nowhere")
    missing = found(here, only=["wrap"])["wrap", "prog"]
    assert missing.health == "missing"
    assert missing.problem == "cannot find the program 'prog': it is in no folder of PATH; apt install prog"


def test_people_are_told_what_to_do_about_what_cannot_be_used(here):
    made(here.project / "apps" / "new")

    shown = operable("catalog", "--kind", "app", cwd=here.project, env=here.env, output=None).stdout.decode()

    row = next(line for line in shown.splitlines() if " unapproved " in line)
    assert f"operable app approve {here.project}/apps/new" in row


def test_words_are_looked_for_in_names_descriptions_and_commands(here):
    assert list(found(here, only=["tool"], search="take AWAY")) == [("tool", "bench")]
    assert found(here, only=["tool"], search="nothing has this") == {}


def test_a_kind_that_is_none_is_a_usage_error(here):
    with pytest.raises(Fail, match="There is no kind"):
        list(catalog(only=["tol"]))


def test_the_command_shows_it_page_by_page(here):
    outcome = operable(
        "catalog", "--kind", "tool", "--kind", "app", "--limit", "2", cwd=here.project, env=here.env
    )
    assert [(each["kind"], each["name"]) for each in outcome.results] == [("app", "todo"), ("tool", "bench")]
    assert outcome.results[1]["commands"][0]["read_only"] is True
    rest = operable(
        "catalog",
        "--kind",
        "tool",
        "--kind",
        "app",
        "--cursor",
        outcome.summary["next_cursor"],
        cwd=here.project,
        env=here.env,
    )
    assert [each["name"] for each in rest.results] == ["outline"]
    people = operable("catalog", "notes", "--kind", "tool", output=None, cwd=here.project, env=here.env)
    assert "outline" in people.stdout.decode()


def test_an_agent_of_the_project_that_changes_after_it_was_listed_does_not_run(here):
    """A server lives longer than a listing, and a question about a call may wait for days."""
    folder = here.project / ".operable" / "agents" / "scripted"
    folder.mkdir(parents=True)

    def write(version):
        data = manifest(folder, name="scripted", version=version)
        (folder / "AGENT-CLI.md").write_text(f"---\n{json.dumps(data)}\n---\n")

    write("1.0.0")
    approve(str(folder / "AGENT-CLI.md"), Ledger(Places.default().ledger))
    agent = found(here, only=["agent"])["agent", "scripted"]
    write("1.0.1")

    async def progress(*_):
        pass

    with pytest.raises(Fail) as refused:
        asyncio.run(
            agent.adapter.call(agent.actions[0], {"prompt": "hello"}, confirmed=True, progress=progress)
        )
    assert refused.value.code == "MANIFEST_NOT_APPROVED"
    assert calls(folder) == []


def test_what_the_configuration_denies_binds_a_call_of_an_agent(here):
    folder = here.home / "config" / "agents" / "scripted"
    folder.mkdir(parents=True)
    (folder / "AGENT-CLI.md").write_text(f"---\n{json.dumps(manifest(folder, name='scripted'))}\n---\n")
    here.rules('allow = ["kind:edit"]')
    (here.home / "config" / "operable.toml").write_text('[rules]\ndeny = ["edit:made"]\n')
    agent = found(here, only=["agent"])["agent", "scripted"]
    call = {"call": "Write", "kind": "edit", "ask": True, "args": {"path": "made"}, "touch": "made"}

    async def progress(*_):
        pass

    given = {"prompt": steps(call, {"say": "done"})}
    done = asyncio.run(agent.adapter.call(agent.actions[0], given, confirmed=True, progress=progress))
    assert done.ok
    assert not (here.project / "made").exists()
