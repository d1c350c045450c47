"""`notes`, a conforming tool that exists only as answers: what the examples of the checks leave out, it says."""

from __future__ import annotations

import json
from typing import Any

from operable.lint.check import RoomChange
from operable.lint.evidence import Invocation, Observation
from tests.zoo.bases import contract

COMMANDS = ("list", "get", "doctor", "create", "delete", "import", "watch")
_MISUSE = (
    "--no-such",
    "no-such-",
    "not-a-number",
    "9999",
    "https:",
    "0",
    "-1",
    "424242",
    "--confirm=false",
    "no-such-thing",
)
_SIGNALS = {"SIGINT": 130, "SIGTERM": 143}


def events(invocation: Invocation) -> set[str]:
    """What happens to a call, in the words of the transcripts."""
    found: set[str] = {invocation.signal} if invocation.signal and not invocation.watch else set()
    found |= {"the reader goes away"} if invocation.reader != "patient" else set()
    found |= {"a terminal"} if invocation.terminal else set()
    found |= {"a full disk"} if invocation.output == "full" else set()
    found |= {"an empty place"} if invocation.bare and invocation.words[0] in COMMANDS else set()
    found |= {"no input"} if invocation.stdin == b"" and not invocation.hold_stdin else set()
    found |= {"an open input"} if invocation.stdin == b"" and invocation.hold_stdin else set()
    found |= {"no such field"} if b"no_such_field" in (invocation.stdin or b"") else set()
    found |= {"an upstream that dies"} if _cut(invocation) else set()
    found |= {"a malformed line"} if b'{"broken"' in (invocation.stdin or b"") else set()
    return found


def _cut(invocation: Invocation) -> bool:
    """Whether its input is a stream without an end."""
    lines = (invocation.stdin or b"").splitlines()
    return bool(lines) and b"aoi:meta" in lines[0] and b"aoi:summary" not in lines[-1]


def answer(invocation: Invocation, kept: int = 3) -> tuple[Observation, tuple[RoomChange, ...]]:
    """What it does when it keeps so many notes."""
    lines, status = _lines(invocation, kept)
    changes: tuple[RoomChange, ...] = ()
    if status == 0 and {"created", "deleted"} & {line.get("type") for line in lines}:
        changes = (RoomChange("work/notes.json", "changed"),)
    stdout = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    if invocation.words[:1] in (("--help",), ("-h",)):
        stdout = "usage: notes COMMAND\n"
    elif invocation.words[:1] == ("--version",):
        stdout = "notes 3.1.4\n"
    seen = Observation(
        invocation,
        "notes",
        stdout.encode(),
        "",
        status,
        0.01,
        first_output=0.01 if stdout else None,
        arrivals=((0.01, len(stdout)),),
        signalled=0.3 if status in _SIGNALS.values() else None,
        stalled=len(stdout) // 2 if invocation.room else None,
        outgoing=(),
    )
    return seen, changes


def _lines(invocation: Invocation, kept: int) -> tuple[list[dict[str, Any]], int]:
    words = invocation.words
    documents: dict[str, Any] = contract.contract()
    name = words[0]
    if words in (("schema", "--output", "json"), ("capabilities", "--output", "json")):
        return [documents[name]], 0
    if name == "input-schema":
        return [documents["inputs"][words[words.index("--command") + 1]]], 0
    if name in ("--help", "-h", "--version"):
        return [], 0
    meta = {
        "type": "aoi:meta",
        "tool": "notes",
        "tool_version": "3.1.4",
        "aoi_version": "0.2",
        "schema_name": "com.example.notes.events",
        "schema_version": "1.0.0",
        "command": name,
    }
    if invocation.reader != "patient":
        return [], 141
    if invocation.output == "full":
        return [], 74
    problem = _problem(invocation)
    if problem is not None:
        status = 64 if problem["category"] == "usage" else 65
        return [meta, problem, {"type": "aoi:summary", "ok": False, "count": 0}], status
    results, more = _results(name, words, kept)
    if invocation.signal:
        beats = [{"type": "aoi:heartbeat"}] if name == "watch" else []
        end = {"type": "aoi:summary", "ok": False, "reason": "interrupted", "partial": True}
        return [meta, *results[:1], *beats, end], _SIGNALS[invocation.signal]
    return [meta, *results, {"type": "aoi:summary", "ok": True, "count": len(results), **more}], 0


def _problem(invocation: Invocation) -> dict[str, Any] | None:
    words = invocation.words
    operands = [word for word in words[1:] if not word.startswith("-") and word != "jsonl"]
    refused = (
        words[0] not in COMMANDS
        or bool(invocation.raw)
        or "--timeout" in words
        or any(word.startswith(_MISUSE) or "~" in word for word in words)
        or (words[0] in ("get", "create", "delete") and not operands)
        or (words[0] == "delete" and not {"--confirm", "--dry-run"} & set(words))
        or ("--idempotency-key" in words and "b" in words)
    )
    error = {"type": "aoi:error", "category": "usage", "code": "REFUSED", "message": "no", "retryable": False}
    lines = (invocation.stdin or b"").splitlines()
    bad = next((number for number, line in enumerate(lines, 1) if line[:1] != b"{" or _unfit(line)), None)
    if words[0] in ("get", "delete") and operands[:1] == ["no-such-thing-7f3a"]:
        return {**error, "category": "not_found"}
    if bad is not None:
        return {**error, "line_number": bad}
    failed = _cut(invocation) or any(b'"ok":false' in line for line in lines[-1:])
    return error if refused or failed else None


def _unfit(line: bytes) -> bool:
    """Whether it is cut, or not what the schema of the input says."""
    if b"broken" in line:
        return True
    item = json.loads(line)
    framework = str(item.get("type", "")).startswith("aoi:")
    return not framework and (not isinstance(item.get("title"), str) or "no_such_field" in item)


def _results(name: str, words: tuple[str, ...], kept: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    entries = [{"type": "entry", "id": f"n{number}", "title": "a"} for number in range(1, kept + 1)]
    if "--dry-run" in words:
        return [{"type": "aoi:plan", "action": name}], {}
    if name == "list":
        after = int(words[words.index("--cursor") + 1]) if "--cursor" in words else 0
        limit = int(words[words.index("--limit") + 1]) if "--limit" in words else 100
        left = entries[after:]
        cut = len(left) > limit
        return left[:limit], {"truncated": cut, "next_cursor": str(after + limit) if cut else None}
    if name == "get":
        return [{"type": "entry", "id": words[1], "title": "a"}], {}
    if name == "doctor":
        return [{"type": "aoi:check", "name": "home", "ok": True, "severity": "info", "detail": ""}], {}
    if name == "watch":
        return entries[:1], {}
    kind = "deleted" if name == "delete" else "created"
    number = 4 if kind == "deleted" else 1
    return [{"type": kind, "id": f"n{number}"}], {}
