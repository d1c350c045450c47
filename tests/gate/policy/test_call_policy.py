"""Rules about calls: by caller, by name, by command line, by effect; and what holds without a file."""

import os

import pytest

from operable.gate.call import CallerId, GatedCall, SessionBounds
from operable.gate.policy.call_policy import CallPolicy
from operable.gate.policy.policy_file import load_policy, rules
from operable.kernel.errors import Fail
from tests.gate.calls import push


def policy(folder, text):
    path = folder / "policy.toml"
    path.write_text(text)
    return CallPolicy(str(path))


@pytest.fixture(autouse=True)
def no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPERABLE_POLICY", raising=False)


@pytest.mark.parametrize("caller", ["mcp:x", "http:x", "agent:x", "session:x", "flow:x", "rpc:x", "acp:x"])
@pytest.mark.parametrize(
    "effect, ruling", [("read", "allow"), ("change", "allow"), ("destroy", "ask"), ("unknown", "ask")]
)
def test_without_a_file_what_acts_for_a_model_is_asked_about_what_cannot_be_undone(caller, effect, ruling):
    found = CallPolicy().judge(push(caller, effect=effect))

    assert (found.effect, found.table) == (ruling, "built-in")


@pytest.mark.parametrize("effect", ["read", "change", "destroy", "unknown"])
def test_without_a_file_a_person_is_free(effect):
    assert CallPolicy().judge(push("person:anna", effect=effect)).effect == "allow"


@pytest.mark.parametrize(
    "rule, effect",
    [
        ("execute:git push*", "deny"),
        ("wrap/git/push", "deny"),
        ("wrap/git/*", "deny"),
        ("wrap/*", "deny"),
        ("kind:execute", "deny"),
        ("effect:change", "deny"),
        ("execute:git pull*", "allow"),
        ("wrap/hg/*", "allow"),
        ("effect:destroy", "allow"),
    ],
)
def test_a_deny_is_by_name_kind_effect_or_command_line(tmp_path, rule, effect):
    assert policy(tmp_path, f'deny = ["{rule}"]').judge(push()).effect == effect


def test_a_rule_about_command_lines_says_nothing_about_calls_without_them(tmp_path):
    rules = policy(tmp_path, 'deny = ["execute:git push*"]')
    prompt = GatedCall(CallerId.parse("mcp:x"), "agent", "codex", "prompt", {"prompt": "hello"}, "change")

    assert rules.judge(prompt).effect == "allow"


def test_an_allow_of_a_command_line_does_not_cover_longer_ones(tmp_path):
    rules = policy(tmp_path, 'default = "deny"\nallow = ["execute:git push origin main"]')

    assert rules.judge(push()).effect == "allow"
    assert rules.judge(push(command=("git", "push", "origin", "main", "--force"))).effect == "deny"
    assert rules.judge(push(stdin="x")).effect == "deny"


def test_the_rules_of_a_callers_table_join_the_general_ones(tmp_path):
    rules = policy(
        tmp_path,
        """
        deny = ["wrap/git/*"]
        [[caller]]
        match = "mcp:trusted"
        allow = ["wrap/git/push"]
        [[caller]]
        match = "flow:*"
        default = "allow"
        """,
    )

    found = rules.judge(push("mcp:trusted"))
    assert (found.effect, found.table) == ("allow", "policy [[caller]] mcp:trusted")
    assert rules.judge(push("mcp:other")).effect == "deny"
    assert rules.judge(push("flow:x/y")).effect == "deny"
    assert rules.judge(push("flow:x/y", command=("ls",), effect="destroy")).effect == "deny"


def test_the_default_of_the_closest_table_holds(tmp_path):
    rules = policy(
        tmp_path,
        """
        default = "deny"
        [[caller]]
        match = "*:*"
        default = "ask"
        [[caller]]
        match = "mcp:a*"
        default = "allow"
        """,
    )

    assert [rules.judge(push(who)).effect for who in ("mcp:abc", "mcp:b")] == ["allow", "ask"]


def test_what_a_file_does_not_say_is_for_the_built_in_rules(tmp_path):
    rules = policy(tmp_path, 'deny = ["wrap/hg/*"]')

    assert rules.judge(push(effect="destroy")).reference == "built-in:ask effect:destroy"
    assert rules.judge(push("person:anna", effect="destroy")).effect == "allow"


def test_a_ceiling_is_over_what_the_built_in_rules_allow(tmp_path):
    assert policy(tmp_path, "autonomy = 2").judge(push()).effect == "ask"


def test_the_users_own_deny_wins_over_the_built_in_question(tmp_path):
    assert policy(tmp_path, 'deny = ["kind:execute"]').judge(push(effect="destroy")).effect == "deny"


