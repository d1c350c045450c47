"""Who may run: a package outside of the user's own folder runs only after the user has approved exactly this content.

An approval names the package's root and the digest of what it consists of: APP.md, everything below `app/`, `skills/`
and `schemas/`, and any other file that `entry.command` names, with names and modes. The application's own state
(`entry.states`) is left out, or its first command would void the approval. A change of anything else voids it, and with
it the approval of a shell. What cannot be pinned is refused: links that lead out of the package or into its state, and
what is neither file nor folder.

Between looking and running the files could still change; that is for whoever can write to them, and who can do that has
the user's rights already.
"""

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from operable.app import entry
from operable.app.packages import FILE, Package, inside, resource
from operable.kernel.errors import Fail
from operable.tool.places import state_directory, state_place

_APPROVALS = "approvals.json"
_PARTS = ("app", "skills", "schemas")
_FILES = 20_000
_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a package may run, and why. `shell`: whether it may also be run by one."""

    trusted: bool
    reason: str
    digest: str = ""
    shell: bool = False


class Approvals:
    """The user's approvals, in one file: `approvals.json` of the state directory, unless another is given.

    Looking needs no such file and makes none: where nothing can be kept, nothing is approved.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path

    def standing(self, package: Package) -> Standing:
        own = package.source == "user"
        approved = self._read().get(package.root)
        if approved is None:
            reason = "in the user's own folder" if own else "never approved"
            return Standing(trusted=own, reason=reason)
        try:
            digest = content_digest(package)
        except Fail as problem:
            return Standing(trusted=False, reason=problem.message)
        if approved.get("digest") != digest:
            reason = "in the user's own folder" if own else "changed since it was approved"
            return Standing(trusted=own, reason=reason, digest=digest)
        return Standing(trusted=True, reason="approved", digest=digest, shell=approved.get("shell") is True)

    def recorded(self, package: Package) -> bool:
        """Whether there is an approval, without looking into the package: whether it still holds is seen at a call."""
        return package.root in self._read()

    def require(self, package: Package) -> None:
        """Fail unless the package may run as it wants to."""
        standing = self.standing(package)
        if not standing.trusted:
            raise Fail(
                "authz",
                "APP_NOT_APPROVED",
                f"{package.slug} may not run: {standing.reason}",
                target=package.root,
                hint=f"look at it, then: operable app approve {package.root}",
            )
        if entry.wants_shell(package) and not standing.shell:
            raise Fail(
                "authz",
                "APP_SHELL_NOT_APPROVED",
                f"{package.slug} wants to be run by a shell, which was not approved",
                target=package.root,
                hint=f"look at entry.command, then: operable app approve {package.root} --shell",
            )

    def approve(self, package: Package, *, shell: bool = False, expected: str | None = None) -> str:
        """Remember this content; its digest. `expected` is what was looked at: Fail when it is another by now."""
        entry.words(package)
        digest = content_digest(package)
        if expected is not None and expected != digest:
            raise Fail(
                "conflict",
                "APP_CHANGED",
                f"{package.slug} has changed since it was looked at",
                target=package.root,
                hint="look at it again",
            )
        with self._changing() as approvals:
            approvals[package.root] = {"digest": digest, "at": time.time(), "shell": shell}
        return digest

    def revoke(self, package: Package) -> bool:
        """Forget the approval; whether there was one."""
        with self._changing() as approvals:
            return approvals.pop(package.root, None) is not None

    def _file(self) -> str:
        return self._path if self._path is not None else os.path.join(state_directory("apps"), _APPROVALS)

    def _read(self) -> dict[str, dict[str, Any]]:
        path = self._path
        if path is None:
            place = state_place("apps")
            path = "" if place is None else os.path.join(place, _APPROVALS)
        if not os.path.lexists(path):
            return {}
        try:
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError) as problem:
            raise _unusable(path, problem) from problem
        if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
            raise _unusable(path, ValueError("it is not of the form that is written here"))
        return found

    @contextmanager
    def _changing(self) -> Iterator[dict[str, dict[str, Any]]]:
        """The approvals, written back at the end; one at a time on this machine."""
        path = self._file()
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise _unusable(path, problem) from problem
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            approvals = self._read()
            yield approvals
            _write(path, approvals)
        finally:
            os.close(lock)


