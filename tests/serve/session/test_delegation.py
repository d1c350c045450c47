"""Sessions that sessions start: decided from the caller's credential, before a process is made, by one predicate."""

import json
import os

import pytest

from operable.gate.audit.chain import read_audit
from operable.gate.audit.place import workspace_audit
from operable.gate.call_gate import CallGate
from operable.gate.policy.call_policy import CallPolicy
from operable.gate.policy.policy_file import rules
from operable.kernel.errors import Fail
from operable.serve.session.delegation import Delegator, allowed_targets, is_below, refusal
from operable.serve.session.spawn import TOKEN_VARIABLE, SpawnRequest, kept_request
from tests.host.agents import calls
from tests.serve.session.scene import registry, run, until

KNOWN = ["lead", "worker", "other"]
LEAD = Delegator("ses_1", "lead", frozenset({"worker"}), 0, 0)


def code(refused):
    return None if refused is None else refused.details["aip_code"]


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))


def agent(tmp_path, slug, **facts):
    """An AGENT.md of the user."""
    folder = tmp_path / "home" / "config" / "agents" / slug
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "name": slug,
        "id": slug,
        "description": "For tests.",
        "version": "1.0.0",
        "adapter": "scripted",
        **facts,
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in data.items()]
    (folder / "AGENT.md").write_text("\n".join(["---", *lines, "---", ""]))


def test_the_list_is_closed_and_empty_without_an_agent():
    assert refusal(LEAD, "worker", KNOWN) is None
    assert code(refusal(LEAD, "other", KNOWN)) == "delegation_denied"
    assert code(refusal(LEAD, "lead", KNOWN)) == "delegation_denied"  # also oneself
    assert (
        code(refusal(LEAD._replace(agent=None, delegates_to=frozenset()), "worker", KNOWN))
        == "delegation_denied"
    )
    for missing in (None, "", "nobody"):
        assert code(refusal(LEAD, missing, KNOWN)) == "invalid_agent"


def test_depth_and_children_have_limits():
    assert code(refusal(LEAD._replace(depth=3), "worker", KNOWN)) == "max_depth_exceeded"
    assert code(refusal(LEAD._replace(children=8), "worker", KNOWN)) == "child_quota_exceeded"
    assert refusal(LEAD._replace(depth=2, children=7), "worker", KNOWN) is None


def test_introspection_says_what_the_gate_would():
    told = {name: code(refused) for name, refused in allowed_targets(LEAD, KNOWN).items()}
    assert told == {"lead": "delegation_denied", "other": "delegation_denied", "worker": None}


def test_a_session_reaches_itself_and_those_below_it():
    parents = {"a": None, "b": "a", "c": "b", "x": None, "loop": "loop2", "loop2": "loop"}
    assert is_below("c", "a", parents)
    assert is_below("a", "a", parents)
    assert not is_below("a", "c", parents)
    assert not is_below("x", "a", parents)
    assert not is_below("loop", "a", parents)  # damaged files do not hang it


def test_a_lead_starts_its_worker_with_the_credential_that_only_it_has(tmp_path):
    agent(tmp_path, "lead", delegates_to=["worker"])
    agent(tmp_path, "worker")

    async def scene():
        async with registry(tmp_path) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            token = calls(tmp_path / "bin")[0]["env"][TOKEN_VARIABLE]
            caller = sessions.authenticate(token)
            assert caller == lead.id
            assert sessions.authenticate(token + "x") is None
            assert {name: code(r) for name, r in sessions.delegations(caller).items()} == {
                "lead": "delegation_denied",
                "worker": None,
            }
            child = await sessions.spawn(SpawnRequest(agent="worker", prompt="one"), caller=caller)
            await until(lambda: sessions.get(child.id).tokens.output)
            tree = sessions.tree(lead.id)
            sessions.require_reachable(lead.id, child.id)
            with pytest.raises(Fail):
                sessions.require_reachable(child.id, lead.id)
            refused = []
            for request in (
                SpawnRequest(agent="lead"),
                SpawnRequest(adapter="scripted"),
                SpawnRequest(agent="worker", adapter="other"),
                SpawnRequest(agent="worker", cwd=str(tmp_path)),
                SpawnRequest(agent="worker", sandbox="none"),
                SpawnRequest(agent="worker", options={"x": 1}),
                SpawnRequest(agent="worker", policy="/etc/policy.toml"),
            ):
                with pytest.raises(Fail) as problem:
                    await sessions.spawn(request, caller=caller)
                refused.append(problem.value.details["aip_code"])
            await sessions.kill(lead.id)
            gone = sessions.authenticate(token)
            return child, tree, refused, gone, sessions.get(child.id)

    child, tree, refused, gone, ended = run(scene())
    assert (child.parent_session_id, child.depth, child.agent_slug) == (tree.id, 1, "worker")
    assert [each.id for each in tree.children] == [child.id]
    assert (tree.tokens.output, tree.total_tokens.output) == (0, 5)
    assert refused == [
        "delegation_denied",
        "invalid_agent",
        "delegation_denied",
        "cwd_outside_parent",
        "delegation_denied",
        "delegation_denied",
        "delegation_denied",
    ]
    assert len(calls(tmp_path / "bin")) == 2  # no process was made for what was refused
    assert gone is None
    assert ended.status == "killed"  # with the session that started it


