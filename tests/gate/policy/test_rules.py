"""Rules: which one matches, which one wins, and what an allow cannot be talked into."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.gate.policy.pattern import ALLOW, ASK, DENY, parse
from operable.gate.policy.policy_file import load_policy, policy_from, rules
from operable.gate.policy.rules import FULL, Policy, PolicyRule
from operable.gate.policy.tool_call import JudgedCall
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
        ("execute:git status", JudgedCall("shell", "execute", {"cmd": "git status", "args": []})),
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


def test_a_comment_is_not_run_but_may_not_name_what_is_denied():
    denied = rules(deny=["execute:rm *"], default=ALLOW)

    assert denied.decide(bash("ls # then remove it"), "/").effect == ALLOW
    # An interactive zsh has no comments.
    assert denied.decide(bash("ls # then; rm x"), "/").effect == DENY
    assert denied.decide(bash("ls;# then"), "/").effect == DENY
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


@pytest.mark.parametrize(
    "pattern, call",
    [
        ("execute:rm", bash("rm gone.txt")),
        ("execute:git push", bash("git push --force")),
        ("execute:/bin/rm *", bash("rm gone.txt")),
        ("execute:/bin/rm", bash("/usr/bin/rm gone.txt")),
        ("Bash(rm)", bash("rm gone.txt")),
        ("bash", bash("ls")),
        ("bASH(rm *)", bash("rm gone.txt")),
        ("edit:.env", edit("pkg/.env")),
        ("edit:*.py", edit("src/deep/b.py")),
        ("edit:src", edit("src/b.py")),
        ("edit:src/", edit("src/deep/b.py")),
        ("edit:build", edit("pkg/build/b.py")),
        ("edit:./src/**", edit("src/b.py")),
        ("edit:/etc", edit("/etc/passwd")),
    ],
)
@pytest.mark.parametrize("effect", [DENY, ASK])
def test_a_deny_and_an_ask_reach_further_than_their_words(tmp_path, pattern, call, effect):
    policy = policy_from({"allow": ["*"], effect: [pattern]}, source="rules")

    assert policy.decide(call, str(tmp_path)).effect == effect


@pytest.mark.parametrize(
    "pattern, call",
    [
        ("execute:rm", bash("rmdir gone")),
        ("execute:rm", bash("echo gone")),
        ("execute:/bin/rm *", bash("ls gone")),
        ("edit:src", edit("src.py")),
        ("edit:src/*.py", edit("pkg/src/b.py")),
        ("edit:src/*.py", edit("src/deep/b.py")),
        ("edit:.env", edit(".env.example")),
        ("edit:*.py", edit("b.py.txt")),
        ("bash", edit("b.py")),
    ],
)
def test_a_deny_leaves_alone_what_only_looks_alike(tmp_path, pattern, call):
    assert rules(allow=["*"], deny=[pattern]).decide(call, str(tmp_path)).effect == ALLOW


@pytest.mark.parametrize(
    "pattern, call",
    [
        ("execute:git", bash("git status")),
        ("edit:.env", edit("pkg/.env")),
        ("edit:*.py", edit("src/b.py")),
        ("edit:src", edit("src/b.py")),
        ("bash", bash("ls")),
    ],
)
def test_an_allow_does_not_reach_further_than_its_words(tmp_path, pattern, call):
    assert rules(allow=[pattern]).decide(call, str(tmp_path)).effect == DENY


def test_an_allow_may_begin_at_the_workspace(tmp_path):
    assert rules(allow=["edit:./src/**"]).decide(edit("src/b.py"), str(tmp_path)).effect == ALLOW


@pytest.mark.parametrize(
    "text, hint",
    [
        ("Bash(rm:*)", "write Bash(rm *) for arguments, and Bash(rm) for none"),
        ("execute:rm:*", "write execute:rm * for arguments, and execute:rm for none"),
        ("WebFetch(domain:example.com)", "fetch:https://example.com/*"),
        ("Execute:rm *", "write execute:rm *"),
        ("Kind:execute", "write kind:execute"),
        ("execute: rm *", "space"),
        ("Bash( rm *)", "space"),
        ("Bash()", "empty"),
        ("rm *", "write execute:rm *"),
        ("git push", "write execute:git push"),
    ],
)
@pytest.mark.parametrize("effect", [ALLOW, DENY, ASK])
def test_a_text_that_could_match_nothing_is_refused_with_what_to_write(effect, text, hint):
    with pytest.raises(Fail) as caught:
        policy_from({effect: [text]}, source="rules")

    assert caught.value.code == "POLICY_INVALID"
    assert hint in caught.value.message


@pytest.mark.parametrize(
    "text", ["fetch:https://h.example:*", "WebFetch(https://h.example:*)", "mcp__a__b", "a?b"]
)
def test_a_pattern_that_only_looks_foreign_is_taken(text):
    assert rules(deny=[text]).rules[0].pattern == text


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


def test_what_is_allowed_in_place_of_the_default_gives_way_to_every_rule(tmp_path):
    (tmp_path / "in").write_text("x")
    reads = ("read:**", "search:**")

    def effect(*rules, kind="read", path="in", autonomy=FULL):
        policy = Policy(tuple(rules), ASK, autonomy=autonomy, unless=reads)
        return policy.decide(JudgedCall("Read", kind, {"path": path}), str(tmp_path)).effect

    assert effect() == ALLOW
    assert effect(path="/etc/hosts") == effect(path="../beside") == ASK
    assert effect(kind="edit") == effect(kind="") == ASK
    assert effect(PolicyRule(ASK, "kind:read")) == effect(PolicyRule(ASK, "*")) == ASK
    assert effect(PolicyRule(DENY, "*")) == DENY
    assert effect(autonomy=0) == ASK


COSTLY = {
    "letters": lambda size: {"data": "a" * size},
    "an address": lambda size: {"url": "a" * size},
    "colons": lambda size: {"data": "1:/" * (size // 3)},
    "wildcards": lambda size: {"path": "/".join("*" for _ in range(size // 50))},
    "names": lambda size: {"paths": ["secret/" * 100 + str(at) for at in range(size // 700)]},
}


@pytest.mark.parametrize("what", list(COSTLY))
def test_judging_costs_no_more_than_in_proportion_to_what_is_judged(what):
    policy = rules(allow=["*"], deny=["fetch:https://x.example/*", "edit:**/secret/**/*.key"])
    kinds = ["fetch", "edit", "other"]

    def cost(size):
        began = time.process_time()
        for kind in kinds:
            policy.decide(JudgedCall("t", kind, COSTLY[what](size)), "/work/project")
        return time.process_time() - began

    small = min(cost(9_900) for _ in range(3))
    assert cost(99_000) < 30 * small + 0.5  # ten times would be in proportion, a hundred times the square


def test_a_text_beyond_the_size_that_is_read_may_be_every_address():
    policy = rules(allow=["*"], deny=["fetch:https://x.example/*"])
    long = {"url": "https://y.example/", "data": "a" * 100_001}

    assert policy.decide(JudgedCall("t", "fetch", {**long, "data": "a"}), "/work/project").effect == ALLOW
    assert policy.decide(JudgedCall("t", "fetch", long), "/work/project").effect == DENY


def test_a_patch_is_not_every_file_for_a_deny_by_name(tmp_path):
    patch = "*** Begin Patch\n*** Update File: notes.md\n@@\n-{a}\n+{b}\n*** End Patch"
    call = JudgedCall("apply_patch", "edit", {"input": patch})

    assert rules(allow=["*"], deny=["edit:secret*"]).decide(call, str(tmp_path)).effect == ALLOW
    assert rules(allow=["*"], deny=["edit:notes*"]).decide(call, str(tmp_path)).effect == DENY


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        (Policy(), False),
        (Policy(default=ALLOW), False),
        (Policy(default=ASK), True),
        (Policy(autonomy=1), True),
        (rules(deny=["Bash"]), False),
        (rules(deny=["Bash"], ask=["kind:edit"]), True),
    ],
)
def test_each_way_to_leave_something_to_people_wants_answers(policy, wanted):
    assert policy.wants_answers is wanted
