"""The contract of one operation on workflow manifests, and how a name finds its file.

An operation is declared once: its parameters, its answer, whether it changes something and whether it waits. JSON-RPC,
`operable-agentcli` and the commands of `operable flow` are made of the declaration. An operation loads what it needs when it
runs, so that a command line can read all declarations.

Values arrive as JSON, from clients that think in JavaScript: `truthy`, `required`, `present`, `flag` and `text_of` read
them with the messages of the contract. An operation checks its own values; a front end only finds them.
"""

import functools
import os
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from operable.flow import operations
from operable.flow.errors import FlowError, invalid_argument
from operable.kernel import catalogue
from operable.kernel.errors import Fail

PREFIX = "agentcli."
_PACKAGE = "operable.flow.operations"
_UPPER = re.compile(r"(?<=[a-z])([A-Z])")


def current_folder() -> str:
    """The folder that relative paths mean; Raises FlowError if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise invalid_argument("The current directory does not exist any more; go to one that does") from None


class Defaults(NamedTuple):
    """What the server was started with, for params that were not given."""

    cwd: str
    environment: Mapping[str, str] = MappingProxyType({})
    home: str | None = None
    db_path: str | None = None
    target: str | None = None
    scheduler_prefix: str | None = None
    scheduler_bin: str | None = None
    compat: str | None = None  # "0.5": the shapes of the newest peer, where they differ from the draft's
    side: str = "flow"  # the kind of caller that the calls of tasks have

    def __repr__(self) -> str:
        return f"Defaults(cwd={self.cwd!r}, home={self.home!r})"  # the environment has secrets


class Parameter(NamedTuple):
    """One parameter. `name` is that of JSON-RPC; the command lines have a flag, or a word in a place of its own."""

    name: str
    # A word is a text in its place, `manifest` a word that is read, `manifests` all the words, `source` the word that a
    # manifest was read from. A count is a positive integer. JSON has no form on command lines.
    kind: Literal["text", "flag", "count", "json", "word", "manifest", "manifests", "source"] = "text"
    option: str = ""  # the flag, where it is not the name in the spelling of flags (`dryRun` is `--dry-run`)
    shown: str = ""  # a word in usage lines: <…> must be there, […] may be
    choices: tuple[str, ...] = ()
    refusal: str = "Invalid --{flag} value: {value}. Accepted values: {choices}"
    unit: str = ""  # of a count, in messages
    rpc: bool = True
    agentcli: bool = True
    help: str = ""  # in the help of `operable flow`, which does not offer a parameter without it
    word: str = ""  # what the help of `operable flow` shows for its value
    called: str = ""  # its name for `operable flow`, where that is not the flag
    default: str | None = None  # of `operable flow`
    offered: tuple[
        str, ...
    ] = ()  # the choices of `operable flow`, where the operation itself refuses others elsewhere
    several: bool = False  # `operable flow` takes any number
    operand: bool = False  # an option elsewhere, a word for `operable flow`

    @property
    def flag(self) -> str:
        return self.option or _UPPER.sub(lambda upper: "-" + upper[1].lower(), self.name)

    @property
    def in_place(self) -> bool:
        return self.kind in ("word", "manifest", "manifests")

    @property
    def spelled(self) -> str:
        """The name for `operable flow`, as Python writes it."""
        return (self.called or self.flag).replace("-", "_")


class Operation(NamedTuple):
    """One operation. `slow` ones wait for the world; `order` is the place in listings of methods, `place` in usage lines.

    What does not say that it `changes` something writes nothing, runs nothing of a manifest and asks no server.
    """

    summary: str
    run: Callable[[dict[str, Any], Defaults], dict[str, Any]]
    params: tuple[Parameter, ...] = ()
    method: str = ""  # its name over JSON-RPC; "" is not offered there
    order: int = 0
    verb: str = ""  # its words for `operable-agentcli`; "" is not offered there
    place: int = 0
    slow: bool = False
    changes: bool = False
    # (answer, params, defaults) -> what `operable-agentcli` prints, where that is not the answer itself
    printed: Callable[[dict[str, Any], Mapping[str, Any], Defaults], Any] | None = None

    @property
    def requested(self) -> tuple[str, ...]:
        """The names of its parameters over JSON-RPC."""
        return tuple(param.name for param in self.params if param.rpc)

    def answer(self, params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
        """The answer to a request: parameters of the command line only are ignored."""
        local = {param.name for param in self.params if not param.rpc}
        return self.run({name: value for name, value in params.items() if name not in local}, defaults)


@functools.lru_cache(maxsize=64)
def method(name: str) -> Operation:
    """The operation of this method. Raises FlowError for an unknown one. Kept: a search costs more than a ping."""
    unknown = FlowError("unknown_command", f"Method not found: {name}")
    if not name.startswith(PREFIX):
        raise unknown
    short = _UPPER.sub(lambda upper: "-" + upper[1].lower(), name.removeprefix(PREFIX)).replace(".", "-")
    try:
        found = operation(short)
    except Fail:
        raise unknown from None
    if found.method != name:
        raise unknown  # agentcli.identity-resolve would find the same file
    return found


def operation(name: str) -> Operation:
    """The operation in the file of this name. Raises Fail for an unknown one."""
    found: Operation = catalogue.load(_PACKAGE, name, "OPERATION", kind="operation")
    return found


def names() -> list[str]:
    """The names of all operations; none is loaded."""
    return [name for directory in operations.__path__ for name in catalogue.names(directory)]


def listed_methods() -> list[Operation]:
    """What JSON-RPC offers, in the order of listings."""
    offered = [found for name in names() if (found := operation(name)).method]
    return sorted(offered, key=lambda found: found.order)


def truthy(value: Any) -> bool:
    """What clients mean by it, who think in JavaScript: an empty object or list is something (`dryRun: {}` is a dry run)."""
    return bool(value) or isinstance(value, dict | list)


def required(params: Mapping[str, Any], name: str) -> Any:
    """A param that must be there and say something."""
    value = params.get(name)
    if not truthy(value):
        raise invalid_argument(f"{name} is required")
    return value


def present(params: Mapping[str, Any], name: str) -> Any:
    """A param that must be there, whatever it is."""
    if name not in params:
        raise invalid_argument(f"{name} is required")
    return params[name]


def flag(params: Mapping[str, Any], name: str) -> bool:
    """A param that is true, false or absent."""
    value = params.get(name)
    if value is not None and not isinstance(value, bool):
        raise invalid_argument(f"{name} must be a boolean")
    return bool(value)


def text_of(params: Mapping[str, Any], name: str) -> str | None:
    """A param that is a text or absent; an empty one says nothing."""
    value = params.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid_argument(f"{name} must be a string")
    return value or None


def filled_text(params: Mapping[str, Any], name: str) -> str:
    """A param that must be a text with something in it."""
    value = params.get(name)
    if not isinstance(value, str) or not value.strip():
        raise invalid_argument(f"{name} is required")
    return value


def local(name: str, help: str, kind: Literal["text", "flag", "word"] = "text", **more: Any) -> Parameter:
    """A parameter that only `operable flow` has."""
    return Parameter(name, kind, rpc=False, agentcli=False, help=help, **more)


def home(help: str = "another home than AGENTCLI_HOME or ~/.agentcli") -> Parameter:
    """Where state is kept. The other front ends take it for the whole process."""
    return local("home", help, word="DIR")


# Parameters that several operations take.
MANIFEST = Parameter(
    "manifest", "manifest", shown="<manifest>", called="file", help="the manifest; - is standard input"
)
OPTIONAL_MANIFEST = MANIFEST._replace(default="-")
TASK = Parameter("taskId", "word", shown="<task>", called="task", help="the task's id")
WORKFLOW = Parameter(
    "workflowId", option="workflow", help="the workflow's id, when there are several", word="ID"
)
ALLOW_NETWORK = Parameter("allowNetwork", "flag", help="ask servers that the manifest names")
ALLOWANCE = (
    Parameter(
        "allowCommands",
        "flag",
        help="run commands that the manifest names as sources of values, under the task's contract",
    ),
    ALLOW_NETWORK,
)
BACKEND = Parameter(
    "target",
    agentcli=False,
    help="where its jobs are",
    default="operable",
    offered=("operable", "openclaw-scheduler"),
)
DATABASE = local(
    "database",
    "postgresql://USER@HOST/NAME if the engine has workers on several machines; else OPERABLE_DATABASE",
    word="URL",
)
SCHEDULER = (
    Parameter("dbPath", option="db", help="the database of the backend", word="FILE"),
    home("where the jobs of Operable's own engine are kept"),
    DATABASE,
    Parameter("schedulerPrefix", help="the npm prefix that has openclaw-scheduler", word="DIR"),
    Parameter("schedulerBin", help="the scheduler's program", word="FILE"),
)
ADOPT_BY = Parameter(
    "adoptBy", choices=("id", "name"), default="id", help="how jobs that are there already are recognised"
)
PROOF_COMMAND = Parameter(
    "allowProofCommand", "flag", help="let proofs come from commands that the manifest names"
)
OF_TASK = (MANIFEST, TASK, WORKFLOW, *ALLOWANCE)
SIGNING = (
    Parameter("signer", offered=("ssh", "none"), help="who signs the attestation"),
    Parameter("signingKey", help="the private key to sign with", word="FILE"),
)
INSTANCE = Parameter("instanceId", word="ID", help="which instance this is; part of what an approval is for")
TIMEOUT = Parameter(
    "timeoutMs",
    "count",
    option="timeout",
    unit=" (milliseconds)",
    called="task-timeout-ms",
    help="milliseconds for the task, in place of its own limit",
)
