"""Input that its own schema refuses, and the command takes.

What it does
    Takes a good item of a command that reads JSONL, and the schema that the tool publishes for it. It spoils the item: a
    field that the schema does not know, where it allows no others; a value of another type; without a required field. If
    the schema refuses the item, the command must refuse it, or report an error for it.

Why is this bad?
    A field that is dropped, or a number that becomes a text, is a change of the caller's data that no event reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.evidence import encode, excerpt
from operable.lint.example import error, meta, summary, transcript
from operable.lint.schemas import document_flaw, item_flaw

_UNKNOWN = "no_such_field"
# A value of another type, by the type that the schema asks for.
_OTHERS: dict[str, Any] = {"string": 7, "integer": "seven", "number": "seven", "boolean": "yes", "array": 7}


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.reads_jsonl:
        raise NotApplicable("it takes no JSONL input")
    schema = command.item_schema
    if schema is None:
        raise NotApplicable("it publishes no schema of what it reads, which is only advised")
    if document_flaw(schema) is not None:
        raise Untested("the schema of what it reads cannot be used; see check 1")
    call = case.sample_invocation()
    good = _first(call.stdin or b"")
    if good is None or "-" not in call.words:
        raise Untested("there is no sample input; give it `stdin` in the profile")
    if item_flaw(schema, good) is not None:
        raise Untested("the sample input does not fit the schema; give it other `stdin` in the profile")
    tried = 0
    for what, item in _spoilt(schema, good):
        if item_flaw(schema, item) is None:
            continue
        tried += 1
        seen = case.observe(replace(call, stdin=encode(item).encode() + b"\n"))
        if seen.succeeded and not seen.errors:
            yield case.fail(
                f"{what} is taken, though the schema refuses it", seen, excerpt=excerpt(encode(item))
            )
    if not tried:
        raise Untested("its schema refuses nothing that was tried")


def _first(data: bytes) -> dict[str, Any] | None:
    for line in data.splitlines():
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict) and not str(value.get("type", "")).startswith("aoi:"):
            return value
    return None


def _spoilt(schema: dict[str, Any], good: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "a field that the schema does not know", good | {_UNKNOWN: 1}
    rules = schema.get("properties")
    for name, rule in rules.items() if isinstance(rules, dict) else ():
        kind = rule.get("type") if isinstance(rule, dict) else None
        if name in good and isinstance(kind, str) and kind in _OTHERS:
            yield f"`{name}` that is not of the type `{kind}`", good | {name: _OTHERS[kind]}
            break
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        yield f"an item without `{name}`", {key: value for key, value in good.items() if key != name}
        break


CHECK = LintCheck(
    name="input-against-schema",
    number=None,
    title="input is held to its schema",
    characteristics=("Typed",),
    level="MUST",
    section="12.1",
    passing=transcript(
        "import --input-jsonl -  # no such field",
        meta("import"),
        error("INPUT_INVALID", "validation", line_number=1),
        summary(False),
        "# exit 65",
    ),
    failing=transcript(
        "import --input-jsonl -  # no such field",
        meta("import"),
        {"type": "created", "id": "n1", "title": "x"},
        summary(True, count=1),
        "# changes work/notes.json",
    ),
    hint="validate each item against the schema that `input-schema` publishes, before the first effect",
    command=_command,
    page=__doc__,
)
