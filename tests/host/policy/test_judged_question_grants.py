"""A yes reaches exactly what was asked, once, in this turn; and a deny comes before it.

The table is every yes(X) x call(Y) x policy. What must come out is worked out here from labels written by hand: two ways of
naming the same thing have the same label, and a policy is a function of a label.
"""

import asyncio
import os
from itertools import product

import pytest

from operable.gate.approvals import ApprovalQueue, Ask, Decision
from operable.gate.audit.chain import Audit
from operable.gate.policy.pattern import ALLOW, ASK, DENY
from operable.gate.policy.policy_file import policy_from, rules
from operable.gate.policy.rules import Policy, PolicyRule
from operable.host.arm import ClientCall
from operable.host.policy.gate import Gate
from operable.host.session.client_methods import ClientMethods
from operable.proc.spawn import prepare
from operable.wire.events import AgentPrompt, ToolCall

# (kind, what is said, what it is); {work} is the workspace
CALLS = [
    ("edit", ".env.example", "example"),
    ("edit", "{work}/.env.example", "example"),
    ("edit", ".env", "env"),
    ("edit", ".env/", "env"),
    ("edit", "sub/../.env", "env"),
    ("edit", "{work}/.env", "env"),
    ("edit", "link", "env"),
    ("edit", ".ENV", "upper"),
    ("edit", "sub/.env", "below"),
    ("edit", "env", "prefix"),
    ("execute", "touch x", "touch x"),
    ("execute", " touch x ", "touch x"),
    ("execute", "/bin/bash -lc 'touch x'", "touch x"),
    ("execute", "touch x y", "touch x y"),
    ("execute", "touch x; rm y", "touch x; rm y"),
    ("execute", "echo do not touch x", "echo"),
    ("execute", "Touch x", "other program"),
]
TOUCHES = {"touch x", "touch x y", "touch x; rm y"}


def _denies_env(_kind, label):
    return DENY if label in ("env", "upper", "below") else ASK  # a bare name: in every folder, in any case


def _example_only(_kind, label):
    return DENY if label in ("env", "upper", "below") else ALLOW if label == "example" else None


POLICIES = {
    "asks": (rules(default=ASK), lambda _kind, _label: ASK),
    "allows": (rules(allow=["*"]), lambda _kind, _label: ALLOW),
    "denies edits": (
        rules(deny=["kind:edit"], default=ASK),
        lambda kind, _label: DENY if kind == "edit" else ASK,
    ),
    "denies .env": (rules(deny=["edit:.env"], default=ASK), _denies_env),
    "allows .env.example": (rules(allow=["edit:.env.example"], deny=["edit:.env"]), _example_only),
    "denies touch": (
        rules(deny=["execute:touch *"], default=ASK),
        lambda _kind, label: DENY if label in TOUCHES else ASK,
    ),
    "asks about edits": (
        rules(ask=["kind:edit"], default=ALLOW),
        lambda kind, _label: ASK if kind == "edit" else ALLOW,
    ),
    "allows the agent's tools": (rules(allow=["Tool"]), lambda _kind, _label: "by name"),
    "no autonomy": (policy_from({"default": "allow", "autonomy": 0}, source="t"), lambda _kind, _label: ASK),
}


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / ".env").write_text("secret")
    os.symlink(".env", folder / "link")
    return folder


def gate_of(work, policy, **facts):
    audit = Audit(str(work.parent / "audit.jsonl"), actor="a")
    given = {"attended": True, "asking": True, "quirks": {}, **facts}
    gate = Gate(session_id="s", workspace=str(work), policy=policy, audit=audit, **given)
    gate.begin_turn("go")
    return gate


def arguments(work, kind, said):
    return {"path" if kind == "edit" else "command": said.format(work=work)}


def ask(gate, work, kind, said, request="q1", answer=None):
    """The agent asks, and whoever is asked says yes; whether it was allowed."""
    prompt = AgentPrompt("s", request, tool_name="Tool", arguments=arguments(work, kind, said), kind=kind)
    found = gate.rule(prompt)
    decision = (answer or Decision(True, by="somebody")) if isinstance(found, Ask) else found
    gate.decided(prompt, decision)
    return decision.allowed


def outcome(found):
    return found.allowed if isinstance(found, Decision) else "asks"


def expected(effect, kind_and_label, granted, used):
    """True, False, or "asks"; `granted` is what the yes was for, `used` whether it has been used up."""
    said = effect(*kind_and_label)
    if said == DENY:
        return False
    if said == ALLOW:
        return True
    if granted == kind_and_label and not used:
        return True
    return False if said in (None, "by name") else "asks"


