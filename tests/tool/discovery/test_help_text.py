"""Help: what an author wrote once, laid out for people; nothing is lost, nothing invented."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from operable.tool import Change, Command, Event, Input, Stream, Tool
from operable.tool.discovery.help_text import command_help, description, fitted, parameter_help
from operable.tool.discovery.overview import tool_help
from tests.cli.drive import operable
from tests.requirement import requirement
from tests.tool import notebook
from tests.tool.drive import run, terminal

NOTEBOOK = Path(notebook.__file__)


class Hit(Event):
    rank: int


class NoteIn(Input):
    title: str


def small_tool() -> Tool:
    tool = Tool("small", version="1.2", schema_name="x", summary="A small tool.")

    @tool.command(limit=1_000_000, timeout=2.5, examples=["find 'two words' --in /tmp", "find x"])
    def find(
        words: str,
        more: list[str] = [],  # noqa: B006 - as authors write it
        *,
        in_: Path = Path("/"),
        kind: Literal["file", "folder"] | None = None,
        depth: int,
        ratio: float = 0.5,
        tag: list[Literal["a", "b"]] = [],  # noqa: B006
        quiet: bool = False,
        cache: bool = True,
        password: str = "hunter2",
    ) -> Iterator[Hit]:
        """Find files.

        Looks everywhere:
            also here.

        words: what to look for;
            every word must be there
        in_: where to begin
        kind: what to find
          (both without it)
        cache: remember for the next time

        Note: this is prose, as is everything after it.
        """
        yield Hit(rank=1)

    @tool.command()
    def undocumented() -> None: ...

    return tool


def command_of(tool: Tool, name: str) -> Command:
    command = tool.find(name)
    assert command is not None
    return command


def test_the_help_of_a_tool_lists_its_commands_and_those_of_every_tool():
    assert tool_help(small_tool()) == (
        """\
small 1.2: A small tool.

Usage: small COMMAND [ARGUMENTS] [OPTIONS]

Commands:
  find          Find files.
  undocumented

Every tool has:
  schema        Print the JSON Schema of the events.
  input-schema  Print the strict JSON Schema of what a command takes.
  capabilities  Print what this tool can do and promises, command by command.
  doctor        Check that everything this tool needs is there.
  completion    Print a completion script for a shell.

small COMMAND --help says more. Add --output jsonl to any command for the machine stream.
--schema, --capabilities and --version are answered without a command.
--help --compact says it in few words, for models."""
    )


def test_the_help_of_a_command_has_all_of_its_signature_and_docstring():
    tool = small_tool()

    assert command_help(tool, command_of(tool, "find")) == (
        """\
Usage: small find WORDS [MORE…] --depth INTEGER [OPTIONS]

Find files.

Looks everywhere:
also here.

Note: this is prose, as is everything after it.

Changes nothing.

Operands:
  WORDS  what to look for; every word must be there
  MORE

Options:
  --in TEXT           where to begin (default /)
  --kind file|folder  what to find (both without it)
  --depth INTEGER     (required)
  --ratio NUMBER      (default 0.5)
  --tag a|b…
  --quiet
  --[no-]cache        remember for the next time (default: yes)
  --password TEXT

Standard options:
  --output MODE               jsonl for the machine stream, human (default) for people
  --format MODE               the same as --output
  --schema-version VERSION    speak this version of the schema (1 or 1.0.0)
  --accept-schema NAME@MAJOR  speak this schema
  --timeout SECONDS           give up after this time (default 2.5)
  --no-color                  no colour
  --debug                     tracebacks on stderr, redacted
  --help                      show this help; also -h
  --limit N                   at most N results (default 1000000)
  --max-bytes N               at most N bytes of results
  --max-lines N               at most N lines of results
  --fields NAMES              only these fields of each result, with commas between: a,b.c
  --compact                   leave out fields that are null or empty

