"""A call that is not what was asked about: rewritten after the yes, told again after its end, run after a no."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from operable.gate.approvals import Ask, Decision
from operable.gate.audit.chain import Audit, verify_audit
from operable.gate.policy.pattern import ASK
from operable.gate.policy.policy_file import rules
from operable.host.arm import CallRevised, LateCall
from operable.host.arms.acp import ARM as ACP
from operable.host.conversation import Conversation
from operable.host.policy.gate import Gate
from operable.kernel.catalogue import load as load_entry
from operable.proc.spawn import prepare
from operable.testing.cassettes import load
from operable.wire.events import AgentError, AgentPrompt, Notice, ToolCall, ToolResult
from tests.host.arms.kit import Player, steps_of
from tests.host.scene import session

CASSETTES = Path(__file__).parents[1] / "cassettes"


def gate_of(tmp_path, policy, **facts):
    audit = Audit(str(tmp_path / "audit.jsonl"), actor="a")
    given = {"workspace": str(tmp_path), "attended": True, "asking": True, "quirks": {}, **facts}
    return Gate(session_id="s", policy=policy, audit=audit, **given)


def told(form, call_id="c1"):
    facts = {"tool_name": "Tool", "kind": "edit", "arguments": {}, **form}
    return ToolCall("s", call_id, **facts)


def ask(gate, form, call_id="c1", answer=True):
    """The agent asks; whoever is asked says `answer` (None: nothing)."""
    call = told(form, call_id)
    prompt = AgentPrompt(
        "s",
        f"q-{call_id}",
        tool_name=call.tool_name,
        arguments=call.arguments,
        kind=call.kind,
        call_id=call_id,
        locations=call.locations,
        unnamed=call.unnamed,
    )
    found = gate.rule(prompt)
    if isinstance(found, Ask):
        found = None if answer is None else Decision(answer, by="somebody")
    if found is not None:
        gate.decided(prompt, found)
    return found


def finish(gate, call_id="c1", **facts):
    return gate.tool_finished(ToolResult("s", call_id, "ok", **facts))


EDIT = {"kind": "edit", "arguments": {"path": "a.txt", "content": "x"}}
RUN = {"kind": "execute", "arguments": {"command": "ls"}}
# what was asked, what was told later, and under which of the POLICIES that raises the alarm
POLICIES = {
    "a person": rules(default=ASK),
    "allow *": rules(allow=["*"]),
    "allow by kind": rules(allow=["kind:edit", "kind:execute"]),
    "allow by argument": rules(allow=["edit:a.txt", "execute:ls", "Tool(a.txt)"]),
    "deny": rules(deny=["edit:.env", "execute:rm *"], ask=["kind:edit", "kind:execute"]),
}
PERSON, KIND, ARGUMENT, DENIES = "a person", "allow by kind", "allow by argument", "deny"
NOBODY: set[str] = set()
ANYBODY = {PERSON, ARGUMENT, DENIES}
REWRITES = {
    "the same again": (EDIT, EDIT, NOBODY),
    "the same file by another name": (EDIT, {**EDIT, "arguments": {"path": "./a.txt"}}, NOBODY),
    "another spelling of the argument": (EDIT, {**EDIT, "arguments": {"filePath": "a.txt"}}, NOBODY),
    "another title": (EDIT, {**EDIT, "title": "rm -rf /"}, NOBODY),
    "a kind that is not known any more": (EDIT, {**EDIT, "kind": "other"}, NOBODY),
    "the same file as its place": (EDIT, {**EDIT, "locations": ("a.txt",)}, NOBODY),
    "another file": (EDIT, {**EDIT, "arguments": {"path": "b.txt", "content": "x"}}, ANYBODY),
    "another file as its place": (EDIT, {**EDIT, "locations": ("b.txt",)}, ANYBODY),
    "a file that becomes execution": (EDIT, {**EDIT, "locations": (".env",)}, {*ANYBODY, KIND}),
    "a file outside": (EDIT, {**EDIT, "arguments": {"path": "/etc/x"}}, ANYBODY),
    "another content": (EDIT, {**EDIT, "arguments": {"path": "a.txt", "content": "y"}}, {PERSON, DENIES}),
    "a command instead of an edit": (EDIT, RUN, {PERSON, KIND, ARGUMENT, DENIES}),
    "a delete instead of an edit": (EDIT, {**EDIT, "kind": "delete"}, {PERSON, KIND, DENIES}),
    "another tool": (EDIT, {**EDIT, "tool_name": "Other"}, {PERSON, DENIES}),
    "another command": (RUN, {**RUN, "arguments": {"command": "rm x"}}, ANYBODY),
    "more commands": (RUN, {**RUN, "arguments": {"command": "ls; rm x"}}, ANYBODY),
    "the same command in a shell": (RUN, {**RUN, "arguments": {"command": "/bin/sh -c ls"}}, NOBODY),
    "another folder": (RUN, {**RUN, "arguments": {"command": "ls", "cwd": "/"}}, ANYBODY),
    "the workspace as its folder": (RUN, {**RUN, "arguments": {"command": "ls", "cwd": "."}}, NOBODY),
}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", REWRITES)
def test_a_call_that_is_rewritten_after_the_yes_is_an_alarm(tmp_path, name, policy):
    asked, later, alarming = REWRITES[name]
    gate = gate_of(tmp_path, POLICIES[policy])
    first = gate.tool_called(told(asked))
    assert ask(gate, asked).allowed

    alarm = gate.tool_called(told(later))

    assert first is None
    assert (alarm is not None) is (policy in alarming)
    if alarm is not None:
        assert (alarm.asked["arguments"], alarm.reported["arguments"]) == (
            asked["arguments"],
            later["arguments"],
        )


@pytest.mark.parametrize(
    "blank, form, alarms",
    [
        ({"kind": "execute", "arguments": {}}, RUN, False),
        ({"kind": "other", "arguments": {}}, RUN, False),
        ({"kind": "execute", "arguments": {}}, {**RUN, "arguments": {"command": "rm x"}}, True),
        ({"kind": "other", "arguments": {}}, {**RUN, "arguments": {"command": "rm x"}}, True),
        ({"kind": "other", "arguments": {}}, {**RUN, "kind": "read"}, False),
        ({"kind": "execute", "arguments": {}}, {**RUN, "kind": "read"}, True),
    ],
)
def test_what_was_not_known_may_become_known_unless_a_rule_denies_just_that(tmp_path, blank, form, alarms):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(blank))
    assert ask(gate, blank).allowed
    gate.policy = rules(deny=["execute:rm *"], default=ASK)

    assert (gate.tool_called(told(form)) is not None) is alarms


def test_what_a_rule_allowed_unseen_must_be_allowed_when_it_is_seen(tmp_path):
    gate = gate_of(tmp_path, rules(allow=["Tool"], ask=["edit:.env"], default=ASK))
    blank = {"kind": "read", "arguments": {}}
    assert ask(gate, blank).by == "policy:allow Tool"
    assert gate.tool_called(told({"kind": "read", "arguments": {"path": "a"}})) is None

    alarm = gate.tool_called(told({"kind": "edit", "arguments": {"path": ".env"}}))

    assert alarm is not None


def test_a_call_with_nothing_but_a_title_is_another_one_under_another_title(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    form = {"kind": "execute", "arguments": {"title": "ls"}}
    gate.tool_called(told(form))
    ask(gate, form)

    same = gate.tool_called(told({**form, "arguments": {"title": "ls", "text": "output"}}))
    other = gate.tool_called(told({**form, "arguments": {"title": "rm x"}}))

    assert same is None
    assert "its title" in other.text


@pytest.mark.parametrize("folders", [("sub", "sub"), (None, "."), ("sub", None)])
def test_a_link_that_the_call_itself_replaced_is_the_same_in_the_folder_that_was_told(tmp_path, folders):
    form, later = (
        {
            "kind": "edit",
            "arguments": {
                "path": f"{tmp_path}/link",
                "content": "x",
                **({} if folder is None else {"cwd": folder}),
            },
        }
        for folder in folders
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("target")
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(form))
    assert ask(gate, form).allowed
    (tmp_path / "link").unlink()

    assert gate.tool_called(told(later)) is None


def test_a_link_that_the_call_itself_removed_is_still_what_was_asked_about(tmp_path):
    (tmp_path / "link").symlink_to("target")
    gate = gate_of(tmp_path, rules(default=ASK))
    form = {"kind": "delete", "arguments": {"path": "link"}}
    gate.tool_called(told(form))
    ask(gate, form)
    (tmp_path / "link").unlink()

    assert gate.tool_called(told({**form, "arguments": {"path": "link", "force": True}})) is None
    assert finish(gate) is None


def test_a_question_that_waits_is_not_about_what_the_agent_makes_of_the_call_meanwhile(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(EDIT))
    assert ask(gate, EDIT, answer=None) is None

    assert gate.tool_called(told({**EDIT, "arguments": {"path": ".env"}})) is not None


def test_a_question_about_something_else_than_the_call_covers_nothing(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told({**EDIT, "arguments": {"path": ".env"}}))
    ask(gate, EDIT)

    alarm = finish(gate)

    assert alarm is not None
    assert (alarm.asked["arguments"]["path"], alarm.reported["arguments"]["path"]) == ("a.txt", ".env")


@pytest.mark.parametrize("line, alarms", [("ls", False), ("rm x", True)])
def test_a_question_under_another_id_covers_only_the_call_that_it_describes(tmp_path, line, alarms):
    gate = gate_of(tmp_path, rules(default=ASK))
    ask(gate, RUN, call_id="permission-1")
    gate.tool_called(told({**RUN, "arguments": {"command": line}, "tool_name": "terminal"}))

    assert (finish(gate) is not None) is alarms


@pytest.mark.parametrize("questions, alarms", [(2, False), (1, True)])
def test_a_question_under_another_id_covers_one_call(tmp_path, questions, alarms):
    gate = gate_of(tmp_path, rules(default=ASK))
    for number in range(questions):
        ask(gate, RUN, call_id=f"permission-{number}")
    for call_id in ("c1", "c2"):
        gate.tool_called(told(RUN, call_id))
    assert finish(gate, "c1") is None

    assert (finish(gate, "c2") is not None) is alarms


@pytest.mark.parametrize(
    "answer, policy, alarms",
    [
        (True, rules(default=ASK), False),
        (False, rules(default=ASK), True),
        (None, rules(default=ASK), True),
        (None, rules(deny=["kind:edit"]), True),
    ],
)
def test_a_call_that_ran_without_the_yes_that_it_asked_for_is_an_alarm(tmp_path, answer, policy, alarms):
    gate = gate_of(tmp_path, policy)
    gate.tool_called(told(EDIT))
    ask(gate, EDIT, answer=answer)

    assert (finish(gate) is not None) is alarms


@pytest.mark.parametrize("facts", [{"is_error": True}, {"is_error": True, "denied": True}])
def test_a_denied_call_that_failed_is_no_alarm(tmp_path, facts):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(EDIT))
    ask(gate, EDIT, answer=False)

    assert finish(gate, **facts) is None


@pytest.mark.parametrize(
    "form, alarms", [(EDIT, False), (RUN, True), ({"kind": "read", "arguments": {"path": "b"}}, False)]
)
def test_another_call_under_the_id_of_one_that_has_ended_was_not_asked_about(tmp_path, form, alarms):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(EDIT))
    ask(gate, EDIT)
    assert finish(gate) is None

    assert (gate.tool_called(told(form)) is not None) is alarms


def test_a_yes_of_an_earlier_turn_covers_no_call_of_this_one(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.begin_turn("one")
    ask(gate, EDIT)
    gate.begin_turn("two")
    gate.tool_called(told(EDIT))

    assert finish(gate) is not None


def test_an_id_that_comes_again_in_another_turn_is_another_call(tmp_path):
    gate = gate_of(tmp_path, rules(allow=["kind:edit"], default=ASK))
    for name, form in (("one", EDIT), ("two", RUN)):
        gate.begin_turn(name)
        assert gate.tool_called(told(form)) is None
        ask(gate, form)
        assert finish(gate) is None
    gate.record.flush()

    assert decisions(tmp_path) == [("policy:allow kind:edit", "allow"), ("somebody", "allow")]


def test_a_call_that_is_open_is_closed_once(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told(EDIT))

    assert [call.tool_call_id for call in gate.open_calls()] == ["c1"]
    assert finish(gate) is not None
    assert finish(gate) is None
    assert gate.open_calls() == []


def test_an_unasked_call_is_judged_in_every_form_that_it_had(tmp_path):
    gate = gate_of(tmp_path, rules(allow=["execute:ls"]))
    gate.tool_called(told({**RUN, "arguments": {"command": "rm x"}}))
    gate.tool_called(told(RUN))

    assert finish(gate) is not None


def decisions(tmp_path):
    path = tmp_path / "audit.jsonl"
    assert verify_audit(str(path)).ok
    found = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    return [
        (record["policy"]["ref"], record["policy"]["decision"])
        for record in found
        if record["action"] == "agent.tool-call"
    ]


@pytest.mark.parametrize(
    "policy, answer, facts, found",
    [
        (rules(default=ASK), True, {}, ("somebody", "allow")),
        (rules(default=ASK), False, {"is_error": True}, ("somebody", "deny")),
        (rules(default=ASK), None, {"is_error": True}, ("nobody", "unanswered")),
        (rules(default=ASK), "unasked", {}, ("policy", "unasked")),
        (rules(allow=["kind:edit"]), "unasked", {}, ("policy:allow kind:edit", "unasked")),
        (rules(allow=["kind:edit"]), True, {}, ("policy:allow kind:edit", "allow")),
        (rules(default=ASK), "unasked", {"is_error": True, "denied": True}, ("agent", "deny")),
    ],
)
def test_the_record_of_a_call_says_who_decided_or_that_nobody_was_asked(
    tmp_path, policy, answer, facts, found
):
    gate = gate_of(tmp_path, policy)
    gate.tool_called(told(EDIT))
    if answer != "unasked":
        ask(gate, EDIT, answer=answer)
    finish(gate, **facts)
    gate.record.flush()

    assert decisions(tmp_path) == [found]


def test_the_record_of_a_call_has_the_form_in_which_it_ended(tmp_path):
    gate = gate_of(tmp_path, rules(allow=["*"]))
    gate.tool_called(told({"kind": "other", "arguments": {}}))
    gate.tool_called(told(RUN))
    finish(gate)
    gate.record.flush()

    records = [msgspec.json.decode(line) for line in (tmp_path / "audit.jsonl").read_bytes().splitlines()]
    started, ended = [record for record in records if record["action"].startswith("agent.tool-call")]
    assert (started["input"]["kind"], ended["input"]["kind"]) == ("other", "execute")
    assert ended["input"]["arguments"] == {"command": "ls"}
    assert ended["metadata"]["revisions"] == 1


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=f"{path.parent.name}-{path.stem}")
        for path in sorted(CASSETTES.glob("*/*.jsonl"))
    ],
)
def test_no_recorded_agent_rewrites_a_call_or_runs_one_that_was_denied(tmp_path, path):
    cassette = load(path)
    arm = load_entry("operable.host.arms", cassette.label["protocol"], "ARM", kind="arm")
    gate = gate_of(tmp_path, rules(default=ASK), asking=False, workspace="/work/project")
    alarms = []
    for event in Player(arm, cassette).play(steps_of(cassette)).happened:
        if event == "send":
            gate.begin_turn("hello")
        elif isinstance(event, AgentPrompt) and event.tool_name:
            gate.rule(event)
            gate.decided(event, Decision("denied" not in path.stem, by="recorded"))
        about = event.about if isinstance(event, LateCall) else event
        if isinstance(about, ToolCall | CallRevised):
            alarms.append(gate.tool_called(about.call if isinstance(about, CallRevised) else about))
        elif isinstance(about, ToolResult):
            alarms.append(gate.tool_finished(about))

    assert [alarm for alarm in alarms if alarm is not None] == []


# --- the end of a turn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [False, True], ids=["in its turn", "after its turn"])
def test_an_approval_that_was_not_used_covers_nothing_after_its_turn(tmp_path, ends):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.begin_turn("hello")
    prompt = AgentPrompt("s", "q", tool_name="Tool", arguments=RUN["arguments"], kind="execute")
    assert isinstance(gate.rule(prompt), Ask)
    gate.decided(prompt, Decision(True, by="somebody"))
    if ends:
        gate.end_turn()

    assert gate.tool_called(told(RUN)) is None
    alarm = finish(gate)

    assert (alarm is not None) is ends


def test_a_cancel_leaves_the_approvals_of_the_calls_that_run(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.begin_turn("hello")
    gate.tool_called(told(RUN))
    assert ask(gate, RUN).allowed

    gate.cancel_turn()

    assert finish(gate) is None


@pytest.mark.parametrize("answer", [True, False])
def test_a_success_that_is_reported_turns_after_a_failure_is_judged_by_the_answer_then(tmp_path, answer):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.begin_turn("one")
    gate.tool_called(told(RUN))
    ask(gate, RUN, answer=answer)
    assert finish(gate, is_error=True) is None
    gate.end_turn()
    gate.begin_turn("two")
    gate.end_turn()
    gate.begin_turn("three")

    alarm = finish(gate)

    assert (alarm is None) is answer
    assert finish(gate) is None  # once


# --- with a hostile agent, as a process ----------------------------------------------------------------------------------

HOSTILE = """
import json, pathlib, sys

