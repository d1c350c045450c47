"""Packages from elsewhere, of any kind: added to the user's own folder after consent, updated with the difference, removed.

What was fetched is judged before anything is put in place: it conforms, its signature fits, and it may do what the plan
shows. The consent is to exactly this content, with where it came from and who signed it. An update asks the same source
again. It needs a consent of its own, and a package that was signed is not replaced by one that is not signed by the same
signer. What a package is, and what it may do, is known by its kind (`PackageKind`).
"""

import os
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from operable.distribution.fetch import Fetched, fetched
from operable.distribution.folder import difference, digest, files, put, remove
from operable.distribution.signature import Signature, verify
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.frontmatter import FILE_LIMIT, decode, parse_document
from operable.manifest.problem import ManifestError
from operable.state.atomic import move
from operable.state.consent import ConsentFile

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}", re.ASCII)
_ORIGIN = ("source", "revision", "signature", "signer", "key", "digest")


@dataclass(frozen=True, slots=True)
class JudgedPackage:
    """A package that conforms. `rights`: what a user has to see before agreeing to it; `data`: folders of its own data."""

    name: str
    version: str
    rights: dict[str, Any]
    data: tuple[str, ...] = ()


class PackageKind(ABC):
    """Applications, agents, wrappers: where they are, what they may do, and where the consent to them is kept."""

    group: str  # of its commands
    marker: str  # the file at the top of each

    @abstractmethod
    def home(self) -> str | None:
        """The user's own folder of them."""

    @abstractmethod
    def judged(self, folder: str) -> JudgedPackage:
        """What is in this folder; Fail if it cannot be used. Nothing of it is run."""

    def data(self, place: str) -> tuple[str, ...]:
        """Folders of its own data, which go with it."""
        del place
        return ()

    def agree(self, place: str, rights: Mapping[str, Any], origin: dict[str, Any]) -> None:
        """Remember the consent to what is in place now."""
        del rights
        _consents().approve(os.path.realpath(place), _digest(place, self.judged(place)), origin=origin)

    def origin(self, place: str) -> dict[str, Any] | None:
        """Where the package in this folder came from, if it was added."""
        found = _consents().read().get(os.path.realpath(place), {}).get("origin")
        return found if isinstance(found, dict) else None

    def forget(self, place: str) -> None:
        _consents().revoke(os.path.realpath(place))

    def place(self, name: str) -> str:
        folder = self.home()
        if folder is None:
            hint = "set HOME or OPERABLE_HOME"
            raise Fail("config", "NO_HOME", "there is no folder for packages of the user", hint=hint)
        return os.path.join(folder, name)


def changed_since_added(folder: str) -> bool:
    """Whether this folder has an added package that is no longer what was agreed to."""
    record = _consents().read().get(os.path.realpath(folder))
    if record is None:
        return False
    try:
        return digest(files(folder)) != record.get("digest")
    except (Fail, OSError):
        return True


def _consents() -> ConsentFile:
    return ConsentFile("packages", "added.json")


def _digest(folder: str, judged: JudgedPackage) -> str:
    return digest(files(folder, judged.data))


@dataclass(frozen=True, slots=True)
class PackageCandidate:
    """A package that was fetched and judged, in a folder that goes away."""

    kind: PackageKind
    judged: JudgedPackage
    fetched: Fetched
    files: dict[str, str]
    digest: str
    signature: Signature

    @property
    def place(self) -> str:
        return self.kind.place(self.judged.name)

    def facts(self) -> dict[str, Any]:
        """What a user has to see before agreeing to it."""
        return {
            "name": self.judged.name,
            "version": self.judged.version,
            "source": self.fetched.source,
            "revision": self.fetched.revision,
            "digest": self.digest,
            "signature": self.signature.state,
            "signer": self.signature.signer,
            "key": self.signature.key,
            **self.judged.rights,
            "data": list(self.judged.data),
            "files": len(self.files),
        }


