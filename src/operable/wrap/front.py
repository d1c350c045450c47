"""The command line of a wrapped tool: `operable wrap NAME …`, and the same through a shim of its own.

A tool that has one main command (CLI.md: `metadata.operable.default`) needs no word for it: `operable wrap ls /tmp` is
`operable wrap ls list /tmp`. Where the first word is the name of a command, it is that command; `./schema` is a file.
Of a program that has commands of its own (`subcommands`), a first word that is none of ours is refused, and never an
operand of the main one. The options of the program itself are read by `native`.
"""

from __future__ import annotations

import sys

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from operable.tool.tool import Tool
    from operable.wrap.tools import WrappedTool

_ABOUT = ("--help", "-h", "--version", "--schema", "--capabilities")
# `-P`: modules are not looked for beside the shim, which may be in a project.
_SHIM = """\
#!{python} -P
# {name} in machine mode: `{name}-aoi COMMAND --output jsonl`. Made by `operable wrap shim {name}`.
import sys

sys.path[:0] = [path for path in {path!r} if path not in sys.path]
from operable.state.paths import policy_path
from operable.wrap.front import shim_main

admit = None
if policy_path() is not None:
    from operable.cli.gate.command_line import admit_wrapped as admit
shim_main({words}, admit=admit)
"""


def main(
    name: str, words: list[str], admit: Callable[[WrappedTool, list[str]], None] | None = None
) -> NoReturn:
    """Run one command line of a wrapped tool and end the process. `admit` raises Fail if it must not run."""
    tool = _loaded(name, words)
    tool.invocation = f"operable wrap {name}"
    _run(tool, words, understood(tool, _with_default(tool, words)), admit)


def _run(
    tool: WrappedTool,
    words: list[str],
    meant: list[str],
    admit: Callable[[WrappedTool, list[str]], None] | None,
) -> NoReturn:
    if admit is not None:
        try:
            admit(tool, meant)
        except Fail as fail:
            refuse(words, fail)
    tool.main(meant)


def shim_main(
    name: str, folder: str | None = None, admit: Callable[[WrappedTool, list[str]], None] | None = None
) -> NoReturn:
    """The same for a shim, which takes nothing for granted: an unknown command is refused, as any tool does.

    `folder` is where the wrapper is, if it does not come with the package.
    """
    import os

    tool = _loaded(name, sys.argv[1:], folder)
    called = os.path.basename(sys.argv[0])
    # A file may have any name; a name that is not one word cannot be in a line that a user repeats.
    tool.invocation = called if called.isprintable() and called.split() == [called] else f"{name}-aoi"
    _run(tool, sys.argv[1:], understood(tool, sys.argv[1:]), admit)


def _loaded(name: str, words: list[str], folder: str | None = None) -> WrappedTool:
    from operable.wrap.tools import load

    try:
        return load(name, folder, own_process=True)
    except Fail as fail:
        refuse(words, fail)


def _with_default(tool: WrappedTool, words: list[str]) -> list[str]:
    """The words with the name of the main command where no command is named."""
    default = tool.plan.default
    if default is None:
        return words
    from operable.tool.front import locate

    found, _ = locate(tool, words)
    if tool.knows(found) or found == "help":
        return words
    if found and tool.plan.subcommands and not _is_value(tool, default, words, found):
        return words
    native = tool.plan.commands[default].native
    about = not found and any(word in _ABOUT and word not in native for word in words)
    return words if about else [default, *words]


def _is_value(tool: WrappedTool, default: str, words: list[str], found: str) -> bool:
    """Whether the word that could be a command is the value of an option of the main one: `ps --pid 12`."""
    place = words.index(found)
    if place == 0 or not words[place - 1].startswith("-"):
        return False
    from operable.wrap.native import NativeOptions

    command = tool.find(default)
    table = tool.plan.commands[default].native
    return command is not None and NativeOptions(command, table).expects_value(words[place - 1])


def understood(tool: WrappedTool, words: list[str]) -> list[str]:
    """The words with our options in place of the program's own; what is refused is answered by the command itself."""
    from operable.tool.front import locate

    name, rest = locate(tool, words)
    plan = tool.plan.commands.get(name)
    if plan is None:
        if name in tool.plan.elsewhere and not tool.knows(name):
            message = f"{tool.name} has no command {name!r} here"
            hint = tool.plan.elsewhere[name]
            answer(tool, name, words, Fail("usage", "UNKNOWN_COMMAND", message, hint=hint, target=name))
        return words
    if not plan.native or not any(word.startswith("-") for word in rest):
        return words
    from operable.wrap.native import NativeOptions

    command = tool.find(name)
    assert command is not None  # noqa: S101 - the plan has it, so the tool has it
    try:
        return [*name.split(), *NativeOptions(command, plan.native).translate(rest, tool.plan.bin)]
    except Fail as fail:
        answer(tool, name, words, fail)


def answer(tool: Tool, name: str, words: list[str], fail: Fail) -> NoReturn:
    """Answer one command line with an error, as a command of this tool."""
    from operable.tool.signature import Command

    def refused() -> None:
        """The command line cannot be understood."""
        raise fail

    tool._commands[name] = Command(refused, name, {})  # noqa: SLF001 - for this one answer
    tool.main([*name.split(), *(["--output=jsonl"] if _machine(words) else [])])


def refuse(words: list[str], fail: Fail) -> NoReturn:
    """A wrapper that cannot be loaded is reported in the format of the caller."""
    from operable import __version__
    from operable.tool.tool import Tool

    answer(Tool("operable", version=__version__, schema_name="org.operable.events"), "wrap", words, fail)


def _machine(words: list[str]) -> bool:
    text = " ".join(words)
    return any(f"--{flag}{sign}jsonl" in text for flag in ("output", "format") for sign in (" ", "="))


def shim(name: str) -> str:
    """A program that is the wrapped tool: for a linter, an agent's PATH, or a shell.

    It names the folder of a wrapper of the user. A linter and an agent start it with another HOME and without
    OPERABLE_WRAPPERS, and the wrapper would not be found.
    """
    import os

    import operable
    from operable.wrap.places import folder_of, origin

    folder = os.path.abspath(folder_of(name))
    words = repr(name) if origin(folder) == "bundled" else f"{name!r}, {folder!r}"
    source = os.path.dirname(os.path.dirname(os.path.abspath(operable.__file__)))
    return _SHIM.format(python=sys.executable, name=name, path=[source], words=words)
