"""Resource limits as words before a command: what every Unix can limit, per process.

`prlimit` (util-linux) sets them and executes the command, so no code of ours runs between fork and exec. Memory is the
private writable kind (RLIMIT_DATA): address space would not be a measure, since Go, Node and the JVM reserve it by the
terabyte. RLIMIT_NPROC counts processes of one user and does not bind root; inside a user namespace (Linux 5.14) it counts
only those of the namespace.
"""

import os
import resource

from operable.proc.command import find
from operable.proc.sandbox.confinement import Item, ResourceLimits

_MEGABYTE = 1024 * 1024


def words(limits: ResourceLimits, *, pids: bool) -> list[str]:
    """The words; empty when there is nothing to limit. `pids`: limit processes here (nothing better did)."""
    options = []
    if limits.memory_mb is not None:
        options.append(f"--data={limits.memory_mb * _MEGABYTE}")
    if limits.cpu_ms is not None:
        options.append(f"--cpu={_seconds(limits.cpu_ms)}")
    if pids and limits.pids is not None:
        options.append(f"--nproc={limits.pids}")
    return [program() or "prlimit", "--core=0", *options, "--"] if options else []


def entries(limits: ResourceLimits, groups: frozenset[str] = frozenset()) -> tuple[tuple[int, int], ...]:
    """The same for `SandboxEntry`, which sets them without a program: all but the number of processes, counted inside."""
    found = []
    if limits.memory_mb is not None and "memory" not in groups:
        found.append((resource.RLIMIT_DATA, limits.memory_mb * _MEGABYTE))
    if limits.cpu_ms is not None:
        found.append((resource.RLIMIT_CPU, _seconds(limits.cpu_ms)))
    return ((resource.RLIMIT_CORE, 0), *found) if found else ()


def inside(limits: ResourceLimits, *, pids: bool) -> list[str]:
    """Words inside a user namespace; empty when there is nothing to limit there."""
    return words(ResourceLimits(pids=limits.pids), pids=pids)


def report(
    limits: ResourceLimits, groups: frozenset[str], *, own_users: bool, by_entry: bool = False
) -> list[Item]:
    """What becomes of the limits. `groups`: controllers that a control group holds; `own_users`: in a user namespace;
    `by_entry`: the start sets them itself (`entries`), without a program.
    """
    found = []
    tool = "" if by_entry else program()
    if limits.memory_mb is not None:
        wanted = f"{limits.memory_mb} MB"
        if "memory" in groups:
            found.append(
                Item("limits.memory_mb", wanted, "enforced", "control group, for all processes together")
            )
        else:
            found.append(_by_rlimit("limits.memory_mb", wanted, tool, "RLIMIT_DATA, for each process"))
    if limits.cpu_ms is not None:
        how = f"RLIMIT_CPU, {_seconds(limits.cpu_ms)} s for each process"
        found.append(_by_rlimit("limits.cpu_ms", f"{limits.cpu_ms} ms", tool, how))
    if limits.pids is not None:
        found.append(_pids(limits.pids, groups, program(), own_users))
    if limits.timeout_ms is not None:
        found.append(Item("limits.timeout_ms", f"{limits.timeout_ms} ms", "enforced", "deadline of the host"))
    return found


def program() -> str | None:
    return find("prlimit", path="/usr/bin:/bin:/usr/sbin:/sbin")


def _pids(wanted: int, groups: frozenset[str], tool: str | None, own_users: bool) -> Item:
    if "pids" in groups:
        return Item("limits.pids", str(wanted), "enforced", "control group")
    if os.geteuid() == 0:
        missing = "no writable control group with the pids controller, and RLIMIT_NPROC does not bind root"
        return Item("limits.pids", str(wanted), "refused", missing)
    if not own_users:
        missing = "without a user namespace RLIMIT_NPROC would count all processes of the user"
        return Item("limits.pids", str(wanted), "refused", missing)
    if tool is None:
        return Item("limits.pids", str(wanted), "refused", "prlimit (util-linux) is not installed")
    return Item("limits.pids", str(wanted), "enforced", "RLIMIT_NPROC in a user namespace")


def _by_rlimit(item: str, wanted: str, tool: str | None, how: str) -> Item:
    if tool is None:
        return Item(item, wanted, "refused", "prlimit (util-linux) is not installed")
    return Item(item, wanted, "narrowed", how)


def _seconds(milliseconds: int) -> int:
    return max(1, -(-milliseconds // 1000))  # the limit counts whole seconds: rounded up
