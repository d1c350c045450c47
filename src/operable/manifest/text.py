"""A manifest as text: the frontmatter of a value as YAML between fences, then the body. `parse(render(value))` is the value.

For tools that write manifests (imports, drafts, scaffolds). Fields that have their default are left out.
"""

from __future__ import annotations

from io import StringIO
from typing import Any

import msgspec

from operable.manifest.blocks import Block


def render(value: Block | dict[str, Any], body: str = "") -> str:
    """The text of a manifest. `value` is a model, or plain values in the order to be written."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    yaml.default_flow_style = False
    # Never fold: a line of YAML is a line of the author.
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(msgspec.to_builtins(value, str_keys=True), text)
    return f"---\n{text.getvalue()}---\n{body}"
