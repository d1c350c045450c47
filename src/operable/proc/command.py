"""A command that is ready to be started: complete and inspectable. `operable.proc.spawn` makes and starts one.

What is made for every start is a NamedTuple: dataclasses would bring inspect, a fifth of what a wrapped call took of the
processor (69 ms, and 55 without).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from operable.proc.sandbox.entry import SandboxEntry


class PreparedCommand(NamedTuple):
    """A program that can be started; made by `prepare`."""

    argv: tuple[str, ...]
    executable: str
    env: Mapping[str, str]
    cwd: str | None
    fds: tuple[
        int, ...
    ] = ()  # further descriptors that the child inherits, under their numbers; not with `tree`
    tree: bool = (
        False  # supervise every descendant, also what leaves the group: for agents, which start daemons
    )
    enclosure: int = 0  # so many generations from the top belong to a sandbox: only SIGKILL is for them
    gives_up: frozenset[str] = (
        frozenset()
    )  # what it may not do, and nothing that it starts (`sandbox.restriction`); not with `tree`
    scratch: str | None = None  # the folder that it may nevertheless change when it gives up writing
    entry: "SandboxEntry | None" = (
        None  # of a command that a sandbox has wrapped: what happens between fork and exec
    )
