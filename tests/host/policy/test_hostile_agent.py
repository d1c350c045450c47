"""An agent that cheats, as a real process, against a session with rules: what it gets, and what the session says of it."""

import asyncio
import json
import os
import sys

import msgspec
import pytest

from operable.gate.approvals import Decision
from operable.gate.audit.chain import verify_audit
from operable.gate.policy.policy_file import rules
from operable.host.arm import Opening
from operable.host.arms.acp import ARM as ACP
from operable.proc.spawn import prepare
from operable.wire.events import AgentError, AgentPrompt, Notice, TextDelta
from tests.host.scene import limits, session

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

DONE = {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "done"}}}
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


async def _up_to(talk, is_last):
    """The records of a session, up to this event or to the end of the session."""
    async for record in talk.events():
        yield record
        if is_last(record.event):
            return


def play(tmp_path, scenes, *, answers=lambda _ask: None, after=None, up_to_done=False, **facts):
    """Send each message of `scenes` in turn, to an agent that then does what stands there.

    `up_to_done`: the events are those of the log, until the agent says DONE or the session is over.
    """
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
            opening=Opening(cwd=str(work), session_id="h", fs_write=True, terminal="confine" in facts),
            session_id="h",
            on_ask=on_ask,
            **facts,
        )
        async with running as talk:
            events = [event for message in scenes async for event in talk.send(message)]
            if after is not None:
                await after()
            if up_to_done:
                events = [
                    record.event
                    async for record in _up_to(talk, lambda event: getattr(event, "code", "") == "late_text")
                ]
        return events

    events = asyncio.run(asyncio.wait_for(scene(), 200))
    return Seen(tmp_path, events, asked)


def yes(_ask):
    return Decision(True, by="somebody")


TOUCHED = 'tell("n", start=True, status="completed", **run("touch x"))'
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
        ({"rawInput": {**PATH, "status": "open"}}, {"rawInput": {**PATH, "status": "closed"}}),
        (
            {"rawInput": {**PATH, "text": "x"}},
            {"rawInput": {**PATH, "text": "x", "metadata": {"new": "EVIL"}}},
        ),
        ({"rawInput": {**PATH, "content": "x"}}, {"rawInput": {**PATH, "content": "x", "status": ["EVIL"]}}),
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


BENIGN = {"file_path": "/elsewhere/a.txt", "parentDir": "/elsewhere"}


@pytest.mark.parametrize(
    "kind, asked, later",
    [
        # opencode asks about the folder first, and tells the content afterwards.
        ("edit", BENIGN, {"filePath": "/elsewhere/a.txt", "content": "made"}),
        ("edit", {**PATH, "content": "x"}, {**PATH, "content": "x", "description": "Make it", "timeout": 5}),
        ("edit", {**PATH, "content": "x", "summary": "a"}, {**PATH, "content": "x", "summary": "b"}),
        ("edit", {**PATH, "content": "x", "status": "new"}, {**PATH, "content": "x", "status": "done"}),
        ("execute", {"command": "ls", "description": "List"}, {"command": "ls", "description": "List all"}),
        ("execute", {"command": "ls"}, {"command": "ls", "timeout_ms": 5, "metadata": {"callId": "c1"}}),
        ("execute", {"command": "ls", "timeout": 5}, {"command": "ls", "timeout": 6, "status": "running"}),
    ],
    ids=lambda value: str(value)[:70],
)
def test_what_is_told_after_the_yes_and_has_no_effect_is_not_an_alarm(tmp_path, kind, asked, later):
    scene = f'form = {{"kind": {kind!r}, "title": "T", "rawInput": {asked!r}}}\n'
    scene += 'tell(start=True, status="pending", **form); ask(**form)\n'
    scene += f'tell(status="in_progress", rawInput={later!r}); tell(status="completed", title="done")'

    seen = play(tmp_path, {"go": scene}, policy=rules(ask=["kind:edit", "kind:execute"]), answers=yes)

    assert (seen.errors, seen.alarms) == ([], [])
    assert len(seen.asked) == 1


