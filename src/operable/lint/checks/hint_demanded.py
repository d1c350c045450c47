"""A schema that makes a hint obligatory.

What it does
    Looks in the published schema at the definition of `aoi:error`: `hint` must not be required.

Why is this bad?
    A hint is for the person behind the consumer, and no program may act on it. Where it is obligatory, tools invent hints
    and consumers learn to depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.example import transcript
from operable.lint.schemas import document_flaw


def _tool(case: Case) -> Iterator[LintFinding]:
    schema = case.plan.schema
    if schema is None or document_flaw(schema) is not None:
        raise Untested("there is no schema; see check 1")
    case.seen.append(case.plan.discovery["schema"])
    if any("hint" in part.get("required", ()) for part in _about_errors(schema)):
        yield case.fail("the schema requires `hint` in aoi:error", case.plan.discovery["schema"])


def _about_errors(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The definitions that an aoi:error answers to."""
    for keyword in ("$defs", "definitions"):
        definitions = schema.get(keyword)
        for name, part in definitions.items() if isinstance(definitions, dict) else ():
            if not isinstance(part, dict):
                continue
            properties = part.get("properties")
            rule = properties.get("type") if isinstance(properties, dict) else None
            if name in ("aoi:error", "error") or (
                isinstance(rule, dict) and rule.get("const") == "aoi:error"
            ):
                yield part


def _schema(*required: str) -> dict[str, Any]:
    rules = {"aoi:error": {"properties": {"type": {"const": "aoi:error"}}, "required": list(required)}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": rules}


CHECK = LintCheck(
    name="hint-demanded",
    number=None,
    title="a hint is never obligatory",
    characteristics=("Typed",),
    level="SHOULD",
    section="1.3",
    passing=transcript("schema --output json", _schema("type", "category", "code", "message", "retryable")),
    failing=transcript(
        "schema --output json", _schema("type", "category", "code", "message", "retryable", "hint")
    ),
    hint="leave `hint` out of `required`",
    tool=_tool,
    page=__doc__,
)
