"""A reference to a task or a profile that does not exist, with the one that was probably meant.

The validator refuses such a manifest; it does not say which name was meant.
"""

from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint.rule import Lint, Sighting
from operable.flow.manifest.lint.task_places import Json, block, objects, places, text, workflows
from operable.kernel.catalogue import nearest

_PROFILES = {
    "identity": "identity_profiles",
    "authorization_proof": "authorization_proof_profiles",
    "authorization": "authorization_profiles",
    "evidence": "evidence_profiles",
}


def _look(manifest: Any) -> Iterator[Sighting]:
    for tasks in places(manifest):
        declared = [place.id for place in tasks if place.id is not None and not place.is_handler]
        for place in tasks:
            if place.parent is not None and not place.is_handler:
                yield from _missed(f"{place.path}.trigger.parent", place.parent, declared, "task")
            yield from _references(manifest, place.path, place.task)
    for path, workflow in workflows(manifest):
        yield from _references(manifest, path, workflow)


def _references(manifest: Json, path: str, owner: Json) -> Iterator[Sighting]:
    for name, array in _PROFILES.items():
        reference = text(block(owner, name), "ref")
        if reference is not None:
            ids = [text(profile, "id") for _, profile in objects(manifest.get(array), "")]
            known = [identifier for identifier in ids if identifier is not None]
            yield from _missed(f"{path}.{name}.ref", reference, known, f"{name} profile")


def _missed(path: str, name: str, known: list[str], kind: str) -> Iterator[Sighting]:
    if name in known:
        return
    dashed = {identifier.replace("_", "-").lower(): identifier for identifier in known}
    near = [dashed[found] for found in nearest(name, list(dashed))]
    yield Sighting(
        path,
        f"there is no {kind} of this name",
        f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known[:10]) or 'none'}",
    )


LINT = Lint("error", "names lead to what they name", _look)
