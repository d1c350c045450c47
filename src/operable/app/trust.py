"""Who may run: a package outside of the user's own folder runs only after the user has approved exactly this content.

An approval names the package's root and the digest of what it consists of (`content`). Any change voids it, and with it
the approval of a shell; the changed files are reported, so that the user can look at them before approving again.

Between looking and running the files can still change. That cannot be prevented without moving the package away from its
data, so it is noticed: an answer counts only when nothing that was approved was touched until the command had ended.
"""

import shlex
from typing import Any

from operable.app import entry
from operable.app.content import PackageContent, content
from operable.app.packages import Package
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.state.consent import ConsentFile, compare

_TOLD_APART = 1000  # files of a package; of one that has more it is not kept which of them changed
_TOLD = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a package may run, and why. `shell`: whether it may also be run by one; `content`: what was looked at."""

    trusted: bool
    reason: str
    shell: bool = False
    content: PackageContent | None = None
    changed: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reason with the files that it is about."""
        more = f" and {len(self.changed) - _TOLD} more" if len(self.changed) > _TOLD else ""
        return f"{self.reason}: {', '.join(self.changed[:_TOLD])}{more}" if self.changed else self.reason


def require_same(package: Package, expected: str | None, digest: str) -> None:
    """Raises Fail if the content that was looked at, if any is named, is not this one."""
    if expected is not None and expected != digest:
        raise Fail(
            "conflict",
            "APP_CHANGED",
            f"{package.slug} has changed since it was looked at",
            target=package.root,
            hint="look at it again",
        )


class Approvals:
    """The user's approvals, in one file: `approvals.json` of the state directory, unless another is given.

    Looking needs no such file and makes none: where nothing can be kept, nothing is approved.
    """

    def __init__(self, path: str | None = None) -> None:
        self._consents = ConsentFile("apps", "approvals.json", path=path)

    def standing(self, package: Package) -> Standing:
        approved = self._consents.read().get(package.root)
        # What was added from elsewhere runs as it was agreed to, also in the user's own folder.
        own = package.source == "user" and not (approved or {}).get("origin")
        if approved is None:
            reason = "in the user's own folder" if own else "never approved"
            return Standing(trusted=own, reason=reason)
        try:
            seen = content(package)
        except Fail as problem:
            return Standing(trusted=own, reason=problem.message)
        unchanged = compare(approved.get("digest"), seen.digest) == "approved"
        if unchanged and approved.get("env", []) != entry.variables(package):
            return Standing(trusted=own, reason="it asks for variables that its approval did not show")
        if unchanged:
            shell = approved.get("shell") is True
            return Standing(trusted=True, reason="approved", shell=shell, content=seen)
        if own:
            return Standing(trusted=True, reason="in the user's own folder")
        changed = _differing(approved.get("files"), seen.files)
        return Standing(trusted=False, reason="changed since it was approved", changed=changed)

    def recorded(self, package: Package) -> bool:
        """Whether there is an approval, without looking into the package: whether it still holds is seen at a call."""
        return package.root in self._consents.read()

    def require(self, package: Package) -> PackageContent | None:
        """Fail unless the package may run as it wants to; what is approved of it, None when it needs no approval."""
        standing = self.standing(package)
        refusal = self.refusal(package, standing)
        if refusal is not None:
            raise refusal
        return standing.content

    def refusal(self, package: Package, standing: Standing | None = None) -> Fail | None:
        """Why a call of this package would be refused as it is now; None if it would not be."""
        standing = standing if standing is not None else self.standing(package)
        if not standing.trusted:
            return Fail(
                "authz",
                "APP_NOT_APPROVED",
                f"{package.slug} may not run: {standing.why}",
                target=package.root,
                hint=f"look at it, then: operable app approve {shlex.quote(package.root)}",
            )
        if entry.wants_shell(package) and not standing.shell:
            return Fail(
                "authz",
                "APP_SHELL_NOT_APPROVED",
                f"{package.slug} wants to be run by a shell, which was not approved",
                target=package.root,
                hint=f"look at entry.command, then: operable app approve {shlex.quote(package.root)} --shell",
            )
        return None

    def origin(self, root: str) -> dict[str, Any] | None:
        """Where the package in this folder came from, if it was added from elsewhere (`installation`)."""
        found = self._consents.read().get(root, {}).get("origin")
        return found if isinstance(found, dict) else None

    def approve(
        self,
        package: Package,
        *,
        shell: bool = False,
        expected: str | None = None,
        origin: dict[str, Any] | None = None,
    ) -> str:
        """Remember this content; its digest. `expected` is what was looked at: Fail when it is another by now.

        `origin` is where it came from; a later approval keeps it.
        """
        entry.words(package)
        seen = content(package)
        require_same(package, expected, seen.digest)
        details: dict[str, Any] = {"shell": shell, "env": entry.variables(package)}
        origin = origin if origin is not None else self.origin(package.root)
        if origin is not None:
            details["origin"] = origin
        if len(seen.files) <= _TOLD_APART:
            details["files"] = {name: digest[:16] for name, digest in seen.files.items()}
        self._consents.approve(package.root, seen.digest, **details)
        return seen.digest

    def revoke(self, package: Package) -> bool:
        """Forget the approval; whether there was one."""
        return self.forget(package.root)

    def forget(self, root: str) -> bool:
        """The same for a package that may be gone."""
        return self._consents.revoke(root)


def _differing(approved: Any, files: dict[str, str]) -> tuple[str, ...]:
    """The files that are not as they were, for people to look at; empty when that was not kept."""
    if not isinstance(approved, dict):
        return ()
    now = {name: digest[:16] for name, digest in files.items()}
    return tuple(sorted(name for name in {*approved, *now} if approved.get(name) != now.get(name)))