@pytest.mark.parametrize("kind", ["other", "edit"])
def test_a_content_that_opencode_tells_after_its_question_about_the_folder_may_not_change(tmp_path, kind):
    first = {"kind": kind, "title": "/elsewhere", "rawInput": BENIGN}
    told = {"kind": "edit", "rawInput": {"filePath": "/elsewhere/a.txt", "content": "made"}}
    second = {"kind": "edit", "title": "a", "rawInput": {"filepath": "/elsewhere/a.txt", "content": "made"}}
    scene = (
        f'tell(start=True, status="pending", kind="edit", title="write", rawInput={{}}); ask(**{first!r})\n'
    )
    scene += f'tell(status="in_progress", **{told!r}); ask(**{second!r})\n'
    scene += 'tell(status="completed", rawInput={"filePath": "/elsewhere/a.txt", "content": "EVIL"})'

    seen = play(tmp_path, {"go": scene}, policy=rules(ask=["kind:edit"]), answers=yes)

    assert seen.errors == ["unasked_tool_call"]


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


@pytest.mark.parametrize(
    "asked, more",
    [
        ({"run_in_background": True}, {"dangerouslyDisableSandbox": True}),
        ({"count": 1}, {"sudo": True}),
        ({"note": "rm -rf x"}, {"stdin": "rm -rf x"}),
        ({"description": "./evil"}, {"shell": "./evil"}),
        ({"x": {"LD_PRELOAD": "./x.so"}}, {"env": {"LD_PRELOAD": "./x.so"}}),
    ],
    ids=str,
)
def test_a_value_that_was_shown_does_not_join_a_command_under_another_name(tmp_path, asked, more):
    scene = (
        f'tell(start=True, status="pending", **run("ls x", **{asked!r})); ask(**run("ls x", **{asked!r}))\n'
    )
    scene += f'tell(status="in_progress", **run("ls x", **{ {**asked, **more}!r})); tell(status="completed")'

    seen = play(tmp_path, {"go": scene}, policy=rules(ask=["kind:execute"]), answers=yes)

    assert seen.errors == ["unasked_tool_call"]


@pytest.mark.parametrize(
    "policy", [rules(allow=["kind:execute"]), rules(deny=["kind:execute"])], ids=["yes", "no"]
)
@pytest.mark.parametrize("other", ["allow_once", "allow_always"])
def test_an_option_whose_id_has_two_meanings_is_never_chosen(tmp_path, policy, other):
    kinds = ["reject_once", other] if other == "allow_once" else ["allow_once", other]
    options = [{"optionId": "a", "name": kind, "kind": kind} for kind in kinds]
    call = {"toolCallId": "c1", "kind": "execute", "title": "Run", "rawInput": {"command": "ls x"}}
    scene = f"answer = request('session/request_permission', toolCall={call!r}, options={options!r})\n"
    scene += f"open({str(tmp_path / 'answer.json')!r}, 'w').write(json.dumps(answer))"

    play(tmp_path, {"go": scene}, policy=policy, answers=lambda _ask: Decision(False, by="somebody"))

    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["outcome"] == {"outcome": "cancelled"}


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


@pytest.mark.parametrize("allow, named", [("kind:edit", [".git/hooks/pre-commit", "AGENTS.md"]), ("*", [])])
def test_an_unasked_change_of_a_file_that_becomes_execution_is_named(tmp_path, allow, named):
    """The mode edits without asking, so that it does not ask about these either; the turn goes on."""
    scene = "\n".join(
        f'tell("c{number}", start=True, kind="edit", title="Edit", rawInput={{"file_path": {path!r}}});'
        f' tell("c{number}", status="{status}")'
        for number, (path, status) in enumerate(
            [
                (".git/hooks/pre-commit", "completed"),
                ("src/a.py", "completed"),
                ("CLAUDE.md", "failed"),
                ("AGENTS.md", "completed"),
            ]
        )
    )
    facts = {"kinds_of_mode": frozenset({"edit"})}

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=[allow]), **facts)

    notices = [event for event in seen.events if isinstance(event, Notice)]
    told = [event.data["path"] for event in notices if event.code == "execution_file_changed"]
    assert told == named
    assert [record["subject"]["kind"] for record in seen.records("agent.execution-file")] == ["tool"] * len(
        named
    )
    assert (seen.errors, seen.alarms) == ([], [])
    assert seen.events[-1].reason == "completed"


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