@pytest.mark.parametrize("name", POLICIES)
def test_a_yes_is_for_exactly_what_was_asked_and_for_once(work, name):
    policy, effect = POLICIES[name]
    for (x_kind, x_said, x_label), (y_kind, y_said, y_label) in product(CALLS, CALLS):
        gate = gate_of(work, policy)
        allowed = ask(gate, work, x_kind, x_said)
        assert allowed is (effect(x_kind, x_label) in (ALLOW, ASK, "by name")), (x_said,)
        granted = (x_kind, x_label) if allowed else None
        wanted = ("fs/write_text_file" if y_kind == "edit" else "terminal/create", y_kind)
        found = [outcome(gate.rule_own(*wanted, arguments(work, y_kind, y_said))) for _ in range(2)]
        should = [expected(effect, (y_kind, y_label), granted, used) for used in (False, True)]
        assert found == should, (name, x_said, y_said)


def test_a_rule_that_denies_and_comes_after_the_yes_is_stronger(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "edit", "a")
    gate.policy = gate.policy.with_rules([PolicyRule(DENY, "edit:a")])

    assert outcome(gate.rule_own("fs/write_text_file", "edit", {"path": "a"})) is False


def test_a_yes_ends_with_its_turn(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "edit", "a")
    gate.begin_turn("next")

    assert outcome(gate.rule_own("fs/write_text_file", "edit", {"path": "a"})) == "asks"


def test_without_a_turn_only_a_rule_lets_the_host_do_something(work):
    gate = gate_of(work, rules(allow=["edit:b"], default=ASK))
    ask(gate, work, "edit", "a")
    gate.end_turn()
    after = [outcome(gate.rule_own("w", "edit", {"path": path})) for path in "ab"]
    ask(gate, work, "edit", "a", "q2")  # an answer that comes too late

    assert after == [False, True]
    assert outcome(gate.rule_own("w", "edit", {"path": "a"})) is False


def test_the_last_answer_of_a_turn_counts(work):
    gate = gate_of(work, rules(allow=["kind:edit"], ask=["edit:a"]))
    ask(gate, work, "edit", "a", "q1")
    ask(gate, work, "edit", "a", "q2", answer=Decision(False))

    assert outcome(gate.rule_own("w", "edit", {"path": "a"})) == "asks"


def test_two_yeses_are_good_for_two(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "edit", "a", "q1")
    ask(gate, work, "edit", "a", "q2")

    assert [outcome(gate.rule_own("w", "edit", {"path": "a"})) for _ in range(3)] == [True, True, "asks"]


def test_a_yes_to_several_files_covers_each_of_them_once(work):
    gate = gate_of(work, rules(default=ASK))
    prompt = AgentPrompt("s", "q", tool_name="T", arguments={"paths": ["a", "b"]}, kind="edit")
    gate.rule(prompt)
    gate.decided(prompt, Decision(True))

    assert [outcome(gate.rule_own("w", "edit", {"path": path})) for path in "abab"] == [
        True,
        True,
        "asks",
        "asks",
    ]


def test_a_no_covers_nothing(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "edit", "a", answer=Decision(False))

    assert outcome(gate.rule_own("w", "edit", {"path": "a"})) == "asks"


def test_a_yes_of_another_kind_or_of_no_kind_covers_nothing(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "read", "a", "q1")
    for request, kind in (("q2", "other"), ("q3", "delete")):
        prompt = AgentPrompt("s", request, tool_name="T", arguments={"path": "a"}, kind=kind)
        gate.rule(prompt)
        gate.decided(prompt, Decision(True))

    assert outcome(gate.rule_own("w", "edit", {"path": "a"})) == "asks"


def test_a_yes_to_a_command_is_for_the_folder_that_was_told(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "execute", "rm x")

    assert outcome(gate.rule_own("t", "execute", {"command": "rm x", "cwd": str(work / "sub")})) == "asks"
    assert outcome(gate.rule_own("t", "execute", {"command": "rm x"})) is True


def test_a_file_that_becomes_a_link_after_the_yes_is_another_file(work):
    gate = gate_of(work, rules(default=ASK))
    ask(gate, work, "edit", "plain")
    os.symlink(".env", work / "plain")

    assert outcome(gate.rule_own("w", "edit", {"path": "plain"})) == "asks"


def test_the_file_of_a_question_is_the_one_that_it_was_when_it_was_asked(work):
    gate = gate_of(work, rules(default=ASK))
    prompt = AgentPrompt("s", "q", tool_name="T", arguments={"path": "plain"}, kind="edit")
    gate.rule(prompt)
    os.symlink(".env", work / "plain")  # while somebody thinks about it
    gate.decided(prompt, Decision(True))

    assert outcome(gate.rule_own("w", "edit", {"path": ".env"})) == "asks"


def test_a_command_that_the_question_does_not_tell_is_asked_about_when_it_is_told(work):
    gate = gate_of(work, rules(default=ASK))
    prompt = AgentPrompt("s", "q", tool_name="Bash", arguments={"title": "Bash"}, kind="execute")
    gate.rule(prompt)
    gate.decided(prompt, Decision(True))

    assert outcome(gate.rule_own("t", "execute", {"command": "Bash"})) == "asks"


