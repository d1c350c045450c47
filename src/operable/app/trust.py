"""Who may run: a package outside of the user's own folder runs only after the user has approved exactly this content.

An approval names the package's root and the digest of what it consists of (`content`). Any change voids it, and with it
the approval of a shell; which files have changed is told, for the user to look at before approving again.

Between looking and running the files can still change. That cannot be prevented without moving the package away from its
data, so it is noticed: an answer counts only when nothing that was approved was touched until the command had ended.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from operable.app import entry
from operable.app.content import Content, content
from operable.app.packages import Package
from operable.kernel.errors import Fail
from operable.state.atomic import write_whole
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import make_state, state_path

_APPROVALS = "approvals.json"
_TOLD_APART = 1000  # files of a package; of one that has more it is not kept which of them changed
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a package may run, and why. `shell`: whether it may also be run by one; `content`: what was looked at."""

    trusted: bool
    reason: str
    shell: bool = False
    content: Content | None = None
    changed: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reason with the files that it is about."""
        more = f" and {len(self.changed) - _TOLD} more" if len(self.changed) > _TOLD else ""
        return f"{self.reason}: {', '.join(self.changed[:_TOLD])}{more}" if self.changed else self.reason


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
            seen = content(package)
        except Fail as problem:
            return Standing(trusted=own, reason=problem.message)
        if approved.get("digest") == seen.digest and approved.get("env", []) != entry.variables(package):
            return Standing(trusted=own, reason="it asks for variables that its approval did not show")
        if approved.get("digest") == seen.digest:
            shell = approved.get("shell") is True
            return Standing(trusted=True, reason="approved", shell=shell, content=seen)
        if own:
            return Standing(trusted=True, reason="in the user's own folder")
        changed = _differing(approved.get("files"), seen.files)
        return Standing(trusted=False, reason="changed since it was approved", changed=changed)

    def recorded(self, package: Package) -> bool:
        """Whether there is an approval, without looking into the package: whether it still holds is seen at a call."""
        return package.root in self._read()

    def require(self, package: Package) -> Content | None:
        """Fail unless the package may run as it wants to; what is approved of it, None when it needs no approval."""
        standing = self.standing(package)
        if not standing.trusted:
            raise Fail(
                "authz",
                "APP_NOT_APPROVED",
                f"{package.slug} may not run: {standing.why}",
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
        return standing.content

    def approve(self, package: Package, *, shell: bool = False, expected: str | None = None) -> str:
        """Remember this content; its digest. `expected` is what was looked at: Fail when it is another by now."""
        entry.words(package)
        seen = content(package)
        if expected is not None and expected != seen.digest:
            raise Fail(
                "conflict",
                "APP_CHANGED",
                f"{package.slug} has changed since it was looked at",
                target=package.root,
                hint="look at it again",
            )
        with self._changing() as approvals:
            approvals[package.root] = {
                "digest": seen.digest,
                "at": time.time(),
                "shell": shell,
                "env": entry.variables(package),
            }
            if len(seen.files) <= _TOLD_APART:
                approvals[package.root]["files"] = {name: told[:16] for name, told in seen.files.items()}
        return seen.digest

    def revoke(self, package: Package) -> bool:
        """Forget the approval; whether there was one."""
        with self._changing() as approvals:
            return approvals.pop(package.root, None) is not None

    def _file(self) -> str:
        return self._path if self._path is not None else os.path.join(make_state("apps"), _APPROVALS)

    def _read(self) -> dict[str, dict[str, Any]]:
        path = self._path
        if path is None:
            place = state_path("apps")
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
            with held(f"{path}.lock", EXCLUSIVE):
                approvals = self._read()
                yield approvals
                _write(path, approvals)
        except OSError as problem:  # also a lock that another process does not release
            raise _unusable(path, problem) from problem


def _differing(approved: Any, files: dict[str, str]) -> tuple[str, ...]:
    """The files that are not as they were, for people to look at; empty when that was not kept."""
    if not isinstance(approved, dict):
        return ()
    now = {name: told[:16] for name, told in files.items()}
    return tuple(sorted(name for name in {*approved, *now} if approved.get(name) != now.get(name)))


def _unusable(path: str, problem: Exception) -> Fail:
    why = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
    return Fail("config", "APPROVALS_UNUSABLE", f"{path} cannot be used: {why}", target=path)


def _write(path: str, approvals: dict[str, dict[str, Any]]) -> None:
    # Under the lock, so that one name for the draft serves all: a killed process leaves at most one behind.
    write_whole(path, json.dumps(approvals, indent=1, sort_keys=True).encode(), draft=f"{path}.new")
