"""The tools of a model: the same registry, with what a caller may decided from who it is."""

import jsonschema_rs
import pytest

from operable.kernel.errors import Fail
from operable.serve.session.spawn import SpawnRequest
from operable.serve.session.tools import TOOLS, ToolCaller
from tests.host.scene import steps
from tests.serve.session.scene import registry, run, until
from tests.serve.session.test_delegation import agent

BY_NAME = {tool.name: tool for tool in TOOLS}
PERSON = ToolCaller(may_approve=True, name="mcp:test")


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))


async def call(sessions, name, caller=PERSON, **arguments):
    return await BY_NAME[name].call(sessions, caller, arguments)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_tool_has_a_schema_of_its_own_and_says_what_it_does(tool):
    assert tool.description
    jsonschema_rs.meta.validate(tool.input_schema)
    assert tool.input_schema["type"] == "object"
    assert "$ref" not in str(tool.input_schema)


def test_a_model_starts_prompts_reads_and_ends_a_session(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            started = await call(sessions, "agent_start", adapter="scripted", prompt="one", label="Task")
            session_id = started["id"]
            await until(lambda: sessions.get(session_id).state == "idle")
            assert await call(sessions, "agent_prompt", sessionId=session_id, prompt="two") == {
                "ok": True,
                "id": session_id,
            }
            await until(lambda: (v := sessions.get(session_id)).state == "idle" and v.turns == 2)
            output = await call(sessions, "agent_output", sessionId=session_id, lastN=3)
            busy = await call(sessions, "agent_interrupt", sessionId=session_id)
            await call(sessions, "agent_kill", sessionId=session_id)
            alive = await call(sessions, "agent_sessions_list", onlyAlive=True)
            every = await call(sessions, "agent_sessions_list")
            return output, busy, alive, every

    output, busy, alive, every = run(scene())
    assert [each["line"] for each in output["lines"]] == [
        "── turn-end (completed) ──",
        "You said: two",
        "── turn-end (completed) ──",
    ]
    assert busy["wasBusy"] is False
    assert alive == {"sessions": []}
    assert [each["status"] for each in every["sessions"]] == ["killed"]


def test_arguments_that_do_not_fit_are_refused(tmp_path):
    async def scene():
        async with registry(tmp_path) as sessions:
            for name, arguments in (
                ("agent_prompt", {"sessionId": "x"}),
                ("agent_start", {"adapter": "scripted", "cwd": "/"}),
                ("agent_output", {"sessionId": "x", "lastN": 0}),
                ("agent_kill", {"sessionId": 1}),
            ):
                with pytest.raises(Fail) as refused:
                    await call(sessions, name, **arguments)
                assert refused.value.code == "ARGUMENTS_INVALID"

    run(scene())


def test_a_session_reaches_only_what_it_started_and_answers_no_question(tmp_path):
    agent(tmp_path, "lead", delegates_to=["worker"])
    agent(tmp_path, "worker")
    asks = steps({"call": "Bash", "args": {"command": "ls"}, "kind": "execute", "ask": True})

    async def scene():
        async with registry(tmp_path) as sessions:
            other = await sessions.spawn(SpawnRequest(adapter="scripted"))
            lead = await sessions.spawn(SpawnRequest(agent="lead"))
            caller = ToolCaller(lead.id, may_approve=True)
            told = await call(sessions, "agent_delegations", caller)
            child = await call(sessions, "agent_start", caller, agent="worker", prompt=asks)
            seen = await call(sessions, "agent_sessions_list", caller)
            refused = []
            for name in ("agent_kill", "agent_interrupt", "agent_output"):
                with pytest.raises(Fail) as problem:
                    await call(sessions, name, caller, sessionId=other.id)
                refused.append(problem.value.code)
            await until(lambda: sessions.get(child["id"]).state == "needs_you")
            (waiting,) = (await call(sessions, "approvals_list", caller))["approvals"]
            answer = {
                "sessionId": child["id"],
                "askId": waiting["id"],
                "allowed": True,
                "digest": waiting["digest"],
            }
            with pytest.raises(Fail) as own:
                await call(sessions, "approvals_respond", caller, **answer)
            with pytest.raises(Fail) as changed:
                await call(sessions, "approvals_respond", **{**answer, "digest": "sha256:0"})
            given = await call(sessions, "approvals_respond", **answer)
            await until(lambda: sessions.get(child["id"]).state == "idle")
            with pytest.raises(Fail) as replayed:
                await call(sessions, "approvals_respond", **answer)
            return (
                told,
                {each["id"] for each in seen["sessions"]} == {lead.id, child["id"]},
                refused,
                (
                    own.value.code,
                    changed.value.code,
                    given["allowed"],
                    replayed.value.code,
                ),
            )

    told, sees_its_own, refused, answers = run(scene())
    assert told["agents"][1] == {"agent": "worker", "allowed": True}
    assert told["agents"][0]["code"] == "delegation_denied"
    assert sees_its_own
    assert refused == ["DELEGATION_DENIED"] * 3
    assert answers == ("MAY_NOT_APPROVE", "ASK_CHANGED", True, "NO_SUCH_ASK")