@pytest.mark.parametrize(
    "told, covers",
    [
        ({"command": "touch x"}, True),
        ({"command": "touch x", "cmd": 5}, False),  # something is there that cannot be read
        ({"command": "touch x", "script": "rm y"}, False),  # which of the two will run?
        ({"command": ["touch", "x"]}, True),
    ],
)
def test_a_yes_to_a_command_that_can_be_read_in_part_covers_nothing(work, told, covers):
    gate = gate_of(work, rules(default=ASK))
    prompt = AgentPrompt("s", "q", tool_name="Tool", arguments=told, kind="execute")
    gate.rule(prompt)
    gate.decided(prompt, Decision(True, by="somebody"))

    found = gate.rule_own("terminal/create", "execute", {"command": "touch x"})

    assert outcome(found) == (True if covers else "asks")


def test_a_rule_against_a_tool_holds_for_what_the_host_does_while_it_is_at_work(work):
    gate = gate_of(work, rules(allow=["*"], deny=["Write"]))
    assert outcome(gate.rule_own("fs/write_text_file", "edit", {"path": "a"})) is True

    gate.tool_called(ToolCall("s", "c1", "Write", {"path": "a"}, "edit"))

    assert outcome(gate.rule_own("fs/write_text_file", "edit", {"path": "a"})) is False


# --- decisions that are remembered ---------------------------------------------------------------------------------------


def remembered(gate, work, **facts):
    prompt = AgentPrompt("s", "q1", tool_name="Tool", kind="edit", **facts)
    assert isinstance(gate.rule(prompt), Ask)
    gate.decided(prompt, Decision(True, remember="call", by="somebody"))
    return AgentPrompt("s", "q2", tool_name="Tool", kind="edit", **facts)


def test_a_call_that_is_remembered_is_not_asked_about_again(work):
    gate = gate_of(work, rules(default=ASK))
    again = remembered(gate, work, arguments={"path": "a"})

    found = gate.rule(again)

    assert isinstance(found, Decision)
    assert (found.allowed, found.by) == (True, "session")
    other = AgentPrompt("s", "q3", tool_name="Tool", kind="edit", arguments={"path": "b"})
    assert isinstance(gate.rule(other), Ask)


def test_a_rule_that_denies_and_comes_later_is_stronger_than_what_is_remembered(work):
    gate = gate_of(work, rules(default=ASK))
    again = remembered(gate, work, arguments={"path": "a"})
    gate.policy = gate.policy.with_rules([PolicyRule(DENY, "edit:a")])

    assert outcome(gate.rule(again)) is False


def test_what_the_agent_does_not_tell_cannot_be_remembered(work):
    gate = gate_of(work, rules(default=ASK))
    again = remembered(gate, work, arguments={"title": "Write"})

    assert isinstance(gate.rule(again), Ask)


# --- the cases that were seen, through the host's own methods --------------------------------------------------------------


def serve(work, policy, yes, method, **params):
    """What comes of a request of the agent, after somebody said yes to `yes` (kind, said)."""
    gate = gate_of(work, policy, attended=False)
    if yes is not None:
        prompt = AgentPrompt("s", "q", tool_name="Tool", arguments=arguments(work, *yes), kind=yes[0])
        ruled = gate.rule(prompt)
        gate.decided(
            prompt, Decision(True) if not isinstance(ruled, Decision) or not ruled.by.count(":") else ruled
        )
    confine = lambda argv, env, cwd: prepare(argv, env=env, cwd=cwd)  # noqa: E731
    served = ClientMethods(gate, fs_read=True, fs_write=True, confine=confine)

    async def scene():
        desk = ApprovalQueue(str(work.parent / "desk"))
        result, error = await served.serve(ClientCall("c1", method, params), desk)
        if error is None and method == "terminal/create":
            await served.serve(ClientCall("c2", "terminal/wait_for_exit", result), desk)
        await served.close()
        return error

    return asyncio.run(asyncio.wait_for(scene(), 60))


def test_a_yes_to_the_example_does_not_write_the_secrets(work):
    policy = rules(allow=["edit:.env.example"], deny=["edit:.env"])

    error = serve(work, policy, ("edit", ".env.example"), "fs/write_text_file", path=".env", content="gone")

    assert error["code"] == -32001
    assert (work / ".env").read_text() == "secret"
    assert serve(work, policy, None, "fs/write_text_file", path=".env.example", content="x") is None


def test_a_yes_to_words_about_a_command_does_not_run_it(work):
    yes = ("execute", "echo do not touch x")

    error = serve(work, Policy(), yes, "terminal/create", command="touch x")

    assert error["code"] == -32001
    assert not (work / "x").exists()
    assert serve(work, Policy(), ("execute", "touch x"), "terminal/create", command="touch x") is None
    assert (work / "x").exists()


def test_a_read_is_asked_about_where_a_rule_says_so(work):
    denied = serve(work, rules(ask=["kind:read"], default=ALLOW), None, "fs/read_text_file", path=".env")
    allowed = serve(work, rules(allow=["kind:read"]), None, "fs/read_text_file", path=".env")
    nothing_said = serve(work, Policy(), None, "fs/read_text_file", path=".env")

    assert denied["code"] == -32001
    assert (allowed, nothing_said) == (None, None)
