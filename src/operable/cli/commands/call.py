"""`operable call`: call one command of anything in the catalog, by its name in rules.

A native tool, a wrapped program, an application, an agent, a job of a flow, a tool of an MCP server: `operable catalog`
lists them, and the arguments are one JSON object, checked against the schema of the command. It is the same call as over
HTTP, MCP and JSON-RPC. What cannot be undone, or wants a confirmation, needs `--confirm`; `--dry-run` shows what would run,
and runs nothing. Where the user has a policy file, its rules are about these calls also, and they are recorded
(`operable policy show`).

Each result is one `call_entry`; the summary has the code of the call and what it said beside its results. A call that fails
is an error with its own code.
"""

from __future__ import annotations

from operable.cli.catalog.events import CallEntry
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_TIMEOUT = 600.0  # seconds, as everywhere a tool is called


@command(
    mutates=True,
    runs_tools=True,
    timeout=_TIMEOUT,
    examples=[
        "call wrap/git/status --dry-run",
        "call wrap/find/files --input '{\"limit\": 3}' --output jsonl",
        "call mcp/tracker/search --input @query.json",
    ],
)
def call(name: str, *, input: str | None = None, workspace: str = ".") -> Iterator[Change[Any]]:
    """Call one command of anything in the catalog.

    name: KIND/NAME/COMMAND
    input JSON: its arguments, one object; @FILE reads a file, - standard input
    workspace DIR: the project whose own things can be called, too
    """
    from operable.cli.catalog.call import planned_call

    yield planned_call(name, input, workspace)


@call.apply
def run(changes: list[Change[Any]], context: Context) -> Iterator[CallEntry]:
    from operable.cli.catalog.call import told

    for change in changes:
        yield from told(change.payload(context), context)  # type: ignore[misc]  # and warnings


COMMAND = call
