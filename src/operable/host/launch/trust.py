"""Which manifests may be acted on: those that come with Operable or that the user keeps, and those that the user approved.

A manifest says what is downloaded and run. One in a project came with whatever was cloned, so it is only read until the user
approves it; the approval applies to this path and this content. The content is the manifest and every file
inside its folder that the manifest names (the profile, the secrets' descriptions, a vendored program), and what those name.
Everything in the folder of a named program is also part of it, because programs load what is beside them. A `bin` that is
an absolute path (`/proc/self/cwd/…`) is part of it where it leads into the project, which its authors can change.
"""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

from operable.distribution.installation import changed_since_added
from operable.host.launch.ledger import Ledger
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.manifest.frontmatter import FILE_LIMIT, decode, parse_document
from operable.manifest.problem import ManifestError
from operable.project import places
from operable.state.consent import ConsentFile, compare

_FILES = 50_000
_BYTES = 4 * 1024 * 1024 * 1024
_CHUNK = 1024 * 1024
_NAME = 1024
_DEPTH = 50
_REASONS = {
    "approved": "approved",
    "never approved": "the user has not approved it",
    "changed": "it has changed since it was approved",
}
_CHANGED = "it was added from elsewhere, and has changed since"
TRUSTED_ORIGINS = ("bundled", "user")


@dataclass(frozen=True, slots=True)
class ManifestTrust:
    """May this manifest be acted on? `digest` is what an approval must name; empty where none is needed."""

    trusted: bool
    digest: str
    why: str


def standing(path: str, origin: str, ledger: Ledger) -> ManifestTrust:
    """Judge the manifest at a path by where it comes from and what was approved."""
    if origin == "user" and changed_since_added(os.path.dirname(path)):
        return ManifestTrust(trusted=False, digest="", why=_CHANGED)
    if origin in TRUSTED_ORIGINS:
        return ManifestTrust(trusted=True, digest="", why=origin)
    found = content_digest(path)
    consent = compare(approved_digest(path, ledger), found)
    return ManifestTrust(trusted=consent == "approved", digest=found, why=_REASONS[consent])


def approve(path: str, ledger: Ledger, *, expected: str | None = None) -> str:
    """Approve the manifest as it is now. `expected` is the digest that was looked at: Fail when it is another by now."""
    found = content_digest(path)
    if expected is not None and expected != found:
        raise Fail(
            "conflict",
            "MANIFEST_CHANGED",
            "the manifest has changed since it was looked at",
            target=path,
            hint="look at it again",
        )
    _consents(ledger).approve(os.path.realpath(path), found)
    return found


def approved_digest(path: str, ledger: Ledger) -> str | None:
    """The digest that was approved for the manifest at this path."""
    digest = _consents(ledger).read().get(os.path.realpath(path), {}).get("digest")
    return digest if isinstance(digest, str) else None


def revoke(path: str, ledger: Ledger) -> bool:
    """Forget the approval of the manifest at this path. Returns whether it existed."""
    return _consents(ledger).revoke(os.path.realpath(path))


def _consents(ledger: Ledger) -> ConsentFile:
    """Beside the ledger of the same installation."""
    return ConsentFile(
        "agents", "manifests.json", path=os.path.join(os.path.dirname(ledger.path), "manifests.json")
    )


def not_approved(name: str, path: str, judged: ManifestTrust) -> Fail:
    if judged.why == _CHANGED:
        hint = f"operable agent remove {name}, then add it again"
        return Fail(
            "authz", "MANIFEST_CHANGED", f"{name} may not be used: {judged.why}", hint=hint, target=path
        )
    return Fail(
        "authz",
        "MANIFEST_NOT_APPROVED",
        f"the manifest of {name} comes with the project, and {judged.why}",
        target=path,
        hint=f"read it, then approve it: operable agent approve {name}",
        digest=judged.digest,
    )


def content_digest(path: str) -> str:
    """One digest of a manifest and of all the files in its folder that it names."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    first = os.path.realpath(path)
    waiting, seen, room = [first], {first}, _BYTES
    digest = hashlib.sha256()
    while waiting:
        file = waiting.pop()
        content, size = _hash_file(file, room)
        room -= size
        digest.update(f"{os.path.relpath(file, folder)}\0{content}\0".encode("utf-8", "surrogateescape"))
        fresh = _named_files(file, folder) - seen
        if fresh:
            seen |= fresh
            if len(seen) > _FILES:
                raise _too_large(path)
            waiting = sorted((*waiting, *fresh), reverse=True)  # one order, however the folders are listed
    program = _program_in_project(first, folder)
    if program is not None:
        content = _hash_file(program, room)[0] if os.path.isfile(program) else "missing"
        digest.update(f"bin\0{program}\0{content}\0".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def _program_in_project(path: str, folder: str) -> str | None:
    name = _data(path).get("bin")
    if not isinstance(name, str) or not os.path.isabs(name) or "\0" in name:
        return None
    project = places.folders(folder)[0]
    if project == folder:  # no repository: what has the hidden folder that the manifest is in
        project = folder.rpartition("/.")[0] or folder
    real = os.path.realpath(name)
    return real if real.startswith(project.rstrip("/") + "/") else None


def _data(path: str) -> dict[str, Any]:
    """The members of a manifest; none of what cannot be read: it names nothing, and will not be loaded either."""
    try:
        with open(path, "rb") as file:
            return parse_document(decode(file.read(FILE_LIMIT + 1), path), path).data
    except ManifestError:
        return {}


def _hash_file(path: str, room: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > room:
                raise _too_large(path)
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError as problem:
        raise Fail(
            "io", "MANIFEST_UNREADABLE", f"cannot read {path}: {problem.strerror}", target=path
        ) from problem
    return digest.hexdigest(), size


def _named_files(path: str, folder: str) -> set[str]:
    if not path.endswith(".md"):
        return set()
    named = set()
    for text in _texts(_data(path), _DEPTH):
        # Relative to the file that names it, or to the bundle.
        for start in (os.path.dirname(path), folder):
            real = os.path.realpath(os.path.join(start, text))
            if real != folder and os.path.commonpath([folder, real]) == folder and os.path.isfile(real):
                named.add(real)
                named |= set() if real.endswith(".md") else _beside(real)
    return named


def _beside(program: str) -> set[str]:
    """Every file in the folder of a program and below; a history that is kept there is no part of it."""
    found: set[str] = set()
    for folder, folders, files in os.walk(os.path.dirname(program)):
        folders[:] = [name for name in folders if name != ".git"]
        paths = (os.path.join(folder, name) for name in files)
        found |= {path for path in paths if os.path.isfile(path) and not os.path.islink(path)}
        if len(found) > _FILES:
            raise _too_large(program)
    return found


def _too_large(path: str) -> Fail:
    return Fail(
        "validation", "MANIFEST_TOO_LARGE", "the manifest comes with too many or too large files", target=path
    )


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if 0 < len(value) <= _NAME and "\0" not in value and "\n" not in value:
            yield value
    elif depth and isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner, depth - 1)
    elif depth and isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth - 1)