# --- files that become execution ------------------------------------------------------------------------------------------


def edit(path, **more):
    return {"kind": "edit", "title": "Edit", "rawInput": {"file_path": path, "content": "x"}, **more}


@pytest.mark.parametrize("host_writes", [False, True], ids=["the agent", "the host"])
@pytest.mark.parametrize(
    "allow, path, is_asked",
    [
        ("kind:edit", "AGENTS.md", True),
        ("kind:edit", ".git/hooks/pre-commit", True),
        ("edit:**", "sub/opencode.json", True),
        ("edit:*.json", "package.json", True),
        ("kind:edit", "a.txt", False),
        ("kind:edit", "Makefile", False),
        ("edit:AGENTS.md", "AGENTS.md", False),
        ("edit:**/AGENTS.md", "sub/AGENTS.md", False),
        ("edit:.github/**", ".github/workflows/ci.yml", False),
        ("edit:src/**", "src/.github/workflows/ci.yml", True),
        ("*", "AGENTS.md", False),
    ],
)
def test_an_allow_for_edits_does_not_answer_for_a_file_that_becomes_execution(
    tmp_path, allow, path, is_asked, host_writes
):
    call = edit(path)
    scene = f"write({path!r})" if host_writes else f'ask(**{call!r}); tell(status="failed")'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=[allow]), answers=lambda _ask: False)

    assert len(seen.asked) == is_asked
    assert (seen.work / path).exists() == (host_writes and not is_asked)
    if is_asked:
        assert "becomes execution" in seen.asked[0].why
        assert path in seen.asked[0].why


def test_a_link_to_a_file_that_becomes_execution_is_asked_about(tmp_path):
    (tmp_path / "work" / ".git" / "hooks").mkdir(parents=True)
    (tmp_path / "work" / "notes.txt").symlink_to(".git/hooks/pre-commit")
    call = edit("notes.txt")

    seen = play(
        tmp_path,
        {"go": f'ask(**{call!r}); tell(status="failed")'},
        policy=rules(allow=["kind:edit", "edit:notes.txt"]),
        answers=lambda _ask: False,
    )

    assert len(seen.asked) == 1


@pytest.mark.parametrize(
    "told, is_asked",
    [
        ({"title": "Edit", "rawInput": {"thing": "AGENTS.md"}}, True),
        ({"title": "Edit", "rawInput": {"things": [{"x": ".github/workflows/ci.yml"}]}}, True),
        ({"title": "Edit AGENTS.md"}, True),
        ({"title": "Edit", "rawInput": {"thing": "a.txt", "content": "See AGENTS.md"}}, False),
    ],
)
def test_an_edit_that_does_not_say_which_argument_is_its_file_is_judged_by_all_of_them(
    tmp_path, told, is_asked
):
    call = {"kind": "edit", **told}

    seen = play(
        tmp_path,
        {"go": f'ask(**{call!r}); tell(status="failed")'},
        policy=rules(allow=["kind:edit"]),
        answers=lambda _ask: False,
    )

    assert len(seen.asked) == is_asked


@pytest.mark.parametrize("path", ["AGENTS.md\0.txt", "~\0/a", "file:///a%00b"])
@pytest.mark.parametrize("deny, times", [([], 1), (["edit:.env"], 0)])
def test_a_path_that_no_file_can_have_is_asked_about_or_denied_like_every_file(tmp_path, path, deny, times):
    call = edit(path)

    seen = play(
        tmp_path,
        {"go": f'ask(**{call!r}); tell(status="failed")', "again": f'ask("c2", **{edit("a.txt")!r})'},
        policy=rules(allow=["kind:edit"], deny=deny),
        answers=lambda _ask: False,
    )

    assert seen.errors == []
    assert len(seen.asked) == times


@pytest.mark.parametrize("path, ok", [("a.txt", True), ("AGENTS.md", False)])
def test_an_unasked_edit_of_a_file_that_becomes_execution_is_an_alarm(tmp_path, path, ok):
    call = edit(path)

    seen = play(
        tmp_path,
        {"go": f'tell(start=True, status="completed", **{call!r})'},
        policy=rules(allow=["kind:edit"]),
    )

    assert seen.errors == ([] if ok else ["unasked_tool_call"])


