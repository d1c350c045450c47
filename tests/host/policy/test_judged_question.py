"""A question is one value: what the person sees, what is remembered, and what the host compares with, are the same.

A real agent that cheats asks about one thing, and then has the host do another one, which it announced before or listed
beside. The person says yes to the first question, and no to everything else.
"""

import os

import pytest

from operable.gate.approvals import Decision
from operable.gate.policy.policy_file import rules
from operable.proc.spawn import prepare
from operable.wire.events import AgentPrompt, ToolCall
from tests.host.policy.test_hostile_agent import play
from tests.host.policy.test_judged_question_grants import gate_of

ASK = rules(ask=["kind:edit", "kind:execute", "kind:read"])
RUNS = "request('terminal/create', command='touch', args=['ran'], **{more!r})"


def confine(argv, env, cwd):
    return prepare(list(argv), env={"PATH": os.environ["PATH"], **env}, cwd=cwd)


def yes_to_the_first(remember=""):
    asked = []

    def answer(question):
        asked.append(question)
        return Decision(len(asked) == 1, by="somebody", remember=remember if len(asked) == 1 else "")

    return answer


ENV = {"env": {"LD_PRELOAD": "./x.so"}}
HOST_ENV = {"env": [{"name": "LD_PRELOAD", "value": "./x.so"}]}
# What the agent does first; what it then has the host do; what people were shown of it in the first question.
CHEATS = {
    "a file that was announced before": (
        """tell(start=True, status="in_progress", kind="edit", title="Edit", rawInput={"path": ".env"})
ask(kind="edit", title="Edit", rawInput={"path": "notes.md", "content": "hi"})""",
        "write('.env', 'EVIL')",
        ("announced", ({"arguments": {"path": ".env"}},)),
    ),
    "a file that is listed beside the one that is asked about": (
        """ask(kind="edit", title="Edit notes.md", rawInput={"path": "notes.md", "content": "hi"},
    locations=[{"path": ".env"}])""",
        "write('.env', 'EVIL')",
        ("locations", (".env",)),
    ),
    "variables that were announced before": (
        f"""tell(start=True, status="in_progress", **run("touch ran", **{ENV!r}))
ask(**run("touch ran"))""",
        RUNS.format(more=HOST_ENV),
        ("announced", ({"arguments": {"env": {"LD_PRELOAD": "[redacted]"}}},)),
    ),
    "a folder that was announced before": (
        """tell(start=True, status="in_progress", **run("touch ran", cwd="evil")); ask(**run("touch ran"))""",
        RUNS.format(more={"cwd": "evil"}),
        ("announced", ({"arguments": {"cwd": "evil"}},)),
    ),
    "a command that was announced before": (
        """tell(start=True, status="in_progress", **run("touch ran")); ask(**run("ls"))""",
        RUNS.format(more={}),
        ("announced", ({"arguments": {"command": "touch ran"}},)),
    ),
    "a kind that was announced before": (
        """tell(start=True, status="in_progress", kind="edit", title="T", rawInput={"path": ".env"})
ask(kind="read", title="T", rawInput={"path": ".env"})""",
        "write('.env', 'EVIL')",
        ("announced", ({"kind": "edit"},)),
    ),
}


@pytest.mark.parametrize("first, then, shown", CHEATS.values(), ids=CHEATS)
def test_a_yes_lets_the_host_do_nothing_that_was_not_asked_about(tmp_path, first, then, shown):
    (tmp_path / "work" / "evil").mkdir(parents=True)

    seen = play(tmp_path, {"go": f"{first}\n{then}"}, policy=ASK, answers=yes_to_the_first(), confine=confine)

    assert len(seen.asked) == 2
    assert getattr(seen.asked[0], shown[0]) == shown[1]
    assert not [*seen.work.rglob(".env"), *seen.work.rglob("ran")]
    assert seen.records("agent.host-call.started") == []
    (first, *_) = seen.records("agent.decision")
    assert tuple(first["input"][shown[0]]) == shown[1]


