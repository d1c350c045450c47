"""Declarations: one typed function is enough, and what cannot work is refused with a sentence."""

from __future__ import annotations

import collections.abc
import functools
import sys
import typing
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Optional, Union

import pytest

import operable.tool as sdk
from operable.tool import Change, Command, Context, Event, Input, Page, Record, Tool, Warn
from operable.tool.declaration import BUILT_IN
from operable.tool.discovery.capabilities import capabilities_document
from operable.tool.discovery.overview import group_help, overview
from operable.tool.front import locate
from operable.tool.kinds import StreamOf
from operable.tool.signature import DEFAULT_LIMIT, DEFAULT_TIMEOUT, GUARDS
from tests.requirement import requirement


class Hit(Event):
    rank: int


class Done(Event):
    id: str


class NoteIn(Input):
    title: str


class Author(Record):
    name: str


def make(function: Callable[..., Any], name: str | None = None, **options: Any) -> Command:
    return Tool("t", version="1", schema_name="x").command(name, **options)(function)


# -- commands --------------------------------------------------------------------------------------------------------------


def test_a_command_is_named_after_its_function_and_can_be_called_like_it():
    def list_all_(limit: int = 3) -> list[int]:
        """List."""
        return list(range(limit))

    command = make(list_all_)

    assert command.name == "list-all"
    assert command(2) == [0, 1]
    assert make(list_all_, "shelf list").name == "shelf list"


@requirement("aoi:14.1:read-only-default", "aoi:15:bounded-default")
def test_a_command_is_read_only_bounded_and_finite_unless_declared_otherwise():
    def command() -> None: ...

    plain = make(command)
    assert (plain.mutates, plain.destructive, plain.unbounded) == (False, False, False)
    assert (plain.limit, plain.timeout) == (DEFAULT_LIMIT, DEFAULT_TIMEOUT)
    assert make(command, limit=None).limit is None
    assert make(command, destructive=True).mutates
    assert make(command, mutates=True).limit is None
    assert (make(command, unbounded=True).limit, make(command, unbounded=True).timeout) == (None, None)


def test_unknown_options_and_things_that_are_no_functions_are_refused():
    def command() -> None: ...

    with pytest.raises(TypeError, match="unknown options: destroys"):
        make(command, destroys=True)
    with pytest.raises(TypeError, match="plain function"):
        make(functools.partial(command))
    with pytest.raises(TypeError, match="plain function"):
        make(Author)
    with pytest.raises(TypeError, match="with parentheses"):
        Tool("t", version="1", schema_name="x").command(command)  # type: ignore[arg-type]


def test_two_commands_of_one_name_are_refused():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command()
    def find() -> None: ...

    with pytest.raises(TypeError, match="two commands called 'find'"):

        @tool.command("find")
        def other() -> None: ...


def test_one_decorator_serves_several_functions():
    tool = Tool("t", version="1", schema_name="x")
    bounded = tool.command(limit=7)

    def first() -> None: ...
    def second() -> None: ...

    assert bounded(first).limit == bounded(second).limit == 7


# -- parameters ------------------------------------------------------------------------------------------------------------


def described(command: Command) -> list[str]:
    return [
        f"{'' if param.operand else '--'}{param.flag}{'…' if param.many else ''} {param.kind!r}"
        f"{' required' if param.required else f' = {param.default!r}'}"
        for param in command.params
    ]


def test_parameters_are_operands_options_and_flags_by_their_place_in_the_signature():
    def command(
        first: str,
        second: int = 2,
        *rest: float,
        needed: Path,
        from_: str = "",
        flag: bool,
        on: bool = True,
        many: list[str] = [],  # noqa: B006 - as authors write it
        maybe: Optional[int] = None,  # noqa: UP045
        pick: Literal["a", "b"] = "a",
        plain="text",
        page: Page,
        context: Context,
    ) -> None: ...

    assert described(make(command)) == [
        "first string required",
        "second integer = 2",
        "rest… number = None",
        "--needed string required",
        "--from string = ''",
        "--flag boolean = None",
        "--on boolean = True",
        "--many array[string] = []",
        "--maybe integer? = None",
        "--pick choice['a', 'b'] = 'a'",
        "--plain string = 'text'",
    ]
    assert make(command).params is not None


