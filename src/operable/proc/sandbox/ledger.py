"""What stays open in an enclosure, item by item, also what was not declared: the second half of every enforcement report.

A report that lists only what is enforced reads as if that were everything. Each class of things that a command can use up,
reach or learn has a line here. It names the mechanism that limits it, or what stays open.
"""

from operable.proc.sandbox.confinement import Confinement, Item

_UNDECLARED = "no limit declared"
# Who may write here may write everywhere.
_OF_THE_SYSTEM = ("/", "/etc", "/usr", "/home", "/root")


def writes_everywhere(place: Confinement) -> bool:
    """Whether the host's own folders are writable inside: then no file is held, whatever the mounts are called."""
    return place.root == "host" and any(folder in place.writable for folder in _OF_THE_SYSTEM)


def open_items(place: Confinement, *, scopes: bool) -> list[Item]:
    """For a mechanism with namespaces and a system call filter. `scopes`: Landlock holds signals and abstract sockets."""
    found = [
        Item("system calls", "those of ordinary programs", "enforced", "seccomp filter"),
        Item("keys", "none of the host's", "enforced", "session keyring of its own; seccomp filter"),
        _sockets(place, scopes=scopes),
        _namespaces(place),
    ]
    if place.root == "host":
        how = "the host's file system is shown: all that the user can read"
        found.append(Item("files outside", "read", "unconfined", how))
    if writes_everywhere(place):
        found.append(Item("writes outside", "allowed", "unconfined", "the host's folders are shown writable"))
    return found + _quantities(place) + _shared()


def given_up_items(what: frozenset[str]) -> list[Item]:
    """For a program without namespaces that gives up rights (`restriction`): what that holds, and what stays open."""
    held = {
        "writes": ("writes outside", "none", "Landlock; seccomp filter"),
        "network": ("network", "none", "seccomp filter; Landlock scope"),
        "sockets": ("unix sockets", "connected pairs only", "seccomp filter"),
        "processes": ("other programs", "none", "seccomp filter"),
        "signals": ("other processes", "not reached", "Landlock scope; seccomp filter"),
    }
    opened = {
        "writes": "every file that the user can write",
        "network": "shares the host's network: its services on loopback, and every host that it reaches",
        "sockets": "every socket file that the user can reach",
        "processes": "may start any program",
        "signals": "signals to processes of the user",
    }
    found = []
    for word, (item, wanted, how) in held.items():
        is_held = word in what
        found.append(
            Item(item, wanted, "enforced", how)
            if is_held
            else Item(item, "not given up", "unconfined", opened[word])
        )
    objects = "" if "writes" in what else ", System V memory and message queues"
    facts = f"/proc of other processes, /dev/shm{objects} of the host, the kernel's log"
    return [
        *found,
        Item("files outside", "read", "unconfined", "all that the user can read"),
        Item("process information", "not hidden", "unconfined", facts),
        *_quantities(Confinement(cwd="/")),
        *_shared(),
    ]


def _sockets(place: Confinement, *, scopes: bool) -> Item:
    if not place.sockets:
        return Item("unix sockets", "connected pairs only", "enforced", "seccomp filter")
    abstract = (
        "a Landlock scope blocks the host's abstract ones" if scopes else "abstract ones of its network"
    )
    how = f"every socket file in what is shown can be connected to; {abstract}"
    return Item("unix sockets", "declared", "unconfined", how)


def _namespaces(place: Confinement) -> Item:
    if place.namespaces or place.rooted:
        return Item("namespaces", "declared", "unconfined", "may make its own, and mount inside them")
    return Item("namespaces", "none of its own", "enforced", "seccomp filter")


def _quantities(place: Confinement) -> list[Item]:
    found = []
    if place.limits.memory_mb is None:
        found.append(Item("memory", _UNDECLARED, "unconfined", "as much as the machine has"))
    if place.limits.pids is None:
        found.append(Item("number of processes", _UNDECLARED, "unconfined", "as many as the user may have"))
    if place.limits.cpu_ms is None:
        found.append(Item("processor time", _UNDECLARED, "unconfined", "shared with the machine"))
    if place.limits.timeout_ms is None:
        found.append(Item("time", _UNDECLARED, "unconfined", "until the session ends or its caller stops it"))
    how = "what is written to a mount fills the host's disk; empty folders are in memory, 256 MiB each"
    found.append(Item("disk space", _UNDECLARED, "unconfined", how))
    how = (
        "inotify watches, pipes and timers count with those of the user; "
        "a lock on a file that it can read keeps programs outside waiting"
    )
    return [*found, Item("kernel objects", _UNDECLARED, "unconfined", how)]


def _shared() -> list[Item]:
    facts = "/proc shows load, memory and its pages, mounts and version of the machine"
    return [
        Item("facts of the machine", "not hidden", "unconfined", facts),
        Item(
            "kernel",
            "shared with the host",
            "unconfined",
            "the kernel is the border; a virtual machine is stronger",
        ),
    ]
