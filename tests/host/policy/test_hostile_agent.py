"""An agent that cheats, as a real process, against a session with rules: what it gets, and what the session says of it."""

import asyncio
import json
import os
import sys

import msgspec
import pytest

from operable.host.approvals import Decision
from operable.host.arm import Opening
from operable.host.arms.acp import ARM as ACP
from operable.host.audit import verify_audit
from operable.host.policy.rules import rules
from operable.proc.spawn import prepare
from operable.wire.events import AgentError, AgentPrompt, Notice
from tests.host.scene import session

# Each message of the host names a piece of code that the agent then runs; `got` collects what the host answered.
AGENT = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def tell(call_id="c1", start=False, session="s", **fields):
    word = "tool_call" if start else "tool_call_update"
    update = {"sessionUpdate": word, "toolCallId": call_id, **fields}
    say(method="session/update", params={"sessionId": session, "update": update})

def request(method, wait=True, session="s", **params):
    global made
    made += 1
    say(id=made, method=method, params={"sessionId": session, **params})
    while wait:
        message = json.loads(sys.stdin.readline())
        if message.get("id") == made and "method" not in message:
            got.append(message.get("result") or message.get("error"))
            return got[-1]

def ask(call_id="c1", wait=True, session="s", **fields):
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
               {"optionId": "no", "name": "No", "kind": "reject_once"}]
    call = {"toolCallId": call_id, **fields}
    return request("session/request_permission", wait, session, toolCall=call, options=options)

def write(path, content="x", session="s"):
    return request("fs/write_text_file", session=session, path=path, content=content)

def run(line, **more):
    return {"kind": "execute", "title": "Run", "rawInput": {"command": line, **more}}

def end():
    global turn
    if turn is not None:
        say(id=turn, result={"stopReason": "end_turn"})
    turn = None

scenes, made, got, turn = json.loads(sys.argv[1]), 1000, [], None
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif message.get("method") == "session/new":
        say(id=message["id"], result={"sessionId": "s"})
    elif message.get("method") == "session/prompt":
        turn = message["id"]
        exec(scenes[message["params"]["prompt"][0]["text"]], globals())
        end()