def test_a_list_operand_takes_all_the_words():
    def command(files: list[Path]) -> None: ...

    assert described(make(command)) == ["files… string required"]


def test_annotations_may_be_objects_as_in_a_module_without_the_future_import(tmp_path, monkeypatch):
    (tmp_path / "objects.py").write_text(
        "import typing\n"
        "from pathlib import Path\n"
        "from typing import Annotated, Iterator, Literal, Optional, Union\n"
        "from operable.tool import Context, Event, Input, Page, Stream, Tool\n"
        "tool = Tool('objects', version='1', schema_name='x')\n"
        "class Hit(Event):\n"
        "    rank: int\n"
        "    path: Optional[Path] = None\n"
        "    size: Annotated[int, 'bytes'] = 0\n"
        "class NoteIn(Input):\n"
        "    title: str\n"
        "@tool.command(cursor='rank')\n"
        "def find(words: str, *, kind: Literal['a', 'b'] = 'a', depth: Optional[int] = None,\n"
        "         where: Union[Path, None] = None, tags: typing.List[str] = [], page: Page,\n"
        "         context: Context) -> Iterator[Union[Hit, 'Hit']]:\n"
        "    '''Find.'''\n"
        "    yield Hit(rank=1)\n"
        "@tool.command()\n"
        "def take(notes: Stream[NoteIn], size: Annotated[int, 1] = 0) -> typing.Iterator['Hit']:\n"
        "    '''Take.'''\n"
        "    yield Hit(rank=1)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    objects = __import__("objects")
    monkeypatch.delitem(sys.modules, "objects", raising=False)
    sys.modules["objects"] = objects

    assert described(objects.find) == [
        "words string required",
        "--kind choice['a', 'b'] = 'a'",
        "--depth integer? = None",
        "--where string? = None",
        "--tags array[string] = []",
    ]
    assert objects.find.event_classes() == objects.take.event_classes() == [objects.Hit]
    assert objects.find.injected == {"page": "Page", "context": "Context"}
    assert objects.take.stream_model() is objects.NoteIn
    assert capabilities_document(objects.tool)["tool"] == "objects"
    monkeypatch.delitem(sys.modules, "objects")


def test_what_the_sdk_provides_is_recognised_through_the_module_too():
    def command(words: str, *, page: sdk.Page, context: sdk.Context, notes: sdk.Stream[NoteIn]) -> None: ...

    made = make(command)

    assert [param.name for param in made.params] == ["words"]
    assert made.injected["page"] == "Page"
    assert isinstance(made.injected["notes"], StreamOf)
    assert made.stream_model() is NoteIn


def test_secrets_are_known_by_their_name_or_by_declaration():
    def command(*, api_token: str = "", monkey: str = "", pin: str = "") -> None: ...

    assert {param.name: param.secret for param in make(command, secrets=("pin",)).params} == {
        "api_token": True,
        "monkey": False,
        "pin": True,
    }


@requirement("aoi:14.2:dry-run", "aoi:14.3:confirm")
@pytest.mark.parametrize("guard", [*GUARDS, "dry_run_"])
def test_no_parameter_can_take_a_guard_of_a_mutation_out_of_force(guard):
    namespace: dict[str, Any] = {}
    exec(f"def command(*, {guard}: bool = False): ...", namespace)

    with pytest.raises(TypeError, match="guards it"):
        _ = make(namespace["command"], mutates=True).params
    assert make(namespace["command"]).params[0].name == guard


# -- events ----------------------------------------------------------------------------------------------------------------


class Cases:
    """Annotations of results, as authors write them."""

    def one(self) -> Hit: ...  # type: ignore[empty-body]
    def iterator(self) -> Iterator[Hit]: ...  # type: ignore[empty-body]
    def listed(self) -> list[Hit]: ...  # type: ignore[empty-body]
    def generator(self) -> collections.abc.Generator[Hit, None, None]: ...  # type: ignore[empty-body]
    def old_style(self) -> typing.Iterator[Hit]: ...  # type: ignore[empty-body]
    def quoted(self) -> "Iterator[Hit]": ...  # type: ignore[empty-body]  # noqa: UP037
    def quoted_inside(self) -> Iterator["Hit"]: ...  # type: ignore[empty-body]  # noqa: UP037
    def asynchronous(self) -> AsyncIterator[Hit]: ...  # type: ignore[empty-body]
    def with_others(self) -> Iterable[Hit | Warn | None]: ...  # type: ignore[empty-body]
    def twice(self) -> Iterator[Hit] | list[Hit]: ...  # type: ignore[empty-body]
    def old_union(self) -> Iterator[Union[Hit, Warn]]: ...  # type: ignore[empty-body]  # noqa: UP007


@pytest.mark.parametrize("name", [name for name in vars(Cases) if not name.startswith("_")])
def test_the_promised_events_are_read_from_the_annotation_of_the_result(name):
    assert make(vars(Cases)[name]).event_classes() == [Hit]


def test_the_events_of_a_mutation_are_those_of_its_apply_phase():
    def plan() -> Iterator[Change]:
        yield Change("x")

    command = make(plan, mutates=True)

    @command.apply
    def _(changes: list[Change]) -> Iterator[Hit | Done]:
        yield Hit(rank=1)

    assert command.event_classes() == [Hit, Done]


def test_no_annotation_promises_no_events():
    def bare(): ...
    def none() -> None: ...
    def dicts() -> Iterator[dict[str, Any]]: ...  # type: ignore[empty-body]

    assert [make(function).event_classes() for function in (bare, none, dicts)] == [[], [], []]


# -- tools -----------------------------------------------------------------------------------------------------------------


@requirement("aoi:10.2:public-id")
@pytest.mark.parametrize("schema_id", ["file:///opt/schema.json", "/opt/schema.json", "./schema.json"])
def test_a_schema_id_that_is_a_place_on_this_machine_is_refused(schema_id):
    with pytest.raises(TypeError, match="no place on this machine"):
        Tool("t", version="1", schema_name="x", schema_id=schema_id)


@requirement("aoi:16.4:alias")
def test_a_tool_that_owns_the_name_of_a_discovery_command_has_it_under_another():
    tool = Tool("db", version="1", schema_name="x")

    @tool.command()
    def schema(table: str = "") -> Iterator[Hit]:
        """Show the schema of the database."""
        yield Hit(rank=1)

    find: Any = tool.find
    assert find("schema") is schema
    assert find("aoi-schema").document
    assert find("aoi-schema").name == "aoi-schema"
    assert tool.built_in_names() == ["aoi-schema", *BUILT_IN[1:]]
    manifest = capabilities_document(tool)
    assert manifest["aliases"] == {"schema": "aoi-schema"}
    names = [command["name"] for command in manifest["commands"]]
    assert names == ["schema", "aoi-schema", *BUILT_IN[1:]]


def test_names_are_known_without_loading_what_they_stand_for():
    tool = Tool("t", version="1", schema_name="x")

    @tool.command("shelf list")
    def shelf_list() -> None: ...

    assert all(map(tool.knows, ["shelf", "shelf list", "schema", "aoi-schema"]))
    assert not any(map(tool.knows, ["shel", "list", "shelf add", "", "aoi-"]))
    assert not tool.knows("shelf", groups=False)


def test_commands_of_a_catalogue_are_one_file_each_and_loaded_when_needed(tmp_path, monkeypatch):
    package = tmp_path / "catalogued"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "list_notes.py").write_text(
        "from operable.tool import command\n"
        "@command(limit=3)\n"
        "def list_notes(folder: str = ''):\n    'List notes.'\n"
        "COMMAND = list_notes\n"
    )
    (package / "broken.py").write_text("raise RuntimeError('loaded')\n")
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("t", version="1", schema_name="x", commands="catalogued")

    assert tool.names() == ["broken", "list-notes"]
    command = tool.find("list-notes")
    assert command is not None
    assert (command.name, command.limit) == ("list-notes", 3)
    assert tool.find("list-notes") is command
    assert tool.find("nothing") is None
    assert tool.knows("broken")
    with pytest.raises(RuntimeError, match="loaded"):
        tool.find("broken")


