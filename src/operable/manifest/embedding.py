"""A block of another manifest may be written in place, wrapped in `inline`, or referred to: one reading for all forms.

sandbox: ./SANDBOX.md            a reference
sandbox: { ref: ./SANDBOX.md }   the same; `file` is a synonym
sandbox: { inline: { … } }       the block, wrapped
sandbox: { … }                   the block
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

_REFERENCES = ("ref", "file")


def embedded(data: dict[str, Any], key: str) -> dict[str, Any]:
    """The data with `data[key]` as the block itself, or as the reference as text."""
    given = data.get(key)
    if not isinstance(given, dict):
        return dict(data)
    for word in (*_REFERENCES, "inline"):
        if word in given:
            return {**data, key: given[word]}
    return dict(data)


def reference(part: ManifestPart) -> ManifestPart | None:
    """Where the reference of a field is; None when the field holds a block, or nothing."""
    if part.text is not None:
        return part
    return next((part.at(word) for word in _REFERENCES if part.at(word).text is not None), None)


def block(part: ManifestPart) -> ManifestPart:
    """Where the block of a field is; without a value when the field is a reference."""
    if reference(part) is not None:
        return ManifestPart(part.source, None, part.path)
    return part.at("inline") if part.at("inline").present else part


def one_form(part: ManifestPart) -> Iterator[Problem]:
    """A block written in place and a reference at once cannot both hold."""
    forms = [word for word in (*_REFERENCES, "inline") if part.at(word).present]
    others = [key for key, _ in part.entries() if key not in forms]
    if len(forms) > 1 or (forms and others):
        second = (forms[1:] or others)[0]
        yield part.at(second).problem(
            "INLINE_AND_REF",
            f"{part.key} has both {forms[0]!r} and {second!r}: exactly one form is allowed",
            "write the block in place, or refer to a file",
        )
