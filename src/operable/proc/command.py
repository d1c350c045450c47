"""A command that is ready to be started: complete and inspectable. `operable.proc.spawn` makes and starts one.

What is made for every start is a NamedTuple of our own: dataclasses would bring inspect, and `typing` costs 2.5 ms. Each
was a tenth of what a wrapped call takes of the processor.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from operable.proc.sandbox.entry import SandboxEntry
else:
    from operable.kernel.named_tuple import NamedTuple


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
    entry: SandboxEntry | None = (
        None  # of a command that a sandbox has wrapped: what happens between fork and exec
    )
