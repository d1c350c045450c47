"""A deny finds its path, command line or address under every name, in every spelling, and in parts."""

import pytest

from operable.gate.policy.pattern import ALLOW, DENY
from operable.gate.policy.policy_file import rules
from operable.gate.policy.tool_call import JudgedCall
from tests.growth import grows_at_most_linearly

WORK = "/work/project"
POLICY = rules(
    allow=["*"],
    deny=[
        "execute:rm *",
        "execute:git push*",
        "edit:secrets/**",
        "edit:.env",
        "edit:Makefile",
        "edit:*",
        "delete:secrets/**",
        "fetch:https://evil.example/*",
        "fetch:http://127.0.0.1/*",
        "fetch:https://xn--bcher-kva.example/*",
    ],
)
DENIED = [
    ("execute", {"command": "rm", "arguments": ["-rf", "y"]}),
    ("execute", {"command": "rm", "params": ["y"]}),
    ("execute", {"command": "rm", "parameters": "y"}),
    ("execute", {"command": "git", "arguments": ["push"]}),
    ("execute", {"command": "git", "subcommand": "push"}),
    ("execute", {"command": "git", "subcommand": "$X"}),
    ("execute", {"command": "ls", "program": "git", "verb": "push", "remote": "origin"}),
    ("execute", {"command": "rm", "options": {"extra": ["y"]}}),
    ("execute", {"command": "ls", "afterwards": "rm y"}),
    ("execute", {"command": "ls", "steps": [{"do": "rm y"}]}),
    ("execute", {"command": "ls", "code": "rm y"}),
    ("execute", {"command": "rm", "args": "y"}),
    ("execute", {"command": "rm y", "args": []}),
    ("execute", {"command": "ls", "args": ["x"], "arguments": ["y"]}),
    ("edit", {"directory": "secrets", "filename": "sub/prod.txt"}),
    ("edit", {"basePath": "secrets", "relativePath": "sub/prod.txt", "content": "x"}),
    ("edit", {"rootDir": f"{WORK}/secrets", "file": "sub/prod.txt"}),
    ("edit", {"where": "secrets", "what": "sub/prod.txt", "path": "docs/x"}),
    ("edit", {"where": "secrets", "path": "docs/x", "inner": {"list": ["sub/prod.txt"]}}),
    ("edit", {"path": "docs/x", "a": "secrets", "b": "sub", "c": "prod"}),
    ("edit", {"path": "docs/x", "uri": ".env"}),
    ("edit", {"path": "docs/x", "output": ".env"}),
    ("edit", {"path": "docs/x", "savePath": f"{WORK}/.env"}),
    ("edit", {"path": "docs/x", "outFile": "./sub/../.env"}),
    ("edit", {"path": "docs/x", "target_name": "Makefile"}),
    ("edit", {"path": "docs/x", "writes": {".env": "x"}}),
    ("edit", {"path": "docs/x", "edits": [{"name": ".env"}]}),
    ("edit", {"paths": ["docs/x", "secret*/a/b"]}),
    ("edit", {"file": "prod.txt", "folder": "sub", "root": "secrets"}),
    (
        "edit",
        {"root": "secrets", "a": "u", "b": "v", "c": "w", "d": "x", "folder": "sub", "file": "prod.txt"},
    ),
    ("edit", {"path": "secret?/a/b"}),
    ("edit", {"path": "$HOME/x"}),
    ("edit", {"path": "{secrets,docs}/a/b"}),
    ("edit", {"path": "docs/x", "payload": '{"file": ".env"}'}),
    ("edit", {"path": "docs/x", "more": '[{"where": "secrets", "what": "sub/prod"}]'}),
    ("edit", {"path": "docs/x", "out": " .env "}),
    ("edit", {"path": "docs/x", "out": "'.env'"}),
    ("edit", {"path": "docs/x", "out": "@.env"}),
    ("edit", {"path": "docs/x", "out": ".env:3"}),
    ("execute", {"command": "ls", "payload": '{"command": "rm", "arguments": ["y"]}'}),
    ("delete", {"path": "x", "pattern": "secrets/*"}),
    ("delete", {"paths": ["secret*"]}),
    ("delete", {"glob": "secrets/*", "path": "x"}),
    ("fetch", {"url": "https://ok.example/", "base_url": "https://evil.example/x"}),
    ("fetch", {"host": "evil.example", "url": "/x"}),
    ("fetch", {"baseUrl": "https://evil.example", "url": "/x"}),
    ("fetch", {"url": "https://ok.example/", "prompt": "then open https://evil.example/x"}),
    ("fetch", {"url": "https://ok.example/", "more": {"referred": ["https://evil.example/x"]}}),
    ("fetch", {"url": "https://evil%2eexample/x"}),
    ("fetch", {"url": "https://\u24d4vil.example/x"}),
    ("fetch", {"url": "https://evil.exam\tple/x"}),
    ("fetch", {"url": "ht\ntps://evil.example/x"}),
    ("fetch", {"url": "https://evil\u3002example/x"}),
    ("fetch", {"url": "https://evil.example\u3002/x"}),
    ("fetch", {"url": "https://evil.ex\u00adample/x"}),
    ("fetch", {"url": "https://ok.example\\@evil.example/x"}),
    ("fetch", {"url": "https://evil.example%3a443/x"}),
    ("fetch", {"url": "view-source:https://evil.example/x"}),
    ("fetch", {"url": "http://127.1/x"}),
    ("fetch", {"url": "http://0x7f000001/x"}),
    ("fetch", {"url": "http://2130706433/x"}),
    ("fetch", {"url": "http://0177.0.0.1:80/x"}),
    ("fetch", {"url": "http://[::ffff:127.0.0.1]/x"}),
    ("fetch", {"url": "http://[::FFFF:7f00:1]:80/x"}),
    ("fetch", {"url": "https://b\u00fccher.example/x"}),
]


