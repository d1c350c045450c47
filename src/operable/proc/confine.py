"""What a confined process may see and do, as plain values; the mechanisms that enforce it are in `sandboxes/`.

A `Confinement` says where the process works, which host folders stand behind the places it may write to, and whether it
has a network. A `Sandbox` turns a `Command` into one that runs inside. What a mechanism cannot enforce it refuses with
`Fail`, naming what is missing; it never runs the command with less.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from operable.kernel import catalogue
from operable.proc.spawn import Command


@dataclass(frozen=True, slots=True)
class Confinement:
    """The whole file system is read-only but for `writable`; `/tmp` and `/run` are empty but for what is named here."""

    cwd: str
    writable: Mapping[str, str] = field(default_factory=dict)  # place inside -> folder of the host
    readable: Mapping[str, str] = field(default_factory=dict)  # the same, read-only
    network: bool = False
    gate: int | None = (
        None  # a descriptor: the command starts when there is something to read from it, or its end
    )
    outlive: bool = False  # descendants stay when the leader has ended, for whoever wants to see them; else they are killed


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One mechanism."""

    name: str
    missing: Callable[[], str | None]  # why it cannot be used here; None: it can
    wrap: Callable[[Command, Confinement], Command]
    leader: Callable[
        [int], int | None
    ]  # pid of the started process -> pid of the command inside, when it runs
    init: Callable[[int], int | None]  # -> pid whose death ends everything inside


def sandbox(name: str) -> Sandbox:
    """The mechanism of this name; Fail when there is none."""
    found: Sandbox = catalogue.load("operable.proc.sandboxes", name, "SANDBOX", kind="sandbox")
    return found