def test_a_change_of_the_file_counts_from_the_next_call_on(tmp_path):
    rules = policy(tmp_path, 'allow = ["*"]')
    assert rules.judge(push()).effect == "allow"

    (tmp_path / "new").write_text('deny = ["*"]')
    os.replace(tmp_path / "new", tmp_path / "policy.toml")

    assert rules.judge(push()).effect == "deny"


@pytest.mark.parametrize(
    "text",
    [
        "allow = [",
        'allow = "*"',
        'alow = ["*"]',
        'deny = ["exec:rm *"]',
        'deny = ["effect:burn"]',
        'default = "maybe"',
        "[caller]\nmatch = 'mcp:*'",
        "[[caller]]\ndeny = ['*']",
        "[[caller]]\nmatch = 'mcp:*'\nbudget = {}",
        '[[caller]]\nmatch = "mcp:\\u001b"',
        "x" * 2_000_000,
    ],
)
def test_a_file_that_is_not_valid_allows_nothing(tmp_path, text):
    rules = policy(tmp_path, text)
    for _ in range(2):  # also when it was looked at before
        with pytest.raises(Fail) as caught:
            rules.judge(push("person:anna"))
        assert caught.value.code == "POLICY_INVALID"


def test_a_file_that_becomes_broken_is_not_remembered_as_it_was(tmp_path):
    rules = policy(tmp_path, 'allow = ["*"]')
    rules.judge(push())
    (tmp_path / "policy.toml").write_text("allow = [")

    with pytest.raises(Fail):
        rules.judge(push())


def test_a_file_that_is_named_and_missing_allows_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("OPERABLE_POLICY", str(tmp_path / "gone.toml"))

    with pytest.raises(Fail) as caught:
        CallPolicy().judge(push())

    assert caught.value.code == "POLICY_NOT_FOUND"


def test_the_users_own_file_is_found(tmp_path, monkeypatch):
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "policy.toml").write_text('deny = ["*"]')

    assert CallPolicy().judge(push("person:anna")).effect == "deny"


def test_every_rule_that_may_decide_is_listed_with_its_table(tmp_path):
    rules = policy(tmp_path, 'deny = ["wrap/hg/*"]\n[[caller]]\nmatch = "mcp:*"\nallow = ["wrap/git/*"]')

    listed = [(table, effect, rule and rule.pattern) for rule, table, effect in rules.rules_for("mcp:x")]

    assert listed[:2] == [
        ("policy", "deny", "wrap/hg/*"),
        ("policy [[caller]] mcp:*", "allow", "wrap/git/*"),
    ]
    assert ("built-in", "ask", "effect:destroy") in listed
    assert listed[-1] == ("built-in", "ask", None)


def test_a_session_has_the_general_rules_and_those_of_every_session(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        'deny = ["Bash"]\n[[caller]]\nmatch = "session:*"\nask = ["Edit"]\n[[caller]]\nmatch = "mcp:*"\nallow = ["*"]'
    )

    assert [rule.pattern for rule in load_policy(path).rules] == ["Bash", "Edit"]


@pytest.mark.parametrize(
    "own, effect",
    [
        ({"deny": ["execute:git push*"], "default": "allow"}, "deny"),
        ({"ask": ["wrap/git/push"], "default": "allow"}, "ask"),
        ({"allow": ["kind:read"]}, "deny"),  # what no rule of a session allows is denied
        ({"allow": ["execute:git *"]}, "allow"),
        ({"default": "ask"}, "allow"),  # there it is what is left to people anyway
    ],
)
def test_a_session_that_calls_is_also_under_its_own_rules(own, effect):
    bounds = SessionBounds(rules(**own))

    found = CallPolicy().judge(push("session:ses_1", bounds=bounds))

    assert (found.effect, found.table) == (effect, "built-in" if effect == "allow" else "session")


def test_the_rules_of_a_session_take_nothing_back_that_the_file_denies(tmp_path):
    bounds = SessionBounds(rules(default="allow"), is_confined=True)

    found = policy(tmp_path, 'deny = ["wrap/git/push"]').judge(push("session:ses_1", bounds=bounds))

    assert (found.effect, found.table) == ("deny", "policy")


def test_a_call_leaves_a_sandbox_only_with_a_yes_or_a_rule_of_the_file(tmp_path):
    call = push(
        "session:ses_1", effect="read", bounds=SessionBounds(rules(default="allow"), is_confined=True)
    )

    found = CallPolicy().judge(call)
    assert (found.effect, found.why) == ("ask", "it would run outside of the sandbox of its session")
    assert policy(tmp_path, 'allow = ["wrap/git/push"]').judge(call).effect == "allow"
