"""What `operable` is to those who meet it first: discovery from nothing, help, and a start that loads little."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from operable.cli import tool
from tests.cli.drive import PROGRAM, operable
from tests.requirement import requirement
from tests.test_import_budget import HEAVY

COMMANDS = tool.names()  # those of a group are of two words
RELAYS = {"run", "record", "pipe"}


# One bare interpreter, and a fork of it per module: the same as an interpreter for each, without so many starts.
LOADED = """
import os, sys
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        __import__(name)
        print(name, *sys.modules, flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{name} cannot be imported")
"""


def loaded_by(names):
    """Name of a module -> the modules that a fresh interpreter has loaded after importing it."""
    listed = subprocess.run(
        [sys.executable, "-I", "-c", LOADED, *names], capture_output=True, text=True, timeout=200, check=True
    )
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {name: set(loaded) for name, *loaded in lines}


def test_the_commands_are_those_of_the_catalogue():
    assert {"check", "diff", "pipe", "record", "replay", "run", "agent list", "agent prompt"} <= set(COMMANDS)


def test_neither_the_command_nor_a_verb_loads_anything_heavy():
    verbs = [f"operable.cli.commands.{name.replace(' ', '.').replace('-', '_')}" for name in COMMANDS]

    loaded = loaded_by(["operable.cli", *verbs])

    assert set(loaded) == {"operable.cli", *verbs}
    light = ("operable.run", "operable.proc", "operable.wire", "operable.host")
    surplus = {
        verb: sorted(name for name in names if name in HEAVY or name.startswith(light))
        for verb, names in loaded.items()
    }
    assert {verb: names for verb, names in surplus.items() if names} == {}


@requirement("aoi:3:offline-discovery", "aoi:3.2:schema-needs-nothing", "aoi:17:single-object")
@pytest.mark.parametrize("topic", ["schema", "capabilities"])
def test_discovery_works_with_nothing_at_all(topic, tmp_path):
    done = subprocess.run(
        [PROGRAM, topic, "--output", "json"],
        env={},
        cwd=tmp_path,
        capture_output=True,
        timeout=200,
        check=True,
    )
    assert isinstance(json.loads(done.stdout), dict)
    assert done.stderr == b""


@requirement("aoi:17:commands")
def test_the_manifest_is_honest_about_what_passes_through_and_what_may_change():
    manifest = json.loads(operable("capabilities", output="json").stdout)
    entries = {entry["name"]: entry for entry in manifest["commands"]}
    assert set(COMMANDS) <= set(entries)
    assert all(entries[name]["examples"] for name in COMMANDS)
    assert all(entries[name]["relays"] for name in RELAYS | {"replay"})
    assert not any("relays" in entries[name] for name in ("check", "diff"))
    # A server does what its clients ask for.
    assert not any(entries[name]["read_only"] for name in RELAYS | {"mcp", "rpc"})
    assert all(entries[name]["read_only"] for name in ("check", "diff", "replay"))
    assert "verdict" in entries["check"]["event_types"]
    assert "verdict" in entries["pipe"]["event_types"]
    assert {"difference", "comparison"} <= set(entries["diff"]["event_types"])


@requirement("aoi:1.1:schema-governed", "aoi:10.3:output-permissive")
def test_what_is_said_fits_the_published_schema_and_so_does_what_is_passed_on(tmp_path):
    from jsonschema_rs import Draft202012Validator

    validator = Draft202012Validator(json.loads(operable("schema", output="json").stdout))
    stream = operable("run", "--", "outline", "list", env={"OUTLINE_HOME": str(tmp_path)}).stdout
    (tmp_path / "old.json").write_text(json.dumps({"$defs": {"a": {}}}))
    (tmp_path / "new.json").write_text(json.dumps({"$defs": {"b": {}}}))
    for outcome in (
        operable("check", input=stream),
        operable("check", input=stream[:-9]),
        operable("diff", "old.json", "new.json", cwd=tmp_path),
        operable("run", "--", "outline", "nonsense"),
        operable(
            "pipe", "--", "outline", "list", ":::", "outline", "list", env={"OUTLINE_HOME": str(tmp_path)}
        ),
        operable("doctor"),
    ):
        for event in outcome.events:
            assert [error.message for error in validator.iter_errors(event)] == [], event


@requirement("aoi:16.1:help")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name):
    shown = operable(*name.split(), "--help", output=None)
    text = shown.stdout.decode()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert text.startswith(f"Usage: operable {name}")
    assert f"Examples:\n  operable {name}" in text
    command = tool.find(name)
    assert command is not None
    for param in command.params:
        assert param.flag in text or param.flag.upper() in text


@requirement("aoi:1:output-jsonl", "aoi:1:format-alias", "aoi:6:sysexits")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_answers_a_wrong_call_in_the_language_of_the_caller(name):
    for flag in ("--output", "--format"):
        done = operable(*name.split(), flag, "jsonl", "--no-such-option", output=None)
        kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
        assert (done.exit_code, kinds) == (64, ["aoi:meta", "aoi:error", "aoi:summary"])
    spoken = operable(*name.split(), "--no-such-option", output=None)
    assert (spoken.exit_code, spoken.stdout) == (64, b"")
    assert "--no-such-option" in spoken.stderr


def test_discovery_is_kept_beside_the_bytecode():
    operable("schema", output="json")
    kept = Path(sys.modules["operable.cli"].__file__ or "").parent / "__pycache__"
    assert any(name.startswith("operable.schema.") for name in os.listdir(kept))


def test_a_port_that_is_none_is_the_callers_mistake(tmp_path):
    refused = operable("mcp", "--http", "--port", "65536", env={"OPERABLE_HOME": str(tmp_path)}).error

    assert (refused["category"], refused["target"]) == ("usage", "--port")