def test_a_nested_session_that_is_resumed_keeps_the_rules_and_the_confinement_of_its_parent(tmp_path):
    agent(tmp_path, "lead", delegates_to=["worker"])
    agent(tmp_path, "worker")
    policy = tmp_path / "policy.toml"
    policy.write_text('deny = ["Bash"]\n')

    async def scene():
        async with registry(tmp_path, manifest={"continuation": TRANSCRIPT}) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead", policy=str(policy), sandbox="none"))
            with pytest.raises(Fail) as problem:
                await sessions.spawn(SpawnRequest(agent="worker", recover="transcript"), caller=lead.id)
            assert problem.value.details["aip_code"] == "delegation_denied"
            child = await sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id)
            await sessions.kill(lead.id)
            again = await sessions.resume(child.id)
            kept = [kept_request(sessions.homes.session(each.id).folder) for each in (child, again)]
            return kept, sessions._live[again.id].options.policy

    kept, rules = run(scene())
    assert [(each.policy, each.sandbox) for each in kept] == [(str(policy), "none")] * 2
    assert [rule.pattern for rule in rules.rules] == ["Bash"]


TRANSCRIPT = {"default": "none", "supported": ["none", "transcript"]}


def test_an_agent_that_edits_its_own_list_gains_nothing(tmp_path):
    agent(tmp_path, "lead", delegates_to=[])
    agent(tmp_path, "worker")

    async def scene():
        async with registry(tmp_path) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            agent(tmp_path, "lead", delegates_to=["worker"])
            with pytest.raises(Fail) as problem:
                await sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id)
            return problem.value

    assert code(run(scene())) == "delegation_denied"


def test_a_project_does_not_say_who_may_start_whom(tmp_path):
    folder = tmp_path / "work" / ".agents" / "lead"
    folder.mkdir(parents=True)
    (folder / "AGENT.md").write_text("---\nname: lead\n---\n")

    async def scene():
        async with registry(tmp_path) as sessions:
            with pytest.raises(Fail) as problem:
                await sessions.spawn(SpawnRequest(agent="lead"))
            return problem.value

    assert code(run(scene())) == "invalid_agent"


def test_children_that_are_being_started_count(tmp_path):
    agent(tmp_path, "lead", delegates_to=["worker"], max_children=1)
    agent(tmp_path, "worker")

    async def scene():
        import asyncio

        async with registry(tmp_path) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            return await asyncio.gather(
                *(sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id) for _ in range(3)),
                return_exceptions=True,
            )

    results = run(scene())
    assert sorted(code(each) if isinstance(each, Fail) else "started" for each in results) == [
        "child_quota_exceeded",
        "child_quota_exceeded",
        "started",
    ]


def test_a_child_has_the_rules_of_its_parent(tmp_path):
    agent(tmp_path, "lead", delegates_to=["worker"])
    agent(tmp_path, "worker")
    strict = rules(deny=["Bash"])

    async def scene():
        async with registry(tmp_path, policy=lambda: strict) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            child = await sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id)
            return sessions._live[child.id].options.policy

    assert run(scene()) is strict


