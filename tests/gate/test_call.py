"""A call as the gate sees it: its caller, its name for rules, its digest, and what people are shown of it."""

import pytest

from operable.gate.call import CallerId, GatedCall
from operable.kernel.errors import Fail
from tests.gate.calls import push


def test_a_caller_is_written_as_kind_and_name():
    assert str(CallerId.parse("flow:nightly/backup")) == "flow:nightly/backup"


def test_there_are_no_other_kinds_of_callers():
    with pytest.raises(Fail, match="no kind of caller"):
        CallerId.parse("root:me")


def test_a_callers_name_hides_nothing():
    caller = CallerId("mcp", "good\x1b[2J\u202egnp\n  ")

    assert str(caller).isprintable()
    assert "\\x1b" in caller.name


def test_a_callers_name_is_bounded():
    assert len(CallerId("mcp", "x" * 100_000).name) < 300


def test_a_caller_without_a_name_has_one():
    assert str(CallerId("mcp", "")) == "mcp:unknown"


@pytest.mark.parametrize(
    "kind, name, action, tool",
    [
        ("wrap", "git", "push", "wrap/git/push"),
        ("wrap", "gh", "pr list", "wrap/gh/pr/list"),
        ("tool", "./my tool", "run", "tool/.-my-tool/run"),
        ("agent", "codex", "prompt", "agent/codex/prompt"),
    ],
)
def test_rules_name_a_call_by_kind_name_and_action(kind, name, action, tool):
    assert GatedCall(CallerId("mcp", "x"), kind, name, action).tool == tool


def test_a_call_is_of_kind_execute_unless_it_only_reads():
    assert push(effect="read").judged.kind == "read"
    assert {push(effect=effect).judged.kind for effect in ("change", "destroy", "unknown")} == {"execute"}


@pytest.mark.parametrize(
    "other",
    [
        {"caller": "mcp:other"},
        {"arguments": {"remote": "origin", "branch": "evil"}},
        {"command": ("git", "push", "origin", "evil")},
        {"workspace": "/tmp"},
        {"effect": "destroy"},
        {"stdin": "x"},
    ],
)
def test_the_digest_covers_everything_that_is_shown_and_run(other):
    assert push().digest == push().digest
    assert push(**other).digest != push().digest


def test_a_caller_that_changes_its_arguments_later_changes_nothing():
    arguments = {"items": ["a"]}
    call = push(arguments=arguments)
    before = call.digest
    arguments["items"].append("b")

    assert call.arguments == {"items": ["a"]}
    assert call.digest == before


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800"])
def test_arguments_that_cannot_be_sealed_are_refused(value):
    with pytest.raises(Fail, match="not JSON"):
        push(arguments={"x": value})


def test_people_are_shown_no_secrets_and_no_invisible_letters():
    secret = "ghp_" + "a1B2" * 9
    call = push(
        arguments={"password": "hunter2 hunter2", "header": f"Bearer {secret}"},
        command=("git", "push", f"--token={secret}", "\x1b[2Jmain"),
    )

    shown = str(call.shown())

    assert secret not in shown
    assert "hunter2" not in shown
    assert "\x1b" not in shown
    assert "git push" in shown


def test_the_end_of_a_long_name_is_there_for_rules():
    names = "/".join(("w" * 128, "t" * 128))

    assert GatedCall(CallerId.parse("mcp:x"), "flow", names, "trigger").tool == f"flow/{names}/trigger"
