"""Command lines: every one is understood or refused in structured words, and nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from operable.kernel.errors import EX_USAGE, Fail
from operable.tool import Change, Event, Input, Page, Stream, Tool
from operable.tool.arguments import ParsedCall, parse, standard_options
from operable.tool.front import locate, requested_output, understand
from operable.tool.kinds import STANDARD
from operable.tool.records import json_text, wire_bytes
from tests.requirement import requirement

tool = Tool("notes", version="1.0", schema_name="com.example.notes")


class Hit(Event):
    rank: int


class NoteIn(Input):
    title: str


@tool.command(cursor="rank")
def search(
    query: str,
    folder: Path = Path("/"),
    *,
    times: int = 5,
    ratio: float | None = None,
    deep: bool = False,
    fuzzy: bool = True,
    tag: list[str] = [],  # noqa: B006 - as authors write it
    level: list[int] | None = None,
    state: Literal["open", "closed"] = "open",
    size: Literal[1, 2, True] = 1,
    code: int | str = 0,
    from_: str = "",
    api_token: str | None = None,
    page: Page,
) -> Iterator[Hit]:
    """Find."""
    yield Hit(rank=1)


@tool.command(destructive=True, bulk=True)
def delete(*ids: str) -> Iterator[Change]:
    """Delete."""
    yield Change("delete", "x")


@tool.command()
def add(numbers: list[int], *, exact: bool, unit: str) -> Iterator[Hit]:
    """Add up."""
    yield Hit(rank=sum(numbers))


@tool.command()
def among(files: list[Path] = [Path("default")]) -> Iterator[Hit]:  # noqa: B006
    """Look in files."""
    yield Hit(rank=1)


@tool.command()
def enable(feature: str, value: bool, token: Literal["a", "b"] = "a") -> Iterator[Hit]:
    """Switch."""
    yield Hit(rank=1)


@tool.command("import", mutates=True)
def import_(notes: Stream[NoteIn], folder: str = "") -> Iterator[Change]:
    """Import."""
    yield Change("create", folder)


@tool.command("shelf list")
def shelf_list(*, all: bool = False) -> Iterator[Hit]:
    """List shelves."""
    yield Hit(rank=1)


@tool.command("shelf add")
def shelf_add(name: str) -> Iterator[Hit]:
    """Add a shelf."""
    yield Hit(rank=1)


def read(*words: str, of: Tool = tool) -> ParsedCall:
    name, rest = locate(of, list(words))
    command = of.find(name)
    assert command is not None, name
    return parse(of, command, rest)


def values(*words: str) -> dict[str, Any]:
    return read(*words).values


def refusal(*words: str, of: Tool = tool) -> Fail:
    with pytest.raises(Fail) as caught:
        read(*words, of=of)
    return caught.value


# -- any words at all ------------------------------------------------------------------------------------------------------

WORDS = st.lists(
    st.sampled_from(
        [
            *(
                "search",
                "delete",
                "add",
                "import",
                "shelf",
                "list",
                "schema",
                "help",
                "version",
                "capabilities",
            ),
            *(
                "--",
                "-",
                "",
                "=",
                "-h",
                "--help",
                "--version",
                "--schema",
                "-x",
                "-5",
                "-.5",
                "-0x1",
                "---",
                "--=",
                "--=",
            ),
            *(
                "--limit",
                "--limit=",
                "--limit=3",
                "--times",
                "--times=-5",
                "--deep",
                "--no-deep",
                "--no-times",
                "--tag",
            ),
            *(
                "--output",
                "jsonl",
                "json",
                "human",
                "--format=jsonl",
                "--confirm",
                "--confirm=",
                "sha256:" + "0" * 64,
            ),
            *(
                "--cursor",
                "\udcff",
                "--\udcff=\udcff",
                "a\nb",
                "\x1b[31m",
                "é",
                "x" * 100_000,
                "9" * 5000,
                "1e400",
                "nan",
            ),
            *(
                "--api-token",
                "s3cret",
                "--from",
                "--input-jsonl",
                "--dry-run",
                "--state=ajar",
                "--size=true",
                "--code",
            ),
        ]
    )
    | st.text(st.characters(exclude_characters="\0"), max_size=12)
    | st.builds("--{}={}".format, st.sampled_from([*STANDARD, "tag", "ratio"]), st.text(max_size=5)),
    max_size=7,
)


@requirement("aoi:9.1:code-upper-snake", "aoi:9:category-mapped")
@given(WORDS)
@example(["search", "x", "--limit", "9" * 5000])
@example(["search", "--", "--", "-h"])
@example(["--", "search"])
@example(["shelf", "--output"])
def test_any_words_become_a_call_or_a_structured_refusal(words):
    call, refused = understand(tool, words)

    assert isinstance(call, ParsedCall)
    assert requested_output(tool, words) in ("human", "json", "jsonl")
    if refused is None:
        assert set(call.values) == {param.name for param in call.command.params}
        return
    assert (refused.category, refused.exit_code, refused.retryable) == ("usage", EX_USAGE, False)
    assert refused.code.replace("_", "").isalpha()
    assert refused.code.isupper()
    assert refused.hint
    line = wire_bytes(json_text(refused.event()))
    assert json.loads(line)["code"] == refused.code
    assert len(line) < 4000, "a complaint repeats no more than it must"


# -- where words may stand -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["search", "cats", "--limit", "3", "--times", "2"],
        ["search", "--limit", "3", "--times=2", "cats"],
        ["--limit", "3", "search", "--times", "2", "cats"],
        ["--limit=3", "search", "cats", "--times=2"],
        ["--times", "2", "--limit", "3", "search", "cats"],
        ["--times=2", "search", "--limit=3", "--", "cats"],
        ["--limit", "3", "--times", "2", "--", "search", "cats"],
    ],
)
def test_options_may_stand_before_and_after_the_command(words):
    call = read(*words)

    assert (call.command.name, call.values["query"], call.values["times"], call.options) == (
        "search",
        "cats",
        2,
        {"limit": 3},
    )


def test_a_digest_before_the_command_belongs_to_its_option():
    digest = "sha256:" + "a" * 64

    assert read("--confirm", digest, "delete", "x").options == {"confirm": digest}
    assert read("--confirm", "delete", "x").options == {"confirm": True}
    assert read("delete", "x", "--confirm", "y").values == {"ids": ["x", "y"]}


def test_words_after_two_dashes_are_operands_whatever_they_look_like():
    assert values("delete", "a", "--", "--confirm", "-h", "--", "-")["ids"] == [
        "a",
        "--confirm",
        "-h",
        "--",
        "-",
    ]


def test_negative_numbers_are_values_and_operands():
    assert values("add", "-5", "-7", "--unit", "-3")["numbers"] == [-5, -7]
    assert values("search", "q", "--times", "-5")["times"] == -5
    assert values("search", "q", "--ratio=-0.5")["ratio"] == -0.5
    assert values("delete", "-1.5")["ids"] == ["-1.5"]


def test_a_command_of_two_words_is_found_with_options_in_between_and_around():
    for words in (
        ["shelf", "add", "x"],
        ["--output", "jsonl", "shelf", "add", "x"],
        ["shelf", "--output", "jsonl", "add", "x"],
        ["shelf", "add", "--output=jsonl", "x"],
    ):
        assert (read(*words).command.name, read(*words).values) == ("shelf add", {"name": "x"})
    assert locate(tool, ["shelf", "burn", "x"]) == ("shelf burn", ["x"])
    assert locate(tool, ["shelf"]) == ("shelf", [])


def test_a_group_may_be_a_command_too():
    both = Tool("both", version="1", schema_name="x")

    @both.command()
    def agent(name: str = "") -> Iterator[Hit]:
        """One agent."""
        yield Hit(rank=1)

    @both.command("agent list")
    def agent_list() -> Iterator[Hit]:
        """All agents."""
        yield Hit(rank=1)

    assert read("agent", "list", of=both).command.name == "agent list"
    assert read("agent", "smith", of=both).values == {"name": "smith"}
    assert read("agent", "--", "list", of=both).values == {"name": "list"}


@pytest.mark.parametrize(
    ("words", "code", "target"),
    [
        ([], "MISSING_COMMAND", None),
        ([""], "MISSING_COMMAND", None),
        (["--"], "MISSING_COMMAND", None),
        (["--output", "jsonl"], "MISSING_COMMAND", None),
        (["serch", "x"], "UNKNOWN_COMMAND", "serch"),
        (["--times", "serch"], "UNKNOWN_COMMAND", "serch"),
        (["-"], "UNKNOWN_COMMAND", "-"),
        (["shelf"], "UNKNOWN_COMMAND", "shelf"),
        (["shelf", "lsit"], "UNKNOWN_COMMAND", "shelf lsit"),
    ],
)
def test_a_command_line_without_a_known_command_is_refused_with_what_is_there(words, code, target):
    _, refused = understand(tool, words)

    assert refused is not None
    assert (refused.code, refused.target) == (code, target)
    assert refused.hint
    if target and "shelf" in target:
        assert "shelf" in refused.hint


# -- the kinds of bad usage ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "target", "message"),
    [
        (["search", "q", "--bogus"], "UNKNOWN_OPTION", "--bogus", "search has no option --bogus"),
        (["search", "q", "-x"], "UNKNOWN_OPTION", "-x", "search has no option -x"),
        (["search", "q", "--lim", "3"], "UNKNOWN_OPTION", "--lim", "search has no option --lim"),
        (["search", "q", "--dry-run"], "UNKNOWN_OPTION", "--dry-run", "search has no option --dry-run"),
        (["delete", "x", "--limit", "3"], "UNKNOWN_OPTION", "--limit", "delete has no option --limit"),
        (["search", "q", "--no-times"], "UNKNOWN_OPTION", "--no-times", "search has no option --no-times"),
        (
            ["search", "q", "--api_token", "x"],
            "UNKNOWN_OPTION",
            "--api_token",
            "search has no option --api_token",
        ),
        (["search", "q", "--times"], "MISSING_VALUE", "--times", "--times needs a value"),
        (["search", "q", "--times", "--deep"], "MISSING_VALUE", "--times", "--times needs a value"),
        (["search", "q", "--limit", "--"], "MISSING_VALUE", "--limit", "--limit needs a value"),
        (["search", "q", "--deep=true"], "UNEXPECTED_VALUE", "--deep", "--deep takes no value"),
        (["search", "q", "--no-deep=x"], "UNEXPECTED_VALUE", "--no-deep", "--no-deep takes no value"),
        (["search", "q", "--debug="], "UNEXPECTED_VALUE", "--debug", "--debug takes no value"),
        (
            ["search", "q", "--times", "x"],
            "INVALID_VALUE",
            "--times",
            "--times must be a whole number, not 'x'",
        ),
        (
            ["search", "q", "--times", "1.0"],
            "INVALID_VALUE",
            "--times",
            "--times must be a whole number, not '1.0'",
        ),
        (["search", "q", "--times="], "INVALID_VALUE", "--times", "--times must be a whole number, not ''"),
        (
            ["search", "q", "--times", "1_0"],
            "INVALID_VALUE",
            "--times",
            "--times must be a whole number, not '1_0'",
        ),
        (
            ["search", "q", "--times", " 1"],
            "INVALID_VALUE",
            "--times",
            "--times must be a whole number, not ' 1'",
        ),
        (
            ["search", "q", "--times", "٣"],
            "INVALID_VALUE",
            "--times",
            "--times must be a whole number, not '٣'",
        ),
        (
            ["search", "q", "--ratio", "nan"],
            "INVALID_VALUE",
            "--ratio",
            "--ratio must be a number, not 'nan'",
        ),
        (
            ["search", "q", "--ratio", "1e999"],
            "INVALID_VALUE",
            "--ratio",
            "--ratio must be a number, not '1e999'",
        ),
        (
            ["search", "q", "--state", "ajar"],
            "INVALID_VALUE",
            "--state",
            "--state must be one of open, closed, not 'ajar'",
        ),
        (
            ["search", "q", "--size", "3"],
            "INVALID_VALUE",
            "--size",
            "--size must be one of 1, 2, true, not '3'",
        ),
        (
            ["search", "q", "--level", "x"],
            "INVALID_VALUE",
            "--level",
            "--level must be a whole number, not 'x'",
        ),
        (["enable", "f", "yes"], "INVALID_VALUE", "VALUE", "VALUE must be true or false, not 'yes'"),
        (["search", "\udcff"], "INVALID_VALUE", "QUERY", "QUERY must be UTF-8, not '\\udcff'"),
        (["search", "q", "\udcff"], "INVALID_VALUE", "FOLDER", "FOLDER must be UTF-8, not '\\udcff'"),
        (["search", "q", "--deep", "--deep"], "DUPLICATE_OPTION", "--deep", "--deep is given twice"),
        (["search", "q", "--deep", "--no-deep"], "DUPLICATE_OPTION", "--no-deep", "--no-deep is given twice"),
        (["search", "q", "--times=1", "--times=1"], "DUPLICATE_OPTION", "--times", "--times is given twice"),
        (["search", "q", "--limit=1", "--limit=1"], "DUPLICATE_OPTION", "--limit", "--limit is given twice"),
        (["search", "q", "d", "x"], "UNEXPECTED_OPERAND", "x", "search does not take 'x': too many operands"),
        (
            ["search", "q", "d", "x", "y"],
            "UNEXPECTED_OPERAND",
            "x",
            "search does not take 'x' and 1 more: too many operands",
        ),
        (["search"], "MISSING_OPERAND", "QUERY", "search needs the operand QUERY"),
        (["add", "--unit", "m"], "MISSING_OPERAND", "NUMBERS", "add needs the operand NUMBERS"),
        (["add", "1"], "MISSING_OPTION", "--unit", "add needs the option --unit"),
        (["search", "q", "--timeout", "0"], "INVALID_VALUE", "--timeout", None),
        (["search", "q", "--timeout", "nan"], "INVALID_VALUE", "--timeout", None),
        (["search", "q", "--timeout", "1e9"], "INVALID_VALUE", "--timeout", None),
        (["search", "q", "--limit", "0"], "INVALID_VALUE", "--limit", None),
        (["search", "q", "--limit", "1.5"], "INVALID_VALUE", "--limit", None),
        (["search", "q", "--limit", "9223372036854775808"], "INVALID_VALUE", "--limit", None),
        (["search", "q", "--max-bytes", "-1"], "INVALID_VALUE", "--max-bytes", None),
        (["search", "q", "--cursor="], "INVALID_VALUE", "--cursor", None),
        (["search", "q", "--cursor", "\udcff"], "INVALID_VALUE", "--cursor", None),
        (["delete", "x", "--confirm-count", "-1"], "INVALID_VALUE", "--confirm-count", None),
        (["delete", "x", "--confirm="], "INVALID_VALUE", "--confirm", None),
        (["delete", "x", "--confirm=yes"], "INVALID_VALUE", "--confirm", None),
        (["delete", "x", "--confirm=sha256:12"], "INVALID_VALUE", "--confirm", None),
        (["delete", "x", "--idempotency-key="], "INVALID_VALUE", "--idempotency-key", None),
    ],
)
def test_each_kind_of_bad_usage_has_its_code_and_a_hint(words, code, target, message):
    refused = refusal(*words)

    assert (refused.category, refused.code, refused.target) == ("usage", code, target)
    assert refused.exit_code == EX_USAGE
    assert refused.hint
    if message is not None:
        assert refused.message == message


def test_all_problems_are_told_at_once():
    refused = refusal("add", "1", "x", "y", "--bogus", "--exact=1")

    assert refused.code == "UNKNOWN_OPTION"
    assert refused.details["problems"] == [
        "add has no option --bogus",
        "--exact takes no value",
        "NUMBERS must be a whole number, not 'x'",
        "NUMBERS must be a whole number, not 'y'",
        "add needs the option --unit",
    ]


@pytest.mark.parametrize(
    "words", [("--token", "hunter2"), ("1", "--token", "hunter2"), ("--token", "hunter2", "--", "3")]
)
def test_a_word_behind_an_unknown_option_is_not_repeated_as_a_wrong_operand(words):
    """It is most likely the value of that option, and may be a secret."""
    refused = refusal("add", *words, "--unit", "m")

    assert refused.code == "UNKNOWN_OPTION"
    assert "hunter2" not in str((refused.message, refused.hint, refused.details))


def test_a_single_problem_is_not_told_twice():
    assert "problems" not in refusal("search", "q", "--times", "x").details
    assert "problems" not in refusal("add", "x", "--unit", "m").details


# -- what values become ----------------------------------------------------------------------------------------------------


def test_values_arrive_in_their_declared_types_and_defaults_as_declared():
    assert values("search", "q") == {
        "query": "q",
        "folder": Path("/"),
        "times": 5,
        "ratio": None,
        "deep": False,
        "fuzzy": True,
        "tag": [],
        "level": None,
        "state": "open",
        "size": 1,
        "code": 0,
        "from_": "",
        "api_token": None,
    }
    given_ = values(
        *(
            "search",
            "q",
            "a/b",
            "--times=7",
            "--ratio",
            "2",
            "--deep",
            "--no-fuzzy",
            "--tag",
            "x",
            "--tag=",
            "--level=3",
        ),
        *("--state=closed", "--size=true", "--code", "12", "--from", "me", "--api-token=-x"),
    )
    assert given_ == {
        "query": "q",
        "folder": Path("a/b"),
        "times": 7,
        "ratio": 2.0,
        "deep": True,
        "fuzzy": False,
        "tag": ["x", ""],
        "level": [3],
        "state": "closed",
        "size": True,
        "code": 12,
        "from_": "me",
        "api_token": "-x",
    }
    assert type(given_["ratio"]) is float
    assert given_["size"] is True
    assert values("search", "q", "--code", "abc")["code"] == "abc"


def test_a_word_of_several_kinds_becomes_the_first_that_it_fits_and_text_last():
    tool = Tool("kinds", version="1", schema_name="x")

    @tool.command()
    def take(
        *,
        a: str | int | None = None,
        b: int | float = 0,  # noqa: PYI041 - whole numbers stay whole
        c: Any = None,
        d: Literal["x"] | bool = "x",
    ) -> Iterator[Hit]:
        """Take."""
        yield Hit(rank=1)

    assert read("take", "--a=5", "--b=1.5", "--c=5", "--d=true", of=tool).values == {
        "a": 5,
        "b": 1.5,
        "c": "5",
        "d": True,
    }
    assert read("take", "--a=five", "--b=2", "--d", "x", of=tool).values == {
        "a": "five",
        "b": 2,
        "c": None,
        "d": "x",
    }
    assert refusal("take", "--b", "x", of=tool).message == "--b must be a whole number or a number, not 'x'"
    assert refusal("take", "--d", "y", of=tool).message == "--d must be one of x or true or false, not 'y'"
    assert refusal("take", "--c", "\udcff", of=tool).code == "INVALID_VALUE"


def test_operand_lists_take_all_words_and_their_default_when_there_are_none():
    assert values("delete")["ids"] == []
    assert values("delete", "a", "", "b")["ids"] == ["a", "", "b"]
    assert values("among")["files"] == [Path("default")]
    assert values("among", "x", "y")["files"] == [Path("x"), Path("y")]


def test_a_flag_without_a_default_is_off():
    assert values("add", "1", "--unit", "m")["exact"] is False
    assert values("add", "1", "--unit", "m", "--no-exact")["exact"] is False
    assert values("add", "1", "--unit", "m", "--exact")["exact"] is True


@requirement("aoi:12.1:input-modes")
def test_a_dash_is_the_standard_input_of_a_command_that_reads_items_and_an_operand_elsewhere():
    assert read("import", "folder", "-").options == {"input-jsonl": "-"}
    assert read("import", "-").values == {"folder": "-"}
    assert read("import", "f", "--input-json", "-").options == {"input-json": "-"}
    assert refusal("import", "f", "-", "--input-json", "x").code == "UNEXPECTED_OPERAND"
    assert values("search", "-")["query"] == "-"


# -- standard options ------------------------------------------------------------------------------------------------------


def test_a_command_has_the_standard_options_that_it_can_honour_and_no_others():
    everywhere = [
        "output",
        "format",
        "schema-version",
        "accept-schema",
        "timeout",
        "no-color",
        "debug",
        "help",
    ]
    find: Any = tool.find

    assert standard_options(tool, search) == [
        *everywhere,
        *("limit", "max-bytes", "max-lines", "fields", "compact", "cursor"),
    ]
    assert standard_options(tool, add) == [
        *everywhere,
        *("limit", "max-bytes", "max-lines", "fields", "compact"),
    ]
    assert standard_options(tool, delete) == [
        *everywhere,
        "dry-run",
        "confirm",
        "confirm-count",
        "idempotency-key",
    ]
    assert standard_options(tool, import_)[-4:] == [
        "input-json",
        "input-jsonl",
        "continue-on-error",
        "fail-fast",
    ]
    assert standard_options(tool, find("capabilities")) == everywhere


@requirement("aoi:15:limit", "aoi:15:timeout", "aoi:15:max-bytes", "aoi:15:max-lines")
def test_standard_options_have_the_types_of_their_meaning():
    options = read(
        *(
            "search",
            "q",
            "--limit=2",
            "--timeout",
            "1.5",
            "--max-bytes",
            "10",
            "--max-lines=3",
            "--cursor",
            "c",
        ),
        *(
            "--schema-version",
            "1",
            "--accept-schema=a@1",
            "--no-color",
            "--debug",
            "--output",
            "jsonl",
            "--format=jsonl",
        ),
    ).options

    assert options == {
        "limit": 2,
        "timeout": 1.5,
        "max-bytes": 10,
        "max-lines": 3,
        "cursor": "c",
        "schema-version": "1",
        "accept-schema": "a@1",
        "no-color": True,
        "debug": True,
        "output": "jsonl",
        "format": "jsonl",
    }


def test_two_different_outputs_at_once_are_refused():
    _, refused = understand(tool, ["search", "q", "--output", "human", "--format", "jsonl"])

    assert refused is not None
    assert (refused.code, refused.exit_code) == ("CONFLICTING_OPTIONS", EX_USAGE)
    assert refused.hint


@requirement("aoi:16.4:alias")
def test_a_tool_that_owns_a_flag_keeps_it_and_uses_the_listed_alternative():
    owner = Tool("owner", version="1", schema_name="x", machine_flags=("format",))

    @owner.command()
    def render(*, output: str = "") -> Iterator[Hit]:
        """Write a file."""
        yield Hit(rank=1)

    call = read("--output", "jsonl", "render", "--format", "jsonl", of=owner)

    assert call.values == {"output": "jsonl"}
    assert call.options == {"format": "jsonl"}
    assert requested_output(owner, ["render", "--output", "jsonl"]) == "human"
    assert requested_output(owner, ["render", "--format", "jsonl"]) == "jsonl"


def test_a_tool_may_name_its_own_flag_for_machine_mode():
    named = Tool("named", version="1", schema_name="x", machine_flags=("mode", "format"))

    @named.command()
    def render(*, output: str = "") -> Iterator[Hit]:
        """Write a file."""
        yield Hit(rank=1)

    assert read("--mode", "jsonl", "render", of=named).options == {"mode": "jsonl"}
    assert requested_output(named, ["render", "--mode=jsonl"]) == "jsonl"


def test_a_parameter_takes_the_place_of_the_standard_option_of_its_name():
    own = Tool("own", version="1", schema_name="x")

    @own.command()
    def tail(*, limit: str, timeout: int = 1) -> Iterator[Hit]:
        """Show the end."""
        yield Hit(rank=1)

    call = read("tail", "--limit", "all", of=own)

    assert (call.values, call.options) == ({"limit": "all", "timeout": 1}, {})
    assert "limit" not in standard_options(own, tail)


def test_an_option_may_have_a_letter_that_stands_for_all_of_it():
    tool = Tool("short", version="1", schema_name="x")

    @tool.command(short={"o": "to", "q": "quiet"})
    def keep(name: str, *, to: str = "", quiet: bool = False) -> Iterator[Hit]:
        """Keep it."""
        yield Hit(rank=1)

    assert read("keep", "-o", "file", "x", "-q", of=tool).values == {"name": "x", "to": "file", "quiet": True}
    assert read("-o", "file", "keep", "x", of=tool).values["to"] == "file"
    assert refusal("keep", "x", "-o", of=tool).code == "MISSING_VALUE"
    assert refusal("keep", "x", "-o", "a", "--to", "b", of=tool).code == "DUPLICATE_OPTION"
    assert refusal("keep", "x", "-oq", of=tool).code == "UNKNOWN_OPTION"
    assert refusal("keep", "x", "-o=a", of=tool).code == "UNKNOWN_OPTION"


@requirement("aoi:16.1:help")
@pytest.mark.parametrize(
    "words",
    [
        ["search", "-h"],
        ["search", "--help"],
        ["-h", "search"],
        ["search", "q", "--times", "3", "-h"],
        ["search", "--limit", "nonsense", "--help"],
        ["search", "json", "--help"],
        ["search", "--bogus", "-h", "x", "y", "z"],
    ],
)
def test_help_wins_over_whatever_else_is_there(words):
    call, refused = understand(tool, words)

    assert refused is None
    assert call.command.name == "help"


def test_a_request_for_help_is_understood_however_incomplete_the_rest_is():
    assert parse(tool, add, ["-h"]).options == parse(tool, add, ["--help"]).options == {"help": True}


def test_after_two_dashes_help_is_a_word_like_any_other():
    call, refused = understand(tool, ["search", "--", "-h"])

    assert refused is None
    assert call.values["query"] == "-h"
