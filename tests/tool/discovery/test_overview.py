"""Help in few words: nothing that a caller needs is missing, and it is shorter than the help for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from operable.cli import tool as operable
from operable.examples.outline.cli import tool as outline
from operable.tool import Tool
from operable.tool.arguments import standard_options
from operable.tool.discovery.help_text import command_help
from operable.tool.discovery.overview import short_help
from operable.tool.front import understand
from tests.tool import notebook
from tests.tool.discovery.test_help_text import command_of, small_tool
from tests.tool.drive import run

NOTEBOOK = Path(notebook.__file__)
# What says the same in every tool, or is for people.
UNSAID = {"schema-version", "accept-schema", "no-color", "debug", "help", "fail-fast"}


def test_the_short_help_of_a_command_has_all_that_a_caller_needs():
    tool = small_tool()
    assert short_help(tool, command_of(tool, "find")) == (
        """\
small find WORDS [MORE…] --depth INTEGER
Find files. Looks everywhere: also here. Note: this is prose, as is everything after it. Changes nothing.
WORDS: what to look for; every word must be there
MORE
--in TEXT: where to begin (default /)
--kind file|folder: what to find (both without it)
--depth INTEGER: (required)
--ratio NUMBER: (default 0.5)
--tag a|b…
--quiet
--[no-]cache: remember for the next time (default: yes)
--password TEXT
Standard options: --timeout SECONDS (default 2.5), --limit N (default 1000000), --max-bytes N, --max-lines N, \
--fields NAMES, --compact
Results: hit(rank)
Example: small find 'two words' --in /tmp
Example: small find x"""
    )


@pytest.mark.parametrize("tool", [outline, notebook.tool, operable], ids=lambda tool: tool.name)
def test_every_command_has_its_options_and_its_risk_in_fewer_bytes(tool: Tool):
    listed = short_help(tool, None)
    for name in tool.names():
        command = command_of(tool, name)
        short = short_help(tool, command)
        lines = short.splitlines()
        for param in command.params:
            flag = param.flag.upper() if param.operand else f"{param.flag}"
            assert any(flag in line.split(":")[0] for line in lines), (name, param.name)
        for option in standard_options(tool, command):
            assert option in UNSAID or option in tool.machine_flags or f"--{option}" in short, (name, option)
        for event in command.event_classes():
            assert command.document or f"{event.wire_type}(" in short, (name, event)
        assert ("needs --confirm" in short) is command.destructive, name
        assert len(short) < len(command_help(tool, command)), name
        if not command.hidden:
            assert f"\n{name}" in f"\n{listed}", name


def test_a_command_that_destroys_or_changes_says_so_in_the_list():
    lines = short_help(outline, None).splitlines()
    risks = {line.split()[0]: line.rpartition("[")[2] for line in lines if line.endswith("]")}
    assert risks["delete"] == "destructive]"
    assert risks["create"] == "changes things]"
    assert not {"list", "get", "search"} & risks.keys()


def test_a_group_has_its_commands_alone():
    text = short_help(operable, "inbox")
    assert "\ninbox answer " in text
    assert "\nagent " not in text


@pytest.mark.parametrize("words", [["list", "--help"], ["--compact", "list", "-h"], ["help", "list"]])
def test_it_is_asked_for_beside_help_in_any_order_and_output(words):
    asked = [*words, "--compact"] if "--compact" not in words else words
    expected = short_help(outline, command_of(outline, "list"))
    call, refusal = understand(outline, asked)
    assert refusal is None
    assert [each.content for each in call.command.function()] == [expected]


def test_the_program_gives_it_to_people_and_to_programs():
    expected = short_help(notebook.tool, None)
    for words in (["--help", "--compact"], ["help", "--compact"], ["-h", "--compact"]):
        assert [each["content"] for each in run(*words, tool=NOTEBOOK).results] == [expected]
        assert run(*words, output=None, tool=NOTEBOOK).stdout.decode() == f"{expected}\n"


def test_an_operand_that_looks_like_the_option_is_none():
    call, refusal = understand(outline, ["get", "--help", "--", "--compact"])
    assert refusal is None
    assert [each.content for each in call.command.function()] == [
        command_help(outline, command_of(outline, "get"))
    ]
