"""Read: the lines of a file, numbered.

What the model has just seen is not shown again: the same lines of a file that has not changed are answered with a word.
"""

from collections.abc import Mapping
from typing import Any

from operable.agent.ability import Ability, Outcome, Scene
from operable.agent.files import read_file
from operable.agent.workspace import OutsideWorkspaceError, permitted

_LOOK = 8192  # a NUL in the first bytes makes a file binary
_LINES = 2000  # unless the model asks for more
_FILE_LIMIT = 64 * 1024 * 1024
_UNCHANGED = "(unchanged since you read these lines; they are above)"


def _run(arguments: Mapping[str, Any], scene: Scene) -> Outcome:
    path = str(arguments.get("file_path", ""))
    offset, limit = arguments.get("offset") or 0, arguments.get("limit") or _LINES
    if not isinstance(offset, int) or not isinstance(limit, int) or offset < 0 or limit < 1:
        return Outcome("offset and limit are whole numbers, from 0 and from 1", ok=False)
    try:
        real = permitted(scene, path)
        data, modified = read_file(real, _FILE_LIMIT)
    except (OSError, OutsideWorkspaceError) as error:
        return Outcome(f"Cannot read {path}: {error.strerror or error}", ok=False)
    if b"\0" in data[:_LOOK]:
        return Outcome(f"(binary file, {len(data)} bytes)")
    scene.read_at[real] = modified
    if scene.shown.get((real, offset, limit)) == modified:
        return Outcome(_UNCHANGED)
    scene.shown[real, offset, limit] = modified
    return Outcome(_numbered(data.decode("utf-8", "replace"), offset, limit))


def _numbered(text: str, offset: int, limit: int) -> str:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    shown = lines[offset : offset + limit]
    if not shown:
        return "(no lines there)" if lines else "(empty file)"
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(shown, offset + 1))
    more = len(lines) - offset - len(shown)
    return numbered + (f"\n({more} more lines)" if more > 0 else "")


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
