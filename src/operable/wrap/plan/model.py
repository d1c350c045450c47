"""The plan of a wrapper: everything that running it needs, as typed values that do not change.

`manifests` makes a plan, `cache` keeps its plain values and makes it of them again. That happens in every call, so it costs
next to nothing: a record takes its fields as they are (`dataclasses` would cost more to load than a plan to read). Type
checkers read the classes as frozen dataclasses. What is a document of another standard stays one: JSON Schemas of inputs
and events, the rules of a parser, the meanings of exit statuses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from dataclasses import dataclass
    from typing import Any, Never, Self
else:

    def dataclass(**_: object) -> object:
        return lambda made: made


class PlanRecord:
    """Fields by their names, with the defaults of the class; frozen."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    @classmethod
    def adopt(cls, values: dict[str, Any]) -> Self:
        """A record that keeps this mapping as its fields, uncopied."""
        made = cls.__new__(cls)
        object.__setattr__(made, "__dict__", values)
        return made

    def replace(self, **changes: Any) -> Self:
        """The same with other values for some fields."""
        return type(self)(**{**self.__dict__, **changes})

    def values(self) -> dict[str, Any]:
        """The plain values, for a file."""
        return {name: _plain(value) for name, value in self.__dict__.items()}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__dict__ == self.__dict__

    __hash__ = None  # type: ignore[assignment]  # it has lists and mappings

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"a plan does not change: {name}")


def _plain(value: Any) -> Any:
    if isinstance(value, PlanRecord):
        return value.values()
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SandboxPlan(PlanRecord):
    """What the program of one command may not do (`wrap.enclosure`)."""

    gives_up: list[str]  # words of `proc.sandbox.restriction`
    read: list[str] | None  # None: everything
    write: list[str] | None
    deny: list[str]
    hosts: list[str] | None
    refused: list[tuple[str, str, str]]  # what nothing can enforce: item, what was declared, what is missing
    boxed: bool  # whether it needs more than giving up rights
    scratch: bool = False
    needs: Mapping[str, str] = {}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChangeRule(PlanRecord):
    """How the dry run of a command that changes things is made: by a function, or as one change."""

    action: str | None = None
    function: str | None = None
    needs: Mapping[str, str] = {}
    plans_without_code: bool = False
    project_code: str = ""
    target: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WrapCommandPlan(PlanRecord):
    """One command of a wrapper. Made of its TOOL.md; `replace` gives a changed copy."""

    name: str  # its words, with spaces
    description: str  # the text of its TOOL.md
    inputs: Mapping[str, Any]  # the JSON Schema of its inputs
    events: list[dict[str, Any]]  # the JSON Schema of each event
    mutates: bool  # whether it changes things
    destructive: bool  # whether what it changes cannot be got back
    timeout: float  # how long a call may take, in seconds
    argv: list[str]  # the template of the command line; empty: no program is run
    sandbox: SandboxPlan | None  # None: it may do everything, or no program is run
    plan_sandbox: SandboxPlan | None  # the sandbox of its dry run
    reads: bool  # whether this call changes nothing: also that of a dry run
    project_code: str  # why it runs code of the project; empty: it runs none
    examples: list[str]  # command lines
    exits: Mapping[int | None, Mapping[str, Any]]  # exit status -> what it means
    stderr: str  # what happens to it: warn, or ignore
    bulk: bool = False  # whether it changes many things at once
    columns: Sequence[str] = ()  # what people see first
    cursor: str | Sequence[str] = ()  # the fields that say where a page ends
    function: str | None = None  # who parses, instead of a parser of `parsers/`
    heartbeat: float | None = None  # seconds between signs of life
    limit: int | None = None  # how many results it gives by default
    native: Mapping[str, Any] = {}  # the program's own options -> what they mean here (`wrap.native`)
    operands: Sequence[str] = ()  # inputs without a flag
    options: Mapping[str, Sequence[str]] = {}  # input -> the words that it adds to argv
    parse: Mapping[str, Any] = {}  # the parser and its rules
    plan: ChangeRule = ChangeRule()  # how its dry run is made
    resume: str = "seek"  # how the next page is found: seek, or native
    secrets: Sequence[str] = ()  # inputs that are masked
    short: Mapping[str, str] = {}  # input -> its letter
    stdin: str | None = None  # the function that makes the input of the program
    terminal: bool = False  # whether the program prints an end marker
    unordered: str = ""  # the input that takes the order from its results, and so the cursor from a page
    unbounded: bool = False  # whether it runs until it is stopped


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WrapVersionCheck(PlanRecord):
    """How the program is asked for its version, and which versions the wrapper is for."""

    cmd: str
    parse: str
    range: str
    timeout: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LoginPlace(PlanRecord):
    """Where a login of the program is kept, and whether the program itself can be asked about it."""

    env: list[str]
    paths: list[str]
    can_be_asked: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WrapPlan(PlanRecord):
    """One wrapper. Made of its manifests."""

    name: str  # of the wrapper
    folder: str  # where its manifests are
    version: str  # of its CLI.md
    summary: str  # what the program is
    bin: str  # the program
    bin_args: list[str]  # words before all others
    install: list[str]  # how a user gets the program
    version_check: WrapVersionCheck  # which versions the wrapper is for
    os: list[str]  # the systems that it is made for; empty: all
    env_pass: list[str]  # variables that the program gets from the user
    env_set: Mapping[str, str]  # variables that it gets with these values
    read_env: Mapping[str, str]  # more of them, for commands that change nothing
    auth: bool  # whether the program needs a login
    login: LoginPlace  # where that is kept
    default: str | None  # the command that is meant where none is named
    elsewhere: Mapping[str, str]  # commands of the program that are not here -> what to write instead
    subcommands: bool  # whether a first word names a command of the program, never an operand
    replaces: bool  # whether it writes U+FFFD for bytes that are not UTF-8
    syscalls: bool  # whether it asks the system itself, without a program
    unverified: bool  # whether it is an unfinished draft
    commands: dict[str, WrapCommandPlan]  # by their words
    configured_names: list[str] | None = None  # the wrappers that the user's settings name; None: no settings
    own_process: bool = False  # whatever is below this process belongs to the program


def plan_from(values: dict[str, Any]) -> WrapPlan:
    """The plan of its plain values, which it keeps."""
    values["version_check"] = WrapVersionCheck.adopt(values["version_check"])
    values["login"] = LoginPlace.adopt(values["login"])
    commands = values["commands"]
    for command in commands.values():
        for name in ("sandbox", "plan_sandbox"):
            if command[name] is not None:
                command[name] = SandboxPlan.adopt(command[name])
        if "plan" in command:
            command["plan"] = ChangeRule.adopt(command["plan"])
    values["commands"] = {name: WrapCommandPlan.adopt(command) for name, command in commands.items()}
    return WrapPlan.adopt(values)