@contextmanager
def candidate(
    kind: PackageKind, source: str, revision: str | None = None, *, signed: bool = False
) -> Iterator[PackageCandidate]:
    """Fetch and judge a package; Fail if it does not conform, or is not signed as it has to be."""
    with fetched(source, revision, kind.marker) as copy:
        found = _in_a_folder_of_its_name(copy, kind.marker)
        judged = kind.judged(found.folder)
        if not _NAME.fullmatch(judged.name):
            message = "the package has no name of lower-case letters, digits and dashes"
            raise Fail("validation", "PACKAGE_NAME_INVALID", message, target=kind.marker)
        listed = files(found.folder, judged.data)
        whole = digest(listed)
        signature = verify(found.folder, whole)
        if signed and signature.state != "allowed":
            raise _unsigned(judged.name, signature)
        yield PackageCandidate(kind, judged, found, listed, whole, signature)


def _in_a_folder_of_its_name(found: Fetched, marker: str) -> Fetched:
    """As it will be when it is installed: the rules of manifests ask for it. Where the name is none, the kind says so."""
    try:
        with open(os.path.join(found.folder, marker), "rb") as file:
            name = parse_document(decode(file.read(FILE_LIMIT + 1), marker), marker).data.get("name")
    except ManifestError:
        return found
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return found
    folder = os.path.join(tempfile.mkdtemp(dir=os.path.dirname(found.folder)), name)
    move(found.folder, folder)
    return Fetched(folder, found.source, found.revision)


def _unsigned(name: str, signature: Signature) -> Fail:
    known = f"it was signed by {signature.key}" if signature.key else "it is not signed"
    hint = "list the key of its author in allowed_signers of your configuration folder, after you have checked it"
    message = f"no signer that you allow has signed {name}: {known}"
    return Fail("authz", "PACKAGE_NOT_SIGNED", message, hint=hint, target=name)


def require_new(found: PackageCandidate) -> None:
    """Fail if something is in the place of the package."""
    if os.path.lexists(found.place):
        name, group = found.judged.name, found.kind.group
        hint = f"operable {group} update {name}, or operable {group} remove {name} first"
        raise Fail(
            "conflict", "PACKAGE_EXISTS", f"{name} is installed already", hint=hint, target=found.place
        )


def install(found: PackageCandidate, *, keep: bool = False) -> str:
    """Put it in place and remember the consent to it; `keep` the data of the one that is there. Gives its folder."""
    place, facts = found.place, found.facts()
    put(found.fetched.folder, place, found.judged.data if keep else ())
    if _digest(place, found.judged) != found.digest:
        message = f"{place} has changed since it was written"
        raise Fail("conflict", "PACKAGE_CHANGED", message, hint="look at it again", target=place)
    found.kind.agree(place, found.judged.rights, {name: facts[name] for name in _ORIGIN})
    return os.path.realpath(place)


def installed(kind: PackageKind, name: str) -> tuple[str, dict[str, Any]]:
    """The folder of a package that was added, and where it came from; Fail if it is not one."""
    place = kind.place(name) if _NAME.fullmatch(name) else None
    origin = kind.origin(place) if place is not None and os.path.isdir(place) else None
    if place is None or origin is None:
        hint = f"operable {kind.group} list says what there is; what was not added is changed and removed where it is"
        message = f"{name[:100]} was not added from elsewhere"
        raise Fail("not_found", "PACKAGE_NOT_ADDED", message, hint=hint, target=name[:100])
    return os.path.realpath(place), origin


def changes(name: str, found: PackageCandidate) -> dict[str, Any] | None:
    """How the candidate differs from what is installed; None if it does not. Fail where the signer is another one."""
    place, origin = installed(found.kind, name)
    if found.judged.name != name:
        message = f"the source of {name} now has {found.judged.name}"
        raise Fail("conflict", "PACKAGE_NAME_CHANGED", message, target=name)
    if origin.get("signature") == "allowed" and found.signature.signer != origin.get("signer"):
        hint = "if that is right, remove it and add it again"
        message = f"{name} was signed by {origin.get('signer')}, and what its source has now is not"
        raise Fail("authz", "PACKAGE_SIGNER_CHANGED", message, hint=hint, target=name)
    judged = found.kind.judged(place)
    before = files(place, judged.data)
    if digest(before) == found.digest:
        return None
    facts = found.facts()
    old = {"version": judged.version, "revision": origin.get("revision"), **judged.rights}
    was = {f"was_{name}": value for name, value in old.items() if value != facts[name]}
    return {**facts, **was, **difference(before, found.files)}


def uninstall(kind: PackageKind, name: str) -> str:
    """Remove it with its data, and forget the consent. Gives its folder."""
    place, _ = installed(kind, name)
    remove(place)
    kind.forget(place)
    return place
