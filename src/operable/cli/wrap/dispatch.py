"""`operable wrap TOOL …`: the words of a wrapped tool are its own: they are handed over before they are read.

What is before the name of the tool are standard options (`--output jsonl`); they go with the rest.
"""

from __future__ import annotations

from operable.tool.arguments import takes_value
from operable.tool.kinds import STANDARD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.tool import Tool


def call_wrapped(operable: Tool, words: list[str]) -> None:
    """Run a wrapped tool and end the process; returns when the words mean a command of `operable wrap` itself."""
    from operable.wrap.places import RESERVED

    first, words = _split(words)
    if words[:1] != ["wrap"]:
        return
    second, words = _split(words[1:])
    before = [*first, *second]
    if not words or words[0] in RESERVED:
        return
    name, *rest = words
    if name == "--mcp" or name.startswith("--mcp="):
        command = [name.removeprefix("--mcp=")] if name != "--mcp" else rest[:1]
        _bridge(command[0] if command else "", [*before, *(rest if name != "--mcp" else rest[1:])])
    if name == "help":
        operable.main(["wrap", "--help", *before])
    if name.startswith("-"):
        return
    from operable.state.paths import policy_path
    from operable.wrap.front import main

    if policy_path() is not None:
        from operable.cli.gate.command_line import admit_wrapped

        main(name, [*before, *rest], admit_wrapped)
    main(name, [*before, *rest])


def _bridge(command: str, words: list[str]) -> None:
    """An MCP server as a tool."""
    from operable.state.paths import policy_path
    from operable.wrap.mcp.tool import main

    if policy_path() is not None:
        from operable.cli.gate.command_line import admit_server
        from operable.kernel.errors import Fail
        from operable.wrap.front import refuse

        try:
            admit_server(command, words)
        except Fail as fail:
            refuse(words, fail)
    main(command, words)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The standard options at the beginning of these words, with their values, and what follows."""
    place = 0
    while place < len(words):
        name, equals, _ = words[place].partition("=")
        form = STANDARD.get(name.removeprefix("--")) if name.startswith("--") else None
        if form is None:
            break
        following = [] if equals else words[place + 1 : place + 2]
        place += 2 if following and takes_value(form, following[0]) else 1
    return words[:place], words[place:]