def test_the_credential_is_masked_in_all_that_the_session_keeps(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            view = await sessions.spawn(SpawnRequest(adapter="scripted"))
            token = calls(tmp_path / "bin")[0]["env"][TOKEN_VARIABLE]
            await sessions.prompt(view.id, f"say {token}")
            await until(lambda: sessions.get(view.id).state == "idle")
            folder = sessions._live[view.id].session.home.folder
            await sessions.kill(view.id)
            return token, folder

    token, folder = run(scene())
    state = os.path.join(str(tmp_path), "home")
    kept = [os.path.join(place, name) for place, _, names in os.walk(state) for name in names]
    assert any(name.startswith(folder) for name in kept)
    for name in kept:
        with open(name, "rb") as file:
            assert token.encode() not in file.read(), name


def test_a_folder_that_becomes_a_link_after_it_was_judged_starts_nothing_elsewhere(tmp_path):
    """An agent that works in the folder above can put one there while the session is being started."""
    inner, outside = tmp_path / "work" / "inner", tmp_path / "outside"

    async def scene():
        async with registry(tmp_path, manifest={"continuation": TRANSCRIPT}) as sessions:
            inner.mkdir()
            outside.mkdir()
            agent(tmp_path, "lead", delegates_to=["worker"])
            agent(tmp_path, "worker")
            sessions.workspaces.register("work", str(tmp_path / "work"))
            lead = await sessions.spawn(SpawnRequest(agent="lead", ground="work"))
            wanted = SpawnRequest(agent="worker", ground="ws://workspaces/@me/work/inner")
            child = await sessions.spawn(wanted, caller=lead.id)
            await sessions.kill(child.id)
            find = sessions._starter.find_adapter

            def swapped(name, folder):
                if inner.is_dir() and not inner.is_symlink():
                    inner.rmdir()
                    inner.symlink_to(outside)
                return find(name, folder)

            sessions._starter.find_adapter = swapped
            codes = []
            for start in (
                lambda: sessions.spawn(wanted, caller=lead.id),
                lambda: sessions.resume(child.id),
            ):
                with pytest.raises(Fail) as problem:
                    await start()
                codes.append(problem.value.code)
            return codes, child.cwd

    codes, cwd = run(scene())
    assert cwd == str(inner)
    assert codes == ["WORKSPACE_MOVED", "WORKSPACE_MOVED"]
    assert [call["cwd"] for call in calls(tmp_path / "bin")] == [str(tmp_path / "work"), str(inner)]


@pytest.mark.parametrize("rule", ["agent/scripted/prompt", "agent/worker/prompt"])
def test_a_rule_about_the_agent_stops_a_nested_start_and_a_fork_before_a_process_is_made(tmp_path, rule):
    agent(tmp_path, "lead", delegates_to=["worker"])
    agent(tmp_path, "worker")
    rules = tmp_path / "rules.toml"
    rules.write_text("")
    state = str(tmp_path / "gate")
    gate = CallGate(policy=CallPolicy(str(rules)), root=state, questions=str(tmp_path / "questions"))

    async def scene():
        refused = []
        async with registry(tmp_path, gate=gate, manifest={"continuation": TRANSCRIPT}) as sessions:
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            worker = await sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id)
            begun = len(calls(tmp_path / "bin"))
            rules.write_text(f'deny = ["{rule}"]')
            for again in (
                sessions.spawn(SpawnRequest(agent="worker"), caller=lead.id),
                sessions.spawn(SpawnRequest(agent="worker", worktree=True)),
                sessions.fork(worker.id),
            ):
                with pytest.raises(Fail) as problem:
                    await again
                refused.append(problem.value.code)
            assert len(calls(tmp_path / "bin")) == begun
        return lead.id, refused

    lead, refused = run(scene())
    assert refused == ["CALL_DENIED"] * 3
    chain = workspace_audit(str(tmp_path / "work"), actor="test", root=state).path
    records = [json.loads(line) for _, _, line in read_audit(chain)]
    actions = ["call.started", "call.ended"] * 2 + ["call.denied"] * 3
    assert [each["action"] for each in records] == actions
    assert [each["actor"]["id"] for each in records[4:]] == [f"session:{lead}", *["program:operable"] * 2]
