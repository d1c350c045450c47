"""What an author declares: a tool, and where its commands are. `signature` has the command itself.

It does not parse, run or print: `operable.tool.tool.Tool` adds the discovery commands and `main`.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ParamSpec, TypeVar, Unpack

    from operable.tool.options import CommandOptions
    from operable.tool.records import Event, Record
    from operable.tool.signature import Command

    P = ParamSpec("P")
    R = TypeVar("R")
    F = TypeVar("F", bound=Callable[..., Any])


AOI_VERSION = "0.2"


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
        completions: str = "",
        auth: "dict[str, Any] | None" = None,
        machine_flags: "tuple[str, ...]" = ("output", "format"),
        sources: "tuple[str, ...]" = (),
        start: "tuple[str, ...]" = (),
        options: "type[Record] | None" = None,
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
        self.start = start
        self.completions = completions  # the package with the kinds of words that a shell asks for
        self.options = options  # the options that every command has, before or after its name
        if options is not None:
            _check_shared(options)
        self._aliases: dict[str, str] = {}
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
        self, name: "str | None" = None, **options: "Unpack[CommandOptions]"
    ) -> "Callable[[Callable[P, R]], Command[P, R]]":
        """Decorator: make a typed function a command. See docs/reference/tool.md for the options."""
        if callable(name):
            msg = f"write @tool.command() above {name!r}, with parentheses"
            raise TypeError(msg)

        def register(function: "Callable[P, R]") -> "Command[P, R]":
            from operable.tool.signature import Command, refuse_unsupported

            made = Command(function, name, dict(options))
            refuse_unsupported(function, made.name)
            if made.name in self._commands:
                msg = f"{self.name} has two commands called {made.name!r}"
                raise TypeError(msg)
            self._add(made)
            return made

        return register

    def check(self, name: str) -> "Callable[[F], F]":
        """Decorator: one check of `doctor`, a function that returns a `Check`."""

        def register(function: "F") -> "F":
            self.checks[name] = function
            return function

        return register

    def older_schema(
        self,
        version: str,
        *,
        events: "Iterable[type[Event]]",
        convert: "Callable[[dict[str, Any]], dict[str, Any] | None]",
    ) -> None:
        """Keep serving an older schema version: its events, and how a present event becomes one of them (None drops it)."""
        self.older[version] = (tuple(events), convert)

    def names(self) -> "list[str]":
        """The author's commands, in the order in which they were declared; then those in files, loaded or not."""
        in_files = [] if self._files is None else self._files.names()
        found = set(in_files)
        return [*(name for name in self._commands if name not in found), *in_files]

    def find(self, name: str) -> "Command | None":
        """One of the author's commands by name."""
        if name not in self._commands and self._files is not None and name in self._files:
            self._add(self._files.load(name), name)
        return self._commands.get(self._aliases.get(name, name))

    def _add(self, command: "Command", name: str = "") -> None:
        """A command under its name; its other names lead to it."""
        command.shared = self.options
        self._commands[name or command.name] = command
        for other in (*command.aliases, *command.former):
            known = self._aliases.setdefault(other, command.name)
            if known != command.name:
                msg = f"{self.name} has two commands called {other!r}: {known!r} and {command.name!r}"
                raise TypeError(msg)

    def takes_value(self, flag: str) -> "bool | None":
        """Whether an option that every command has is followed by a value; None if there is no such option."""
        if self.options is None:
            return None
        from operable.tool.annotations import field_kinds

        for field, kind in field_kinds(self.options).items():
            names = [
                field.rstrip("_").replace("_", "-"),
                *((*kind.arg.aliases, *kind.arg.former) if kind.arg else ()),
            ]
            flagged = kind.base == "boolean" or (kind.arg is not None and kind.arg.counted)
            if flag in names or (flagged and flag.removeprefix("no-") in names):
                return not flagged
        return None

    def knows(self, name: str, *, groups: bool = True) -> bool:
        """Whether this is the name of a command, or of a group of them, without loading it."""
        if name.removeprefix(ALIAS) in BUILT_IN or (groups and self.is_group(name)):
            return True
        return self._declares(name)

    def _declares(self, name: str) -> bool:
        if name in self._commands or name in self._aliases:
            return True
        return self._files is not None and name in self._files

    def is_group(self, name: str) -> bool:
        """Whether there are commands of two words that begin with this one (`agent list`)."""
        if any(known.startswith(f"{name} ") for known in self._commands):
            return True
        return self._files is not None and self._files.has_group(name)

    def other_forms(self, group: str) -> "tuple[str, ...]":
        """What may follow the first word of a group beside its commands."""
        if self._files is None or not self._files.has_group(group):
            return ()
        return self._files.forms(group)

    def bare_command(self, group: str) -> "str | None":
        """The command that the first word of a group stands for where no other word follows."""
        if self._files is None or not self._files.has_group(group):
            return None
        return self._files.bare(group)

    def about(self, group: str) -> str:
        """What the commands of a group are for, in a sentence: `ABOUT` of its folder."""
        if self._files is None or not self._files.has_group(group):
            return ""
        return self._files.about(group)

    def sections(self, group: str) -> "dict[str, tuple[str, ...]]":
        """How the help of a group is divided: `SECTIONS` of its folder, titles with the second words of commands."""
        if self._files is None or not self._files.has_group(group):
            return {}
        return self._files.sections(group)

    def built_in_names(self) -> "list[str]":
        """The discovery commands as they are called here: where an author owns the name, `schema` is `aoi-schema`."""
        return [self.called(name) for name in BUILT_IN]

    def called(self, name: str) -> str:
        """How this tool calls a discovery command."""
        return ALIAS + name if name in BUILT_IN and self._declares(name) else name


