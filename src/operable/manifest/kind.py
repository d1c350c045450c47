"""What a kind of manifest is, and the catalogue of them: one file of `kinds/` each, ending with `KIND`.

A kind says which file names are its own, and which content identifies it in a file with another name. It also names the
published schema, the model of the values, and the rules across its fields. `load` does the rest for all of them alike,
so that a further kind is one file and one schema.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from operable.kernel.catalogue import load, names
from operable.kernel.data_class import dataclass
from operable.manifest.blocks import Block
from operable.manifest.frontmatter import Document
from operable.manifest.part import ManifestPart
from operable.manifest.problem import ManifestError, Problem

Rule = Callable[[ManifestPart], Iterable[Problem]]
"""Complaints about fields that do not fit each other, in one document."""
BodyRule = Callable[[ManifestPart, str], Iterable[Problem]]
"""Complaints about a body that does not fit its frontmatter."""
BoundRule = Callable[[ManifestPart, Mapping[str, ManifestPart]], Iterable[Problem]]
"""Complaints about a document that does not fit those that it refers to (by the name of the reference)."""

_PACKAGE = "operable.manifest.kinds"


# Other formats and plain prose have files of this name.
_SHARED_NAMES = ("APP.md",)


@dataclass(frozen=True, slots=True)
class Reference:
    """A field that names another manifest: where it is, what kind it leads to, what to call a failure."""

    name: str
    path: tuple[str, ...]
    kind: str
    unresolvable: str = "REF_UNRESOLVABLE"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of manifest; see the module's docstring."""

    name: str
    file_name: str
    schema: str
    model: type[Block]
    summary: str
    recognise: Callable[[Mapping[str, Any]], bool]
    rules: tuple[Rule, ...] = ()
    body_rules: tuple[BodyRule, ...] = ()
    references: tuple[Reference, ...] = ()
    more_references: Callable[[ManifestPart], Iterable[Reference]] | None = None
    """References whose number depends on the document."""
    bound_rules: tuple[BoundRule, ...] = ()
    normalise: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """From what may be written to what the model contains (two spellings of one thing); called on valid data."""
    relax: Callable[[ManifestPart], Iterable[tuple[ManifestPart, Any, str]]] | None = None
    """For tolerant loading: places that contain another shape than published -> what to read there, and what it means."""
    open: bool = False
    """Whether the specification lets vendors add keys: an unknown one is then never more than a warning."""
    extensions: Mapping[str, str] = field(default_factory=dict)
    """Keys of reference implementations that the published schema lacks -> what they mean; `*` is any one key."""


@cache
def all_kinds() -> dict[str, Kind]:
    """All kinds by name, sorted."""
    directory = str(Path(__file__).parent / "kinds")
    return {name: load(_PACKAGE, name, "KIND", kind="manifest kind") for name in names(directory)}


def kind_named(name: str) -> Kind:
    """One kind by name; a Fail names the known ones."""
    found: Kind = load(_PACKAGE, name, "KIND", kind="manifest kind")
    return found


# Which kind of manifest a file is: by its name (`AGENT-CLI.md`, `hermes.ACP.md`), else by what it says.
#
# A name is only a hint where others use it too: an APP.md may be another format, or prose. What is recognised by
# neither is refused with the reason; nothing is guessed.


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
