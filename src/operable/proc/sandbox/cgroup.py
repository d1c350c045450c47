"""Control groups for limits that no process inside can escape: memory and number of processes of a whole session.

Theory of operation. Below the group that we are in ourselves, a folder is made per session; limits are written before
a process is in it, and the command joins it before it is executed (`joining`): a limit that cannot be set is an error, not a
gap. A caller that holds a process back until all is ready may add it from outside instead (`admit`). Version 2 is used where
its controllers are delegated to us, version 1 where its hierarchies are writable. Where neither is (an ordinary user without
delegation, most containers), `prepare` gives nothing and the caller has resource limits left.

To move a process, the kernel waits until no processor is in the middle of a fork: 10 ms and more. For a thread that moves
itself it does not wait, and version 1 has a file for that: 0.1 ms.

Folders of hosts that were killed are empty soon after (the keeper has seen to that) and are removed by the next host.
"""

from __future__ import annotations

import itertools
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple
else:
    from operable.kernel.named_tuple import NamedTuple

_MOUNTS = "/proc/self/mountinfo"
_OWN = "/proc/self/cgroup"
_PREFIX = "operable-"
_COUNT = itertools.count(1)
# Groups of ours in which a process was still ending when they were to be removed.
_LEFT: set[str] = set()
# controller -> the file of its limit, in version 1 and 2
_FILES = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max")}
# $0 is the first file; all but the words after "--" are files through which we join. A failed write ends it.
_JOIN = 'for f do shift; [ "$f" = -- ] && break; echo 0 > "$f" || exit 71; done; exec "$@"'

_Mount = tuple[str, int, list[str]]  # where, version, controllers


class CgroupParent(NamedTuple):
    """Where groups of one controller can be made."""

    folder: str
    version: int


def place(controller: str) -> CgroupParent | None:
    """The group that we are in, as far as we may make groups with this controller below it."""
    return _place(controller, _own_groups(), _mounts())


def _place(controller: str, own: Mapping[str, str], mounts: list[_Mount]) -> CgroupParent | None:
    for folder, version, controllers in mounts:
        if version == 1 and controller in controllers and controller in own:
            found = CgroupParent(_below(folder, own[controller]), 1)
        elif version == 2 and "" in own:
            found = CgroupParent(_below(folder, own[""]), 2)
            if controller not in _read(f"{found.folder}/cgroup.subtree_control").split():
                continue  # not delegated to the groups below, or bound to version 1
        else:
            continue
        if os.access(found.folder, os.W_OK) and os.path.exists(f"{found.folder}/cgroup.procs"):
            return found
    return None


def prepare(limits: Mapping[str, int]) -> dict[str, str]:
    """Make one group per controller ("memory": bytes, "pids": number) that can be limited here; controller -> folder."""
    made: dict[str, str] = {}
    remove({folder: folder for folder in list(_LEFT)})
    if not limits:
        return made
    name = f"{_PREFIX}{os.getpid()}-{next(_COUNT)}"
    own, mounts = _own_groups(), _mounts()
    for controller, limit in limits.items():
        where = _place(controller, own, mounts)
        if where is None:
            continue
        _sweep(where.folder)
        folder = f"{where.folder}/{name}"
        try:
            os.makedirs(folder, exist_ok=True)
            _write(f"{folder}/{_FILES[controller][where.version - 1]}", limit)
        except OSError:
            remove({controller: folder})
            continue
        made[controller] = folder
    return made


def joining(groups: Mapping[str, str]) -> list[str]:
    """Words to put before a command: it then runs in these groups, or not at all."""
    files = doors(groups)
    return ["/bin/sh", "-c", _JOIN, "sh", *files, "--"] if files else []


def doors(groups: Mapping[str, str]) -> tuple[str, ...]:
    """The files into which a process with one thread writes "0", to be in these groups with all that it starts."""
    folders = sorted(set(groups.values()))
    return tuple(
        f"{folder}/{'tasks' if os.path.exists(f'{folder}/tasks') else 'cgroup.procs'}" for folder in folders
    )


def admit(groups: Mapping[str, str], pid: int) -> bool:
    """Put a process into these groups, with all that it starts from now on; False when it has ended already."""
    try:
        for folder in set(groups.values()):
            _write(f"{folder}/cgroup.procs", pid)
    except ProcessLookupError:
        return False
    return True


def remove(groups: Mapping[str, str]) -> None:
    """Take the folders away. A process that is still in one keeps it; it goes when the next one is made, by us or the
    next host.
    """
    for folder in set(groups.values()):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            _LEFT.discard(folder)
        except OSError:
            _LEFT.add(folder)
        else:
            _LEFT.discard(folder)


def _sweep(parent: str) -> None:
    for name in os.listdir(parent):
        owner = name.removeprefix(_PREFIX).partition("-")[0]
        if name.startswith(_PREFIX) and owner.isdecimal() and not os.path.exists(f"/proc/{owner}"):
            remove({name: f"{parent}/{name}"})


def _own_groups() -> dict[str, str]:
    """Controller -> path of our group in its hierarchy; version 2 has no name."""
    own: dict[str, str] = {}
    for line in _read(_OWN).splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            own[controller] = path
    return own


def _mounts() -> list[_Mount]:
    found: list[_Mount] = []
    for line in _read(_MOUNTS).splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            found.append((before.split(" ")[4], 2 if kind == "cgroup2" else 1, options.split(",")))
    return found


def _below(folder: str, path: str) -> str:
    return os.path.normpath(f"{folder}/{path}")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, value: int) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))
