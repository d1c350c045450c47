"""Event streams by their number of events: every command passes them on, and none keeps them."""

import json
from collections.abc import Callable
from pathlib import Path

from bench._growth.operation import Operation, Run, operable, script

_EVENTS = (10_000, 100_000, 1_000_000)
_LINES = (10_000, 100_000, 1_000_000)
_META = {"type": "aoi:meta", "tool": "t", "tool_version": "1.0.0", "schema": "t", "schema_version": "1.0.0"}
_REDACTED = """
import sys
from operable.kernel.redact import Redactor
redactor = Redactor(["a-secret-value-of-this-run"])
for line in open(sys.argv[1], "rb"):
    redactor.line(line)
"""
_CASSETTE = {"type": "cassette", "version": 1, "argv": ["t"], "stdin": None}


def _event(number: int) -> str:
    return json.dumps({"type": "hit", "id": f"n-{number:08d}", "title": "A note with a title", "score": 0.5})


def _stream(path: Path, size: int) -> Path:
    """What a tool prints: a meta, the events, a summary; a shell script that prints it is the tool."""
    with path.open("w") as file:
        file.write(json.dumps(_META) + "\n")
        file.writelines(_event(number) + "\n" for number in range(size))
        file.write(json.dumps({"type": "aoi:summary", "ok": True, "count": size}) + "\n")
    return path


def _called(*words: str) -> Callable[[Path, int], Run]:
    def make(folder: Path, size: int) -> Run:
        stream = _stream(folder / "stream.jsonl", size)
        return operable(folder, *words, "--exact", "--", "cat", str(stream))

    return make


def _recorded(folder: Path, size: int) -> Run:
    stream, cassette = _stream(folder / "stream.jsonl", size), folder / "a.cassette"
    return operable(folder, "record", "--to", str(cassette), "--force", "--exact", "--", "cat", str(stream))


def _piped(folder: Path, size: int) -> Run:
    stream = _stream(folder / "stream.jsonl", size)
    return operable(folder, "pipe", "--exact", "--", "cat", str(stream), ":::", "cat")


def _replayed(folder: Path, size: int) -> Run:
    cassette = folder / "a.cassette"
    with cassette.open("w") as file:
        file.write(json.dumps(_CASSETTE) + "\n")
        for number in range(size):
            file.write(json.dumps({"type": "out", "at": number / 1e6, "line": _event(number)}) + "\n")
        file.write(json.dumps({"type": "err", "text": "", "total": 0, "omitted": 0}) + "\n")
        end = {
            "type": "end",
            "status": 0,
            "elapsed": 1.0,
            "verdict": "OK",
            "redacted_lines": 0,
            "truncated": False,
        }
        file.write(json.dumps(end) + "\n")
    return operable(folder, "replay", str(cassette), "--no-wait")


def _checked(folder: Path, size: int) -> Run:
    return operable(folder, "check", str(_stream(folder / "stream.jsonl", size)))


def _redacted(folder: Path, size: int) -> Run:
    path = folder / "lines"
    with path.open("w") as file:
        file.writelines(
            f"line {number}: token=abc user=someone https://example.com/{number}\n" for number in range(size)
        )
    return script(folder, _REDACTED, str(path))


def _compared(folder: Path, size: int) -> Run:
    """Two releases of a tool with so many event types, of which every tenth has changed."""
    for name, changed in (("old", False), ("new", True)):
        definitions = {
            f"E{number}": {
                "type": "object",
                "properties": {
                    "type": {"const": f"e-{number}"},
                    "value": {"type": "integer" if changed and number % 10 == 0 else "string"},
                },
                "required": ["type"],
            }
            for number in range(max(1, size))
        }
        schema = {
            "$id": "urn:aoi:schema:t:1.0.0",
            "$defs": definitions,
            "oneOf": [{"$ref": f"#/$defs/{name}"} for name in definitions],
        }
        (folder / f"{name}.json").write_text(json.dumps(schema))
    return operable(folder, "diff", str(folder / "old.json"), str(folder / "new.json"), fine=(0, 65))


OPERATIONS = [
    Operation("run", _EVENTS, _called("run"), flat_memory=True),
    Operation("run --limit 5", _EVENTS, _called("run", "--limit", "5"), flat_memory=True),
    Operation("record", _EVENTS, _recorded, flat_memory=True),
    Operation("replay --no-wait", _EVENTS, _replayed, flat_memory=True),
    Operation("pipe", _EVENTS, _piped, flat_memory=True),
    Operation("check", _EVENTS, _checked, flat_memory=True),
    Operation("diff of event types", (100, 1000, 10_000), _compared),
    Operation("redactor, lines", (3000, 30_000, 300_000), _redacted, flat_memory=True),
]
