"""Rules at work in a conversation: who decides, what is remembered, what trips the alarm, what is written down."""

import asyncio

import msgspec
import pytest

from operable.gate.approvals import Ask, Decision
from operable.gate.audit.chain import Audit, verify_audit
from operable.gate.policy.policy_file import rules
from operable.host.policy.gate import Gate
from operable.wire.events import AgentError, AgentPrompt, Choice, TextDelta, ToolCall, ToolResult
from tests.host.scene import session, steps
from tests.requirement import requirement


def run(scene):
    return asyncio.run(asyncio.wait_for(scene, 200))


def write(path="a", **facts):
    return {"call": "Write", "kind": "edit", "ask": True, "args": {"path": path}, **facts}


async def denials(talk, *calls):
    found = [event async for event in talk.send(steps(*calls))]
    return [event.denied for event in found if isinstance(event, ToolResult)]


def records(tmp_path):
    (path,) = (tmp_path / "state").glob("*/audit.jsonl")
    assert verify_audit(str(path)).ok
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_a_callback_decides_what_no_rule_decides(tmp_path):
    asked = []

    def on_ask(ask):
        asked.append((ask.tool, ask.arguments))
        return ask.arguments["path"] == "yes"

    async def scene():
        async with session(tmp_path, on_ask=on_ask) as talk:
            return await denials(talk, write("yes"), write("no"))

    assert run(scene()) == [False, True]
    assert asked == [("Write", {"path": "yes"}), ("Write", {"path": "no"})]


def test_allowed_for_the_session_means_the_same_call_only(tmp_path):
    asked = []

    def on_ask(ask):
        asked.append(ask.arguments["path"])
        return Decision(allowed=True, remember="call", by="test")

    async def scene():
        async with session(tmp_path, on_ask=on_ask) as talk:
            first = await denials(talk, write("a"), write("a"), write("b"))
            return first + await denials(talk, write("a"))

    assert run(scene()) == [False] * 4
    assert asked == ["a", "b"]


def test_a_pattern_can_be_remembered_instead(tmp_path):
    asked = []

    def on_ask(ask):
        asked.append(ask.arguments["path"])
        return Decision(allowed=True, remember="edit:src/**", by="test")

    async def scene():
        async with session(tmp_path, on_ask=on_ask) as talk:
            return await denials(talk, write("src/a"), write("src/b"), write("c"))

    assert run(scene()) == [False] * 3
    assert asked == ["src/a", "c"]


def test_the_reason_of_a_denial_reaches_the_agent(tmp_path):
    async def scene():
        judge = rules(deny=["kind:edit"])
        async with session(tmp_path, policy=judge) as talk:
            return [event async for event in talk.send(steps(write(denied=[{"say": "told"}])))]

    found = run(scene())

    assert "told" in [event.text for event in found if isinstance(event, TextDelta)]
    assert found[-1].reason == "completed"


@requirement("aip45:security:tool-calls-gated", "aip45:lifecycle:turn-audit")
def test_every_turn_call_and_decision_is_in_the_chain_and_secrets_are_not(tmp_path):
    async def scene():
        judge = rules(allow=["edit:a"])
        async with session(tmp_path, policy=judge, secrets=("hunter2hunter2",)) as talk:
            await denials(talk, write("a", result="hunter2hunter2"), write("b"))

    run(scene())
    found = records(tmp_path)
    actions = [record["action"] for record in found]

    assert actions == [
        "session.start",
        "agent.turn.started",
        "agent.tool-call.started",
        "agent.decision",
        "agent.tool-call",
        "agent.tool-call.started",
        "agent.decision",
        "agent.tool-call",
        "agent.turn",
        "session.end",
    ]
    closed = [record["metadata"]["closes"] for record in found if "closes" in record.get("metadata", {})]
    assert closed == [2, 5, 1, 0]
    assert [record["policy"]["decision"] for record in found if "policy" in record] == [
        "allow",
        "allow",
        "deny",
        "deny",
    ]
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    "kind, judge, ok",
    [
        ("execute", rules(allow=["kind:execute"]), True),
        ("read", rules(), True),
        ("execute", rules(), False),
        (None, rules(allow=["kind:execute"]), False),  # nobody says what it does
        (None, rules(allow=["*"]), True),
    ],
)
def test_what_is_allowed_or_changes_nothing_may_run_unasked(tmp_path, kind, judge, ok):
    tools = (
        {} if kind is None else {"tools": {"Tool": {"kind": kind}}}
    )  # JSON-stream tells no kind of an unasked call

    async def scene():
        async with session(tmp_path, policy=judge, quirks=tools) as talk:
            call = {"call": "Tool", "args": {"command": "x"}, "result": "ok"}
            return await talk.send(steps(call, {"say": "on"})).result()

    assert run(scene()).ok == ok


