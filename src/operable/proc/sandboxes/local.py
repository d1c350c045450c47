"""Local: no sandbox at all. The command runs on the host, with the rights of the user who runs the host.

For manifests that are trusted like a program one installs. What it does hold: the environment is an allow-list, the whole
process tree ends with the session, limits per process. What it does not, and says so in the report: files, network, other
processes. Because every process of the same user can read what it was given, it does not go together with `auth`.
"""

from operable.proc.command import PreparedCommand
from operable.proc.sandbox import cgroup, rlimits
from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, Sandbox, refuse
from operable.proc.tree import keeper

_OPEN = "provider local is host access"


def _wrap(command: PreparedCommand, confinement: Confinement) -> PreparedCommand:
    refuse("local", _enforce(confinement))
    words = [
        *cgroup.joining(confinement.groups),
        *rlimits.words(confinement.limits, pids=False),
        command.executable,
        *command.argv[1:],
    ]
    argv = tuple(words) if len(words) > len(command.argv) else command.argv
    return command._replace(argv=argv, executable=words[0], cwd=confinement.cwd)


def _processes() -> Item:
    reason = keeper.missing()
    if reason is None:
        return Item("processes", "end with the session", "enforced", "keeper: subreaper and control socket")
    how = f"process group and warden, which do not reach a process that makes its own session ({reason})"
    return Item("processes", "end with the session", "narrowed", how)


def _enforce(confinement: Confinement) -> Enforcement:
    found = [
        Item(
            "env",
            "only what the host gives",
            "narrowed",
            "allow-list; readable by other processes of the same user",
        ),
        _processes(),
        Item("files", "declared mounts only", "unconfined", _OPEN),
    ]
    for inside in confinement.contents:
        missing = "without a mount namespace its content would have to be on disk"
        found.append(Item(f"file {inside}", "read-only, in memory", "refused", missing))
    for inside, folder in {**confinement.readable, **confinement.writable}.items():
        mode = "read-write" if inside in confinement.writable else "read-only"
        if inside != folder:
            missing = f"without a mount namespace {folder} cannot be seen there"
            found.append(Item(f"mount {inside}", mode, "refused", missing))
        elif mode == "read-only":
            found.append(Item(f"mount {inside}", mode, "unconfined", _OPEN))
    wanted = "none" if confinement.tunnel is None else ", ".join(confinement.tunnel.allowed)
    found.append(Item("network.egress", "the host's" if confinement.network else wanted, "unconfined", _OPEN))
    found += rlimits.report(confinement.limits, frozenset(confinement.groups), own_users=False)
    return tuple(found)


SANDBOX = Sandbox(
    name="local",
    missing=lambda root="host": None,  # noqa: ARG005 - any root is the host's
    wrap=_wrap,
    leader=lambda pid: pid,
    init=lambda _: None,
    enforce=_enforce,
)