Examples:
  small find 'two words' --in /tmp
  small find x"""
    )


def test_a_command_without_a_docstring_still_has_help():
    tool = small_tool()

    assert command_help(tool, command_of(tool, "undocumented")).startswith(
        "Usage: small undocumented [OPTIONS]\n\nChanges nothing.\n"
    )


DOCSTRINGS: list[tuple[str, str, dict[str, str]]] = [
    ("One line.", "One line.", {}),
    ("One: line.\n\n    a: first\n    b: second\n", "One: line.", {"a": "first", "b": "second"}),
    (
        "One.\n\n    a: first\n        goes on\n        and on\n    b: x\n",
        "One.",
        {"a": "first goes on and on", "b": "x"},
    ),
    ("One.\n\n    a: first\n    Prose again.\n", "One.\n\nProse again.", {"a": "first"}),
    ("One.\n\n    a:\n      below it\n", "One.", {"a": " below it"}),
    (
        "One.\n\n    unknown: not a parameter\n    a: first",
        "One.\n\nunknown: not a parameter",
        {"a": "first"},
    ),
    ("One.\n\n    from: by its flag\n", "One.", {"from_": "by its flag"}),
    ("One.\n\n    from_: by its name\n", "One.", {"from_": "by its name"}),
    ("One.\n\n    a: has: colons: inside\n", "One.", {"a": "has: colons: inside"}),
    (
        "One.\na: first\n    more\nb: second\n",
        "One.",
        {"a": "first more", "b": "second"},
    ),  # as Python 3.13 strips it
    ("a: only a parameter", "", {"a": "only a parameter"}),
    (
        "One.\n\n    a: first\n\n        indented, but after a blank line\n",
        "One.\n\nindented, but after a blank line",
        {"a": "first"},
    ),
    ("\n    One.\n\n\n    a: x\n\n\n    Two.\n", "One.\n\nTwo.", {"a": "x"}),
    ("", "", {}),
]


@pytest.mark.parametrize(("docstring", "prose", "texts"), DOCSTRINGS)
def test_parameter_lines_are_told_from_prose(docstring, prose, texts):
    def command(a: str, b: str = "", *, from_: str = "") -> None: ...

    command.__doc__ = docstring
    made = Tool("t", version="1", schema_name="x").command()(command)

    assert description(made) == prose
    assert {name: text.strip() for name, text in parameter_help(made).items()} == {
        name: text.strip() for name, text in texts.items()
    }


@requirement(
    "aoi:14.1:mutation-obvious", "aoi:4.2:unbounded-documented", "aoi:12.2:malformed-mode-documented"
)
def test_help_says_what_a_caller_must_know_before_calling():
    def help_of(**options: Any) -> str:
        def command(notes: Stream[NoteIn]) -> Iterator[Change]:
            """Do something."""
            yield Change("x")

        tool = Tool("t", version="1", schema_name="x")
        return command_help(tool, tool.command("do", **options)(command))

    assert (
        "\nChanges nothing.\nA malformed item of its input ends it at once; --continue-on-error" in help_of()
    )
    assert "\nChanges things. --dry-run shows the plan.\n" in help_of(mutates=True)
    assert "\nA malformed item of its input ends it before any effect;" in help_of(mutates=True)
    assert "\nDestructive: needs --confirm. --dry-run shows the plan.\n" in help_of(destructive=True)
    assert "--confirm; for more than one thing at once, --confirm-count N." in help_of(
        destructive=True, bulk=True
    )
    assert "\nUnbounded: it goes on until it is stopped, with a heartbeat every 1.5 s.\n" in help_of(
        unbounded=True, heartbeat=1.5
    )


def test_help_says_which_words_can_stand_for_an_operand_and_what_stands_for_none():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def audit(
        action: Literal["show", "verify"] = "show",
        level: Literal[1, 2] = 1,
        *,
        speed: float = 1.0,
        port: int = 0,
    ) -> None:
        """Look.

        action: what to do with it
        speed: so many times as fast
        port: where; 0 takes a free one
        """

    text = command_help(tool, audit)

    assert "  ACTION  what to do with it: show, verify (default show)\n  LEVEL   1, 2 (default 1)\n" in text
    assert "  --speed NUMBER  so many times as fast (default 1)\n" in text
    assert "  --port INTEGER  where; 0 takes a free one (default 0)\n" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_help_fits_the_terminal_and_says_the_same_there(width):
    tool = small_tool()
    text = command_help(tool, command_of(tool, "find"))

    lines = fitted(text, width).splitlines()

    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert all(len(line) <= width for line in lines[: lines.index("Examples:")])
    assert lines[lines.index("Examples:") :] == text.splitlines()[-3:]  # whole, to be copied


def test_long_help_goes_on_below_where_it_begins():
    row = "  --on-conflict fail|skip  what to do with a note that is there already"

    assert fitted(row, 60).splitlines() == [
        "  --on-conflict fail|skip  what to do with a note that is",
        "                           there already",
    ]
    assert fitted(row, 40).splitlines() == [
        "  --on-conflict fail|skip",
        "      what to do with a note that is",
        "      there already",
    ]
    assert fitted("Usage: small find WORDS [MORE…] --depth INTEGER [OPTIONS]", 40).splitlines() == [
        "Usage: small find WORDS [MORE…] --depth",
        "       INTEGER [OPTIONS]",
    ]


def test_help_is_fitted_for_who_reads_it_at_a_terminal_and_for_nobody_else():
    with terminal("search", "--help", tool=NOTEBOOK, env={"COLUMNS": "40"}) as person:
        screen = person.finish().stderr

    assert "\n      jsonl for the machine stream,\r\n      human (default) for people\r\n" in screen
    assert (
        b"  jsonl for the machine stream, human (default) for people\n"
        in run("search", "--help", output=None, tool=NOTEBOOK, env={"COLUMNS": "40"}).stdout
    )


def test_the_default_of_a_secret_is_not_shown():
    tool = small_tool()

    assert "hunter2" not in command_help(tool, command_of(tool, "find"))


def test_hidden_commands_are_not_listed_and_renamed_ones_by_their_present_name():
    assert "secret-lair" not in tool_help(notebook.tool)
    tool = Tool("t", version="1", schema_name="x", machine_flags=("format",))

    @tool.command()
    def schema() -> None:
        """Show the tables."""

    assert "  schema  Show the tables.\n" in tool_help(tool)
    assert "  aoi-schema    Print the JSON Schema of the events.\n" in tool_help(tool)
    assert "Add --format jsonl" in tool_help(tool)
    assert "--output" not in command_help(tool, schema)


def test_decorated_functions_keep_their_help():
    import functools

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            return function(*arguments, **options)

        return wrapper

    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    @decorator
    def find(words: str, *, deep: bool = False) -> None:
        """Find.

        words: what to find
        """

    assert parameter_help(find) == {"words": "what to find"}
    assert [param.flag for param in find.params] == ["words", "deep"]


@requirement("aoi:16.1:help")
@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"]])
def test_help_of_the_tool_is_asked_for_in_each_usual_way(words):
    asked = run(*words, output=None, tool=NOTEBOOK)

    assert (asked.exit_code, asked.stderr) == (0, "")
    assert asked.stdout.decode() == tool_help(notebook.tool) + "\n"


@requirement("aoi:16.1:help")
@pytest.mark.parametrize("name", [*notebook.tool.names(), *notebook.tool.built_in_names()])
def test_every_command_has_help(name):
    asked = run(*name.split(), "-h", output=None, tool=NOTEBOOK)

    assert (asked.exit_code, asked.stderr) == (0, "")
    assert asked.stdout.decode() == command_help(notebook.tool, command_of(notebook.tool, name)) + "\n"


@requirement("aoi:16.1:help")
@pytest.mark.parametrize("words", [["wrap", "--help"], ["wrap", "-h"], ["--help", "wrap"]])
def test_a_word_with_which_commands_begin_has_help(words):
    asked = operable(words[0], *words[1:], output=None)

    assert (asked.exit_code, asked.stderr) == (0, "")
    assert asked.stdout.startswith(b"Usage: operable wrap COMMAND ")
    assert b"\n       operable wrap TOOL [COMMAND]" in asked.stdout
    shown = sorted(
        line.split()[:2] for line in asked.stdout.decode().splitlines() if line.startswith("  wrap ")
    )
    assert shown == [
        ["wrap", name] for name in ("add", "doctor", "list", "remove", "shim", "show", "update", "verify")
    ]


def test_the_help_of_a_tool_shows_what_else_may_follow_such_a_word():
    assert (
        b"\n       operable wrap TOOL [COMMAND] [ARGUMENTS] [OPTIONS]\n"
        in operable("--help", output=None).stdout
    )


def test_a_word_with_which_commands_begin_is_no_command_and_no_excuse_for_another():
    alone, wrong = operable("wrap"), operable("wrapp", "--help")

    assert (alone.error["code"], alone.error["message"]) == (
        "UNKNOWN_COMMAND",
        "operable wrap needs a command",
    )
    assert alone.error["hint"] == "operable wrap --help"
    assert wrong.error["message"] == "operable has no command 'wrapp'"


def test_help_in_machine_mode_is_a_stream_like_everything_else():
    asked = run("search", "--help", tool=NOTEBOOK)

    (document,) = asked.results
    assert document["content"] == command_help(notebook.tool, command_of(notebook.tool, "search"))
    assert asked.summary["ok"] is True


def test_a_docstring_line_says_what_the_help_shows_for_a_value():
    def publish(*, to: str, kind: str = "", at: str = "", note: str = "") -> None:
        """Publish it.

        to DIR: where it goes
        kind NAME=VALUE: which
        at ADDRESS:PORT: where it listens
        note Perhaps: this is prose
        """

    tool = Tool("t", version="1", schema_name="x")
    tool.command()(publish)
    command = command_of(tool, "publish")

    text = command_help(tool, command)

    assert "Usage: t publish --to DIR [OPTIONS]\n" in text
    assert [
        line.split("  ")[1] for line in text.splitlines() if line.startswith(("  --to", "  --kind", "  --at"))
    ] == [
        "--to DIR",
        "--kind NAME=VALUE",
        "--at ADDRESS:PORT",
    ]
    assert "--note TEXT" in text
    assert parameter_help(command) == {"to": "where it goes", "kind": "which", "at": "where it listens"}
    assert "note Perhaps: this is prose" in description(command)
