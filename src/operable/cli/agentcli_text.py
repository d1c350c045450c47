"""What the agentcli command line prints: JSON with two spaces, one line per item, or colours; errors as JSON on stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from operable.flow.contracts import FlowError
from operable.flow.failures import error_type, invalid_argument, known_code

_SURROGATE = re.compile("[\ud800-\udfff]")
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
        return "\n".join(map(_compact, items if isinstance(items, list) else [payload]))
    text = spaced(payload)
    return _TOKENS.sub(_coloured, text) if pretty else text


def spaced(value: Any) -> str:
    return _escaped(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def error_text(problem: FlowError) -> str:
    """A failure as that program's callers read it."""
    validation = problem.details.get("validation")
    code = "validation_error" if validation is not None else known_code(problem.code)
    said: dict[str, Any] = {
        "ok": False,
        "error": problem.message,
        "error_type": error_type(code),
        "code": code,
    }
    if validation is not None:
        said["validation"] = validation
    rest = {name: value for name, value in problem.details.items() if name != "validation"}
    return spaced({**said, **rest})


def _compact(value: Any) -> str:
    return _escaped(json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False))


def _plain(value: Any) -> Any:
    """Numbers as JavaScript prints them: 5.0 is 5."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return None
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    return value


def _escaped(text: str) -> str:
    if "e-0" in text:  # 1e-07 is 1e-7 there
        text = _TOKENS.sub(lambda found: found[0].replace("e-0", "e-") if found[4] else found[0], text)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _coloured(found: re.Match[str]) -> str:
    string, colon, word, number = found.groups()
    if string is not None:
        return f"\x1b[{_KEY if colon else _STRING}m{string}\x1b[0m{colon or ''}"
    return f"\x1b[{_WORD if word else _NUMBER}m{word or number}\x1b[0m"
