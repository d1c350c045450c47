"""What an author declares: the commands of a tool, their effects and bounds.

Theory of operation: a decorator stores the function and its options and reads nothing else, so that declaring fifty
commands costs fifty small objects. What the functions take and promise is read by `signature`, when one is invoked or
described.

It does not parse, run or print: `operable.tool.tool.Tool` adds the discovery commands and `main`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Unpack

    from operable.tool.options import CommandOptions
    from operable.tool.records import Event, Record
    from operable.tool.signature import Param


AOI_VERSION = "0.2"
# A finite command that has not ended after five minutes has most likely hung on something; --timeout changes it.
DEFAULT_TIMEOUT = 300.0
# Read commands are bounded unless the author says otherwise (AOI section 15): a page, too little to flood a model.
DEFAULT_LIMIT = 100
# A plan is held in memory to be counted and confirmed; beyond this a command should be split (about 100 MB of changes).
MAX_PLAN = 100_000


class Command:
    """One verb of a tool. Calling it calls the author's function, so that it can be tested as the plain function it is."""

    def __init__(self, function: Callable[..., Any], name: str | None, options: dict[str, Any]) -> None:
        if not hasattr(function, "__code__"):
            msg = f"a command is made of a plain function, not of {function!r}"
            raise TypeError(msg)
        self.function = function
        self.name: str = name if name is not None else function.__name__.rstrip("_").replace("_", "-")
        self.mutates: bool = options.pop("mutates", False) or options.get("destructive", False)
        self.destructive: bool = options.pop("destructive", False)
        self.bulk: bool = options.pop("bulk", False)
        self.unbounded: bool = options.pop("unbounded", False)
        self.heartbeat: float = options.pop("heartbeat", 15.0)
        self.limit: int | None = options.pop(
            "limit", None if self.mutates or self.unbounded else DEFAULT_LIMIT
        )
        cursor = options.pop("cursor", ())
        self.cursor: tuple[str, ...] = (cursor,) if isinstance(cursor, str) else tuple(cursor)
        self.timeout: float | None = options.pop("timeout", None if self.unbounded else DEFAULT_TIMEOUT)
        # Of a command that runs other programs and enforces the deadline itself: how long ending those may take.
        self.grace: float | None = options.pop("grace", None)
        self.runs_tools: bool = options.pop("runs_tools", False)
        self.short: dict[str, str] = options.pop("short", {})  # {"o": "to"}: -o is --to
        self.examples: tuple[str, ...] = tuple(options.pop("examples", ()))
        self.secrets: tuple[str, ...] = tuple(options.pop("secrets", ()))
        self.auth: dict[str, Any] | None = options.pop("auth", None)
        self.max_plan: int = options.pop("max_plan", MAX_PLAN)
        # Further options of one command for people: {"columns": (...)}; and outputs beside the stream (discovery: "json").
        self.columns: tuple[str, ...] = tuple(options.pop("columns", ()))
        self.document: bool = options.pop("document", False)
        self.hidden: bool = options.pop("hidden", False)
        # Whether it has results that can be counted and limited: neither effects nor one document nor checks.
        self.has_results: bool = options.pop("has_results", not self.mutates and not self.document)
        if options:
            msg = f"command {self.name!r} got unknown options: {', '.join(options)}"
            raise TypeError(msg)
        self.apply_function: Callable[..., Any] | None = None
        self._params: tuple[Param, ...] | None = None
        self.injected: dict[str, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def apply(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: the second phase of a mutation. It gets the planned changes and yields what was done."""
        self.apply_function = function
        return function

    @property
    def params(self) -> tuple[Param, ...]:
        if self._params is None:
            from operable.tool.signature import read_signature

            self._params, self.injected = read_signature(
                self.function, command=self.name, guarded=self.mutates, secrets=self.secrets
            )
        return self._params

    @property
    def relays(self) -> bool:
        """Whether events of other tools pass through, of which this tool's schema knows nothing."""
        _ = self.params
        return "Relay" in self.injected.values()

    def stream_model(self) -> type[Record] | None:
        """The class of the items of structured input, when this command takes any."""
        for name in self.streams():
            model: type[Record] = self.injected[name].model
            return model
        return None

    def streams(self) -> list[str]:
        """The parameters that take structured input: none, or one."""
        from operable.tool.kinds import StreamOf

        _ = self.params
        return [name for name, what in self.injected.items() if isinstance(what, StreamOf)]

    def option_groups(self) -> list[type[Record]]:
        """The classes of options that it shares with other commands."""
        from operable.tool.signature import is_group

        _ = self.params
        return [what for what in self.injected.values() if is_group(what)]

    def assurances(self) -> dict[str, Any]:
        """What holds a command to its declaration, for the capability manifest; `explained` is the same for people."""
        return {}

    def event_classes(self) -> list[type[Event]]:
        """The domain events that the annotations of the function, or of its apply phase, promise."""
        from operable.tool.signature import promised_events

        return promised_events(self.apply_function or self.function)


class Declaration:
    """A tool as its author declares it: its identity, and its own commands."""

    def __init__(
        self,
        name: str,
        *,
        version: str,
        schema_name: str,
        schema_version: str = "1.0.0",
        schema_id: str = "",
        summary: str = "",
        commands: str = "",
        auth: dict[str, Any] | None = None,
        machine_flags: tuple[str, ...] = ("output", "format"),
        sources: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.invocation = name  # how a command line of it begins, in help, examples, hints and completion
        self.version = version
        self.schema_name = schema_name
        self.schema_version = schema_version
        # A URN by default: public, stable, and an author needs no domain to publish a tool.
        self.schema_id = schema_id or f"urn:aoi:schema:{schema_name}:{{version}}"
        if self.schema_id.startswith(("file:", "/", ".")):
            msg = f"the schema_id is public (AOI section 10.2) and no place on this machine: {schema_id!r}"
            raise TypeError(msg)
        self.summary = summary
        self.auth = auth or {"required": False}
        self.machine_flags = machine_flags
        self.sources = sources
        self.checks: dict[str, Callable[..., Any]] = {}
        self.older: dict[
            str, tuple[tuple[type[Event], ...], Callable[[dict[str, Any]], dict[str, Any] | None]]
        ] = {}
        self._commands: dict[str, Command] = {}
        self.catalogue = commands
        self._files: CommandFiles | None = None
        if commands:
            self._files = CommandFiles(commands)
        self.module = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001 - where this tool is declared

    def command(
        self, name: str | None = None, **options: Unpack[CommandOptions]
    ) -> Callable[[Callable[..., Any]], Command]:
        """Decorator: make a typed function a command. See docs/reference/tool.md for the options."""
        if callable(name):
            msg = f"write @tool.command() above {name!r}, with parentheses"
            raise TypeError(msg)

        def register(function: Callable[..., Any]) -> Command:
            made = Command(function, name, dict(options))
            if made.name in self._commands:
                msg = f"{self.name} has two commands called {made.name!r}"
                raise TypeError(msg)
            self._commands[made.name] = made
            return made

        return register

    def check(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorator: one check of `doctor`, a function that returns a `Check`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.checks[name] = function
            return function

        return register

    def older_schema(
        self,
        version: str,
        *,
        events: Iterable[type[Event]],
        convert: Callable[[dict[str, Any]], dict[str, Any] | None],
    ) -> None:
        """Keep serving an older schema version: its events, and how a present event becomes one of them (None drops it)."""
        self.older[version] = (tuple(events), convert)

    def names(self) -> list[str]:
        """The author's commands, in the order in which they were declared."""
        in_files = [] if self._files is None else self._files.names()
        return [*self._commands, *(name for name in in_files if name not in self._commands)]

    def find(self, name: str) -> Command | None:
        """One of the author's commands by name."""
        if name not in self._commands and self._files is not None and name in self._files:
            self._commands[name] = self._files.load(name)
        return self._commands.get(name)

    def knows(self, name: str, *, groups: bool = True) -> bool:
        """Whether this is the name of a command, or of a group of them, without loading it."""
        if name.removeprefix(ALIAS) in BUILT_IN or (groups and self.is_group(name)):
            return True
        return self._declares(name)

    def _declares(self, name: str) -> bool:
        return name in self._commands or (self._files is not None and name in self._files)

    def is_group(self, name: str) -> bool:
        """Whether there are commands of two words that begin with this one (`agent list`)."""
        if any(known.startswith(f"{name} ") for known in self._commands):
            return True
        return self._files is not None and self._files.has_group(name)

    def other_forms(self, group: str) -> tuple[str, ...]:
        """What may follow the first word of a group beside its commands."""
        if self._files is None or not self._files.has_group(group):
            return ()
        return self._files.forms(group)

    def built_in_names(self) -> list[str]:
        """The discovery commands as they are called here: where an author owns the name, `schema` is `aoi-schema`."""
        return [self.called(name) for name in BUILT_IN]

    def called(self, name: str) -> str:
        """How this tool calls a discovery command."""
        return ALIAS + name if name in BUILT_IN and self._declares(name) else name


# How a discovery command is called where the author has a command of that name (AOI section 16.4).
ALIAS = "aoi-"
BUILT_IN = ("schema", "input-schema", "capabilities", "doctor", "completion")


def command(
    name: str | None = None, **options: Unpack[CommandOptions]
) -> Callable[[Callable[..., Any]], Command]:
    """Decorator for a command in a catalogue folder: the file name is its name, and `COMMAND` is the descriptor."""

    def make(function: Callable[..., Any]) -> Command:
        return Command(
            function, name or function.__module__.rpartition(".")[2].replace("_", "-"), dict(options)
        )

    return make


class CommandFiles:
    """Commands that are in a folder, one a file: `list.py` is `list`, and `agent/list.py` is `agent list`.

    A name is looked for on the disk, and only the file of the command that runs is loaded: a tool of eighty commands
    starts like one of two. Each file ends with its `COMMAND`.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def names(self) -> list[str]:
        from operable.kernel.catalogue import names

        found = []
        for directory in self._folders():
            for name in names(directory):
                folder = f"{directory}/{name.replace('-', '_')}"
                group = os.path.isdir(folder)
                found += [f"{name} {inner}" for inner in names(folder)] if group else [name]
        return found

    def __contains__(self, name: str) -> bool:
        # Only a name that is not made of identifiers can be in the folder without being found as a file.
        return self._has_file(name) or (not _plain(name) and name in self.names())

    def load(self, name: str) -> Any:
        """The `COMMAND` with which the file of this command ends."""
        if self._has_file(name):
            module = f"{self._package}.{name.replace('-', '_').replace(' ', '.')}"
            __import__(module)
            found = sys.modules[module].COMMAND
            if " " in name:  # a file knows its own name, but not which folder makes it a command of a group
                found.name = name
            return found
        from operable.kernel.catalogue import load

        return load(self._package, name, "COMMAND")

    def has_group(self, name: str) -> bool:
        """Whether there is a folder of this name, which contains commands of two words."""
        folder = name.replace("-", "_")
        if "_" in name or not folder.isidentifier():
            return False
        return any(os.path.exists(f"{path}/{folder}/__init__.py") for path in self._folders())

    def forms(self, group: str) -> tuple[str, ...]:
        """What may follow the first word of a group beside its commands: `FORMS` of its folder."""
        module = f"{self._package}.{group.replace('-', '_')}"
        __import__(module)
        forms: tuple[str, ...] = getattr(sys.modules[module], "FORMS", ())
        return forms

    def _has_file(self, name: str) -> bool:
        if not _plain(name):
            return False
        file = f"{name.replace('-', '_').replace(' ', '/')}.py"
        return any(os.path.exists(f"{path}/{file}") for path in self._folders())

    def _folders(self) -> list[str]:
        __import__(self._package)
        return list(sys.modules[self._package].__path__)


def _plain(name: str) -> bool:
    """Whether a file of this name can only be in the place that the name says: one or two words, each an identifier."""
    words = name.replace("-", "_").split(" ")
    return (
        "_" not in name and len(words) <= 2 and all(word.isidentifier() and word[0] != "_" for word in words)
    )