def say(message):
    print(json.dumps(message), flush=True)

def update(**fields):
    update = {"sessionUpdate": fields.pop("update", "tool_call_update"), "toolCallId": "c1", **fields}
    say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})

later = json.loads(sys.argv[1])
asked = {"kind": "edit", "title": "Write a.txt", "rawInput": {"path": "a.txt", "content": "x"},
         "_meta": {"toolName": "Write"}}
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say({"jsonrpc": "2.0", "id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif message.get("method") == "session/new":
        say({"jsonrpc": "2.0", "id": message["id"], "result": {"sessionId": "s"}})
    elif message.get("method") == "session/prompt":
        turn = message["id"]
        update(update="tool_call", status="pending", **asked)
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
                   {"optionId": "no", "name": "No", "kind": "reject_once"}]
        say({"jsonrpc": "2.0", "id": 99, "method": "session/request_permission",
             "params": {"sessionId": "s", "toolCall": {"toolCallId": "c1", **asked}, "options": options}})
    elif message.get("id") == 99:
        for fields in later:
            update(**fields)
        say({"jsonrpc": "2.0", "id": turn, "result": {"stopReason": "end_turn"}})
"""
DIFF = {"type": "diff", "path": ".env", "oldText": "", "newText": "x"}


@pytest.mark.parametrize(
    "later, ok",
    [
        ([{"status": "completed"}], True),
        ([{"status": "in_progress", "locations": [{"path": "a.txt"}]}, {"status": "completed"}], True),
        ([{"status": "in_progress", "rawInput": {"path": ".env", "content": "x"}}], False),
        ([{"status": "completed", "rawInput": {"path": "a.txt", "content": "evil"}}], False),
        ([{"status": "completed", "kind": "execute"}], False),
        ([{"status": "completed", "locations": [{"path": "a.txt"}, {"path": ".env"}]}], False),
        ([{"status": "completed", "content": [DIFF]}], False),
        ([{"update": "tool_call", "status": "in_progress", "rawInput": {"path": ".env"}}], False),
        (
            [
                {"status": "completed"},
                {"update": "tool_call", "kind": "execute", "rawInput": {"command": "rm x"}},
            ],
            False,
        ),
        ([{"status": "in_progress", "_meta": {"toolName": "Bash"}}], False),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, list) else str(value),
)
def test_an_agent_that_rewrites_its_call_after_the_yes_is_ended(tmp_path, later, ok):
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE)

    def spawn(words):
        return prepare([sys.executable, str(script), json.dumps(later), *words])

    async def scene():
        running = session(
            tmp_path, arm=ACP, spawn=spawn, policy=rules(default=ASK), on_ask=lambda _ask: Decision(True)
        )
        async with running as talk:
            events = [event async for event in talk.send("go")]
            return events, talk.status

    events, status = asyncio.run(asyncio.wait_for(scene(), 200))

    codes = [event.error.code for event in events if isinstance(event, AgentError)]
    assert codes == ([] if ok else ["unasked_tool_call"])
    (path,) = (tmp_path / "state").glob("*/audit.jsonl")
    assert verify_audit(str(path)).ok
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    alarms = [record["input"] for record in records if record["action"] == "agent.alarm"]
    assert len(alarms) == (0 if ok else 1)
    if not ok:
        assert alarms[0]["asked"] != alarms[0]["told"]
        assert alarms[0]["asked"]["arguments"] == {"path": "a.txt", "content": "x"}
        assert any(isinstance(event, Notice) and event.code == "tool_revised" for event in events)
    assert status in ("running", "error")


def test_a_call_that_is_told_again_is_a_revision_only_where_it_says_something_else():
    books = Conversation()
    books.begin()
    first = books.call("c1", "Write", {"path": "a"}, kind="edit")
    same = books.call("c1", "Write", {"path": "a"}, kind="edit")
    less = books.call("c1", "Write")
    other = books.call("c1", "Write", {"path": "b"}, kind="edit")

    assert [type(event) for event in first] == [ToolCall]
    assert (same, less) == ([], [])
    assert [event.call.arguments for event in other if isinstance(event, CallRevised)] == [{"path": "b"}]


# kilo asks with the file as it would be, and announces what its model sent only behind the yes.
SHOWN = {"path": "a.txt", "oldText": "one\ntwo\none\n", "newText": "one\nTWO\none\n"}
ASKED = {"filepath": "a.txt", "diff": "-two\n+TWO"}
SAME = {"filePath": "a.txt", "oldString": "two", "newString": "TWO"}
LATER: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "the content that was shown": ({"filePath": "a.txt", "content": "one\nTWO\none\n"}, {}, False),
    "a replacement that comes to it": (SAME, {}, False),
    "a replacement of all that comes to it": ({**SAME, "replaceAll": True}, {}, False),
    "its own change shown beside it": (SAME, {"diffs": ({"path": "a.txt", "digest": "sha256:0"},)}, False),
    "another content": ({"filePath": "a.txt", "content": "one\nTWO\none"}, {}, True),
    "another replacement": ({**SAME, "newString": "TWO!"}, {}, True),
    "a replacement of nothing": ({**SAME, "oldString": ""}, {}, True),
    "a replacement that is not clear": ({**SAME, "oldString": "one", "newString": "one"}, {}, True),
    "a text that is not there": ({**SAME, "oldString": "three"}, {}, True),
    "only what is new": ({"filePath": "a.txt", "newString": "TWO"}, {}, True),
    "only what is replaced": ({"filePath": "a.txt", "oldString": "two"}, {}, True),
    "a content and a replacement": ({**SAME, "content": "one\nTWO\none\n"}, {}, True),
    "another file": ({**SAME, "filePath": "b.txt"}, {}, True),
    "one more file": ({**SAME, "path": "b.txt"}, {}, True),
    "another place": (SAME, {"locations": ("b.txt",)}, True),
    "another file shown beside it": (SAME, {"diffs": ({"path": "b.txt", "digest": "sha256:0"},)}, True),
    "a command beside it": ({**SAME, "command": "rm x"}, {}, True),
    "an argument that is not known": ({**SAME, "append": "x"}, {}, True),
    "a number beside it": ({**SAME, "count": 2}, {}, True),
    "another kind": (SAME, {"kind": "execute"}, True),
    "another tool": (SAME, {"tool_name": "Other"}, True),
    "no object": (["a.txt", "TWO"], {}, True),
}


@pytest.mark.parametrize("name", LATER)
def test_a_call_that_is_announced_behind_its_question_has_to_come_to_the_change_that_was_shown(
    tmp_path, name
):
    (tmp_path / "a.txt").write_text(SHOWN["oldText"])
    arguments, more, alarming = LATER[name]
    gate = gate_of(tmp_path, rules(default=ASK))
    assert gate.tool_called(told({"arguments": ASKED})) is None
    prompt = AgentPrompt(
        "s", "q", tool_name="Tool", kind="edit", call_id="c1", diffs=(SHOWN,), arguments=ASKED
    )
    assert isinstance(gate.rule(prompt), Ask)
    gate.decided(prompt, Decision(True, by="somebody"))

    alarm = gate.tool_called(told({"arguments": arguments, **more}))

    assert (alarm is not None) == alarming
    if not alarming:
        assert finish(gate) is None


def test_a_question_about_two_changes_covers_no_other_words_for_one_of_them(tmp_path):
    gate = gate_of(tmp_path, rules(default=ASK))
    gate.tool_called(told({"arguments": ASKED}))
    both = (SHOWN, {**SHOWN, "path": "b.txt"})
    prompt = AgentPrompt("s", "q", tool_name="Tool", kind="edit", call_id="c1", diffs=both, arguments=ASKED)
    gate.rule(prompt)
    gate.decided(prompt, Decision(True, by="somebody"))

    assert gate.tool_called(told({"arguments": SAME})) is not None