def test_a_folder_of_a_catalogue_is_a_group_of_commands_of_two_words(tmp_path, monkeypatch):
    group = tmp_path / "grouped" / "note_book"
    group.mkdir(parents=True)
    for folder in (group, group.parent):
        (folder / "__init__.py").touch()
    text = "from operable.tool import command\n@command()\ndef it():\n    'Do it.'\nCOMMAND = it\n"
    (group / "add_all.py").write_text(text)
    (group / "_private.py").write_text("raise RuntimeError('loaded')\n")
    (group.parent / "plain.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("t", version="1", schema_name="x", commands="grouped")

    assert tool.names() == ["note-book add-all", "plain"]
    assert tool.is_group("note-book")
    assert not any(map(tool.is_group, ["plain", "note_book", "nothing", "", "..", "note-book add-all"]))
    assert tool.knows("note-book add-all")
    assert not any(
        map(
            tool.knows,
            ["note-book private", "note-book  add-all", "note-book add-all x", "note-book ../plain"],
        )
    )
    assert tool.find("note-book") is None
    assert (tool.other_forms("note-book"), tool.other_forms("plain")) == ((), ())
    command = tool.find("note-book add-all")
    assert command is not None
    assert command.name == "note-book add-all"
    assert tool.find("plain") is not None
    assert tool.names() == ["note-book add-all", "plain"]  # in the same order, whatever was loaded
    assert locate(tool, ["note-book", "--output", "jsonl", "add-all", "x"]) == (
        "note-book add-all",
        ["--output", "jsonl", "x"],
    )


def test_the_word_of_a_group_alone_is_the_command_that_its_folder_names(tmp_path, monkeypatch):
    group = tmp_path / "alone" / "mail"
    group.mkdir(parents=True)
    (group.parent / "__init__.py").touch()
    (group / "__init__.py").write_text("BARE = 'mail list'\n")
    (group / "list.py").write_text(
        "from operable.tool import command\n@command()\ndef it():\n    'Do it.'\nCOMMAND = it\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("t", version="1", schema_name="x", commands="alone")

    assert locate(tool, ["mail"]) == ("mail list", [])
    assert locate(tool, ["mail", "--output", "jsonl"]) == ("mail list", ["--output", "jsonl"])
    assert locate(tool, ["mail", "lst"])[0] == "mail lst"  # a wrong word is not taken for an argument
    assert locate(tool, ["mail", "--help"])[0] == "mail"
    assert (tool.bare_command("mail"), tool.bare_command("plain")) == ("mail list", None)


def test_a_group_shows_its_commands_in_the_sections_of_its_folder(tmp_path, monkeypatch):
    group = tmp_path / "divided" / "mail"
    group.mkdir(parents=True)
    (group.parent / "__init__.py").touch()
    (group / "__init__.py").write_text(
        "ABOUT = 'Read and write letters.'\nSECTIONS = {'Start here': ('send', 'gone'), 'Empty': ()}\n"
    )
    for name in ("list", "send"):
        (group / f"{name}.py").write_text(
            f"from operable.tool import command\n@command()\ndef it():\n    'Do {name}.'\nCOMMAND = it\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool(
        "t", version="1", schema_name="x", summary="A tool.", commands="divided", start=("mail send",)
    )

    assert group_help(tool, "mail").splitlines() == [
        "Usage: t mail COMMAND [ARGUMENTS] [OPTIONS]",
        "",
        "Read and write letters.",
        "",
        "Start here:",
        "  mail send  Do send.",
        "",
        "More:",  # a new file needs no entry
        "  mail list  Do list.",
        "",
        "t mail COMMAND --help says more.",
    ]
    assert "  mail …     Read and write letters." in overview(tool).splitlines()