HIDDEN = [
    # a command line, whatever kind the agent says
    ("read", {"command": ["bash", "-lc", "cat x; rm y"]}),
    ("search", {"command": "rm y"}),
    ("fetch", {"url": "https://good.example/", "command": "rm y"}),
    # words that a tool gives to a shell as they are
    ("execute", {"command": ["ls", "&&", "rm", "y"]}),
    ("execute", {"command": "ls", "args": [";", "rm", "y"]}),
    ("execute", {"command": "ls", "timeout": "1; rm y"}),
    ("execute", {"command": "ls", "metadata": {"status": "rm y"}}),
    ("execute", {"command": "ls", "cwd": "x; rm y"}),
    ("edit", {"path": "docs/x", "outputs": {"Makefile": "all:"}}),
    ("edit", {"path": ".ENV"}),
    ("edit", {"path": "docs/x", "out": "MAKEFILE"}),
    ("edit", {"path": "Secrets/a/b"}),
    ("edit", {"path": "docs\\..\\.env"}),
    ("edit", {"path": "docs/x", "args": ["--out=.env"]}),
    ("edit", {"path": "docs/x", "callId": ".env"}),
    ("edit", {"path": "docs/x", "payload": '"{\\"file\\": \\".env\\"}"'}),
    ("edit", {"path": "docs/x", "plan": "*** Begin Patch\n*** Update File: .env\n@@\n-a\n+b\n*** End Patch"}),
]


@pytest.mark.parametrize("kind, arguments", HIDDEN, ids=str)
def test_a_deny_of_one_thing_finds_it_however_it_is_given(kind, arguments):
    policy = rules(allow=["*"], deny=["execute:rm *", "edit:.env", "edit:Makefile", "edit:secrets/**"])
    assert policy.decide(JudgedCall("T", kind, arguments), WORK).effect == DENY


@pytest.mark.parametrize("command", ["view", "create", "str_replace"])
def test_the_verb_of_an_editor_is_not_a_command_line(command):
    policy = rules(allow=["*"], deny=["kind:execute", "execute:view"])
    call = JudgedCall("str_replace_editor", "edit", {"command": command, "path": "docs/x"})
    assert policy.decide(call, WORK).effect == ALLOW
    assert policy.decide(JudgedCall("Shell", "read", {"command": "cat x"}), WORK).effect == DENY


@pytest.mark.parametrize("kind, arguments", DENIED, ids=str)
def test_a_deny_finds_what_it_is_about_under_any_name_and_in_parts(kind, arguments):
    assert POLICY.decide(JudgedCall("T", kind, arguments), WORK).effect == DENY


@pytest.mark.parametrize(
    "kind, arguments",
    [
        ("execute", {"command": "git status", "description": "remove", "timeout": 5}),
        ("execute", {"command": "ls", "cwd": WORK, "run_in_background": True}),
        ("execute", {"command": "ls", "purpose": "before I call rm x", "description": "No need for rm x"}),
        ("execute", {"command": "git", "justification": "I want to push (later"}),
        ("edit", {"file_path": "docs/x", "content": ".env", "mode": "overwrite"}),
        (
            "edit",
            {"file_path": "docs/x", "old_string": ".env", "new_string": "Makefile", "replace_all": True},
        ),
        (
            "edit",
            {"changes": [{"path": f"docs/{number}", "kind": "add", "diff": "x"} for number in range(150)]},
        ),
        ("edit", {"path": "docs/[id]/page.tsx", "content": "x"}),
        ("delete", {"path": "docs/x"}),
        ("fetch", {"url": "https://ok.example/evil.example/", "prompt": "what is evil.example?"}),
        ("fetch", {"url": "http://127.0.0.2/"}),
    ],
    ids=lambda value: str(value)[:70],
)
def test_a_deny_leaves_ordinary_calls_alone(kind, arguments):
    assert POLICY.decide(JudgedCall("T", kind, arguments), WORK).effect == ALLOW


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "docs/x", **{"a" * (number + 1): f"docs/{number}" for number in range(40)}},
        {"paths": [f"docs/{number}" for number in range(5_000)]},
        {"path": "docs/x", "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": ["docs/y"]}}}}}}}}},
    ],
    ids=["many in one object", "many in a list", "deep"],
)
@pytest.mark.parametrize("kind", ["edit", "execute", "fetch"])
def test_what_has_too_many_readings_is_denied(arguments, kind):
    call = JudgedCall("T", kind, arguments)

    assert rules(allow=["*"], deny=[f"{kind}:x"]).decide(call, WORK).effect == DENY


@pytest.mark.parametrize("kind", ["edit", "execute", "fetch"])
def test_twice_as_many_values_are_twice_the_work(kind):
    policy = rules(allow=["*"], deny=[f"{kind}:x"])

    def judged(values):
        call = JudgedCall("T", kind, {"paths": [f"docs/{number}" for number in range(values)]})
        return lambda: policy.decide(call, WORK)

    assert grows_at_most_linearly(judged, 400)