"""


class Seen:
    """What came of a session: events, records of the audit chain, the questions that people were asked."""

    def __init__(self, tmp_path, events, asked):
        self.work = tmp_path / "work"
        self.events, self.asked = events, asked
        (path,) = (tmp_path / "state").glob("*/audit.jsonl")
        assert verify_audit(str(path)).ok
        self._records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]

    @property
    def errors(self):
        return [event.error.code for event in self.events if isinstance(event, AgentError)]

    @property
    def alarms(self):
        return self.records("agent.alarm")

    def records(self, action):
        return [record for record in self._records if record["action"] == action]


def play(tmp_path, scenes, *, answers=lambda _ask: None, after=None, **facts):
    """Send each message of `scenes` in turn, to an agent that then does what stands there."""
    script = tmp_path / "hostile.py"
    script.write_text(AGENT)
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    asked = []

    def on_ask(question):
        asked.append(question)
        return answers(question)

    async def scene():
        running = session(
            tmp_path,
            arm=ACP,
            spawn=lambda words: prepare([sys.executable, str(script), json.dumps(scenes), *words]),
            opening=Opening(cwd=str(work), session_id="h", fs_write=True),
            session_id="h",
            on_ask=on_ask,
            **facts,
        )
        async with running as talk:
            events = [event for message in scenes async for event in talk.send(message)]
            if after is not None:
                await after()
        return events

    events = asyncio.run(asyncio.wait_for(scene(), 200))
    return Seen(tmp_path, events, asked)


def yes(_ask):
    return Decision(True, by="somebody")


LS = rules(allow=["execute:ls *"], ask=["kind:execute"])


# --- a yes is for the form that was asked about ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "then",
    [
        'tell(status="completed", **run("rm -rf x"))',
        'tell(status="in_progress", **run("rm -rf x")); tell(status="completed", **run("rm -rf x"))',
        'tell(status="in_progress", **run("rm -rf x")); tell(status="completed", **run("ls x"))',
    ],
)
def test_a_second_question_without_an_answer_does_not_cover_what_the_call_became(tmp_path, then):
    scene = 'tell(start=True, status="pending", **run("ls x")); ask(**run("ls x"))\n'
    scene += f'ask(wait=False, **run("rm -rf x")); {then}'

    seen = play(tmp_path, {"go": scene}, policy=LS)

    assert seen.errors == ["unasked_tool_call"]
    assert seen.alarms[0]["input"]["told"]["arguments"] == {"command": "rm -rf x"}
    prompts = [event.arguments for event in seen.events if isinstance(event, AgentPrompt)]
    assert prompts == [{"command": "ls x"}, {"command": "rm -rf x"}]
    (record,) = seen.records("agent.tool-call")
    assert record["input"]["arguments"] == {"command": "ls x"} or record["policy"]["decision"] == "unanswered"


def test_a_second_question_that_is_answered_with_yes_covers_what_the_call_became(tmp_path):
    scene = 'tell(start=True, status="pending", **run("ls x")); ask(**run("ls x"))\n'
    scene += 'ask(**run("rm -rf x")); tell(status="completed", **run("rm -rf x"))'

    seen = play(tmp_path, {"go": scene}, policy=LS, answers=yes)

    assert (seen.errors, seen.alarms) == ([], [])
    (record,) = seen.records("agent.tool-call")
    assert (record["policy"]["ref"], record["policy"]["decision"]) == ("somebody", "allow")


PATH = {"file_path": "a.txt"}


@pytest.mark.parametrize(
    "asked, later",
    [
        ({"rawInput": PATH, "content": "benign"}, {"content": "EVIL"}),
        ({"rawInput": {**PATH, "mode": "e"}, "content": "benign"}, {"content": "EVIL"}),
        ({"content": "benign"}, {"content": "EVIL"}),
        ({"rawInput": {**PATH, "text": "benign"}}, {"rawInput": {**PATH, "text": "EVIL"}}),
        ({"rawInput": {**PATH, "description": "a"}}, {"rawInput": {**PATH, "description": "b"}}),
        ({"rawInput": {**PATH, "text": "benign"}}, {"rawInput": {**PATH, "content": "EVIL"}}),
        ({"rawInput": {**PATH, "content": "x"}}, {"rawInput": {**PATH, "content": ""}}),
        ({"rawInput": {**PATH, "append": True}}, {"rawInput": {**PATH, "append": False}}),
        ({"rawInput": PATH}, {"rawInput": [PATH, {**PATH, "content": "EVIL"}]}),
        ({"rawInput": PATH}, {"rawInput": "EVIL"}),
        ({"rawInput": {"edits": [{**PATH, "new": "x"}]}}, {"rawInput": {"Edits": [{**PATH, "new": "EVIL"}]}}),
    ],
    ids=lambda value: str(value)[:70],
)
def test_a_content_that_is_another_one_after_the_yes_is_an_alarm(tmp_path, asked, later):
    def fields(told):
        found = {"kind": "edit", "title": "Edit", **told}
        if "content" in found:
            found["content"] = [{"type": "diff", "path": "a.txt", "oldText": "", "newText": found["content"]}]
        return found

    scene = f'form = {fields(asked)!r}; tell(start=True, status="pending", **form); ask(**form)\n'
    scene += f'tell(status="in_progress", **{fields(later)!r}); tell(status="completed")'

    seen = play(tmp_path, {"go": scene}, policy=rules(ask=["kind:edit"]), answers=yes)

    assert seen.errors == ["unasked_tool_call"]
    (alarm,) = seen.alarms
    assert alarm["input"]["asked"] != alarm["input"]["told"]


def test_a_question_shows_the_content_that_stands_only_in_a_diff_and_its_digest_is_about_it(tmp_path):
    scene = """
for number, text in enumerate(("one", "two")):
    diff = [{"type": "diff", "path": "a.txt", "oldText": "", "newText": text}]
    ask(f"c{number}", kind="edit", title="Edit", rawInput={"file_path": "a.txt"}, content=diff)
