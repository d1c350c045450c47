"""What can be said about a command, for type checkers and readers: the keyword arguments of `@tool.command(...)`.

Never imported at run time: `declare` takes the same names from a plain dictionary, because `typing` costs half a start.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class CommandOptions(TypedDict, total=False):
    """The options of a command. All are optional."""

    mutates: bool
    """The command changes things: its function yields `Change` values, its `apply` function does them."""
    destructive: bool
    """It takes away what cannot be brought back: nothing happens without confirmation. Implies `mutates`."""
    bulk: bool
    """For a destructive command that may hit many things: with more than one in the plan, `--confirm` alone is not
    enough; the caller has to give the count or the digest."""
    unbounded: bool
    """The stream has no end of its own, like `watch`."""
    heartbeat: float
    """Seconds of silence after which an unbounded stream sends `aoi:heartbeat`."""
    limit: "int | None"
    """How many results it gives unless the caller says otherwise; `None` for all."""
    cursor: "str | Sequence[str]"
    """The field of the event, or the fields, by which the next page finds its place."""
    timeout: "float | None"
    """Seconds it may take unless the caller says otherwise; `None` for no limit."""
    grace: "float | None"
    """Seconds that ending the tools which it runs may take after a stop."""
    runs_tools: bool
    """It runs other tools, so it may change whatever they change. Said in help and capabilities."""
    short: "Mapping[str, str]"
    """One-letter options: `{"o": "to"}` makes `-o` the same as `--to`."""
    examples: "Sequence[str]"
    """Command lines without the tool's name, for help and capabilities."""
    secrets: "Sequence[str]"
    """Parameters whose values are secret although their names do not say so."""
    auth: "dict[str, Any] | None"
    """What this command needs, where it differs from the tool."""
    max_plan: int
    """The largest plan, and the largest number of input items of a mutation."""
    columns: "Sequence[str]"
    """The fields that people see in the table, in this order."""
    document: bool
    """The command gives one document (`--output json`) instead of a stream."""
    has_results: bool
    """It has results that can be counted and limited; commands that read have, unless they give a document."""
    hidden: bool
    """Left out of help, completion and capabilities."""
    aliases: "Sequence[str]"
    """Further names of the command."""
    former: "Sequence[str]"
    """Names that it had: they still work, and the call says in a warning what to write now."""
    deprecated: str
    """What to use instead of this command; a call of it says so in a warning."""
    exclusive: "Sequence[Sequence[str]]"
    """Groups of parameters of which a caller gives at most one: `[("all", "ids")]`."""
    one_of: "Sequence[Sequence[str]]"
    """Groups of parameters of which a caller gives exactly one."""
    partial: bool
    """Some of its targets may fail while the others go on: with `--continue-on-error`, an `ItemError` of the plan is
    reported, the rest is done, and the summary is partial and not ok."""
