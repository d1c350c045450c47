"""`operable wrap verify`."""

import pytest

from tests.cli.drive import operable
from tests.wrap.drive import CLI, TOOL, Made

DRAFT = CLI | {"metadata": {"operable": {"unverified": True}}}
PROGRAM = '#!/bin/sh\n[ "$1" = --version ] && { echo 1.0; exit; }\n'
EXAMPLES = {"examples": [{"name": "one", "input": {}, "note": "go --output jsonl"}]}


def verified(made: Made) -> bool:
    done = operable("wrap", "list", env=made.env)
    return any(event["verified"] for event in done.results if event["name"] == "prog")


def test_a_draft_whose_examples_pass_is_one_no_longer(tmp_path):
    made = Made(tmp_path, PROGRAM + "echo '{\"a\":1}'\n", cli=DRAFT, tool=TOOL | EXAMPLES)
    assert verified(made) is False

    looked = operable("wrap", "verify", "prog", "--dry-run", env=made.env)
    assert (looked.summary["ok"], verified(made)) == (True, False)
    done = operable("wrap", "verify", "prog", env=made.env)
    assert (done.summary["ok"], verified(made)) == (True, True)
    assert done.results[0]["path"] == str(made.path / "CLI.md")
    again = operable("wrap", "verify", "prog", env=made.env)
    assert (again.summary["ok"], again.results) == (True, [])


@pytest.mark.parametrize(
    "script, more, code",
    [
        ("echo nonsense; exit 3\n", EXAMPLES, "SUMMARY_NOT_OK"),
        ('echo \'{"a":"text"}\'\n', EXAMPLES, "SCHEMA_VIOLATION"),
        ("echo '{\"a\":1}'\n", {"examples": []}, "NO_EXAMPLE"),
    ],
)
def test_one_whose_examples_fail_stays_a_draft(tmp_path, script, more, code):
    outputs = {
        "type": "object",
        "properties": {"type": {"const": "row"}, "a": {"type": "integer"}},
        "required": ["type", "a"],
    }
    made = Made(tmp_path, PROGRAM + script, cli=DRAFT, tool=TOOL | {"outputs": outputs} | more)

    done = operable("wrap", "verify", "prog", env=made.env)

    assert done.error["code"] == "EXAMPLES_FAILED"
    assert [each["code"] for each in done.error["failed"]] == [code]
    assert verified(made) is False


def test_the_words_of_the_program_that_failed_are_shown(tmp_path):
    made = Made(tmp_path, PROGRAM + "echo it is broken >&2; exit 3\n", cli=DRAFT, tool=TOOL | EXAMPLES)

    done = operable("wrap", "verify", "prog", env=made.env)

    assert "prog ended with status 3 (error): it is broken" in done.error["failed"][0]["reason"]


def test_what_changes_things_is_only_planned(tmp_path):
    tool = TOOL | {
        **EXAMPLES,
        "mutates": ["workspace:/x"],
        "approval": "always",
        "metadata": {"operable": {"parse": {"kind": "jsonl"}, "plan": {"action": "touch", "target": "x"}}},
    }
    made = Made(tmp_path, PROGRAM + f"touch {tmp_path}/ran\n", cli=DRAFT, tool=tool)

    done = operable("wrap", "verify", "prog", env=made.env)

    assert done.summary["ok"] is True
    assert not (tmp_path / "ran").exists()


def test_a_draft_as_it_was_made_has_no_tests_that_could_pass(tmp_path):
    program = tmp_path / "prog"
    program.write_text("#!/bin/sh\necho 'prog 1.0: prints things'\n")
    program.chmod(0o755)
    operable("init", "wrap", str(program), "--to", str(tmp_path / "drafts"))

    env = {"OPERABLE_WRAPPERS": str(tmp_path / "drafts")}
    done = operable("wrap", "verify", "prog", env=env)

    assert [each["code"] for each in done.error["failed"]] == ["NO_EXAMPLE"]
