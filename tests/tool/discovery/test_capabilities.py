"""The capability manifest: complete, true, and nothing in it that is not kept."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from operable.spec import schema as published
from operable.tool import Change, Event, Input, Stream, Tool
from operable.tool.discovery.capabilities import capabilities_document
from operable.tool.front import understand
from tests.requirement import requirement
from tests.tool import notebook

MANIFEST = capabilities_document(notebook.tool)
COMMANDS: dict[str, Any] = {command["name"]: command for command in MANIFEST["commands"]}


class Hit(Event):
    rank: int


class NoteIn(Input):
    title: str


@requirement("aoi:17:fields", "aoi:17:commands", "aoi:16.2:capabilities")
def test_the_manifest_is_valid_and_complete():
    jsonschema_rs.validator_for(published("aoi-capabilities")).validate(MANIFEST)
    assert MANIFEST["tool"] == "notebook"
    assert MANIFEST["tool_version"] == "2.3.4"
    assert MANIFEST["aoi_versions"] == ["0.2"]
    assert MANIFEST["outputs"] == ["jsonl"]
    assert MANIFEST["schemas"] == [
        {"name": "com.example.notebook.events", "versions": ["1.0.0", "2.0.0", "2.1.0"], "default": "2.1.0"}
    ]
    assert MANIFEST["auth"] == {"required": True, "methods": ["token"]}
    assert "aliases" not in MANIFEST
    names = [name for name in notebook.tool.names() if name != "secret-lair"]
    assert list(COMMANDS) == [*names, *notebook.tool.built_in_names()]


@requirement("aoi:17:commands", "aoi:14.1:mutation-obvious", "aoi:4.2:unbounded-documented")
def test_each_command_says_what_it_does_and_supports():
    search = COMMANDS["search"]
    assert search == {
        "name": "search",
        "summary": "Find notes by words.",
        "read_only": True,
        "destructive": False,
        "bulk": False,
        "bounded": True,
        "unbounded": False,
        "supports_limit": True,
        "supports_cursor": True,
        "requires_confirm": False,
        "supports_confirm_count": False,
        "supports_dry_run": False,
        "supports_idempotency_key": False,
        "role": "source",
        "input_modes": ["args"],
        "auth": {"required": True, "methods": ["token"]},
        "event_types": ["aoi:meta", "hit", "aoi:warning", "aoi:error", "aoi:progress", "aoi:summary"],
        "outputs": ["jsonl"],
        "examples": ["notebook search 'agent operable' --limit 2", "notebook search cats --state open"],
        "default_limit": 20,
        "reductions": ["fields", "compact"],
        "default_timeout": 300.0,
    }
    delete = COMMANDS["delete"]
    assert not delete["read_only"]
    assert delete["destructive"]
    assert delete["bulk"]
    assert delete["requires_confirm"]
    assert delete["supports_dry_run"]
    assert delete["supports_confirm_count"]
    assert delete["supports_idempotency_key"]
    assert not delete["supports_limit"]
    assert delete["event_types"] == [
        *("aoi:meta", "done", "aoi:plan", "aoi:warning", "aoi:error", "aoi:progress", "aoi:summary")
    ]
    watch = COMMANDS["watch"]
    assert watch["unbounded"]
    assert not watch["bounded"]
    assert watch["heartbeat_interval"] == 0.2
    assert "aoi:heartbeat" in watch["event_types"]
    assert "default_timeout" not in watch
    assert COMMANDS["doctor"]["event_types"][1] == "aoi:check"


@requirement("aoi:12.2:malformed-mode-documented")
def test_commands_that_read_say_what_they_take_and_what_a_malformed_line_does():
    assert {name: command["role"] for name, command in COMMANDS.items() if command["role"] != "source"} == {
        "import": "sink",
        "count": "transformer",
    }
    for name in ("import", "count"):
        command = COMMANDS[name]
        assert command["input_modes"] == ["args", "json", "jsonl"]
        assert command["malformed_input"] == "configurable"
        assert command["malformed_input_default"] == "fail-fast"
    assert COMMANDS["count"]["input_types"] == ["hit"]
    assert "input_types" not in COMMANDS["import"]


def test_discovery_itself_needs_no_credentials_even_where_the_tool_does():
    for name in notebook.tool.built_in_names():
        assert COMMANDS[name]["auth"] == {"required": False}
        assert COMMANDS[name]["read_only"]
        assert "default_limit" not in COMMANDS[name]


@requirement("aoi:6:local-codes-documented")
def test_every_exit_code_is_documented_by_its_reason():
    codes = MANIFEST["exit_codes"]

    assert codes["ok"] == 0
    assert (codes["usage"], codes["validation"], codes["internal"], codes["timeout"]) == (64, 65, 70, 124)
    assert (codes["interrupted"], codes["terminated"], codes["reader_gone"]) == (130, 143, 141)


def test_the_examples_are_command_lines_that_are_understood():
    for command in MANIFEST["commands"]:
        for line in command["examples"]:
            program, *words = shlex.split(line)
            call, refused = understand(notebook.tool, words)
            assert (program, refused) == ("notebook", None)
            assert call.command.name == command["name"]


def test_what_is_advertised_is_accepted_and_what_is_not_is_refused():
    options = {
        "supports_limit": ["--limit", "3"],
        "supports_cursor": ["--cursor", "x"],
        "supports_dry_run": ["--dry-run"],
        "supports_confirm_count": ["--confirm-count", "1"],
        "supports_idempotency_key": ["--idempotency-key", "k"],
    }
    for name, command in COMMANDS.items():
        for feature, words in options.items():
            _, refused = understand(notebook.tool, [*name.split(), *words])
            unknown = refused is not None and words[0] in (refused.target or "")
            assert unknown != command[feature], (name, feature)


@requirement("aoi:16.4:alias")
def test_a_tool_with_flags_of_its_own_says_which_it_uses_instead():
    tool = Tool("t", version="1", schema_name="x", machine_flags=("format",))

    assert capabilities_document(tool)["aliases"] == {"--output": "--format"}
    assert capabilities_document(tool)["machine_flags"] == ["--format"]
    jsonschema_rs.validator_for(published("aoi-capabilities")).validate(capabilities_document(tool))


def test_a_command_whose_own_parameter_replaces_a_standard_option_does_not_advertise_it():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def tail(*, limit: str = "all") -> Iterator[Hit]:
        """Show the end."""
        yield Hit(rank=1)

    (command, *_) = capabilities_document(tool)["commands"]
    assert command["supports_limit"] is False
    assert "default_limit" not in command


def test_a_mutation_that_also_reads_is_a_sink_with_both_promises():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command(mutates=True)
    def keep(notes: Stream[NoteIn]) -> Iterator[Change]:
        """Keep notes."""
        yield Change("x")

    @keep.apply
    def _(changes: list[Change]) -> Iterator[Hit]:
        yield Hit(rank=1)

    (command, *_) = capabilities_document(tool)["commands"]
    assert (command["role"], command["supports_dry_run"]) == ("sink", True)
