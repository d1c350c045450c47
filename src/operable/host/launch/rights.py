"""With which rights each step before a session runs: one line of a report for every step that a manifest declares.

The enclosure of an agent is for its session. What comes before it is listed here for `doctor` and for the enforcement
report of a start: questions give up their effects, everything else has the rights of the user. Nothing is enforced here.
"""

from operable.host.launch.install import Manifest
from operable.proc.sandbox.confinement import Item
from operable.proc.sandbox.inquiry import keeps_changes, keeps_effects

_YOURS = "runs with your rights, before the enclosure exists"


def rights(manifest: Manifest) -> list[Item]:
    """One item for each kind of step, in the order in which they run."""
    found = [_yours("install", "when you ask for it"), _version_check()]
    if _asks(manifest):
        found.append(_questions())
    if manifest.setup:
        found.append(_yours("setup", f"{len(manifest.setup)} declared"))
    if manifest.auth is not None and (manifest.auth.login or manifest.auth.refresh):
        found.append(_yours("login", "declared"))
    return found


def _yours(step: str, wanted: str) -> Item:
    return Item(step, wanted, "unconfined", _YOURS)


def _version_check() -> Item:
    why = keeps_effects()
    if why is not None:
        return Item("version check", "without effects", "unconfined", f"{_YOURS}: {why}")
    how = "Landlock; seccomp filter: no writes, network, sockets, signals"
    return Item("version check", "without effects", "enforced", how)


def _questions() -> Item:
    why = keeps_changes()
    if why is not None:
        return Item("questions", "without changes", "unconfined", f"{_YOURS}: {why}")
    how = "Landlock; seccomp filter: no writes, signals; it reads and reaches what you can"
    return Item("questions", "without changes", "enforced", how)


def _asks(manifest: Manifest) -> bool:
    """Whether it declares skip_if, completes_when or options that a command lists."""
    login = manifest.auth.login if manifest.auth is not None else None
    asks = any(step.skip_if is not None or _lists(step) for step in manifest.setup)
    return asks or (login is not None and login.completes_when is not None)


def _lists(step: object) -> bool:
    return getattr(getattr(step, "options", None), "cmd", None) is not None
