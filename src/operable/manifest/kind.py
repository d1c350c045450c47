"""What a kind of manifest is, and the catalogue of them: one file of `kinds/` each, ending with `KIND`.

A kind says which file names are its own, and which content identifies it in a file with another name. It also names the
published schema, the model of the values, and the rules across its fields. `load` does the rest for all of them alike,
so that a further kind is one file and one schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from operable.kernel.catalogue import load, names
from operable.manifest.blocks import Block
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

Rule = Callable[[ManifestPart], Iterable[Problem]]
"""Complaints about fields that do not fit each other, in one document."""
BodyRule = Callable[[ManifestPart, str], Iterable[Problem]]
"""Complaints about a body that does not fit its frontmatter."""
BoundRule = Callable[[ManifestPart, Mapping[str, ManifestPart]], Iterable[Problem]]
"""Complaints about a document that does not fit those that it refers to (by the name of the reference)."""

_PACKAGE = "operable.manifest.kinds"


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
