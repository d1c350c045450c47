"""A member that no version of the manifest knows: a typo, mostly.

In 0.1 the validator warns at four levels and is silent deeper down (`runtime.timout_ms` simply has no effect); in 0.2 it
refuses. Here every level is looked at, and the member that was probably meant is named.
"""

import re
from collections.abc import Iterator
from typing import Any

from operable.flow.manifest import vocabulary
from operable.flow.manifest.lint import Lint, Sighting
from operable.flow.manifest.shape import FLAT_IDENTITY, MANIFEST
from operable.flow.manifest.vocabulary import unknown_keys
from operable.kernel.catalogue import Suggestions

_STEP = re.compile(r"\.([a-z_]+)|\[[0-9]+\]")


def _look(manifest: Any) -> Iterator[Sighting]:
    if not isinstance(manifest, dict):
        return
    strict = manifest.get("version") == "0.2"
    suggestions: dict[tuple[str, ...], Suggestions] = {}  # by the members that an object may have
    for path, name in unknown_keys(manifest):
        flat = not strict and path.endswith(".identity") and name in vocabulary.FLAT_IDENTITY
        if flat:
            continue
        known = tuple(_known(path, strict=strict))
        if known not in suggestions:
            suggestions[known] = Suggestions(known)
        near = suggestions[known].near(name)
        shown = name if len(name) <= 60 else f"{name[:60]}…"
        yield Sighting(
            f"{path}.{shown}",
            f'"{shown}" is not a member of this object and has no effect',
            f"did you mean {' or '.join(near)}?" if near else "",
        )


def _known(path: str, *, strict: bool) -> list[str]:
    node = MANIFEST
    for step in _STEP.finditer(path):
        inner = node.fields.get(step[1]) if step[1] else node.item
        if inner is None:
            return []
        node = inner
    known = list(node.fields)
    return known + list(FLAT_IDENTITY.fields) if node.name == "identity" and not strict else known


LINT = Lint("warning", "every member is known in its place", _look)
