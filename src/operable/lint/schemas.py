"""Validation of what a tool publishes and emits: JSON Schema documents, capability manifests, events.

Needs jsonschema-rs; without it every question here is answered with `Untested`, never with a pass.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from operable.kernel.errors import Fail
from operable.lint.check import Untested
from operable.run.validator import Validator, self_contained, validator_available
from operable.spec.data_files import schema as published

_LIMIT = 200
# So many problems of one document are reported at once: an author who fixes one should not have to lint again to see the
# next.
_SEVERAL = 8
# Any of them makes a document speak of something; the rest of the vocabulary goes with them.
_KEYWORDS = frozenset(
    "type properties required allOf anyOf oneOf not if then else enum const items pattern patternProperties "
    "additionalProperties unevaluatedProperties definitions dependencies dependentSchemas title description id".split()
)
# The drafts that have a meta-schema which validators know.
DRAFTS = (
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)


def document_flaw(document: dict[str, Any]) -> str | None:
    """Why this is not a JSON Schema of the draft that it declares."""
    engine = _engine()
    if not any(name.startswith("$") or name in _KEYWORDS for name in document):
        # Every object is a valid schema, one that says nothing.
        return f"none of its names is a keyword: {', '.join(document)[:_LIMIT] or 'it has none'}"
    draft = document.get("$schema")
    if draft is not None and (not isinstance(draft, str) or draft.rstrip("#") not in DRAFTS):
        return f"`$schema` names no published draft: {draft!r}"
    try:
        engine.meta.validate(document)
        engine.validator_for(document, retriever=self_contained)
    except ValueError as error:  # ValidationError and ReferencingError are ValueErrors
        return str(error)[:_LIMIT]
    return None


def manifest_flaw(manifest: dict[str, Any]) -> str | None:
    """Why this is not a capability manifest."""
    engine = _engine()
    errors = list(engine.validator_for(published("aoi-capabilities")).iter_errors(manifest))
    flaws = [
        f"{''.join(f'/{step}' for step in error.instance_path) or '/'}: {error.message[:_LIMIT]}"
        for error in errors[:_SEVERAL]
    ]
    if len(errors) > _SEVERAL:
        flaws.append(f"and {len(errors) - _SEVERAL} more")
    return "; ".join(flaws) or None


@cache
def framework() -> Validator:
    """AOI's own rules for framework events."""
    _engine()
    return Validator(published("aoi-events"))


def events(schema: dict[str, Any] | None) -> Validator | None:
    """The tool's own rules; None when it has no schema, or one that cannot be used (which check 1 reports)."""
    _engine()
    if schema is None:
        return None
    try:
        return Validator(schema)
    except Fail:
        return None


def item_flaw(schema: dict[str, Any], item: dict[str, Any]) -> str | None:
    """Why an item of input is not what this schema says; None also if the schema cannot be used."""
    engine = _engine()
    try:
        engine.validator_for(schema, retriever=self_contained).validate(item)
    except engine.ValidationError as error:
        return str(error.message)[:_LIMIT]
    except ValueError:
        return None
    return None


def flaw(validator: Validator, event: dict[str, Any]) -> str | None:
    try:
        return validator.flaw(event)
    except Fail as problem:
        return problem.message


def _engine() -> Any:
    if not validator_available():
        raise Untested("validating needs the package jsonschema-rs: pip install operable")
    import jsonschema_rs

    return jsonschema_rs
