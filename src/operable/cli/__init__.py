"""The `operable` command, written on the SDK it ships: every verb is one file in `commands/` and speaks AOI itself.

Answering `schema` or `capabilities` reads one kept document; a verb imports what it needs when it is called. Keep it
so: neither this module nor a command's file may import `operable.run` or anything heavier at its top.
"""

from __future__ import annotations

import os
import sys

from operable import __version__
from operable.tool import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool import Check

VERSION = __version__

# Whether this process exists for one command: then what a tool leaves behind is ours to end (`calling.adoption`).
own_process = False

_PACKAGE = os.path.dirname(os.path.dirname(__file__))

tool = Tool(
    "operable",
    version=VERSION,
    schema_name="org.operable.events",
    schema_version="1.0.0",
    summary="One contract between agents and command lines.",
    commands="operable.cli.commands",
    completions="operable.cli.completions",
    start=("catalog", "agent list", "chat", "wrap list", "lint", "flow init", "serve", "explain"),
    # The commands of `operable flow` are made of what these folders declare.
    sources=(f"{_PACKAGE}/flow", f"{_PACKAGE}/flow/operations"),
)


@tool.check("python")
def check_python() -> Check:
    from operable.cli.doctor import python

    return python()


@tool.check("msgspec")
def check_msgspec() -> Check:
    from operable.cli.doctor import msgspec

    return msgspec()


@tool.check("validation")
def check_validation() -> Check:
    from operable.cli.doctor import validation

    return validation()


@tool.check("people")
def check_people() -> Check:
    from operable.cli.doctor import people

    return people()


@tool.check("state")
def check_state() -> Check:
    from operable.cli.doctor import state

    return state()


@tool.check("processes")
def check_processes() -> Check:
    from operable.cli.doctor import processes

    return processes()


@tool.check("tracing")
def check_tracing() -> Check:
    from operable.cli.doctor import tracing

    return tracing()


def main() -> None:
    """Entry point of the console script."""
    global own_process  # noqa: PLW0603 - a fact of the process, known here only
    own_process = True
    if "wrap" in sys.argv and sys.argv[1] != "--complete":
        from operable.tool.process import postpone_collection

        postpone_collection()
        from operable.cli.wrap.dispatch import call_wrapped

        # Returns when these words are for `operable wrap` itself, or for another command.
        call_wrapped(tool, sys.argv[1:])
    if sys.argv[1:2] == ["lint"] and "--" in sys.argv:
        from operable.cli.lint.words import with_one_tool

        sys.argv[1:] = with_one_tool(sys.argv[1:])
    tool.main()