def test_a_yes_to_a_file_in_a_folder_is_not_one_to_a_file_of_that_name(tmp_path):
    scene = """ask(kind="edit", title="Edit", rawInput={"directory": "sub", "filename": ".env"}); write(".env", "EVIL")"""

    seen = play(tmp_path, {"go": scene}, policy=ASK, answers=yes_to_the_first())

    assert len(seen.asked) == 2
    assert not (seen.work / ".env").exists()


def test_a_yes_lets_the_host_do_exactly_what_was_asked_about(tmp_path):
    scene = """ask(kind="edit", title="Edit", rawInput={"path": "notes.md", "content": "hi"}); write("notes.md", "hi")"""

    seen = play(tmp_path, {"go": scene}, policy=ASK, answers=yes_to_the_first())

    assert len(seen.asked) == 1
    assert (seen.asked[0].locations, seen.asked[0].announced) == ((), ())
    assert (seen.work / "notes.md").read_text() == "hi"


# Two questions of which the first is remembered: what differs between them.
OTHERS = {
    "places": (
        """ask("c1", kind="edit", title="Fix", rawInput={"mode": "fix"}, locations=[{"path": "notes.md"}])
ask("c2", kind="edit", title="Fix", rawInput={"mode": "fix"}, locations=[{"path": ".env"}])""",
        "write('.env', 'EVIL')",
    ),
    "kind": (
        """ask("c1", kind="read", title="Look", rawInput={"path": ".env"})
ask("c2", kind="edit", title="Look", rawInput={"path": ".env"})""",
        "write('.env', 'EVIL')",
    ),
    "announcement": (
        f"""ask("c1", **run("touch ran"))
tell("c2", start=True, status="in_progress", **run("touch ran", **{ENV!r})); ask("c2", **run("touch ran"))""",
        RUNS.format(more=HOST_ENV),
    ),
    "where a link leads": (
        """import os
os.symlink("notes.md", "link"); ask("c1", kind="edit", title="T", rawInput={"path": "link"})
os.remove("link"); os.symlink(".env", "link"); ask("c2", kind="edit", title="T", rawInput={"path": "link"})""",
        "write('.env', 'EVIL')",
    ),
}


@pytest.mark.parametrize("first, then", OTHERS.values(), ids=OTHERS)
def test_what_is_remembered_is_the_whole_question(tmp_path, first, then):
    answers = yes_to_the_first(remember="call")
    scene = f"import os; os.chdir({str(tmp_path / 'work')!r})\n{first}\n{then}"

    seen = play(tmp_path, {"go": scene}, policy=ASK, answers=answers, confine=confine)

    assert len(seen.asked) == 3
    assert len({question.digest for question in seen.asked}) == 3
    assert not [*seen.work.rglob(".env"), *seen.work.rglob("ran")]


def test_the_same_question_again_is_remembered(tmp_path):
    scene = """for number in range(3):
    form = {"kind": "edit", "title": "T", "rawInput": {"path": "a", "content": "x"}}
    tell(f"c{number}", start=True, status="pending", **form)
    ask(f"c{number}", locations=[{"path": "a"}], **form)
    tell(f"c{number}", status="completed")
"""
    seen = play(tmp_path, {"go": scene}, policy=ASK, answers=yes_to_the_first(remember="call"))

    assert len(seen.asked) == 1
    assert seen.errors == []


def test_a_question_after_many_announcements_is_not_remembered(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    gate = gate_of(work, ASK)
    for number in range(2):
        for form in range(30):
            gate.tool_called(
                ToolCall("s", f"c{number}", "Tool", {"command": "ls", f"a{'b' * form}": form + 1}, "execute")
            )
        prompt = AgentPrompt(
            "s",
            f"q{number}",
            tool_name="Tool",
            arguments={"command": "ls"},
            kind="execute",
            call_id=f"c{number}",
        )
        found = gate.rule(prompt)
        assert len(found.announced) == 20
        gate.decided(prompt, Decision(True, by="somebody", remember="call"))