def test_a_call_that_turns_to_a_file_that_becomes_execution_after_the_yes_of_a_rule_is_an_alarm(tmp_path):
    call, later = edit("a.txt"), edit("AGENTS.md")
    scene = f'ask(**{call!r}); tell(status="in_progress", **{later!r}); tell(status="completed")'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["kind:edit"]))

    assert seen.errors == ["unasked_tool_call"]


# --- what stands beside a command -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more, is_asked",
    [
        ({"env": {"LD_PRELOAD": "./x.so"}}, True),
        ({"env": {"PATH": "./bin"}}, True),
        ({"env": {"GIT_SSH_COMMAND": "./x"}}, True),
        ({"env": {"NODE_OPTIONS": "--require ./x"}}, True),
        ({"env": {"PYTHONPATH": "."}}, True),
        ({"env": {"BASH_ENV": "./x"}}, True),
        ({"env": {"SOMETHING_NEW": "1"}}, True),
        ({"environment": [{"name": "LD_PRELOAD", "value": "./x.so"}]}, True),
        ({"envVars": ["LD_PRELOAD=./x.so"]}, True),
        ({"options": {"env": {"LD_PRELOAD": "./x.so"}}}, True),
        ({"env": "not readable"}, True),
        ({"env": {"A=B; rm -rf x #": "1"}}, True),
        ({"env": 7}, True),
        ({"shell": "./evil"}, True),
        ({"stdin": "rm -rf x"}, True),
        ({"env": {"TERM": "dumb", "LC_ALL": "C", "NO_COLOR": "1"}}, False),
        ({"env": {}, "shell": "/bin/bash", "stdin": None}, False),
        ({"shell": True, "timeout": 5}, False),
    ],
    ids=str,
)
def test_a_rule_for_the_bare_command_does_not_answer_for_what_stands_beside_it(tmp_path, more, is_asked):
    scene = f'ask(**run("ls x", **{more!r})); tell(status="failed")'

    seen = play(tmp_path, {"go": scene}, policy=LS, answers=lambda _ask: False)

    assert len(seen.asked) == is_asked


@pytest.mark.parametrize("more", [{"env": {"A": "1"}}, {"shell": "./evil"}, {"stdin": "x"}], ids=str)
def test_what_stands_beside_a_command_does_not_hide_it_from_a_deny(tmp_path, more):
    scene = f'ask(**run("rm -rf x", **{more!r})); tell(status="failed")'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["*"], deny=["execute:rm *"]), answers=yes)

    assert seen.asked == []
    (record,) = seen.records("agent.decision")
    assert record["policy"] == {"ref": "policy:deny execute:rm *", "decision": "deny"}


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


# Whether the agent still lives: a request of it is answered after everything before it was judged.
LIVES = '\nend(); {then}\nwrite("/nowhere"); say(method="session/update", params=DONE)'


def between(tmp_path, first, then, **facts):
    """Play `first` in a turn and `then` after its end, up to the end of the agent or of what it says."""
    return play(tmp_path, {"go": first + LIVES.format(then=then)}, up_to_done=True, **facts)


ALLOWED = 'tell(start=True, status="pending", **run("ls x")); ask(**run("ls x"))'


