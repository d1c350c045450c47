"""A reference to a task or a profile that does not exist, with the one that was probably meant.

The validator refuses such a manifest; it does not say which name was meant.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Json, Lint, Sighting, block, objects, places, text, workflows
from operable.kernel.catalogue import Suggestions

_PROFILES = {
    "identity": "identity_profiles",
    "authorization_proof": "authorization_proof_profiles",
    "authorization": "authorization_profiles",
    "evidence": "evidence_profiles",
}


def _look(manifest: Any) -> Iterator[Sighting]:
    profiles = (
        {}
        if not isinstance(manifest, dict)
        else {
            name: _Names(
                f"{name} profile", [text(each, "id") for _, each in objects(manifest.get(array), "")]
            )
            for name, array in _PROFILES.items()
        }
    )
    for tasks in places(manifest):
        declared = _Names("task", [place.id for place in tasks if not place.is_handler])
        for place in tasks:
            if place.parent is not None and not place.is_handler:
                yield from declared.missed(f"{place.path}.trigger.parent", place.parent)
            yield from _references(profiles, place.path, place.task)
    for path, workflow in workflows(manifest):
        yield from _references(profiles, path, workflow)


def _references(profiles: "dict[str, _Names]", path: str, owner: Json) -> Iterator[Sighting]:
    for name, known in profiles.items():
        reference = text(block(owner, name), "ref")
        if reference is not None:
            yield from known.missed(f"{path}.{name}.ref", reference)


class _Names:
    """The names of one kind that a manifest declares, made once for all references to them."""

    def __init__(self, kind: str, names: list[str | None]) -> None:
        self._kind = kind
        self._names = list(dict.fromkeys(name for name in names if name is not None))
        self._known = frozenset(self._names)
        self._suggestions = Suggestions(self._names)

    def missed(self, path: str, name: str) -> Iterator[Sighting]:
        """One sighting if nothing has this name."""
        if name in self._known:
            return
        near = self._suggestions.near(name)
        yield Sighting(
            path,
            f"there is no {self._kind} of this name",
            f"did you mean {' or '.join(near)}?"
            if near
            else f"known: {', '.join(self._names[:10]) or 'none'}",
        )


LINT = Lint("error", "every reference has a target", _look)
