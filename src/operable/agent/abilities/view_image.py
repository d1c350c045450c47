"""ViewImage: show the model a picture. Only offered when the model can see."""

import os
from collections.abc import Mapping
from typing import Any

from operable.agent.session.history import IMAGE_LIMIT, image
from operable.agent.tool.ability import Ability, AbilityOutcome, Scene
from operable.agent.tool.workspace import OutsideWorkspaceError, permitted

_EXTENSIONS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


def _run(arguments: Mapping[str, Any], scene: Scene) -> AbilityOutcome:
    path = str(arguments.get("file_path", ""))
    try:
        real = permitted(scene, path)
        size = os.stat(real).st_size
    except (OSError, OutsideWorkspaceError) as error:
        return AbilityOutcome(f"Cannot read {path}: {error.strerror or error}", ok=False)
    if size > IMAGE_LIMIT:
        return AbilityOutcome(f"{path} has {size} bytes; at most {IMAGE_LIMIT} can be shown", ok=False)
    expected = _EXTENSIONS.get(os.path.splitext(real)[1].lower())
    found = image(real)
    if found is None or found.media_type != expected:
        return AbilityOutcome(
            f"{path} is not an image of the type that its name says (png, jpeg, gif or webp)", ok=False
        )
    return AbilityOutcome(
        f"{path} ({found.media_type}, {size} bytes)",
        output_type="image",
        metadata={"file_path": path, "media_type": found.media_type},
        image=found,
    )


ABILITY = Ability(
    name="ViewImage",
    category="info",
    description="Look at an image file (png, jpeg, gif, webp; at most 20 MB).",
    schema={
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
    run=_run,
    describe=lambda arguments: f"Look at {arguments.get('file_path', '')}",
    cap=1_000,
    reaches=lambda arguments: [str(arguments.get("file_path", ""))],
    offered=lambda capabilities: capabilities.get("image_input") == "supported",
)
