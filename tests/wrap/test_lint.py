"""A wrapped tool passes the linter wherever it is kept to have passed. The kept verdicts are made by `tools.wrapper_lint`.

Running every check takes a minute a tool, so one tool of each kind is linted whole here: one that asks the system, one that
is data alone, one with a parser in Python; and of those that speak with others one command each: a request to a server on
this machine, a push to a repository beside it.
"""

import json

import pytest

from tools.wrapper_lint import WRAPPERS, wrapped

KEPT = {path.parent.name: json.loads(path.read_text()) for path in sorted(WRAPPERS.glob("*/lint.json"))}


@pytest.mark.parametrize("name", KEPT)
def test_nothing_that_is_kept_failed(name):
    failed = [
        (command, characteristic)
        for command, pairs in KEPT[name]["wrapped"].items()
        for characteristic, result in pairs.items()
        if result == "fail"
    ]

    assert failed == []


@pytest.mark.timeout(600)
@pytest.mark.needs("bwrap", "jq", "grep", "git", "curl")
@pytest.mark.parametrize(
    "name, command",
    [
        ("ls", "list"),
        ("jq", "filter"),
        ("grep", "search"),
        ("git", "push"),
        ("curl", "send"),
        ("ruff", "check"),
    ],
)
def test_the_linter_still_says_what_is_kept(name, command):
    found = wrapped(name, "--command", command)

    assert found is not None
    assert found[command] == KEPT[name]["wrapped"][command]
