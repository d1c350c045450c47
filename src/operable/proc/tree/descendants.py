"""The descendants of a process, read from /proc, and signals to them: what a group id cannot reach.

A process that calls setsid leaves its group but not its ancestors: as long as an ancestor is a subreaper, it adopts each
process that loses its parent, so the tree below a subreaper is complete. Signals go through a pidfd whose start time is
compared first: a number that another process got since the reading is left alone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from operable.kernel.named_tuple import NamedTuple

_PROC = "/proc"
_DEAD = (b"Z", b"X")


class Member(NamedTuple):
    """One living process below the root; `generation` 1 is a child of the root."""

    pid: int
    started: bytes  # ticks since boot: with the pid, an identity
    generation: int


def living(root: int) -> list[Member]:
    """Every living descendant, parents before children. Zombies are not alive."""
    children: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for name in os.listdir(_PROC):
        if name.isdecimal() and (facts := _facts(int(name))) is not None:
            parent, state, started = facts
            children.setdefault(parent, []).append((int(name), state, started))
    found: list[Member] = []
    ahead = [(root, 0)]
    for parent, generation in ahead:  # grows while it is walked
        for pid, state, started in children.get(parent, ()):
            ahead.append((pid, generation + 1))
            if state not in _DEAD:
                found.append(Member(pid, started, generation + 1))
    return found


def signal_tree(root: int, number: int, *, below: int = 0) -> int:
    """Signal every living descendant deeper than `below` generations; how many there were."""
    members = [member for member in living(root) if member.generation > below]
    for member in members:
        _signal(member, number)
    return len(members)


def _signal(member: Member, number: int) -> None:
    import signal

    try:
        pidfd = os.pidfd_open(member.pid)
    except OSError:
        return  # it has ended meanwhile
    try:
        facts = _facts(member.pid)
        if facts is not None and facts[2] == member.started:
            signal.pidfd_send_signal(pidfd, number)
    except (ProcessLookupError, PermissionError):
        # Ended, or a set-uid program: it cannot be ended by us, and the next look shows that it lives.
        return
    finally:
        os.close(pidfd)


def _facts(pid: int) -> tuple[int, bytes, bytes] | None:
    """(parent, state, start time); None when it has ended."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:
            # pid (name, which may contain blanks and brackets) state ppid ...; the 22nd field is the start time.
            fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return None
    return (int(fields[1]), fields[0], fields[19]) if len(fields) > 19 else None
