"""What a failure of a program is called: by its status, and by its own words where one status stands for all errors."""

import pytest

from operable.kernel.errors import Fail
from operable.manifest import render
from operable.wrap.plan import manifests
from tests.wrap.drive import CLI, Made

PROGRAM = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\necho "$WORDS" >&2\nexit 1\n'
EXITS = {
    "1": {
        "category": "internal",
        "code": "PROG_FAILED",
        "reasons": [
            {
                "match": "^no such thing",
                "category": "not_found",
                "code": "THING_NOT_FOUND",
                "hint": "make it",
            },
            {"match": "connection refused$", "category": "temporary", "code": "NOT_REACHABLE"},
        ],
    }
}


def made_with(tmp_path, exits) -> Made:
    cli = {"metadata": {"operable": {"exits": exits}}}
    sandbox = {**CLI["sandbox"], "env": {"pass": ["WORDS"], "set": {}}}
    return Made(tmp_path, PROGRAM, cli={**cli, "sandbox": sandbox})


@pytest.mark.parametrize(
    "words, told",
    [
        ("no such thing: x", ("not_found", "THING_NOT_FOUND")),
        ("dial tcp: connection refused\nbye", ("temporary", "NOT_REACHABLE")),
        ("it says: no such thing", ("internal", "PROG_FAILED")),
        ("", ("internal", "PROG_FAILED")),
    ],
)
def test_the_words_of_a_program_tell_its_errors_apart(tmp_path, words, told):
    done = made_with(tmp_path, EXITS).go(env={"WORDS": words})

    assert (done.error["category"], done.error["code"]) == told
    assert done.summary["ok"] is False


@pytest.mark.parametrize(
    "reason", [{"match": "("}, {"category": "internal"}, {"match": "x", "ok": True}, "x", {"match": 3}]
)
def test_a_reason_that_is_none_is_refused(tmp_path, reason):
    made = made_with(tmp_path, EXITS)
    (made.path / "CLI.md").write_text(
        render(CLI | {"metadata": {"operable": {"exits": {"1": {"reasons": [reason]}}}}}, "")
    )

    with pytest.raises(Fail) as caught:
        manifests.read(str(made.path))

    assert caught.value.code == "WRAPPER_INVALID"


@pytest.mark.parametrize(
    "words, headline",
    [
        (
            "Compiling it\nwarning: w\nerror[E0308]: mismatched types\nerror: aborting",
            "error[E0308]: mismatched types",
        ),
        ("WARNING: Retrying\nERROR: there is none", "ERROR: there is none"),
        ("│ Error: no such folder", "│ Error: no such folder"),
        ("first\nsecond of no errors", "first"),
    ],
)
def test_the_message_is_the_line_that_says_what_went_wrong(tmp_path, words, headline):
    done = made_with(tmp_path, EXITS).go(env={"WORDS": words})

    assert done.error["message"] == f"prog ended with status 1 (error): {headline}"


def test_a_secret_in_the_query_of_an_address_stays_hidden_where_the_program_writes_the_address_anew(tmp_path):
    program = (
        '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\necho "no file $3" | tr -s / >&2\nexit 1\n'
    )
    tool = {
        "inputs": {"type": "object", "properties": {"path": {"type": "string"}}},
        "runner": {"cli": "../../CLI.md", "argv": ["go", "--", "${input.path}"]},
        "metadata": {"operable": {"operands": ["path"], "parse": {"kind": "jsonl"}}},
    }
    address = "https://example.invalid/x?sig=hunter2-signature&code=hunter2-code-1&page=seventeen17"

    done = Made(tmp_path, program, tool=tool).go(address)

    assert "hunter2" not in done.stdout.decode()
    assert "page=seventeen17" in done.error["upstream_stderr"]
