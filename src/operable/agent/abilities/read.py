"""Read: the lines of a file, numbered.

What the model has just seen is not shown again: the same lines of a file that has not changed are answered with a word.
"""

from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.workspace import OutsideWorkspaceError, permitted
from operable.state.real_file import Window, read_window

_LOOK = 8192  # a NUL in the first bytes makes a file binary
_LINES = 2000  # unless the model asks for more
_FILE_LIMIT = 64 * 1024 * 1024
_UNCHANGED = "(unchanged since you read these lines; they are above)"


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    path = str(arguments.get("file_path", ""))
    offset, limit = arguments.get("offset") or 0, arguments.get("limit") or _LINES
    if not isinstance(offset, int) or not isinstance(limit, int) or offset < 0 or limit < 1:
        return AbilityOutcome("offset and limit are whole numbers, from 0 and from 1", ok=False)
    try:
        real = permitted(scene, path)
        window = read_window(real, offset, limit, head=_LOOK, limit=_FILE_LIMIT)
    except (OSError, OutsideWorkspaceError) as error:
        return AbilityOutcome(f"Cannot read {path}: {error.strerror or error}", ok=False)
    if b"\0" in window.head:
        return AbilityOutcome(f"(binary file, {window.size} bytes)")
    scene.read_at[real] = window.seen
    if scene.shown.get((real, offset, limit)) == window.seen:
        return AbilityOutcome(_UNCHANGED)
    scene.shown[real, offset, limit] = window.seen
    return AbilityOutcome(_numbered(window, offset))


def _numbered(window: Window, offset: int) -> str:
    if not window.lines:
        return "(no lines there)" if window.head else "(empty file)"
    lines = (line.decode("utf-8", "replace") for line in window.lines)
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(lines, offset + 1))
    if not window.more and window.exact:
        return numbered
    return f"{numbered}\n({'' if window.exact else 'more than '}{window.more} more lines)"


ABILITY = Ability(
    name="Read",
    category="info",
    description="Read a text file. Lines are numbered from 1; `offset` skips lines, `limit` is how many to show.",
    schema={
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 0},
            "limit": {"type": "integer", "minimum": 1},
        },
        "required": ["file_path"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Read {arguments.get('file_path', '')}",
    cap=100_000,
    concurrent=True,
    reaches=lambda arguments: [str(arguments.get("file_path", ""))],
)
