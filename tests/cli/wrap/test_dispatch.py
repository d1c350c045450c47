"""`operable wrap TOOL …`: whose words are whose."""

import json
import subprocess

import pytest

from tests.cli.drive import PROGRAM
from tests.tool.drive import LIMIT, Outcome


def said(*words):
    done = subprocess.run(
        [PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("--output", "jsonl", "wrap", "ls"),
        ("wrap", "--output=jsonl", "ls"),
        ("wrap", "--no-color", "--timeout", "20", "--format", "jsonl", "ls"),
        ("--debug", "wrap", "--output", "jsonl", "ls"),
        ("--limit", "5", "wrap", "--schema-version", "1", "--output=jsonl", "ls"),
    ],
)
def test_standard_options_may_stand_before_the_name_of_a_tool(words, tmp_path):
    (tmp_path / "file").write_text("")

    done = said(*words, str(tmp_path))

    assert (done.exit_code, [row["name"] for row in done.results]) == (0, ["file"])


def test_a_confirmation_before_its_name_does_not_take_the_name_for_a_digest():
    done = said("wrap", "--confirm", "ls", "--output", "jsonl")

    assert (done.error["code"], done.error["target"]) == ("UNKNOWN_OPTION", "--confirm")


@pytest.mark.parametrize("words", [("help",), ("--help",), ("-h",)])
def test_the_help_says_how_tools_are_called(words):
    done = said("wrap", *words)

    assert done.exit_code == 0
    assert b"operable wrap TOOL [COMMAND]" in done.stdout
    assert b"operable wrap --mcp 'SERVER'" in done.stdout


@pytest.mark.parametrize("words", [("--mcp",), ("--mcp", ""), ("--mcp=",)])
def test_a_server_that_was_not_named_is_told(words):
    done = said("--output", "jsonl", "wrap", *words)

    assert (done.exit_code, done.error["code"]) == (64, "MCP_COMMAND_INVALID")


def test_a_tool_that_there_is_not_is_refused_in_the_name_of_operable():
    done = said("wrap", "gitt", "--output", "jsonl")

    meta = json.loads(done.stdout.splitlines()[0])
    assert (meta["tool"], meta["command"], done.error["code"]) == ("operable", "wrap", "UNKNOWN_WRAPPER")


def test_a_word_called_wrap_elsewhere_is_nobodys_business_here(tmp_path):
    done = said("init", "wrap", "no-such-program", "--to", str(tmp_path), "--output", "jsonl")

    assert done.error["code"] == "TOOL_NOT_FOUND"


@pytest.mark.parametrize("key", ["token", "sig", "code", "key"])
def test_an_address_in_place_of_a_program_is_refused_without_its_secrets(key):
    done = said("init", "wrap", f"https://example.invalid/x?page=2&{key}=Zq7hushhush", "--output", "jsonl")

    assert done.error["code"] == "WRAPPER_NAME"
    assert "hushhush" not in f"{done.stdout!r} {done.stderr!r}"
