"""Signals to a process group, and whether anybody alive is left in it."""

import os
import signal

_PROC = "/proc"


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to every member. A group that is gone, or belongs to another user by now, is left alone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # Nobody to signal. EPERM: all members changed their user (a set-uid program); the ladder then gives up in time.
        return


def group_alive(group: int) -> bool:
    """Is there a member that still runs? To be asked after the leader was reaped (a zombie answers to signal 0)."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # In a container whose pid 1 does not reap, dead grandchildren stay zombies for ever: they do not count as alive.
    return _has_living_member(group) if os.path.isdir(_PROC) else True


def _has_living_member(group: int) -> bool:
    for name in os.listdir(_PROC):
        if not name.isdecimal():
            continue
        try:
            with open(f"{_PROC}/{name}/stat", "rb") as file:
                # pid (name, which may hold blanks and brackets) state ppid pgrp ...
                state, _, member_of = file.read().rpartition(b") ")[2].split(None, 3)[:3]
        except OSError:
            continue  # it ended while we were looking
        if int(member_of) == group and state not in (b"Z", b"X"):
            return True
    return False
