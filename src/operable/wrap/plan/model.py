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
    """One command of a wrapper."""

    name: str
    description: str
    inputs: Mapping[str, Any]
    events: list[dict[str, Any]]
    mutates: bool
    idempotent: bool | None
    risk: int
    destructive: bool
    timeout: float
    argv: list[str]
    sandbox: SandboxPlan | None  # None: it may do everything, or no program is run
    plan_sandbox: SandboxPlan | None
    reads: bool
    project_code: str
    examples: list[str]
    exits: Mapping[int | None, Mapping[str, Any]]
    stderr: str
    bulk: bool = False
    columns: Sequence[str] = ()
    cursor: str | Sequence[str] = ()
    function: str | None = None
    heartbeat: float | None = None
    limit: int | None = None
    operands: Sequence[str] = ()
    options: Mapping[str, Sequence[str]] = {}
    parse: Mapping[str, Any] = {}
    plan: ChangeRule = ChangeRule()
    resume: str = "seek"
    secrets: Sequence[str] = ()
    short: Mapping[str, str] = {}
    stdin: str | None = None
    terminal: bool = False
    unbounded: bool = False


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
    """One wrapper."""

    name: str
    folder: str
    version: str
    id: str
    summary: str
    bin: str
    bin_args: list[str]
    install: list[str]
    version_check: WrapVersionCheck
    os: list[str]
    env_pass: list[str]
    env_set: Mapping[str, str]
    read_env: Mapping[str, str]
    auth: bool
    login: LoginPlace
    examples: list[str]
    default: str | None
    replaces: bool
    syscalls: bool
    unverified: bool
    commands: dict[str, WrapCommandPlan]
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
