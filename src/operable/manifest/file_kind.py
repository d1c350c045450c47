"""Which kind of manifest a file is: by its name (`AGENT-CLI.md`, `hermes.ACP.md`), else by what it says.

A name is only a hint where others use it too: an APP.md may be another format, or prose. What is recognised by neither is
refused with the reason; nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from operable.manifest.frontmatter import Document
from operable.manifest.kind import Kind, all_kinds
from operable.manifest.problem import ManifestError, Problem

# Other formats and plain prose have files of this name.
_SHARED_NAMES = ("APP.md",)


def by_name(path: str) -> Kind | None:
    """The kind whose file name this is, alone or after a dot."""
    name = os.path.basename(path)
    found = [
        kind for kind in all_kinds().values() if name == kind.file_name or name.endswith(f".{kind.file_name}")
    ]
    return found[0] if found else None


def by_content(data: Mapping[str, Any]) -> Kind | None:
    """The only kind that recognises the content; Returns None if no kind fits, or more than one."""
    found = [kind for kind in all_kinds().values() if kind.recognise(data)]
    return found[0] if len(found) == 1 else None


def recognised(path: str, document: Document) -> Kind:
    """The kind of a document, or a ManifestError that says why it has none."""
    kind = by_name(path)
    if kind is not None and (kind.file_name not in _SHARED_NAMES or kind.recognise(document.data)):
        return kind
    if kind is not None:
        message = (
            f"this {kind.file_name} is not of the kind {kind.name}: another format has the same file name"
        )
        hint = "say kind: app and entry.command, if it is one"
        raise ManifestError([Problem(path, 1, 1, "KIND_UNRELATED", message, hint)])
    kind = by_content(document.data)
    if kind is None:
        known = ", ".join(each.file_name for each in all_kinds().values())
        message = "neither the name nor the content shows what kind of manifest this is"
        raise ManifestError([Problem(path, 1, 1, "KIND_UNKNOWN", message, f"known: {known}")])
    return kind