def content_digest(package: Package) -> str:
    """What the package consists of, without its state; Fail for what cannot be pinned."""
    digest, total = hashlib.sha256(), 0
    left_out = {os.path.join(package.root, state) for state in entry.states(package)}
    for count, path in enumerate(_files(package, left_out)):
        if count >= _FILES:
            raise Fail("validation", "APP_TOO_LARGE", f"{package.slug} has more than {_FILES} files")
        name = os.path.relpath(path, package.root)
        status = os.lstat(path)
        digest.update(f"{name}\0{status.st_mode:o}\0".encode("utf-8", "surrogateescape"))
        if stat.S_ISLNK(status.st_mode):
            digest.update(_link(package, path, left_out).encode("utf-8", "surrogateescape"))
            if name == FILE:
                digest.update(_manifest_digest(package))
            continue
        if not stat.S_ISREG(status.st_mode):
            raise _cannot_pin(package, name, "it is neither a file nor a folder")
        total += status.st_size
        if total > _BYTES:
            raise Fail("validation", "APP_TOO_LARGE", f"{package.slug} has more than {_BYTES} bytes")
        digest.update(_manifest_digest(package) if name == FILE else _file_digest(package, path))
    return f"sha256:{digest.hexdigest()}"


def _files(package: Package, left_out: set[str]) -> Iterator[str]:
    """Every file and link, in one order."""
    yield os.path.join(package.root, FILE)
    words = entry.words(package) if package.app else []
    beside = [name for name in entry.importable(package, words) if name not in _PARTS]
    for part in (*_PARTS, *beside):
        top = os.path.join(package.root, part)
        if os.path.islink(top) or os.path.isfile(top):
            yield top
            continue
        for folder, folders, files in os.walk(top, onerror=_unreadable):
            folders[:] = sorted(name for name in folders if os.path.join(folder, name) not in left_out)
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            yield from (os.path.join(folder, name) for name in sorted((*files, *links)))
    for name in entry.files(package, words):
        if name != FILE and name.split("/")[0] not in (*_PARTS, *beside):
            yield os.path.join(package.root, name)


def _link(package: Package, path: str, left_out: set[str]) -> str:
    """What a link says, and where it leads when another link on the way decides that: that one may not be pinned itself."""
    target, said = os.path.realpath(path), os.readlink(path)
    name = os.path.relpath(path, package.root)
    if not any(inside(target, os.path.join(package.root, part)) for part in _PARTS):
        raise _cannot_pin(package, name, "it is a link that leads out of the package")
    if any(target == state or inside(target, state) for state in left_out):
        raise _cannot_pin(package, name, "it is a link to data of the application")
    if os.path.normpath(os.path.join(os.path.dirname(path), said)) == target:
        return f"{said}\0"
    return f"{said}\0{os.path.relpath(target, package.root)}\0"


def _manifest_digest(package: Package) -> bytes:
    """Of APP.md; Fail when it is no longer what the package was read from: the entry of one is not approved by another."""
    from operable.manifest import ManifestError, parse

    data = resource(package, FILE)
    if package.app is not None:
        try:
            same = parse(data.decode("utf-8", "replace"), strict=False, body=False).value == package.app
        except ManifestError:
            same = False
        if not same:
            raise Fail(
                "conflict",
                "APP_CHANGED",
                f"the {FILE} of {package.slug} has changed since it was read",
                target=package.path,
                hint="read it again",
            )
    return hashlib.sha256(data).digest()


def _file_digest(package: Package, path: str) -> bytes:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as problem:
        raise _cannot_pin(package, os.path.relpath(path, package.root), str(problem.strerror)) from problem
    return digest.digest()


def _unreadable(problem: OSError) -> None:
    if not isinstance(problem, FileNotFoundError):  # a part that is not there is no content
        raise Fail(
            "io", "APP_UNREADABLE", f"{problem.filename} cannot be read: {problem.strerror}"
        ) from problem


def _cannot_pin(package: Package, name: str, why: str) -> Fail:
    return Fail(
        "validation",
        "APP_CANNOT_BE_PINNED",
        f"{name} of {package.slug} cannot be part of an approval: {why}",
        target=name,
    )


def _unusable(path: str, problem: Exception) -> Fail:
    why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
    return Fail("config", "APPROVALS_UNUSABLE", f"{path} cannot be used: {why}", target=path)


def _write(path: str, approvals: dict[str, dict[str, Any]]) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(approvals, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        with suppress(OSError):  # it may never have been made
            os.unlink(temporary)
        raise _unusable(path, problem) from problem
