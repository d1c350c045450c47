"""The sandbox of an application: what it declares to need is what it gets, and nothing else.

    metadata:
      operable:
        sandbox:
          network: [api.example.org]   # the hosts that it reaches; none if this is missing
          write: [~/Documents/notes]   # folders beside its own data

A package with a sandbox reads everything, writes its own data (`entry.states`) and the folders that it names, and reaches
the hosts that it names, held by bubblewrap. Its own code is read-only to it. Where that cannot be enforced, a call is
refused. A package without one runs with the rights of its user, which the approval says. `OPERABLE_APP_SANDBOX=1` confines
every package, as if it had declared an empty sandbox.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from operable.app import entry
from operable.kernel.errors import Fail
from operable.kernel.named_tuple import NamedTuple

if TYPE_CHECKING:
    from operable.app.packages import Package
    from operable.proc.command import PreparedCommand
    from operable.proc.sandbox.enclosure import Enclosure

ALWAYS = "OPERABLE_APP_SANDBOX"
_KEYS = ("network", "write")


class AppRights(NamedTuple):
    """What a confined application may do beside reading, and writing its own data."""

    network: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


def rights(package: Package) -> AppRights | None:
    """What the package declares; None: it is not confined. Fail APP_SANDBOX_INVALID if it cannot be understood."""
    declared: Any = package.extension.get("sandbox")
    if declared is None:
        return AppRights() if os.environ.get(ALWAYS) else None
    good = isinstance(declared, dict) and not declared.keys() - set(_KEYS)
    if good:
        good = all(
            isinstance(each, list) and all(isinstance(one, str) and one for one in each)
            for each in declared.values()
        )
    if not good or any(not path.startswith(("/", "~/")) for path in declared.get("write", ())):
        raise Fail(
            "validation",
            "APP_SANDBOX_INVALID",
            f"metadata.operable.sandbox of {package.slug} lists hosts in network and whole paths in write",
            target=package.slug,
            hint="sandbox: {network: [api.example.org], write: [~/notes]}",
        )
    return AppRights(tuple(declared.get("network", ())), tuple(declared.get("write", ())))


def in_words(package: Package) -> list[str]:
    """The rights of the package, for its user to approve."""
    found = rights(package)
    if found is None:
        return ["all of yours"]
    written = ", ".join((*entry.states(package), *found.write))
    reached = f"reaches {', '.join(found.network)}" if found.network else "no network"
    return ["reads everything", f"writes {written}", reached]


class confined:  # noqa: N801 - a verb to its callers: `with confined(package, command) as command`
    """A command in the sandbox of its package: entered, it is the command to start; left, nothing of it remains."""

    def __init__(self, package: Package, command: PreparedCommand) -> None:
        self._package, self._command = package, command
        self._enclosure: Enclosure | None = None

    def __enter__(self) -> PreparedCommand:
        found = rights(self._package)
        if found is None:
            return self._command
        from operable.proc.sandbox.confinement import Confinement, sandbox
        from operable.proc.sandbox.enclosure import Egress, enclose

        mechanism = sandbox("bubblewrap")
        missing = mechanism.missing()
        if missing is not None:
            raise Fail(
                "config",
                "SANDBOX_UNAVAILABLE",
                f"the sandbox of {self._package.slug} cannot be enforced here: {missing}",
                target=self._package.slug,
            )
        place = Confinement(
            cwd=self._package.root,
            writable={path: path for path in self._folders(found)},
            readable={path: os.path.realpath(path) for path in ("/tmp", "/run")},  # noqa: S108 - as they are
            root="host",
        )
        egress = Egress(found.network) if found.network else None
        self._enclosure = enclose(mechanism, place, egress=egress, kept=False)
        return self._enclosure.wrap(self._command)

    def __exit__(self, *_: object) -> None:
        if self._enclosure is not None:
            self._enclosure.close()
            self._enclosure = None

    def _folders(self, found: AppRights) -> list[str]:
        """The folders that can be written, by their real paths. Those of its data are made: it could not do that itself."""
        from operable.state.atomic import make_folder

        own = [os.path.join(self._package.root, path) for path in entry.states(self._package)]
        for path in own:
            make_folder(path)
        named = [os.path.expanduser(path) for path in found.write]
        return [os.path.realpath(path) for path in (*own, *(path for path in named if os.path.isdir(path)))]
