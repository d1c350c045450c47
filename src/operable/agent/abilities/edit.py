"""Edit: replace one passage of a file that the model has read and that has not changed since.

The passage must occur once, or `replace_all` must be said. A file with CRLF line ends is matched by a passage with
LF, and keeps its line ends. The answer is the difference, as a unified diff.
"""

import difflib
from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.workspace import OutsideWorkspaceError, permitted
from operable.state.real_file import Seen, read_file, replace_file

_FILE_LIMIT = 64 * 1024 * 1024


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    path = str(arguments.get("file_path", ""))
    old, new = arguments.get("old_string"), arguments.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return AbilityOutcome("Edit needs file_path, old_string (not empty) and new_string", ok=False)
    if old == new:
        return AbilityOutcome("old_string and new_string are the same", ok=False)
    try:
        real = permitted(scene, path)
        if real not in scene.read_at:
            return AbilityOutcome(f"Read {path} before editing it", ok=False)
        data, modified = read_file(real, _FILE_LIMIT)
        if (seen := Seen.of(data, modified)) != scene.read_at[real]:
            return AbilityOutcome(f"{path} has changed since it was read; read it again", ok=False)
        before = data.decode("utf-8")
        after = _replaced(before, old, new, everywhere=arguments.get("replace_all") is True)
        if isinstance(after, AbilityOutcome):
            return after
        _, scene.read_at[real] = replace_file(real, after.encode("utf-8", "replace"), seen=seen)
    except UnicodeDecodeError:
        return AbilityOutcome(f"{path} is not UTF-8 text", ok=False)
    except (OSError, OutsideWorkspaceError) as error:
        return AbilityOutcome(f"Cannot edit {path}: {error.strerror or error}", ok=False)
    return AbilityOutcome(_difference(before, after, path), output_type="diff", metadata={"file_path": path})


def _replaced(text: str, old: str, new: str, *, everywhere: bool) -> str | AbilityOutcome:
    if old not in text and "\r\n" in text:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if count == 0:
        return AbilityOutcome("old_string does not occur in the file", ok=False)
    if count > 1 and not everywhere:
        return AbilityOutcome(
            f"old_string occurs {count} times; give more of its surroundings, or replace_all", ok=False
        )
    return text.replace(old, new)


def _difference(before: str, after: str, path: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}", lineterm=""
    )
    return "\n".join(lines)


ABILITY = Ability(
    name="Edit",
    category="edit",
    description=(
        "Replace old_string by new_string in a file that you have read. "
        "old_string must occur exactly once unless replace_all."
    ),
    schema={
        "type": "object",
        "properties": {
            "file_path": {"type": "string"},
            "old_string": {"type": "string"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        "required": ["file_path", "old_string", "new_string"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Edit {arguments.get('file_path', '')}",
    cap=10_000,
    reaches=lambda arguments: [str(arguments.get("file_path", ""))],
)