def test_an_unasked_call_that_failed_is_no_alarm(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {"call": "Bash", "kind": "exec", "args": {}, "result": "no such file", "fail": True}
            return await talk.send(steps(call, {"say": "on"})).result()

    assert run(scene()).ok


def test_the_alarm_is_in_the_chain(tmp_path):
    async def scene():
        async with session(tmp_path) as talk:
            call = {"call": "Bash", "kind": "exec", "args": {"command": "rm x"}, "result": "done"}
            await talk.send(steps(call, {"hang": True})).result()

    run(scene())

    assert "agent.alarm" in [record["action"] for record in records(tmp_path)]


def test_an_approval_after_a_cancel_never_reaches_the_agent(tmp_path):
    touched = tmp_path / "touched"

    async def scene():
        async with session(tmp_path, policy=rules(default="ask")) as talk:
            turn = talk.send(
                steps({"call": "Bash", "kind": "exec", "ask": True, "args": {}, "touch": str(touched)})
            )
            async for _ in turn:
                if talk.asks:
                    break
            (ask,) = talk.asks
            cancelling = asyncio.ensure_future(talk.cancel())
            await asyncio.sleep(0)
            with pytest.raises(Exception, match=r"answered|open"):
                talk.answer(ask.id, allowed=True)
            await cancelling
            return await talk.send("still there?").result()

    assert run(scene()).ok
    assert not touched.exists()


def test_the_budget_of_tokens_pauses_and_asks_and_no_ends_the_turn(tmp_path):
    answers = iter([True, False])
    asked = []

    def on_ask(ask):
        asked.append(ask.kind)
        return next(answers)

    async def scene():
        async with session(tmp_path, on_ask=on_ask, budget={"tokens": 20}) as talk:
            return [await talk.send("x").result() for _ in range(5)]

    # The scripted agent tells 15 tokens a turn: 15, 30 (asked: yes, up to 50), 45, 60 (asked: no).
    found = run(scene())

    assert [turn.reason for turn in found] == [
        "completed",
        "completed",
        "completed",
        "completed",
        "cancelled",
    ]
    assert asked == ["budget", "budget"]
    assert found[-1].errors[0].code == "budget_tokens"


def test_the_budget_of_time_ends_a_turn_when_nobody_is_there_to_ask(tmp_path):
    async def scene():
        async with session(tmp_path, budget={"seconds": 0.3}) as talk:
            return [event async for event in talk.send(steps({"say": "x"}, {"hang": True}))]

    found = run(scene())

    assert [event.error.code for event in found if isinstance(event, AgentError)] == ["budget_seconds"]
    assert found[-1].reason == "cancelled"


KNOWN = (
    Choice("1", "Yes", "allow_once"),
    Choice("2", "Always", "allow_always"),
    Choice("3", "No", "reject_once"),
)
AMBIGUOUS = (Choice("1", "Yes", "allow_once"), Choice("2", "By risk", "allow_once"))
STRANGE = (Choice("1", "Go", "proceed"),)


@pytest.mark.parametrize(
    "options, attended, found",
    [
        ((), False, True),
        (KNOWN, False, True),
        (AMBIGUOUS, False, False),
        (STRANGE, False, False),
        (AMBIGUOUS, True, None),
        (STRANGE, True, None),
    ],
)
def test_a_rule_picks_the_plain_one_time_permission_and_no_other(tmp_path, options, attended, found):
    gate = Gate(
        session_id="s",
        workspace=str(tmp_path),
        policy=rules(allow=["*"]),
        audit=Audit(str(tmp_path / "audit.jsonl"), actor="a"),
        attended=attended,
        asking=True,
        quirks={},
    )

    ruled = gate.rule(AgentPrompt("s", "q1", options, tool_name="Bash", arguments={}, kind="execute"))

    assert (ruled.allowed if isinstance(ruled, Decision) else None) is found


def test_a_question_of_the_agent_under_another_id_covers_the_call_that_follows(tmp_path):
    gate = Gate(
        session_id="s",
        workspace=str(tmp_path),
        policy=rules(default="ask"),
        audit=Audit(str(tmp_path / "audit.jsonl"), actor="a"),
        attended=True,
        asking=True,
        quirks={},
    )
    prompt = AgentPrompt("s", "q1", tool_name="shell", arguments={"x": 1}, kind="execute", call_id="perm-1")
    gate.rule(prompt)
    gate.decided(prompt, Decision(True, by="test"))
    alarms = []
    for call_id in ("tc-1", "tc-2"):
        gate.tool_called(ToolCall("s", call_id, "terminal", {"command": "ls"}, "execute"))
        alarms.append(gate.tool_finished(ToolResult("s", call_id, "ok")))

    assert alarms[0] is None
    assert alarms[1] is not None


def _gate(tmp_path, policy, **quirks):
    return Gate(
        session_id="s",
        workspace=str(tmp_path),
        policy=policy,
        audit=Audit(str(tmp_path / "audit.jsonl"), actor="a"),
        attended=True,
        asking=True,
        quirks=quirks,
    )


def _run(gate, call_id, name, arguments, kind, **facts):
    gate.tool_called(ToolCall("s", call_id, name, arguments, kind, **facts))
    return gate.tool_finished(ToolResult("s", call_id, "ok"))


@pytest.mark.parametrize(
    "name, kind, alarms",
    [
        ("shell", "other", True),
        ("mystery", "other", True),
        ("mystery", "read", False),
        ("mystery", "execute", True),
        ("todo", "other", False),
        ("look", "execute", False),
        ("odd", "read", True),
    ],
)
def test_a_kind_that_nobody_knows_counts_as_one_that_changes_something(tmp_path, name, kind, alarms):
    tools = {
        "shell": {"kind": "execute", "command": "command"},
        "todo": "think",
        "look": "search",
        "odd": "other",
    }
    gate = _gate(tmp_path, rules(allow=["kind:read"]), tools=tools)

    assert (_run(gate, "c1", name, {"command": "ls"}, kind) is not None) is alarms


def test_an_unasked_call_that_the_rules_allow_by_its_map_is_no_alarm(tmp_path):
    tools = {"shell": {"kind": "execute", "command": "command"}}
    gate = _gate(tmp_path, rules(allow=["execute:ls *"]), tools=tools)

    assert _run(gate, "c1", "shell", {"command": "ls -l"}, "other") is None
    assert _run(gate, "c2", "shell", {"command": "rm x"}, "other") is not None


@pytest.mark.parametrize("call_id", ["c1", None])
def test_one_question_covers_one_call(tmp_path, call_id):
    gate = _gate(tmp_path, rules(default="ask"))
    gate.tool_called(ToolCall("s", "c1", "Bash", {"command": "ls"}, "execute"))
    prompt = AgentPrompt(
        "s", "q1", tool_name="Bash", arguments={"command": "ls"}, kind="execute", call_id=call_id
    )
    gate.rule(prompt)
    gate.decided(prompt, Decision(True, by="test"))

    first = gate.tool_finished(ToolResult("s", "c1", "ok"))
    second = _run(gate, "c2", "Bash", {"command": "ls"}, "execute")

    assert first is None
    assert second is not None


def test_the_places_of_a_question_count_where_its_call_was_announced_without_them(tmp_path):
    gate = _gate(tmp_path, rules(allow=["edit:ok"], deny=["edit:.env"]))
    gate.tool_called(ToolCall("s", "c1", "Editing files", {"title": "Editing files"}, "edit", unnamed=True))

    def ruled(path):
        prompt = AgentPrompt(
            "s", "q", tool_name="x", kind="edit", call_id="c1", locations=(path,), unnamed=True
        )
        return gate.rule(prompt).allowed

    assert ruled(f"{tmp_path}/ok") is True
    assert ruled(f"{tmp_path}/.env") is False


def test_what_was_told_of_a_call_before_counts_against_its_question(tmp_path):
    gate = _gate(tmp_path, rules(allow=["*"], deny=["execute:rm *"]))
    gate.tool_called(ToolCall("s", "c1", "shell", {"command": "rm x"}, "execute"))

    found = gate.rule(
        AgentPrompt("s", "q", tool_name="shell", arguments={"command": "ls"}, kind="execute", call_id="c1")
    )

    assert found.allowed is False


@pytest.mark.parametrize(
    "chosen, alarms",
    [
        ({"deny": ["read:.env"]}, True),
        ({"ask": ["kind:read"]}, True),
        ({"deny": ["read:other"]}, False),
        ({"deny": ["*"]}, False),
        ({"default": "ask"}, False),
    ],
)
def test_an_unasked_read_is_an_alarm_only_where_a_rule_is_about_it(tmp_path, chosen, alarms):
    gate = _gate(tmp_path, rules(**chosen))

    assert (_run(gate, "c1", "Read", {"path": ".env"}, "read") is not None) is alarms
    assert _run(gate, "c2", "Read", {"title": "Read"}, "read") is None or "kind:read" in chosen.get("ask", ())


def test_a_yes_for_the_session_needs_a_call_that_can_be_known_again(tmp_path):
    for arguments, known in (({"command": "ls"}, True), ({}, False)):
        gate = _gate(tmp_path, rules(default="ask"))
        found = []
        for question in ("q1", "q2"):
            prompt = AgentPrompt(
                "s", question, tool_name="Bash", arguments=arguments, kind="execute", text="Run?"
            )
            found.append(gate.rule(prompt))
            gate.decided(prompt, Decision(True, by="test", remember="call"))
        assert isinstance(found[0], Ask)
        assert isinstance(found[1], Decision) == known, arguments


def test_a_question_for_input_is_not_one_for_permission(tmp_path):
    gate = _gate(tmp_path, rules(default="ask"))
    asked = [
        gate.rule(AgentPrompt("s", "q1", tool_name="Bash", arguments={"command": "ls"}, kind="execute")),
        gate.rule(AgentPrompt("s", "q2", text="Which?")),
    ]
    assert [each.kind for each in asked if isinstance(each, Ask)] == ["permission", "input"]