def _check_shared(options: "type[Record]") -> None:
    """Every command has these, discovery also, so none of them can be required."""
    from operable.tool.kinds import REQUIRED

    if not getattr(options, "_grouped", False):
        msg = f"the options of a tool are a class of Options, not {options!r}"
        raise TypeError(msg)
    for name, default in options.__fields__.items():
        if default is REQUIRED:
            msg = (
                f"the option {name!r} of {options.__name__} needs a default: every command of the tool has it"
            )
            raise TypeError(msg)


# How a discovery command is called where the author has a command of that name (AOI section 16.4).
ALIAS = "aoi-"
BUILT_IN = ("schema", "input-schema", "capabilities", "doctor", "completion")


class CommandFiles:
    """Commands that are in a folder, one a file: `list.py` is `list`, and `agent/list.py` is `agent list`.

    A name is looked for on the disk, and only the file of the command that runs is loaded: a tool of eighty commands
    starts like one of two. Each file ends with its `COMMAND`.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def names(self) -> "list[str]":
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

    def load(self, name: str) -> "Any":
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

    def forms(self, group: str) -> "tuple[str, ...]":
        """What may follow the first word of a group beside its commands: `FORMS` of its folder."""
        found: tuple[str, ...] = self._said(group, "FORMS") or ()
        return found

    def bare(self, group: str) -> "str | None":
        """The command that the first word alone stands for: `BARE` of its folder."""
        found: str | None = self._said(group, "BARE")
        return found

    def about(self, group: str) -> str:
        return self._said(group, "ABOUT") or ""

    def sections(self, group: str) -> "dict[str, tuple[str, ...]]":
        return self._said(group, "SECTIONS") or {}

    def _said(self, group: str, name: str) -> "Any":
        module = f"{self._package}.{group.replace('-', '_')}"
        __import__(module)
        return getattr(sys.modules[module], name, None)

    def _has_file(self, name: str) -> bool:
        if not _plain(name):
            return False
        file = f"{name.replace('-', '_').replace(' ', '/')}.py"
        return any(os.path.exists(f"{path}/{file}") for path in self._folders())

    def _folders(self) -> "list[str]":
        __import__(self._package)
        return list(sys.modules[self._package].__path__)


def _plain(name: str) -> bool:
    """Whether a file of this name can only be in the place that the name says: one or two words, each an identifier."""
    words = name.replace("-", "_").split(" ")
    return (
        "_" not in name and len(words) <= 2 and all(word.isidentifier() and word[0] != "_" for word in words)
    )
