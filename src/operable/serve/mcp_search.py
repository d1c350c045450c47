"""Three tools in place of one per command, for a catalog that is larger than what a model should be given at once.

`search` finds commands by words, `describe` gives the schema of some, `call` calls one. A call is judged, recorded and
answered as if the command had been called by its own name: `call` is never the name of a call for the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from operable.offer.action import Action, check_arguments
from operable.serve.catalog import Operable
from operable.serve.mcp_tools import Toolbox, described, is_guarded

SEARCH, DESCRIBE, CALL = "search", "describe", "call"
SEARCH_NAMES: Final = (SEARCH, DESCRIBE, CALL)
SEARCH_INSTRUCTIONS: Final = (
    "`search` finds commands by words, `describe` gives their schemas, and `call` calls one by its name."
)
_FOUND = 20
_FOUND_LIMIT = 100
_DESCRIBED_LIMIT = 20
_TEXT = {"type": "string", "maxLength": 200}

_INPUTS: Final[dict[str, dict[str, Any]]] = {
    SEARCH: {
        "type": "object",
        "properties": {
            "query": {**_TEXT, "description": "words that name, description or program have; none finds all"},
            "limit": {"type": "integer", "minimum": 1, "maximum": _FOUND_LIMIT, "default": _FOUND},
        },
        "required": [],
        "additionalProperties": False,
    },
    DESCRIBE: {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": _DESCRIBED_LIMIT}
        },
        "required": ["names"],
        "additionalProperties": False,
    },
    CALL: {
        "type": "object",
        "properties": {
            "name": {**_TEXT, "description": "as `search` gives it"},
            "arguments": {"type": "object", "description": "as `describe` says"},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}
_COMMAND = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "program": {"type": "string"},
        "summary": {"type": "string"},
        "readOnly": {"type": "boolean"},
        "guarded": {"type": "boolean", "description": "a person is asked, unless a rule decides"},
    },
    "required": ["name", "program", "summary", "readOnly", "guarded"],
}
_OUTPUTS: Final[dict[str, dict[str, Any]]] = {
    SEARCH: {
        "type": "object",
        "properties": {"commands": {"type": "array", "items": _COMMAND}, "more": {"type": "integer"}},
        "required": ["commands", "more"],
    },
    DESCRIBE: {
        "type": "object",
        "properties": {"commands": {"type": "array", "items": {"type": "object"}}},
        "required": ["commands"],
    },
}
_SAID: Final = {
    SEARCH: "Find commands of programs, applications, agents and flows on this machine.",
    DESCRIBE: "Get the description, input schema and result schema of some commands.",
    CALL: "Call one command. It is judged by the rules as that command.",
}
SEARCH_TOOLS: Final[tuple[dict[str, Any], ...]] = tuple(
    {
        "name": name,
        "description": _SAID[name],
        "inputSchema": _INPUTS[name],
        **({"outputSchema": _OUTPUTS[name]} if name in _OUTPUTS else {}),
        "annotations": {"readOnlyHint": name != CALL, "destructiveHint": name == CALL},
    }
    for name in SEARCH_NAMES
)


def check_search(name: str, arguments: Mapping[str, Any]) -> None:
    """Raises Fail usage/INVALID_ARGUMENTS."""
    check_arguments(name, _INPUTS[name], arguments)


async def look(toolbox: Toolbox, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What `search` or `describe` answers. Raises Fail not_found/UNKNOWN_TOOL, authz for one that is off."""
    if name == DESCRIBE:
        return {
            "commands": [described(await toolbox.tool(each)) for each in dict.fromkeys(arguments["names"])]
        }
    words = str(arguments.get("query", "")).lower().split()
    found = [each for each in toolbox.listed() if all(word in _text(*each) for word in words)]
    # Those that are named so come before those that only mention it.
    found.sort(key=lambda each: -sum(word in each[0].lower() for word in words))
    limit = int(arguments.get("limit", _FOUND))
    return {"commands": [_shown(*each) for each in found[:limit]], "more": max(0, len(found) - limit)}


def _text(name: str, operable: Operable, action: Action) -> str:
    return f"{name} {operable.kind} {operable.description} {action.name} {action.summary}".lower()


def _shown(name: str, operable: Operable, action: Action) -> dict[str, Any]:
    return {
        "name": name,
        "program": operable.name,
        "summary": action.summary or operable.description,
        "readOnly": action.read_only,
        "guarded": is_guarded(action),
    }
