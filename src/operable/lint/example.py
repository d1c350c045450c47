"""The examples that a check carries: transcripts of a tool `notes`, for people to read and for the check to judge.

A call begins with `$ notes`; behind `  # ` is what happens to it: `SIGINT`, `SIGTERM`, `the reader goes away`, `a
terminal`, `a full disk` that stdout leads to, `an empty place` without environment and HOME, `no input`, `a malformed line`
or `an upstream that dies` in its input. Keys and secrets are `…`, and `--output jsonl` goes without saying. The lines below
are its stdout; `2> ` marks stderr (`2| `: without a line end), `tty> ` what it writes to a terminal. What else was observed
is a remark: `# exit 64`, `# changes work/notes.json`, `# reaches …`, `# only when it is stopped`, `# does not end`. Equal
calls are answered in their order. What is not shown is done as a conforming tool would.
"""

from __future__ import annotations

import json
from typing import Any

_META: dict[str, Any] = {
    "type": "aoi:meta",
    "tool": "notes",
    "tool_version": "3.1.4",
    "aoi_version": "0.2",
    "schema_name": "com.example.notes.events",
    "schema_version": "1.0.0",
}


def transcript(call: str, *lines: str | dict[str, Any]) -> str:
    """One call and what came of it; events are given as objects."""
    reported = [line if isinstance(line, str) else _event(line) for line in lines]
    return "\n".join([f"$ notes {call}".rstrip(), *reported])


def meta(command: str, **other: Any) -> dict[str, Any]:
    """The first event of a stream; a field that is None is left out."""
    return {
        name: value for name, value in (_META | {"command": command} | other).items() if value is not None
    }


def error(code: str, category: str = "usage", **other: Any) -> dict[str, Any]:
    words = code.replace("_", " ").lower()
    return {
        "type": "aoi:error",
        "category": category,
        "code": code,
        "message": words,
        "retryable": False,
    } | other


def summary(ok: bool, **other: Any) -> dict[str, Any]:
    return {"type": "aoi:summary", "ok": ok} | other


def _event(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


ENTRY = {"type": "entry", "id": "n1", "title": "a"}
CREATED = {"type": "created", "id": "n1", "title": "a"}
INTERRUPTED = summary(False, reason="interrupted", partial=True)
