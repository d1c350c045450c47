"""From the words of `add`, `update` and `remove` to plans, and from confirmed plans to deeds, for every kind of package."""

from __future__ import annotations

import os

from operable.cli.packages.events import PackageInstalled, PackageRemoved
from operable.distribution.installation import (
    PackageCandidate,
    PackageKind,
    candidate,
    changes,
    install,
    installed,
    require_new,
    uninstall,
)
from operable.kernel.errors import Fail
from operable.tool import Change


def planned_add(kind: PackageKind, source: str, revision: str | None, *, signed: bool) -> Change:
    """What would be installed, and what it could do then."""
    with candidate(kind, source, revision, signed=signed) as found:
        require_new(found)
        # What a caller sees comes from elsewhere; what is done comes from these two.
        return Change("add", found.place, signed=signed, asked=revision, **found.facts())


def added(kind: PackageKind, change: Change) -> PackageInstalled:
    with candidate(kind, change["source"], change["asked"], signed=change["signed"]) as found:
        _require_same(found, change["digest"])
        require_new(found)
        return _installed(found, keep=False)


def planned_update(kind: PackageKind, name: str, revision: str | None) -> Change | None:
    """How what the source has now differs from what is installed; None if it does not."""
    place, origin = installed(kind, name)
    with candidate(kind, origin["source"], revision) as found:
        differing = changes(name, found)
        return None if differing is None else Change("update", place, asked=revision, **differing)


def updated(kind: PackageKind, change: Change) -> PackageInstalled:
    name = os.path.basename(change.target)
    _, origin = installed(kind, name)
    with candidate(kind, origin["source"], change["asked"]) as found:
        _require_same(found, change["digest"])
        changes(name, found)
        return _installed(found, keep=True)


def planned_removal(kind: PackageKind, name: str) -> Change:
    place, origin = installed(kind, name)
    return Change("remove", place, name=name, source=origin.get("source"), data=list(kind.data(place)))


def removed(kind: PackageKind, change: Change) -> PackageRemoved:
    name = os.path.basename(change.target)
    return PackageRemoved(name=name, path=uninstall(kind, name))


def _installed(found: PackageCandidate, *, keep: bool) -> PackageInstalled:
    path = install(found, keep=keep)
    facts = found.facts()
    return PackageInstalled(path=path, **{name: facts[name] for name in
                            ("name", "version", "revision", "digest", "signature", "signer")})  # fmt: skip


def _require_same(found: PackageCandidate, digest: str) -> None:
    if found.digest != digest:
        message = f"{found.judged.name} has changed since it was looked at"
        raise Fail("conflict", "PACKAGE_CHANGED", message, hint="look at it again", target=found.judged.name)
