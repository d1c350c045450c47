"""Who may run: a package that lies in a project runs only after the user has approved exactly this content.

An approval names the package's root and the digest of what it consists of: APP.md, everything below `app/`, `skills/`
and `schemas/`, with names and modes. The application's own state is left out, or its first command would void the
approval: `app/state` and whatever `metadata.operable.state` names. A change of anything else voids it. Packages in
the user's own folder, and those named by an explicit path together with `--trust`, count as approved by being put or
named there.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from operable.app.packages import Package
from operable.kernel.errors import Fail

_PARTS = ("APP.md", "app", "skills", "schemas")
_STATE = ("app/state",)
_FILES = 20_000
_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a package may run, and why."""

    trusted: bool
    reason: str
    digest: str = ""


class Approvals:
    """The user's approvals, in one file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def standing(self, package: Package) -> Standing:
        if package.source == "user":
            return Standing(trusted=True, reason="in the user's own folder")
        approved = self._read().get(package.root)
        if approved is None:
            return Standing(trusted=False, reason="never approved")
        digest = content_digest(package)
        if approved.get("digest") != digest:
            return Standing(trusted=False, reason="changed since it was approved", digest=digest)
        return Standing(trusted=True, reason="approved", digest=digest)

    def require(self, package: Package) -> None:
        standing = self.standing(package)
        if not standing.trusted:
            raise Fail(
                "authz",
                "APP_NOT_APPROVED",
                f"{package.slug} may not run: {standing.reason}",
                target=package.root,
                hint=f"Look at it, then: operable app approve {package.root}",
            )

    def approves_shell(self, package: Package) -> bool:
        return bool(self._read().get(package.root, {}).get("shell"))

    def approve(self, package: Package, *, shell: bool = False) -> str:
        """Remember this content; its digest."""
        digest = content_digest(package)
        approvals = self._read()
        approvals[package.root] = {"digest": digest, "at": time.time(), "shell": shell}
        self._write(approvals)
        return digest

    def revoke(self, package: Package) -> bool:
        approvals = self._read()
        if approvals.pop(package.root, None) is None:
            return False
        self._write(approvals)
        return True

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as problem:
            raise Fail(
                "config", "APPROVALS_UNREADABLE", f"{self._path} cannot be read: {problem}", target=self._path
            ) from problem
        return found if isinstance(found, dict) else {}

    def _write(self, approvals: dict[str, dict[str, object]]) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        temporary = f"{self._path}.{os.getpid()}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(approvals, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)


def content_digest(package: Package) -> str:
    """What the package consists of, without its state."""
    digest, total = hashlib.sha256(), 0
    for count, path in enumerate(_files(package)):
        if count >= _FILES:
            raise Fail("validation", "APP_TOO_LARGE", f"{package.slug} has more than {_FILES} files")
        name = os.path.relpath(path, package.root)
        status = os.lstat(path)
        digest.update(f"{name}\0{status.st_mode:o}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
        if os.path.islink(path):
            digest.update(os.readlink(path).encode("utf-8", "surrogateescape"))
            continue
        total += status.st_size
        if total > _BYTES:
            raise Fail("validation", "APP_TOO_LARGE", f"{package.slug} has more than {_BYTES} bytes")
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"


def _files(package: Package) -> Iterator[str]:
    declared = (package.app.metadata.get("operable") or {}).get("state") if package.app else None
    states = [*_STATE, *(declared if isinstance(declared, list) else [])]
    left_out = {os.path.normpath(os.path.join(package.root, str(state))) for state in states}
    for part in _PARTS:
        top = os.path.join(package.root, part)
        if os.path.isfile(top):
            yield top
        for folder, folders, files in os.walk(top):
            folders[:] = sorted(name for name in folders if os.path.join(folder, name) not in left_out)
            yield from (os.path.join(folder, name) for name in sorted(files))
            yield from (
                os.path.join(folder, name) for name in folders if os.path.islink(os.path.join(folder, name))
            )
