"""What stays open in an enclosure, item by item, also what nobody declared: the second half of every enforcement report.

A report that lists only what is enforced reads as if that were everything. Each class of things that a command can use up,
reach or learn has a line here with the mechanism that holds it, or with what is left open.
"""

from operable.proc.sandbox.confinement import Confinement, Item

_UNDECLARED = "no limit declared"


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
        found.append(Item("reading files", "everything", "unconfined", how))
    return found + _quantities(place) + _shared()


def _sockets(place: Confinement, *, scopes: bool) -> Item:
    if not place.sockets:
        return Item("unix sockets", "connected pairs only", "enforced", "seccomp filter")
    abstract = "a Landlock scope holds the host's abstract ones" if scopes else "abstract ones of its network"
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
    how = "what is written to a mount fills the host's disk; empty folders lie in memory, 256 MiB each"
    found.append(Item("disk space", _UNDECLARED, "unconfined", how))
    how = "inotify watches, pipes and timers count with those of the user"
    return [*found, Item("kernel objects", _UNDECLARED, "unconfined", how)]


def _shared() -> list[Item]:
    facts = "/proc tells load, memory, mounts and version of the machine"
    return [
        Item("facts of the machine", "not hidden", "unconfined", facts),
        Item(
            "kernel",
            "shared with the host",
            "unconfined",
            "the kernel is the border; a virtual machine is stronger",
        ),
    ]
