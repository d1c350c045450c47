"""What a cold start of `outline` may load, and what it can say with nothing around it."""

import json
import subprocess
import sys

import pytest

from tests.examples.outline.process import PATIENCE, PROGRAM
from tests.requirement import requirement
from tests.test_import_budget import HEAVY

COMMANDS = [
    "copy",
    "create",
    "delete",
    "export",
    "get",
    "import",
    "list",
    "move",
    "search",
    "status",
    "update",
    "watch",
]


def loaded_by(outline, *words):
    """The modules that are loaded when the process leaves."""
    program = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); from operable.examples.outline.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, *words], capture_output=True, text=True, env=outline.environment, timeout=PATIENCE, check=True
    )  # fmt: skip
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words", [("search", "agent"), ("list",), ("get", "doc_1"), ("status",), ("export",)]
)
def test_a_read_command_loads_nothing_heavy_although_it_opens_the_store(outline, words):
    outline.fill({"title": "agent", "id": "doc_1"})
    loaded = loaded_by(outline, *words, "--output", "jsonl")
    assert loaded & HEAVY == set()
    assert "_sqlite3" in loaded


def test_a_command_loads_no_other_command(outline):
    assert {
        name
        for name in loaded_by(outline, "search", "x", "--output", "jsonl")
        if name.startswith("operable.examples.outline.commands.")
    } == {"operable.examples.outline.commands.search"}


@requirement("aoi:3:flags-equal-subcommands", "aoi:3:offline-discovery", "aoi:3.2:schema-needs-nothing")
@pytest.mark.parametrize("command", ["schema", "capabilities"])
def test_discovery_needs_nothing_and_flags_say_the_same(command):
    one = subprocess.check_output([PROGRAM, command, "--output", "json"], env={}, timeout=PATIENCE)
    other = subprocess.check_output([PROGRAM, f"--{command}", "--output", "json"], env={}, timeout=PATIENCE)
    assert json.loads(one) == json.loads(other)


@requirement("aoi:16.3:verbs")
def test_the_capabilities_name_every_command_with_its_promises():
    found = json.loads(
        subprocess.check_output([PROGRAM, "capabilities", "--output", "json"], env={}, timeout=PATIENCE)
    )
    commands = {command["name"]: command for command in found["commands"]}
    assert set(COMMANDS) <= set(commands)
    assert {name for name in COMMANDS if not commands[name]["read_only"]} == {
        "copy",
        "create",
        "delete",
        "import",
        "move",
        "update",
    }
    assert {name for name in COMMANDS if commands[name]["destructive"]} == {"delete"}
    assert {name for name in COMMANDS if commands[name]["unbounded"]} == {"watch"}
    assert {name for name in COMMANDS if commands[name]["supports_cursor"]} == {"list", "search", "export"}
    assert commands["import"]["role"] == "sink"
    assert commands["search"]["event_types"] == [
        "aoi:meta",
        "hit",
        "aoi:warning",
        "aoi:error",
        "aoi:progress",
        "aoi:summary",
    ]
    assert all(commands[name]["examples"] for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_an_input_schema(command):
    shown = subprocess.check_output([PROGRAM, command, "--help"], env={}, timeout=PATIENCE, text=True)
    assert f"outline {command}" in shown
    schema = subprocess.check_output(
        [PROGRAM, "input-schema", "--command", command, "--output", "json"], env={}, timeout=PATIENCE
    )
    assert json.loads(schema)["additionalProperties"] is False


def test_people_get_a_table(outline):
    outline.fill({"title": "Something to read", "id": "doc_1"})
    done = subprocess.run(
        [PROGRAM, "list"],
        env=outline.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "TITLE" in done.stdout
    assert "Something to read" in done.stdout


@pytest.mark.parametrize("words, code", [(("search",), 64), (("list", "--limit", "x"), 64), (("list", "--nonsense"), 64), (("lsit",), 64), (("get", b"\xff"), 64), (("list", "--schema-version", "9"), 64)])  # fmt: skip
def test_bad_words_get_a_structured_answer(outline, words, code):
    done = subprocess.run(
        [PROGRAM, *words, "--output", "jsonl"], env=outline.environment, capture_output=True, timeout=PATIENCE, check=False
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == code
    assert [event["type"] for event in events][-2:] == ["aoi:error", "aoi:summary"]
    assert events[-2]["category"] == "usage"