"""
    seen = play(tmp_path, {"go": scene}, policy=rules(ask=["kind:edit"]), answers=yes)

    assert [[diff["newText"] for diff in question.diffs] for question in seen.asked] == [["one"], ["two"]]
    assert len({question.digest for question in seen.asked}) == 2
    prompts = [event for event in seen.events if isinstance(event, AgentPrompt)]
    assert [prompt.diffs[0]["newText"] for prompt in prompts] == ["one", "two"]


@pytest.mark.parametrize("policy", [LS, rules(ask=["kind:execute"])], ids=["a rule", "a person"])
@pytest.mark.parametrize(
    "more, ok",
    [
        ({"env": {"LD_PRELOAD": "./x.so"}}, False),
        ({"stdin": "rm -rf x"}, False),
        ({"shell": "/workspace/evil"}, False),
        ({"file": "evil"}, False),
        ({"env": {}, "stdin": None, "background": False}, True),
        ({"description": "List the folder"}, True),
        ({"cmd": "ls x"}, True),
    ],
    ids=str,
)
def test_an_argument_that_joins_a_command_after_the_yes_is_an_alarm(tmp_path, policy, more, ok):
    scene = 'tell(start=True, status="pending", **run("ls x")); ask(**run("ls x"))\n'
    scene += f'tell(status="in_progress", **run("ls x", **{more!r})); tell(status="completed")'

    seen = play(tmp_path, {"go": scene}, policy=policy, answers=yes)

    assert seen.errors == ([] if ok else ["unasked_tool_call"])


def test_an_argument_that_was_told_before_the_question_may_be_told_again(tmp_path):
    scene = 'tell(start=True, status="pending", **run("ls x", timeout=5)); ask(**run("ls x"))\n'
    scene += 'tell(status="completed", **run("ls x", timeout=5))'

    assert play(tmp_path, {"go": scene}, policy=LS).errors == []


# --- what the host does itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["AGENTS.md", ".git/hooks/pre-commit", "sub/.envrc"])
@pytest.mark.parametrize("asks", [True, False])
def test_the_host_writes_no_file_that_becomes_execution_where_the_mode_edits_without_asking(
    tmp_path, name, asks
):
    edit = {"kind": "edit", "title": "Edit", "rawInput": {"file_path": name, "content": "evil"}}
    scene = f'ask(**{edit!r}); tell(status="failed")\n' if asks else ""
    scene += f'write({name!r}); write("a.txt", "fine")'
    facts = {"kinds_of_mode": frozenset({"edit"}), "answers": lambda _ask: False}

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["kind:edit"]), **facts)

    assert not (seen.work / name).exists()
    assert (seen.work / "a.txt").read_text() == "fine"
    assert [question.tool for question in seen.asked if question.tool.startswith("fs/")] == [
        "fs/write_text_file"
    ]


@pytest.mark.parametrize("allow", ["edit:AGENTS.md", "*"])
def test_a_rule_that_names_the_file_or_allows_everything_lets_the_host_write_it(tmp_path, allow):
    facts = {"kinds_of_mode": frozenset({"edit"}), "answers": lambda _ask: False}

    seen = play(
        tmp_path, {"go": 'write("AGENTS.md", "mine")'}, policy=rules(allow=["kind:edit", allow]), **facts
    )

    assert (seen.work / "AGENTS.md").read_text() == "mine"


def test_what_was_denied_in_this_turn_is_not_written_by_a_rule_about_every_edit(tmp_path):
    edit = {"kind": "edit", "title": "Edit", "rawInput": {"file_path": "a.txt", "content": "x"}}
    scene = f'ask(**{edit!r}); tell(status="failed"); write("a.txt")'
    facts = {"kinds_of_mode": frozenset({"edit"}), "answers": lambda _ask: False}

    seen = play(
        tmp_path, {"go": scene, "again": 'write("a.txt")'}, policy=rules(allow=["kind:edit"]), **facts
    )

    writes = [record["metadata"]["session"] for record in seen.records("agent.host-call")]
    assert len(seen.asked) == 2
    assert len(writes) == 1  # in the next turn: nothing was denied there


def test_a_yes_does_not_outlive_its_turn(tmp_path):
    fifo = tmp_path / "answers"
    os.mkfifo(fifo)
    heard = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    edit = {"kind": "edit", "title": "Edit", "rawInput": {"file_path": "a.txt"}}
    scene = f'ask(**{edit!r}); tell(status="completed"); end()\n'
    scene += f'write("a.txt"); write("b.txt"); open({str(fifo)!r}, "w").write(json.dumps(got))'
    answers = []

    async def after():
        told = asyncio.Event()
        asyncio.get_running_loop().add_reader(heard, told.set)
        await told.wait()
        asyncio.get_running_loop().remove_reader(heard)
        answers.extend(json.loads(os.read(heard, 4096)))
        os.close(heard)

    seen = play(
        tmp_path,
        {"go": scene},
        policy=rules(allow=["edit:b.txt"], ask=["kind:edit"]),
        answers=yes,
        after=after,
    )

    assert not (seen.work / "a.txt").exists()
    assert (seen.work / "b.txt").exists()  # a rule allows it
    assert answers[1]["code"] == -32001
    assert "no turn runs" in answers[1]["message"]
    assert len(seen.asked) == 1


# --- other turns, other sessions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "later, ok",
    [
        ('tell(status="completed", rawOutput="more")', True),
        ('tell(status="completed", **run("ls x"))', True),
        ('tell(status="completed", **run("rm -rf z"))', False),
        ('tell(status="in_progress", **run("rm -rf z")); tell(status="completed")', False),
        ('tell(status="completed", kind="delete", rawInput={"path": "a"})', False),
    ],
)
def test_the_id_of_a_call_of_an_earlier_turn_does_not_hide_another_call(tmp_path, later, ok):
    first = 'tell(start=True, status="pending", **run("ls x")); ask(**run("ls x")); tell(status="completed")'

    seen = play(tmp_path, {"one": first, "two": later}, policy=LS)

    assert seen.errors == ([] if ok else ["unasked_tool_call"])


def test_a_question_or_a_request_under_another_session_is_denied(tmp_path):
    told = tmp_path / "told.json"
    scene = 'ask(session="other", **run("ls x")); write("a.txt", session="other")\n'
    scene += f'open({str(told)!r}, "w").write(json.dumps(got))'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["*"]), answers=yes)

    answered, refused = json.loads(told.read_text())
    assert answered["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert refused["code"] == -32602
    assert not (seen.work / "a.txt").exists()
    codes = [event.code for event in seen.events if isinstance(event, Notice)]
    assert codes.count("foreign_request") == 2
