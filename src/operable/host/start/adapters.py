"""Third-party adapters: arms that other distributions bring, imported only when the user approved exactly this code.

A distribution offers an adapter by an entry point of the group `operable.host.arms`. Its name is what manifests write in
`adapter`, and its value is a module and the name of an `Arm` in it. Importing it would run code, so before that:

- its **pin** is computed: name and version of the distribution, and a digest of every file that it installed. Files are
  read, nothing is imported; the module that Python would import has to be one of those files.
- the pin must be the one that the user has approved, kept in `<state>/agents/adapters.json`. A new version, or the same
  version with one byte changed, is a different pin and is refused until it is approved.

What this does not cover, and `docs/guides/adapt-an-agent.md` says so: the distributions that an adapter depends on, and
a process that can already write into the environment that Operable itself runs in.
"""

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from operable.host.arm import Arm
from operable.kernel.canonical import digest
from operable.kernel.errors import Fail
from operable.state.consent import UNUSABLE, ConsentFile

GROUP: Final = "operable.host.arms"
# Files of an installation that say how it was made, not what it does; and byte code, which Python makes itself.
_IGNORED: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})


class Pin(msgspec.Struct, frozen=True):
    """Exactly this code: what a user approves."""

    adapter: str
    distribution: str
    version: str
    digest: str


def available() -> list[str]:
    """The adapters that are installed, approved or not; nothing is imported."""
    return sorted({entry_point.name for entry_point in entry_points(group=GROUP)})


def pin_of(adapter: str) -> Pin:
    """The pin of an installed adapter, for the user to look at; nothing is imported."""
    return _pin(_entry_point(adapter))


def approve(pin: Pin) -> None:
    """Remember that the user approved exactly this."""
    with _readable(), _consents().change() as kept:
        kept[pin.adapter] = msgspec.to_builtins(pin)


def revoke(adapter: str) -> bool:
    """Forget an approval; False if it did not exist."""
    with _readable(), _consents().change() as kept:
        return kept.pop(adapter, None) is not None


def approved() -> dict[str, Pin]:
    """The approvals, by adapter."""
    return _approved()


def load(adapter: str) -> Arm:
    """The arm of an approved adapter; Fail authz/ADAPTER_NOT_APPROVED or ADAPTER_CHANGED, and nothing was imported."""
    entry_point = _entry_point(adapter)
    pin = _pin(entry_point)
    kept = _approved().get(adapter)
    if kept != pin:
        raise _unapproved(pin, kept)
    arm: Any = entry_point.load()
    if not isinstance(arm, Arm):
        raise Fail(
            "config",
            "ADAPTER_INVALID",
            f"{entry_point.value} is not an Arm of operable.host.arm.",
            target=adapter,
        )
    return arm


def _unapproved(pin: Pin, kept: Pin | None) -> Fail:
    installed = f"{pin.distribution} {pin.version}"
    if kept is None:
        return Fail(
            "authz",
            "ADAPTER_NOT_APPROVED",
            f"The adapter {pin.adapter!r} of {installed} runs code of a third party and was not approved.",
            target=pin.adapter,
            hint=f"look at it, then: operable agent approve {pin.adapter} --adapter",
            distribution=pin.distribution,
            version=pin.version,
            digest=pin.digest,
        )
    return Fail(
        "authz",
        "ADAPTER_CHANGED",
        f"The adapter {pin.adapter!r} is not the one that was approved: {installed} is installed, with other code.",
        target=pin.adapter,
        hint=f"look at what changed, then: operable agent approve {pin.adapter} --adapter",
        approved_version=kept.version,
        approved_digest=kept.digest,
        distribution=pin.distribution,
        version=pin.version,
        digest=pin.digest,
    )


def _entry_point(adapter: str) -> EntryPoint:
    found = list(entry_points(group=GROUP, name=adapter))
    if not found:
        raise Fail(
            "usage",
            "UNKNOWN_ADAPTER",
            f"No installed distribution brings the adapter {adapter!r}.",
            target=adapter,
        )
    if len(found) > 1:
        names = ", ".join(sorted(_distribution(entry_point).name for entry_point in found))
        raise Fail(
            "config",
            "ADAPTER_AMBIGUOUS",
            f"Several distributions bring the adapter {adapter!r}: {names}.",
            target=adapter,
            hint="Uninstall all but one.",
        )
    return found[0]


def _pin(entry_point: EntryPoint) -> Pin:
    distribution = _distribution(entry_point)
    files = _files(distribution)
    _check_origin(entry_point, {os.path.realpath(str(distribution.locate_file(file))) for file in files})
    hashes = {file: _sha256(str(distribution.locate_file(file))) for file in files}
    return Pin(entry_point.name, distribution.name, distribution.version, digest(hashes))


def _distribution(entry_point: EntryPoint) -> Distribution:
    if entry_point.dist is None:
        raise Fail(
            "config", "ADAPTER_INVALID", "The adapter belongs to no distribution.", target=entry_point.name
        )
    return entry_point.dist


def _files(distribution: Distribution) -> list[str]:
    """What the distribution says it consists of. Read from its record: `files` of the importlib_metadata package, which any
    other package may have put in place of the standard library's, leaves out what is missing.
    """
    record = distribution.read_text("RECORD") or ""
    files = [PurePosixPath(row[0]) for row in csv.reader(record.splitlines()) if row]
    return sorted(
        str(file)
        for file in files
        if file.suffix != ".pyc" and file.name not in _IGNORED and "__pycache__" not in file.parts
    )


def _check_origin(entry_point: EntryPoint, files: set[str]) -> None:
    """Every module on the way to the adapter must come from its distribution: what is imported is what was hashed."""
    path: Any = None
    names = entry_point.module.split(".")
    for place in range(len(names)):
        # PathFinder looks, and unlike importlib.util.find_spec imports no parent.
        spec = PathFinder.find_spec(".".join(names[: place + 1]), path)
        is_namespace = (
            spec is not None and spec.origin is None and spec.submodule_search_locations is not None
        )
        if spec is None or not (is_namespace or os.path.realpath(spec.origin or "") in files):
            raise Fail(
                "config",
                "ADAPTER_NOT_PINNABLE",
                f"The module {entry_point.module} of the adapter is not among the files of its distribution.",
                target=entry_point.name,
                hint="Install it properly: an editable install, or a module of that name elsewhere, cannot be pinned.",
            )
        path = spec.submodule_search_locations


def _sha256(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except OSError as problem:
        raise Fail(
            "config",
            "ADAPTER_NOT_PINNABLE",
            f"A file of the adapter cannot be read: {problem.strerror}",
            target=path,
        ) from problem


def _approved() -> dict[str, Pin]:
    try:
        with _readable():
            return msgspec.convert(_consents().read(), dict[str, Pin])
    except msgspec.ValidationError as error:
        raise _unreadable(error) from error


@contextmanager
def _readable() -> Iterator[None]:
    """Says of a file that cannot be used that it is the one of adapters."""
    try:
        yield
    except Fail as error:
        if error.code != UNUSABLE:
            raise
        raise _unreadable(error) from error


def _consents() -> ConsentFile:
    return ConsentFile("agents", "adapters.json")


def _unreadable(error: Exception) -> Fail:
    return Fail(
        "config",
        "ADAPTER_APPROVALS_UNREADABLE",
        f"The list of approved adapters cannot be used: {error}",
        hint="correct or remove the file, then: operable agent approve ADAPTER --adapter",
    )
