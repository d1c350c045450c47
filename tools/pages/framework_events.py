"""The framework event schemas as a Python literal.

Tools print their schema at interpreter start-up speed, so they cannot afford to import `json` and parse the published file.
"""

import pprint
from typing import Any

from operable.spec import schema

PATH = "src/operable/spec/framework_events.py"
HEAD = '''"""The framework events of AOI-CLI 0.2 by type, as JSON Schemas without references.

Generated from schemas/aoi-events.schema.json by `./dev fix`; change it there.
"""

# fmt: off
# ruff: noqa: E501
FRAMEWORK_EVENTS: dict[str, dict[str, object]] = '''


def render() -> str:
    definitions = schema("aoi-events")["$defs"]
    events = {
        name: _inlined(part, definitions) for name, part in definitions.items() if name.startswith("aoi:")
    }
    return HEAD + pprint.pformat(events, width=110, sort_dicts=False) + "\n"


def _inlined(part: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inlined(inner, definitions) for inner in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(definitions[part["$ref"].removeprefix("#/$defs/")], definitions)
    return {name: _inlined(inner, definitions) for name, inner in part.items()}
