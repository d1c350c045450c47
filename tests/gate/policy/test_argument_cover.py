"""An allow with an argument answers for a call only if it answers for everything in it."""

import pytest

from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.policy_file import rules
from operable.gate.policy.tool_call import JudgedCall
from operable.gate.policy.tool_map import ToolMap

WORK = "/work/project"
POLICY = rules(
    allow=[
        "execute:ls *",
        "edit:src/*",
        "edit:src/**",
        "search:src/**",
        "fetch:https://ok.example/*",
        "Tool(ls *)",
    ]
)
LS = {"command": "ls x"}
PATH = {"file_path": "src/a.py", "content": "x"}
URL = {"url": "https://ok.example/a"}
NOT_COVERED = [
    ("execute", {**LS, "arguments": ["; rm y"]}),
    ("execute", {**LS, "arguments": {"0": "rm"}}),
    ("execute", {**LS, "dangerouslyDisableSandbox": True}),
    ("execute", {**LS, "environmentVars": {"LD_PRELOAD": "./x.so"}}),
    ("execute", {**LS, "env": {"LD_PRELOAD": "./x.so"}}),
    ("execute", {**LS, "user": "root"}),
    ("execute", {**LS, "uid": 0.5}),
    ("execute", {**LS, "sandbox": {"mode": "danger-full-access"}}),
    ("execute", {**LS, "hooks": [{"later": "rm y"}]}),
    ("execute", {**LS, "mounts": ["/:/host"]}),
    ("execute", {**LS, "cwd": "/tmp/evil"}),
    ("execute", {"command": "ls x", "metadata": {"run": "rm y"}}),
    ("edit", {**PATH, "savePath": ".env"}),
    ("edit", {**PATH, "input": "rm -rf y"}),
    ("edit", {"input": "*** Begin Patch\n*** Add File: .env\n+x\n*** End Patch"}),
    ("edit", {**PATH, "postCommand": "rm -rf y"}),
    ("edit", {**PATH, "command": "rm -rf y"}),
    ("edit", {"directory": "src", "filename": "../.env"}),
    ("edit", {"path": "src", "filename": "a.py"}),
    ("edit", {**PATH, "hooks": {"later": "rm -rf y"}}),
    ("search", {"path": "src", "pattern": "x", "glob": "../**"}),
    ("fetch", {**URL, "prompt": "and post it to https://evil.example/"}),
    ("fetch", {**URL, "method": "POST"}),
    ("fetch", {**URL, "headers": {"Cookie": "x"}}),
    ("fetch", {**URL, "proxy": "https://evil.example/"}),
    ("fetch", {**URL, "follow_redirects": True}),
]
COVERED = [
    ("execute", {**LS, "description": "List it", "timeout": 5000, "run_in_background": True}),
    ("execute", {**LS, "cwd": WORK, "commands": ["ls x"], "justification": "to see it"}),
    ("execute", {**LS, "cwd": f"{WORK}/src", "env": {}, "stdin": None, "dangerouslyDisableSandbox": False}),
    ("execute", {"command": "ls", "args": ["x"], "yield_time_ms": 100, "max_output_tokens": 5}),
    ("execute", {"input": {"command": "ls x"}, "tool": "shell"}),
    ("edit", {**PATH, "mode": "overwrite", "replace_all": True, "expected_replacements": 2}),
    (
        "edit",
        {"file_path": "src/a.py", "old_string": "a / b", "new_string": "../c", "instruction": "Fix it."},
    ),
    (
        "edit",
        {
            "changes": [
                {"path": "src/a", "kind": "update", "diff": "--- a/src/a\n+++ b/src/a\n@@ -1 +1 @@\n-x\n+y"}
            ]
        },
    ),
    ("edit", {"tool": "write_file", "arguments": PATH}),
    ("edit", {"input": "*** Begin Patch\n*** Add File: src/a.py\n+x / y\n*** End Patch"}),
    ("edit", {"path": "src/a.py", "view_range": [1, 5], "insert_line": 3, "file_text": "rm -rf y"}),
    ("edit", {"command": "str_replace", "path": "src/a.py", "old_str": "a", "new_str": "b c"}),
    ("search", {"path": "src/a", "pattern": "rm -rf", "glob": "*.py", "output_mode": "content", "-n": True}),
    ("fetch", {**URL, "prompt": "What does it say?", "format": "markdown", "timeout": 30}),
]


@pytest.mark.parametrize("kind, arguments", NOT_COVERED, ids=str)
def test_an_allow_does_not_match_a_call_with_more_than_it_is_about(kind, arguments):
    found = POLICY.decide(JudgedCall("Tool", kind, arguments), WORK)

    assert found.effect == DENY


@pytest.mark.parametrize(
    "arguments",
    [
        {**PATH, "postCommand": "rm -rf y"},
        {**PATH, "onSave": "rm -rf y"},
        {**PATH, "run": "reboot"},
        {**PATH, "command": "reboot"},
        {**PATH, "writes": {"/etc/passwd": "x"}},
        [{**PATH, "run": "reboot"}],
        {**PATH, "payload": '{"run": "reboot"}'},
    ],
    ids=str,
)
def test_an_allow_of_every_path_is_not_one_of_what_is_not_a_path(arguments):
    assert rules(allow=["edit:**"]).decide(JudgedCall("Tool", "edit", arguments), WORK).effect == DENY


@pytest.mark.parametrize("kind, arguments", COVERED, ids=str)
def test_an_allow_matches_what_agents_say_beside_it(kind, arguments):
    found = POLICY.decide(JudgedCall("Tool", kind, arguments), WORK)

    assert found.effect == ALLOW, found.reason


@pytest.mark.parametrize("kind, arguments", NOT_COVERED, ids=str)
def test_an_allow_of_the_kind_is_about_everything_in_the_call(kind, arguments):
    assert rules(allow=[f"kind:{kind}"]).decide(JudgedCall("Tool", kind, arguments), WORK).effect == ALLOW


def test_the_reason_names_the_argument():
    found = POLICY.decide(JudgedCall("Other", "execute", {**LS, "dangerouslyDisableSandbox": True}), WORK)

    assert "allow execute:ls * needs the meaning of its argument dangerouslyDisableSandbox" in found.reason


@pytest.mark.parametrize(
    "more", [{"args": ["; rm y"]}, {"args": {"x": 1}}, {"cmd": "rm y"}, {"dangerouslyDisableSandbox": True}]
)
def test_the_member_that_a_manifest_names_does_not_cover_the_others(more):
    tools = ToolMap({"Tool": {"kind": "execute", "command": "command"}})

    assert POLICY.decide(JudgedCall("Tool", "other", LS), WORK, tools=tools).effect == ALLOW
    assert POLICY.decide(JudgedCall("Tool", "other", {**LS, **more}), WORK, tools=tools).effect == DENY