@pytest.mark.parametrize(
    "first, then, ok",
    [
        ("", 'tell("n", start=True, status="completed", **run("rm -rf x"))', False),
        ("", 'tell("n", start=True, status="pending", **run("rm x")); tell("n", status="completed")', False),
        ("", 'tell("n", status="completed", kind="other", title="Thing", rawInput={"x": 1})', False),
        ("", 'tell("n", start=True, status="completed", kind="edit", rawInput={"path": "a"})', False),
        ("", 'tell("n", start=True, status="failed", **run("rm -rf x"))', True),
        ("", 'tell("n", start=True, status="completed", **run("ls x"))', True),
        ("", 'tell("n", start=True, status="completed", kind="read", rawInput={"path": "a"})', True),
        # The result of a call of the turn comes after its end.
        (ALLOWED, 'tell(status="completed", rawOutput="late")', True),
        (ALLOWED, 'tell(status="completed", **run("ls x"))', True),
        (ALLOWED, 'tell(status="completed", **run("rm -rf x"))', False),
        (ALLOWED, 'tell(start=True, status="completed", **run("ls x"))', True),
        ('tell(start=True, status="pending", **run("rm -rf x"))', 'tell(status="completed")', False),
        ('ask(**run("rm -rf x")); tell(status="failed")', 'tell(status="completed")', False),
        # A yes that was not used in its turn covers nothing after it.
        ('ask("q", **run("touch x")); tell("q", status="failed")', TOUCHED, False),
    ],
)
def test_a_call_between_turns_is_judged_like_one_within_a_turn(tmp_path, first, then, ok):
    policy = rules(allow=["execute:ls *"], ask=["execute:touch *"])

    seen = between(tmp_path, first, then, policy=policy, answers=yes)

    assert seen.errors == ([] if ok else ["unasked_tool_call"])
    assert len(seen.alarms) == (not ok)
    (end,) = seen.records("session.end")
    assert end["output"]["status"] == ("exited" if ok else "error")


def test_a_call_between_turns_is_in_the_log_and_in_the_audit_chain(tmp_path):
    call = 'tell("n", start=True, status="completed", **run("rm -rf x"))'

    seen = between(tmp_path, "", call, policy=LS)

    notices = [event.code for event in seen.events if isinstance(event, Notice)]
    assert notices.index("late_tool_call") < notices.index("late_result")
    (record,) = seen.records("agent.tool-call")
    assert record["input"]["arguments"] == {"command": "rm -rf x"}
    assert record["policy"]["decision"] == "unasked"
    (alarm,) = seen.alarms
    assert alarm["input"]["told"]["arguments"] == {"command": "rm -rf x"}


@pytest.mark.parametrize("ok", [True, False])
def test_a_call_that_is_begun_between_turns_and_ends_in_the_next_one_is_judged(tmp_path, ok):
    line = "ls x" if ok else "rm -rf x"
    first = f'end(); tell("n", start=True, status="in_progress", **run({line!r}))'

    seen = play(tmp_path, {"one": first, "two": 'tell("n", status="completed")'}, policy=LS)

    assert seen.errors == ([] if ok else ["unasked_tool_call"])


@pytest.mark.parametrize("ok", [True, False])
def test_a_call_after_a_cancel_that_the_agent_does_not_answer_is_judged(tmp_path, ok):
    fifo = tmp_path / "go-on"
    os.mkfifo(fifo)
    line = "ls x" if ok else "rm -rf x"
    scene = f'say(method="session/update", params=DONE); open({str(fifo)!r}).read()\n'
    scene += f'tell("n", start=True, status="completed", **run({line!r}))'
    script = tmp_path / "hostile.py"
    script.write_text(AGENT)

    async def cancelled():
        running = session(
            tmp_path,
            arm=ACP,
            spawn=lambda words: prepare([sys.executable, str(script), json.dumps({"go": scene}), *words]),
            opening=Opening(cwd=str(tmp_path / "work"), session_id="h"),
            session_id="h",
            policy=LS,
            limits=limits(cancel_grace=0.01, settle=100.0),
        )
        async with running as talk:
            turn = talk.send("go")
            await anext(event async for event in turn if isinstance(event, TextDelta))
            await talk.cancel()
            await asyncio.to_thread(fifo.write_text, "go on")
            return [
                record.event
                async for record in _up_to(talk, lambda event: getattr(event, "code", "") == "turn_settled")
            ]

    events = asyncio.run(asyncio.wait_for(cancelled(), 200))
    seen = Seen(tmp_path, events, [])

    assert seen.errors[:1] == ([] if ok else ["unasked_tool_call"])
    assert len(seen.alarms) == (not ok)


