"""Write: a whole file, in one step. A file that has changed since the model read it is not overwritten."""

from collections.abc import Mapping
from typing import Any

from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.workspace import OutsideWorkspaceError, permitted
from operable.state.real_file import replace_file


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    path, content = str(arguments.get("file_path", "")), arguments.get("content")
    if not path or not isinstance(content, str):
        return AbilityOutcome("Write needs file_path and content", ok=False)
    try:
        real = permitted(scene, path)
        data = content.encode("utf-8", "replace")
        existed, scene.read_at[real] = replace_file(real, data, seen=scene.read_at.get(real))
    except (OSError, OutsideWorkspaceError) as error:
        return AbilityOutcome(f"Cannot write {path}: {error.strerror or error}", ok=False)
    lines = content.count("\n") + (1 if content and not content.endswith("\n") else 0)
    return AbilityOutcome(
        f"{'Updated' if existed else 'Created'} {path} ({lines} lines)", metadata={"file_path": path}
    )


ABILITY = Ability(
    name="Write",
    category="edit",
    description="Create a file or replace all of it. Missing folders are made.",
    schema={
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["file_path", "content"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Write to {arguments.get('file_path', '')}",
    cap=10_000,
    reaches=lambda arguments: [str(arguments.get("file_path", ""))],
)
