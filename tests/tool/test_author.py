"""What authors write: every type, every kind of option, and details of any name, through a whole call."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict
from uuid import UUID

import jsonschema_rs
import pytest

from operable.kernel.errors import Fail
from operable.testing import run_tool
from operable.tool import (
    Arg,
    Change,
    Context,
    Event,
    Input,
    ItemError,
    Must,
    Options,
    Page,
    Stream,
    Tool,
    Warn,
)
from operable.tool.discovery.schema import input_schema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Shape(Enum):
    ROUND = (1,)
    FLAT = (2,)


@dataclass
class Address:
    street: str
    since: date
    notes: list[str] = field(default_factory=list)


class Phone(TypedDict):
    number: str
    kind: NotRequired[Colour]


class Thing(Event):
    """One of everything."""

    colour: Colour
    shape: Shape
    day: date
    at: datetime
    took: timedelta
    ident: UUID
    price: Decimal
    raw: bytes
    home: Address
    phones: list[Phone]
    scores: dict[str, int] = {}  # noqa: RUF012 - each instance gets its own


class ThingIn(Input):
    """The same as input."""

    day: date
    price: Annotated[Decimal, Must(min=Decimal(0))]
    home: Address | None = None


class Created(Event):
    """It is there."""

    id: str


class Where(Options):
    """Where things are.

    db: the store
    """

    db: Annotated[str, Arg(env="SHOP_DB")] = "main"


KEY = "5e0f4b1c-9a51-4d0e-8b1e-0d2f6a7c3b90"
tool = Tool("shop", version="1", schema_name="org.example.shop.events", options=Where)


@tool.command(aliases=["s"], former=["display"], limit=5)
def show(
    *,
    colour: Annotated[Colour, Arg("color", "c", former="tint")] = Colour.RED,
    shape: Shape = Shape.ROUND,
    day: date = date(2026, 1, 2),
    at: datetime = datetime(2026, 1, 2, 3, 4, tzinfo=UTC),
    took: timedelta = timedelta(hours=1, minutes=30),
    ident: UUID = UUID(KEY),  # noqa: B008
    price: Decimal = Decimal("12.50"),
    raw: bytes = b"hi",
    home: Address = Address("Main", date(2020, 1, 1)),  # noqa: B008 - never changed
    phones: list[Phone] | None = None,
    times: Annotated[int, Must(min=1, max=3)] = 1,
    verbose: Annotated[int, Arg("v", counted=True)] = 0,
    archive: bool = True,
    context: Context,
) -> Iterator[Thing]:
    """Show things.

    archive: also what is in the archive
    """
    if verbose:
        context.warn("LOUD", "x" * verbose, db=context.options.db, archive=archive)
    for _ in range(times):
        yield Thing(
            colour=colour,
            shape=shape,
            day=day,
            at=at,
            took=took,
            ident=ident,
            price=price,
            raw=raw,
            home=home,
            phones=phones or [],
        )


@tool.command(mutates=True, partial=True)
def add(*names: str, note: str | None = None, where: Where) -> Iterator[Change | ItemError]:
    """Add things."""
    for name in names:
        if name == "bad":
            yield ItemError(Fail("validation", "BAD_NAME", "it is bad", type="person"))
        else:
            yield Change(
                "create", name, type="person", kind="x", note=note, db=where.db, day=date(2026, 1, 2)
            )


@add.apply
def add_now(changes: list[Change]) -> Iterator[Created]:
    for change in changes:
        assert (change["type"], change["kind"], change["note"]) == ("person", "x", None)
        assert change["day"] == date(2026, 1, 2)
        yield Created(id=change.target)


@tool.command(mutates=True)
def load(*, items: Stream[ThingIn]) -> Iterator[Change]:
    """Load things."""
    for item in items:
        assert isinstance(item.day, date)
        yield Change("create", str(item.day), price=item.price, home=item.home)


@load.apply
def load_now(changes: list[Change]) -> Iterator[Created]:
    for change in changes:
        yield Created(id=f"{change['price'] + 1} {change['home'].street if change['home'] else ''}")


@tool.command(exclusive=[("all_", "names")], one_of=[("since", "until")], deprecated="use show")
def pick(
    *names: str, all_: bool = False, since: date | None = None, until: date | None = None
) -> Iterator[Created]:
    """Pick some."""
    yield Created(id=str(since or until))


@tool.command(cursor="id", limit=1)
def stuck(*, page: Page) -> Iterator[Created]:
    """Never look at the page."""
    assert page is not None
    for name in ("a", "b"):
        yield Created(id=name)


VALUES = {
    "colour": "blue",
    "shape": "FLAT",
    "day": "2026-02-03",
    "at": "2026-02-03T04:05:06+00:00",
    "took": "P1DT2H",
    "ident": KEY,
    "price": "0.10",
    "raw": "AAE=",
    "scores": {},
    "home": {"street": "x", "since": "2026-01-01", "notes": ["y"]},
    "phones": [{"number": "1", "kind": "red"}],
}


def words_of(values: dict[str, Any]) -> list[str]:
    words = []
    for name, value in values.items():
        if name == "phones":
            words += [word for each in value for word in ("--phones", json.dumps(each))]
        elif name != "scores":
            words += [f"--{name}", value if isinstance(value, str) else json.dumps(value)]
    return words


def test_every_type_goes_through_parser_schema_and_output_as_one():
    result = run_tool(tool, "show", *words_of(VALUES))

    assert result.results == [{"type": "thing", **VALUES}]
    schema = json.loads(run_tool(tool, "schema", output="json").stdout)
    assert jsonschema_rs.validator_for(schema).is_valid(result.results[0])
    arguments = jsonschema_rs.validator_for(input_schema(tool, tool.find("show")))  # type: ignore[arg-type]
    assert arguments.is_valid({name: value for name, value in VALUES.items() if name != "scores"})
    assert not arguments.is_valid({"times": 4})
    assert not arguments.is_valid({"colour": "green"})


def test_defaults_of_every_type_are_described_as_they_are_written():
    properties = input_schema(tool, tool.find("show"))["properties"]  # type: ignore[arg-type]

    assert {
        name: properties[name]["default"] for name in ("colour", "shape", "day", "took", "price", "raw")
    } == {
        "colour": "red",
        "shape": "ROUND",
        "day": "2026-01-02",
        "took": "PT1H30M",
        "price": "12.50",
        "raw": "aGk=",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--colour", "green"], "--colour must be one of red, blue, not 'green'"),
        (["--day", "2026-13-01"], "--day must be a date such as 2026-03-31, not '2026-13-01'"),
        (["--at", "2026-02-03T04:05:06"], "--at must be a time with its offset"),
        (["--took", "soon"], "--took must be a duration such as PT1H30M or 1h30m"),
        (["--ident", KEY.replace("-", "")], "--ident must be a UUID"),
        (["--price", "1e3"], "--price must be a decimal number"),
        (["--raw", "a"], "--raw must be base64"),
        (["--home", '{"street": 1}'], "street must be a string; missing field since"),
        (["--home", "here"], "--home must be an object in JSON"),
        (["--times", "4"], "--times must be at most 3, not '4'"),
    ],
)
def test_a_word_that_is_not_of_its_type_is_refused_with_what_it_must_be(words, message):
    result = run_tool(tool, "show", *words)

    assert (result.exit_code, result.error["code"]) == (64, "INVALID_VALUE")
    assert message in result.error["message"]


def test_structured_input_is_made_of_the_same_types():
    good = b'{"day": "2026-02-03", "price": "2.50", "home": {"street": "x", "since": "2026-01-01"}}\n'

    result = run_tool(tool, "load", "-", input=good)
    assert [event["id"] for event in result.results] == ["3.50 x"]

    refused = run_tool(tool, "load", "-", input=b'{"day": 5, "price": "-1"}\n')
    assert refused.error["message"] == "Input line 1: day must be a string; price must be at least 0"


def test_a_detail_of_any_name_reaches_the_plan_and_the_apply_phase():
    plan = run_tool(tool, "add", "a", "--dry-run")

    assert plan.of("aoi:plan") == [
        {
            "type": "aoi:plan",
            "action": "create",
            "target": "a",
            "kind": "x",
            "note": None,
            "db": "main",
            "day": "2026-01-02",
            "details": {"type": "person"},
        }
    ]
    assert run_tool(tool, "add", "a").results == [{"type": "created", "id": "a"}]
    warning = Warn("ODD", "it is odd", type="person", kind="x", seen=None).fields
    assert warning == {
        "type": "aoi:warning",
        "code": "ODD",
        "message": "it is odd",
        "kind": "x",
        "seen": None,
        "details": {"type": "person"},
    }


def test_some_targets_may_fail_while_the_others_go_on():
    whole = run_tool(tool, "add", "a", "bad", "b")
    assert (whole.exit_code, whole.results) == (65, [])

    partial = run_tool(tool, "add", "a", "bad", "b", "--continue-on-error")
    assert [event["id"] for event in partial.results] == ["a", "b"]
    assert (partial.exit_code, partial.summary["ok"], partial.summary["partial"]) == (65, False, True)
    assert partial.error["details"] == {"type": "person"}


@pytest.mark.parametrize(
    "words", [["--db", "x", "show", "-v"], ["show", "-v", "--db", "x"], ["--db=x", "s", "-v"]]
)
def test_an_option_of_the_tool_may_be_before_and_after_the_command(words):
    (warning,) = run_tool(tool, *words).of("aoi:warning")

    assert (warning["db"], warning["archive"]) == ("x", True)


def test_a_default_may_come_from_a_variable_and_a_word_wins():
    def database(*words: str, **env: str) -> str:
        return str(run_tool(tool, "show", "-v", *words, env=env).of("aoi:warning")[0]["db"])

    assert database(SHOP_DB="y") == "y"
    assert database("--db", "z", SHOP_DB="y") == "z"
    assert database() == "main"


def test_aliases_counted_flags_and_former_names():
    result = run_tool(tool, "display", "-vvv", "--no-archive", "--tint", "blue")

    former = {warning["target"]: warning["hint"] for warning in result.of("aoi:warning") if "hint" in warning}
    assert former == {"display": "write show", "--tint": "write --colour"}
    (loud,) = [warning for warning in result.of("aoi:warning") if warning["code"] == "LOUD"]
    assert (loud["message"], loud["archive"]) == ("xxx", False)
    assert run_tool(tool, "show", "-c", "blue").results[0]["colour"] == "blue"
    assert run_tool(tool, "show", "--color", "blue").results[0]["colour"] == "blue"


def test_parameters_may_exclude_each_other():
    assert (
        run_tool(tool, "pick", "a", "--all", "--since", "2026-01-01").error["code"] == "CONFLICTING_OPTIONS"
    )
    assert run_tool(tool, "pick").error["message"] == "pick needs --since or --until"
    picked = run_tool(tool, "pick", "--since", "2026-01-01")
    assert (picked.exit_code, picked.of("aoi:warning")[0]["code"]) == (0, "DEPRECATED_COMMAND")
    schema = jsonschema_rs.validator_for(input_schema(tool, tool.find("pick")))  # type: ignore[arg-type]
    assert schema.is_valid({"since": "2026-01-01"})
    assert not schema.is_valid({})
    assert not schema.is_valid({"since": "2026-01-01", "until": "2026-01-01"})


def test_a_cursor_that_does_not_move_is_the_mistake_of_the_author():
    first = run_tool(tool, "stuck")
    assert first.summary["next_cursor"]

    again = run_tool(tool, "stuck", "--cursor", first.summary["next_cursor"])
    assert (again.exit_code, again.error["code"]) == (70, "CURSOR_DOES_NOT_MOVE")


def test_an_unsupported_type_is_refused_at_its_declaration_by_command_and_parameter():
    with pytest.raises(TypeError, match="command 'odd', parameter 'number': unsupported annotation complex"):

        @tool.command()
        def odd(number: complex) -> Iterator[Thing]:
            """Take what cannot be a word."""
            yield from ()


def test_help_says_what_people_need_to_know():
    text = run_tool(tool, "show", "--help", output="human").stdout

    for line in (
        "-c, --color, --colour red|blue  (default red)",
        "--[no-]archive  also what is in the archive (default: yes)",
        "--times INTEGER  1 to 3 (default 1)",
        "--db TEXT  the store (default main; or SHOP_DB)",
        "-v, --verbose…",
        "--day DATE",
        "--home JSON",
    ):
        assert " ".join(line.split()) in " ".join(text.split()), line


def test_a_path_that_must_exist_is_looked_for(tmp_path: Path):
    shelf = Tool("shelf", version="1", schema_name="x")

    @shelf.command()
    def read(file: Annotated[Path, Must(exists="file")]) -> Iterator[Created]:
        """Read a file."""
        yield Created(id=file.name)

    (tmp_path / "a").touch()
    assert run_tool(shelf, "read", str(tmp_path / "a")).results[0]["id"] == "a"
    missing = run_tool(shelf, "read", str(tmp_path / "b")).error
    assert (missing["category"], missing["code"]) == ("not_found", "PATH_NOT_FOUND")


def test_every_mistake_of_an_author_is_found_at_once():
    assert tool.verify() == []
    broken = Tool("broken", version="1", schema_name="x")

    @broken.command(mutates=True, examples=["lend --no-such-option"])
    def lend(*, name: "list[complex]") -> "Iterator[Change]":
        """Lend."""
        yield Change("lend")

    @broken.command(bulk=True, short={"h": "to"}, exclusive=[("to", "nothing")])
    def give(*, to: str = "") -> Iterator[Created]:
        """Give."""
        yield Created(id=to)

    found = broken.verify()

    assert [each for each in found if "'lend', parameter 'name': unsupported annotation complex" in each]
    assert [each for each in found if "bulk belongs to destructive commands" in each]
    assert [each for each in found if "-h must be a letter other than h" in each]
    assert [each for each in found if "'nothing' of an exclusive group" in each]


def test_an_example_that_the_parser_refuses_is_a_mistake():
    broken = Tool("broken", version="1", schema_name="x")

    @broken.command(examples=["give --too x"])
    def give(*, to: str = "") -> Iterator[Created]:
        """Give."""
        yield Created(id=to)

    (mistake,) = broken.verify()
    assert "its example 'give --too x' is refused" in mistake


def test_an_event_that_is_not_what_its_annotation_promises_is_refused_where_tests_run():
    broken = Tool("broken", version="1", schema_name="x")

    @broken.command()
    def give(*, what: str) -> Iterator[Created]:
        """Give."""
        yield {"text": Created(id=5), "none": {"type": "created"}, "other": {"type": "lost"}}[what]  # type: ignore[misc,arg-type]

    said = {
        what: run_tool(broken, "give", "--what", what).error["message"] for what in ("text", "none", "other")
    }

    assert said["text"].endswith("id must be a string")
    assert said["none"].endswith("missing field id")
    assert "lost is not among the events of its annotation (created)" in said["other"]


def test_an_apply_function_that_wants_more_than_changes_and_a_context_is_a_mistake():
    tool = Tool("shop", version="1.0.0", schema_name="org.example.shop.events")

    @tool.command(mutates=True, examples=["sell x"])
    def sell(name: str) -> Iterator[Change]:
        """Sell something."""
        yield Change("sell", name)

    @sell.apply
    def sell_now(changes: list[Change], *, price: int) -> list[Created]:
        return [Created(id=change.target or "") for change in changes]

    (mistake,) = tool.verify()

    assert "its apply function takes the changes, and a Context if it wants one" in mistake
