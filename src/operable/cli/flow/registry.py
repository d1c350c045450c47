"""What the commands of the registry do: `operable flow registry`, `register`, `unregister` and `import`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from operable.cli.flow.backends import local_home
from operable.cli.flow.events import RegisteredFlow, RegisteredManifest, RegistryChange
from operable.cli.flow.input import addressed, answer, read_manifest
from operable.flow import registry
from operable.flow.canonical import canonical_digest
from operable.flow.compile.target import require_valid
from operable.flow.registry import discover, name_of
from operable.kernel.errors import Fail
from operable.tool import Change

_PROBLEMS = {
    "symlink_refused": "it is a symbolic link",
    "invalid_type_refused": "it is not a regular file",
    "parse_error": "it is not a manifest",
}


class KeptManifest(NamedTuple):
    """What an addition to the registry carries: the plan shows the digest of the manifest only."""

    home: str
    manifest: Any


def listed(home: str | None) -> Iterator[RegisteredFlow]:
    for entry in answer("registry-list", "registry", home=home)["entries"]:
        reasons = [words for marker, words in _PROBLEMS.items() if entry.get(marker)]
        yield RegisteredFlow(
            name=entry["name"], workflows=entry.get("workflows", []), problem=next(iter(reasons), None)
        )


def shown(name: str, home: str | None) -> Iterator[RegisteredManifest]:
    _require(local_home(home), name)
    found = answer("registry-show", name, home=home, name=name)
    yield RegisteredManifest(name=name, manifest=found["manifest"])


def planned_addition(file: str, name: str | None, home: str | None) -> Iterator[Change[KeptManifest]]:
    place = local_home(home)
    chosen = name or ("" if file == "-" else registry.default_name(file))
    if not chosen:
        raise Fail("usage", "NAME_MISSING", "a manifest from standard input needs a name", hint="--name disk")
    yield _addition(place, chosen, read_manifest(file), None)


def planned_import(folder: str, name: str | None, home: str | None) -> Iterator[Change[KeptManifest]]:
    place = local_home(home)
    with addressed(folder):
        path, _, manifest = discover(folder)
    yield _addition(place, name or name_of(folder), manifest, os.path.abspath(path))


def _addition(home: str, name: str, manifest: Any, imported_from: str | None) -> Change[KeptManifest]:
    with addressed(imported_from or name):
        require_valid(manifest)
        verb = "replace" if registry.exists(home, name) else "add"
        change = Change(verb, name, digest=canonical_digest(manifest), imported_from=imported_from)
        return change.carry(KeptManifest(home, manifest))


def added(change: Change[KeptManifest]) -> RegistryChange:
    with addressed(change.target):
        done = registry.add(change.payload.home, change.target, change.payload.manifest)
    return RegistryChange(
        name=done["name"],
        action="replaced" if done["overwritten"] else "added",
        path=done["path"],
        imported_from=change.get("imported_from"),
    )


def planned_removal(name: str, home: str | None) -> Change:
    place = local_home(home)
    _require(place, name)
    return Change("remove", name, home=place, path=registry.path_of(place, name))


def removed(change: Change) -> RegistryChange:
    with addressed(change.target):
        registry.remove(change["home"], change.target)
    return RegistryChange(name=change.target, action="removed", path=change["path"], imported_from=None)


def _require(home: str, name: str) -> None:
    with addressed(name):
        there = registry.exists(home, name)
    if not there:
        raise Fail(
            "not_found",
            "MANIFEST_NOT_REGISTERED",
            f"no manifest is registered as {name}",
            target=name,
            hint="operable flow registry",
        )