@pytest.mark.parametrize("other", ["other", "", None, 0, ["s"], {"s": "s"}, "s ", "S"], ids=repr)
def test_a_question_or_a_request_under_another_session_is_denied(tmp_path, other):
    told = tmp_path / "told.json"
    scene = f'ask(session={other!r}, **run("ls x")); write("a.txt", session={other!r})\n'
    scene += f'open({str(told)!r}, "w").write(json.dumps(got))'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["*"]), answers=yes)

    answered, refused = json.loads(told.read_text())
    assert answered["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert refused["code"] == -32602
    assert not (seen.work / "a.txt").exists()
    codes = [event.code for event in seen.events if isinstance(event, Notice)]
    assert codes.count("foreign_request") == 2


def test_a_request_that_names_no_session_is_denied(tmp_path):
    told = tmp_path / "told.json"
    scene = """say(id=7, method="fs/write_text_file", params={"path": "a.txt", "content": "x"})
got = json.loads(sys.stdin.readline())
"""
    scene += f'open({str(told)!r}, "w").write(json.dumps(got))'

    seen = play(tmp_path, {"go": scene}, policy=rules(allow=["*"]))

    assert json.loads(told.read_text())["error"]["code"] == -32602
    assert not (seen.work / "a.txt").exists()


def test_a_command_of_the_host_does_not_outlive_a_turn_that_ends_well(tmp_path):
    """The second turn begins after the end of the first: its wait is for a command that is over by then."""
    told = tmp_path / "told.json"
    scenes = {
        "one": 'request("terminal/create", command="sleep", args=["600"])',
        "two": 'request("terminal/wait_for_exit", terminalId=got[-1]["terminalId"])\n'
        f'open({str(told)!r}, "w").write(json.dumps(got))',
    }

    seen = play(
        tmp_path,
        scenes,
        policy=rules(allow=["*"]),
        confine=lambda argv, env, cwd: prepare(list(argv), env={"PATH": os.environ["PATH"], **env}, cwd=cwd),
    )

    assert json.loads(told.read_text())[-1] == {"exitCode": None, "signal": "SIGKILL"}
    (ended,) = [record for record in seen.records("agent.host-call") if "signal" in record["output"]]
    assert ended["output"]["signal"] == "SIGKILL"


@pytest.mark.parametrize("line", ["API_TOKEN=$(touch pwned) make", "API_TOKEN=x1 touch pwned"])
def test_a_secret_in_a_command_hides_nothing_that_runs_from_the_person_or_the_audit(tmp_path, line):
    scene = f"ask('c1', **run({line!r})); ask('c2', kind='execute', title={line!r})"

    seen = play(
        tmp_path, {"go": scene}, policy=rules(ask=["kind:execute"]), answers=lambda _ask: Decision(False)
    )

    first, _second = seen.asked
    assert "touch pwned" in first.arguments["command"]
    assert "x1" not in first.arguments["command"]
    assert "touch pwned" in seen.records("agent.decision")[0]["input"]["arguments"]["command"]


UNRESOLVABLE = "/proc/1/root/x"


def unresolvable_at(monkeypatch, problem):
    """The system fails, in a way that is not a known one, where the name `poison` is looked up."""
    real = os.lstat

    def lstat(path, **options):
        if "poison" in os.fspath(path):
            raise problem("found")
        return real(path, **options)

    monkeypatch.setattr(os, "lstat", lstat)


POISONED = {
    "a question": f'ask(**{edit("poison")!r}); got.append("went on")',
    "an announcement": f"ask(**{edit('a.txt')!r}); tell(**{edit('poison')!r})",
    "a call that nobody was asked about": f'tell("n", start=True, status="completed", **{edit("poison")!r})',
    "a file of the host": 'write("poison", "x"); got.append("went on")',
    "a folder of the host": 'request("terminal/create", command="ls", cwd="poison")',
}


@pytest.mark.parametrize("problem", [RuntimeError, RecursionError, MemoryError, KeyError])
@pytest.mark.parametrize("moment", list(POISONED))
def test_what_cannot_be_judged_ends_the_session_with_an_alarm_in_the_record(
    tmp_path, monkeypatch, moment, problem
):
    unresolvable_at(monkeypatch, problem)
    code = f'{POISONED[moment]}\nimport pathlib; time = __import__("time"); time.sleep(60)'

    facts = {"confine": lambda argv, env, cwd: prepare(argv, env=env, cwd=cwd)} if "folder" in moment else {}
    seen = play(tmp_path, {"go": code}, policy=rules(allow=["kind:edit"], deny=["edit:.env"]), **facts)

    assert seen.errors == ["session_failed" if "of the host" in moment else "judging_failed"]
    assert len(seen.alarms) == 1
    assert seen.records("session.end")[-1]["output"]["status"] == "error"
    assert len(seen.records("agent.turn")) == 1
    assert not (seen.work / "poison").exists()


@pytest.mark.parametrize(
    "code",
    [
        f'tell("n", start=True, status="completed", **run("touch x", path="{UNRESOLVABLE}"))',
        f'ask(**run("ls")); tell(**run("touch x", path="{UNRESOLVABLE}"))',
        f'ask(**run("touch x")); tell(locations=[{{"path": "{UNRESOLVABLE}"}}]); tell(status="completed")',
    ],
    ids=["never asked", "rewritten", "denied"],
)
def test_a_path_that_the_system_refuses_to_resolve_does_not_turn_the_alarm_off(tmp_path, code):
    seen = play(tmp_path, {"go": code}, policy=rules(allow=["execute:ls"]))

    assert seen.errors == ["unasked_tool_call"]
    assert len(seen.alarms) == 1


def test_a_question_about_a_path_that_cannot_be_resolved_is_answered(tmp_path):
    code = f'ask(**{edit(UNRESOLVABLE)!r}); ask("c2", **{edit("src/a.txt")!r}); say(method="session/update", params=DONE)'

    seen = play(tmp_path, {"go": code}, policy=rules(allow=["edit:src/**"]))

    decisions = [record["policy"]["decision"] for record in seen.records("agent.decision")]
    assert decisions == ["deny", "allow"]
    assert seen.errors == []


def asked_edit(path="notes.md", **content):
    return {"kind": "edit", "title": "Edit", "rawInput": {"path": path}, **content}


WHOLE = {"content": [{"type": "diff", "path": "notes.md", "oldText": "", "newText": "hello"}]}
PART = {"content": [{"type": "diff", "path": "notes.md", "oldText": "one", "newText": "two"}]}
IN_ARGUMENTS = {"rawInput": {"path": "notes.md", "content": "hello"}}
PART_IN_ARGUMENTS = {"rawInput": {"path": "notes.md", "old_string": "one", "new_string": "two"}}
PATCH = {"rawInput": {"path": "notes.md", "patch": "@@ -1 +1 @@\n-one\n+two\n"}}


@pytest.mark.parametrize(
    "question, written, is_good",
    [
        (WHOLE, "hello", True),
        (WHOLE, "EVIL", False),
        (IN_ARGUMENTS, "hello", True),
        (IN_ARGUMENTS, "EVIL", False),
        (PART, "two three one", True),
        (PART, "two three two", True),
        (PART, "two three EVIL", False),
        (PART_IN_ARGUMENTS, "two three one", True),
        (PART_IN_ARGUMENTS, "two", False),
        (PATCH, "two three one", False),
        ({}, "whatever", True),
    ],
)
def test_a_yes_to_one_content_does_not_let_the_host_write_another(tmp_path, question, written, is_good):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.md").write_text("one three one")
    code = f'ask(**{asked_edit(**question)!r}); write("notes.md", {written!r})'

    seen = play(
        tmp_path,
        {"go": code},
        policy=rules(ask=["kind:edit"]),
        answers=lambda ask: ask.tool != "fs/write_text_file",
    )

    assert (seen.work / "notes.md").read_text() == (written if is_good else "one three one")
    assert [ask.tool for ask in seen.asked[1:]] == ([] if is_good else ["fs/write_text_file"])


def test_a_question_of_the_host_shows_what_it_is_to_write_and_a_digest_of_all_of_it(tmp_path):
    code = 'write("a.txt", "short"); write("b.txt", "x" * 20_000)'

    seen = play(tmp_path, {"go": code}, policy=rules(ask=["kind:edit"]), answers=lambda _ask: True)

    short, long = [ask.arguments for ask in seen.asked]
    assert short["content"] == "short"
    assert long["content"].startswith("x" * 8000)
    assert long["content"].endswith("(12000 more characters)")
    assert short["content_digest"] != long["content_digest"]
    assert (seen.work / "b.txt").read_text() == "x" * 20_000
