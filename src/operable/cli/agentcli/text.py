"""What the agentcli command line prints: JSON with two spaces, one line per item, or colours; errors as JSON on stderr."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from operable.flow.errors import FlowError, error_type, invalid_argument, known_code
from operable.flow.javascript_json import javascript_json

_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)')
_KEY, _STRING, _WORD, _NUMBER = "36", "32", "33", "35"


def output_format(flags: frozenset[str], environment: Mapping[str, str]) -> str:
    """`json` or `ndjson`; flags win over the environment."""
    wanted = environment.get("AGENTCLI_OUTPUT")
    if "json" in flags:
        return "json"
    if "ndjson" in flags:
        return "ndjson"
    if wanted in (None, ""):
        return "json"
    if wanted not in ("json", "ndjson"):
        raise invalid_argument(f"Unknown AGENTCLI_OUTPUT value: {wanted}. Accepted values: json, ndjson")
    return str(wanted)


def rendered(payload: Any, form: str, *, pretty: bool) -> str:
    """The text of a result, without its final newline."""
    if form == "ndjson":
        items = (
            payload
            if isinstance(payload, list)
            else payload.get("items")
            if isinstance(payload, dict)
            else None
        )
        return "\n".join(map(javascript_json, items if isinstance(items, list) else [payload]))
    text = javascript_json(payload, 2)
    return _TOKENS.sub(_coloured, text) if pretty else text


def error_text(problem: FlowError) -> str:
    """A failure as that program's callers read it."""
    validation = problem.details.get("validation")
    code = "validation_error" if validation is not None else known_code(problem.flow_code)
    said: dict[str, Any] = {
        "ok": False,
        "error": problem.message,
        "error_type": error_type(code),
        "code": code,
    }
    if validation is not None:
        said["validation"] = validation
    rest = {name: value for name, value in problem.details.items() if name != "validation"}
    return javascript_json({**said, **rest}, 2)


def _coloured(found: re.Match[str]) -> str:
    string, colon, word, number = found.groups()
    if string is not None:
        return f"\x1b[{_KEY if colon else _STRING}m{string}\x1b[0m{colon or ''}"
    return f"\x1b[{_WORD if word else _NUMBER}m{word or number}\x1b[0m"
