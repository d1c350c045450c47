"""Rules: which one matches, which one wins, and what an allow cannot be talked into."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.host.policy.pattern import ALLOW, ASK, DENY, parse
from operable.host.policy.policy_file import load_policy, policy_from, rules
from operable.host.policy.rules import Policy, PolicyRule
from operable.host.policy.tool_call import JudgedCall
from operable.kernel.errors import Fail
from operable.wire.events import TOOL_KINDS
from tests.requirement import requirement


def bash(command):
    return JudgedCall("Bash", "execute", {"command": command})


def edit(path, *more):
    return JudgedCall("Edit", "edit", {"path": path}, more)


def test_nothing_said_is_deny():
    ruling = Policy().decide(bash("ls"), "/")

    assert ruling.effect == DENY
    assert ruling.rule is None


@pytest.mark.parametrize(
    "pattern, call",
    [
        ("*", bash("ls")),
        ("Bash", bash("ls")),
        ("Ba*", bash("ls")),
        ("kind:execute", bash("ls")),
        ("Bash(git *)", bash("git status")),
        ("execute:git *", bash("git status")),
        ("execute:git status", JudgedCall("shell", "execute", {"command": ["bash", "-lc", "git status"]})),
        ("execute:git status", JudgedCall("shell", "execute", {"cmd": "git", "args": ["status"]})),
        ("edit:src/**", edit("src/a/b.py")),
        ("edit:**/*.py", edit("b.py")),
        ("edit:*.py", edit("b.py")),
        ("edit:src/*", JudgedCall("apply_patch", "edit", {"changes": {"src/a": {}, "src/b": {}}})),
        ("fetch:https://docs.*", JudgedCall("WebFetch", "fetch", {"url": "https://docs.python.org/3/"})),
        ("mcp__github__*", JudgedCall("mcp__github__list", "other", {})),
    ],
)
def test_a_pattern_matches(tmp_path, pattern, call):
    assert rules(allow=[pattern]).decide(call, str(tmp_path)).effect == ALLOW


@pytest.mark.parametrize(
    "pattern, call",
    [
        ("Bash", JudgedCall("bash", "execute", {})),
        ("kind:edit", bash("ls")),
        ("execute:git *", bash("git status; rm -rf /")),
        ("execute:git *", bash("git log | sh")),
        ("execute:git *", bash("git $(rm x)")),
        ("execute:git *", bash("git status\nrm x")),
        ("execute:git *", bash("git log > /etc/passwd")),
        ("execute:git *", bash("git `rm x`")),
        ("edit:src/*", edit("src/a/b.py")),
        ("edit:src/**", edit("src/../secret")),
        ("edit:src/**", edit("/etc/passwd")),
        ("edit:**", edit("../outside")),
        ("edit:src/**", edit("src/a", "elsewhere/b")),
        ("edit:src/**", JudgedCall("Edit", "edit", {})),
        ("execute:ls", JudgedCall("Bash", "execute", {})),
    ],
)
def test_an_allow_does_not_reach_further_than_it_says(tmp_path, pattern, call):
    assert rules(allow=[pattern]).decide(call, str(tmp_path)).effect == DENY


@pytest.mark.parametrize(
    "command",
    [
        *("rm x", "git status; rm x", "true && rm x", "a | rm x", "echo $(rm x)", "x\nrm x"),
        *("cat <(true)#; rm x", "y=(1)#; rm x", "{fd}>f rm x", "{fd[0]}>f rm x", "eval -- rm x"),
    ],
)
def test_a_deny_finds_its_command_inside_a_compound_line(command):
    denied = rules(deny=["execute:rm *"], default=ALLOW)

    assert denied.decide(bash(command), "/").effect == DENY


def test_what_is_behind_a_comment_is_not_run():
    denied = rules(deny=["execute:rm *"], default=ALLOW)

    assert denied.decide(bash("ls # then; rm x"), "/").effect == ALLOW
    assert denied.decide(bash("ls;# rm x"), "/").effect == ALLOW
    assert rules(allow=["execute:rm *"]).decide(bash("{fd}>f rm x"), "/").effect == DENY


def test_a_path_is_judged_by_where_it_really_leads(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "secret").mkdir()
    os.symlink(tmp_path / "secret", tmp_path / "src" / "link")

    found = rules(allow=["edit:src/**"], deny=["edit:secret/**"]).decide(edit("src/link/key"), str(tmp_path))

    assert found.effect == DENY
    assert found.rule is not None


@pytest.mark.parametrize(
    "chosen, effect",
    [
        ({"allow": ["Bash(git *)"], "deny": ["Bash"]}, ALLOW),
        ({"allow": ["Bash"], "deny": ["kind:execute"]}, ALLOW),
        ({"allow": ["kind:execute"], "deny": ["*"]}, ALLOW),
        ({"allow": ["Ba*"], "deny": ["Bash"]}, DENY),
        ({"allow": ["Bash(git *)"], "deny": ["Bash(git push*)"]}, DENY),
        ({"allow": ["Bash"], "deny": ["Bash"]}, DENY),
        ({"allow": ["Bash"], "ask": ["Bash"]}, ASK),
        ({"deny": ["Bash"], "ask": ["Bash"]}, DENY),
    ],
)
def test_the_most_specific_rule_wins_and_deny_is_strongest_among_equals(chosen, effect):
    assert rules(**chosen).decide(bash("git push origin"), "/").effect == effect


@given(
    effects=st.lists(
        st.tuples(st.sampled_from([ALLOW, ASK, DENY]), st.sampled_from(["*", "kind:execute", "Bash"])),
        max_size=6,
    )
)
def test_the_order_of_rules_does_not_matter(effects):
    written = tuple(PolicyRule(effect, pattern) for effect, pattern in effects)
    orders = (written, written[::-1], tuple(sorted(written, key=str)))

    assert len({Policy(order).decide(bash("ls"), "/").effect for order in orders}) == 1


@pytest.mark.parametrize("text", ["", " x", "kind:fly", "edit:", "(x)", "Bash(x", "exec:rm *", "bash:*"])
def test_what_is_no_pattern_says_why(text):
    with pytest.raises(ValueError, match=r"\w"):
        parse(text)


@given(
    arguments=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["command", "path", "args", "changes", "url", "x"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    ),
    kind=st.sampled_from([*TOOL_KINDS, "new"]),
)
def test_no_arguments_of_an_agent_can_make_a_decision_fail(arguments, kind):
    judge = rules(allow=["execute:git *", "edit:src/**"], deny=["Tool(x*)"], default=ASK)

    assert judge.decide(JudgedCall("Tool", kind, arguments), "/tmp").effect in (ALLOW, ASK, DENY)


def test_a_file_says_rules_reasons_and_budgets(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        'default = "ask"\nask_timeout = 5\nallow = ["kind:read"]\n'
        'deny = [{ pattern = "edit:.env*", reason = "secrets stay as they are" }]\n'
        "[budget]\nturns = 3\nusd = 1.5\n"
    )

    loaded = load_policy(path)

    assert loaded.decide(edit(".env"), str(tmp_path)).reason == "secrets stay as they are"
    assert loaded.decide(JudgedCall("Read", "read", {}), str(tmp_path)).effect == ALLOW
    assert (loaded.default, loaded.ask_timeout, loaded.budget) == (ASK, 5.0, {"turns": 3.0, "usd": 1.5})


def test_all_problems_of_a_file_are_told_at_once(tmp_path):
    path = tmp_path / "policy.json"
    path.write_text(
        '{"default": "maybe", "allow": ["kind:fly", 3], "alow": [], "budget": {"turns": -1, "days": 2}, "ask_timeout": 0}'
    )

    with pytest.raises(Fail) as failure:
        load_policy(path)

    assert failure.value.code == "POLICY_INVALID"
    assert "(7 problems)" in failure.value.message


@pytest.mark.parametrize("text", ["allow = [", "\xff", "[]"])
def test_a_file_that_is_none_is_refused(tmp_path, text):
    path = tmp_path / ("policy.json" if text == "[]" else "policy.toml")
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(Fail) as failure:
        load_policy(path)

    assert failure.value.code == "POLICY_INVALID"


def test_everything_allowed_asks_nothing():
    assert not rules(allow=["*"]).asks
    assert not rules(default=ALLOW).asks
    assert rules(allow=["*"], deny=["Bash"]).asks
    assert Policy().asks


@requirement("aip-substrate:4.12:8-autonomy")
def test_autonomy_from_0_to_4_is_a_ceiling_over_every_allow():
    kinds = ["read", "edit", "delete", "execute"]

    def free(level):
        judge = policy_from({"default": "allow", "autonomy": level}, source="test")
        return [judge.decide(JudgedCall("T", kind, {}), "/").effect == ALLOW for kind in kinds]

    assert [sum(free(level)) for level in range(5)] == [0, 1, 2, 3, 4]
    for wrong in (-1, 5, True, "2"):
        with pytest.raises(Fail):
            policy_from({"autonomy": wrong}, source="test")
