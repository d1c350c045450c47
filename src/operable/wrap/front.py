"""The command line of a wrapped tool: `operable wrap NAME …`, and the same through a shim of its own.

A tool that has one main command (CLI.md: `metadata.operable.default`) needs no word for it: `operable wrap ls /tmp` is
`operable wrap ls list /tmp`. Where the first word is the name of a command, it is that command; `./schema` is a file.
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
from operable.wrap.front import shim_main

shim_main({words})
"""


def main(
    name: str, words: list[str], admit: Callable[[WrappedTool, list[str]], None] | None = None
) -> NoReturn:
    """Run one command line of a wrapped tool and end the process. `admit` raises Fail if it must not run."""
    tool = _loaded(name, words)
    tool.invocation = f"operable wrap {name}"
    meant = _with_default(tool, tool.plan.default, words)
    if admit is not None:
        try:
            admit(tool, meant)
        except Fail as fail:
            refuse(words, fail)
    tool.main(meant)


def shim_main(name: str, folder: str | None = None) -> NoReturn:
    """The same for a shim, which takes nothing for granted: an unknown command is refused, as any tool does.

    `folder` is where the wrapper is, if it does not come with the package.
    """
    import os

    tool = _loaded(name, sys.argv[1:], folder)
    called = os.path.basename(sys.argv[0])
    # A file may have any name; a name that is not one word cannot be in a line that a user repeats.
    tool.invocation = called if called.isprintable() and called.split() == [called] else f"{name}-aoi"
    tool.main()


def _loaded(name: str, words: list[str], folder: str | None = None) -> WrappedTool:
    from operable.wrap.tools import load

    try:
        return load(name, folder, own_process=True)
    except Fail as fail:
        refuse(words, fail)


def _with_default(tool: Tool, default: str | None, words: list[str]) -> list[str]:
    """The words with the name of the main command where no command is named."""
    if default is None:
        return words
    from operable.tool.front import locate

    found, _ = locate(tool, words)
    if tool.knows(found) or found == "help":
        return words
    return words if not found and any(word in _ABOUT for word in words) else [default, *words]


def refuse(words: list[str], fail: Fail) -> NoReturn:
    """A wrapper that cannot be loaded is reported in the format of the caller."""
    from operable import __version__
    from operable.tool.signature import Command
    from operable.tool.tool import Tool

    tool = Tool("operable", version=__version__, schema_name="org.operable.events")

    def refused() -> None:
        """The wrapper cannot be used."""
        raise fail

    tool._commands["wrap"] = Command(refused, "wrap", {})  # noqa: SLF001 - a tool of one command, for one answer
    output = [word for word in ("--output=jsonl",) if _machine(words)]
    tool.main(["wrap", *output])


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
