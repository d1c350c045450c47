"""Bubblewrap: namespaces for files, processes, network, IPC and users, without a daemon and without being root.

With `root="host"` the host's file system is there read-only. With `root="system"`, as agents get it, there are only the
programs and libraries of the system, certificates, and the declared mounts: no home, no keys, no configuration, a user
namespace of its own without the right to make more of them. In both `/tmp` and `/run` are empty, and only the named folders
can be written to. The command has a session and a process namespace of its own: a signal for its group does not reach the
monitor outside, and the end of the namespace's first process ends everything inside, also what left the group. Without a
network there is only a loopback device, of its own or (`loopback`) one that it shares with others; with a tunnel, a relay on
it, the first process inside, leads only to the filtering proxy. A command that a signal has ended is reported as 128 + its
number, as by a shell.

Every command has a system call filter (`sandbox.seccomp`), a session keyring of its own and the Landlock scopes that the
kernel has (`sandbox.entry`). Unix sockets and namespaces of its own are needs that have to be declared.

Variables of the command are set inside only, except for those that every child gets: bubblewrap itself would obey some (the
dynamic loader's) before there is any sandbox, and would show secrets to every user who sees its process. They and secret
files come through descriptors (`sandbox.entry`).

Memory and processes are limited by control groups where the host may make some, else by resource limits.

Measured on a quiet machine: about 9 ms per start (`./dev bench enclosure`).
"""

import functools
import os
import stat
from collections.abc import Mapping, Sequence

from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand, find
from operable.proc.environment import environment
from operable.proc.run import output
from operable.proc.sandbox import cgroup, landlock, loopback, relay, rlimits, seccomp, system_root
from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, Root, Sandbox, refuse
from operable.proc.sandbox.entry import Content, Place, Read, SandboxEntry, StatusReport, Word, split_contents
from operable.proc.sandbox.leader import children
from operable.proc.sandbox.ledger import open_items, writes_everywhere
from operable.proc.spawn import prepare

_PROGRAM = "bwrap"
# What every confined command gets.
_ALWAYS = "--unshare-pid --unshare-ipc --unshare-uts --new-session".split()
# No capability, because a host that runs as root would otherwise give it all of them.
_POWERLESS = ["--cap-drop", "ALL"]
# Root of the user namespace that it is put into; a user who is not root of the host needs one more to be root. The mounts
# of the sandbox also belong to that namespace: who may mount could make them writable again. (In a further user namespace
# it still can mount something of its own: there the kernel locks what it finds.)
# Nor may it take over another process, such as the first one, which has no limits.
_ROOTED = [
    *("--unshare-cgroup-try", "--cap-add", "ALL", "--cap-drop", "CAP_SYS_ADMIN"),
    *("--cap-drop", "CAP_SYS_PTRACE"),
]
_ROOTED_USER = [*_ROOTED, *"--unshare-user --uid 0 --gid 0".split()]
_HOST = "--ro-bind / / --dev /dev --proc /proc".split()
_SYSTEM = "--unshare-user --uid 1000 --gid 1000 --unshare-cgroup-try --hostname sandbox --dev /dev --proc /proc".split()
# What is written to an empty folder is in memory: so much of it, where bubblewrap can say so (0.7 and later).
_EMPTY_SIZE = 256 * 1024 * 1024
_PROBE_TIMEOUT = 5.0
# Monitor and first process: they are bubblewrap's own.
_ENCLOSURE = 2


@functools.cache
def _options() -> bytes:
    shown = output(prepare([_PROGRAM, "--help"]), timeout=_PROBE_TIMEOUT)
    return shown.stdout + shown.stderr.encode()


def _empty(place: str) -> list[str]:
    size = ["--size", str(_EMPTY_SIZE)] if b"--size" in _options() else []
    return [*size, "--tmpfs", place]


def _devices() -> list[str]:
    """/dev and /dev/shm are in memory, without a limit by bubblewrap: nothing can be made in one, the other gets ours."""
    return [*_empty("/dev/shm"), "--remount-ro", "/dev"]  # noqa: S108 - inside


def _unusable() -> str | None:
    """What can be checked without a start."""
    if find(_PROGRAM) is None:
        return "bubblewrap (bwrap) is not installed"
    return seccomp.missing()


def _outdated() -> str | None:
    """Mounts by descriptor came with 0.10, and with the security updates of distributions (CVE-2024-42472)."""
    return None if b"--bind-fd" in _options() else "this bubblewrap (bwrap) is too old: it has no --bind-fd"


@functools.cache
def _missing() -> str | None:
    return (
        _unusable()
        or _outdated()
        or _tried(
            [
                _PROGRAM,
                *_ALWAYS,
                *_POWERLESS,
                *_HOST,
                *system_root.masks(),
                "--unshare-net",
                "--die-with-parent",
                "true",
            ]
        )
    )


@functools.cache
def _missing_system() -> str | None:
    """The root that agents get needs user namespaces, which some systems give to root only."""
    return (
        _unusable()
        or _outdated()
        or _tried(
            [
                _PROGRAM,
                *_ALWAYS,
                *_POWERLESS,
                *_root(Confinement(cwd="/", root="system")),
                *system_root.masks(),
                "--unshare-net",
                "true",
            ]
        )
    )


def _missing_root(root: Root) -> str | None:
    return _missing_system() if root == "system" else _missing()


def _probe(root: Root = "host") -> str | None:
    return _missing_root(root) if _is_linux() else "bubblewrap needs Linux"


def _tried(words: Sequence[Word]) -> str | None:
    argv, contents = split_contents(words)
    try:
        found = output(prepare(argv)._replace(entry=SandboxEntry(contents)), timeout=_PROBE_TIMEOUT)
    except Fail as problem:
        return f"bubblewrap does not work here: {problem.message}"
    if found.status:
        return f"bubblewrap does not work here: {found.stderr.strip()[:200]}"
    return None


def _wrap(command: PreparedCommand, confinement: Confinement) -> PreparedCommand:
    reason = _missing_root(confinement.root)
    if reason is not None:
        raise Fail("config", "SANDBOX_UNAVAILABLE", reason, hint="apt-get install bubblewrap")
    refuse("bubblewrap", _enforce(confinement))
    program = find(_PROGRAM) or _PROGRAM
    words: list[Word] = []
    if confinement.loopback is not None:
        words += confinement.loopback.entering(rooted=confinement.rooted)
    words += [program, *_ALWAYS, *_rights(confinement), *_root(confinement), *system_root.masks()]
    if not confinement.network and confinement.loopback is None:
        words.append("--unshare-net")
    if not confinement.outlive:
        words.append("--die-with-parent")
    words += ["--json-status-fd", StatusReport()]
    fds = command.fds
    if confinement.gate is not None:
        words += ["--block-fd", str(confinement.gate)]
        fds = (*fds, confinement.gate)
    words += _mounts(confinement)
    for place, content in sorted(confinement.contents.items()):
        words += ["--perms", "0600", "--ro-bind-data", Read(content), place]
    words += _sealed(confinement)
    hidden = _hidden_variables(command.env)
    if hidden:
        words += ["--args", Read(_setting(command.env, hidden))]
    alone = _gives_up_processes(command)
    if confinement.tunnel is not None:
        # The relay is the first process: bubblewrap's own would have the rights of the relay, in the reach of the command.
        words.append("--as-pid-1")
    words += ["--seccomp", Read(_filter(confinement, alone=alone)), "--chdir", confinement.cwd, "--"]
    argv, contents = split_contents(
        [*words, *_inside(confinement, alone=alone), command.executable, *command.argv[1:]]
    )
    return PreparedCommand(
        argv,
        argv[0],
        {name: value for name, value in command.env.items() if name not in hidden},
        None,
        fds,
        tree=command.tree,
        enclosure=_ENCLOSURE,
        entry=_entry(confinement, contents),
    )


def _hidden_variables(env: Mapping[str, str]) -> frozenset[str]:
    """Variables that bubblewrap sets inside and does not have itself: some it would obey, and any may be a secret, which
    who sees its process outside could read. It has only those that carry none by convention.
    """
    return frozenset(env) - environment(source=env).keys()


def _setting(env: Mapping[str, str], names: frozenset[str]) -> bytes:
    words = [word for name in sorted(names) for word in ("--setenv", name, env[name])]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def _gives_up_processes(command: PreparedCommand) -> bool:
    """Everything else that a command may give up is for the confinement to say."""
    if not command.gives_up <= {"processes"}:
        raise ValueError(f"inside bubblewrap a command cannot give up {sorted(command.gives_up)} by itself")
    return bool(command.gives_up)


def _filter(confinement: Confinement, *, alone: bool) -> bytes:
    relayed = confinement.tunnel is not None  # the relay needs both, and takes them away behind it
    return seccomp.enclosure(
        sockets=confinement.sockets or relayed,
        namespaces=confinement.namespaces or confinement.rooted,
        processes=not alone or relayed,
    )


def _entry(confinement: Confinement, contents: tuple[tuple[int, Content], ...]) -> SandboxEntry:
    return SandboxEntry(
        contents=contents,
        scopes=_scopes(confinement),
        limits=rlimits.entries(confinement.limits, frozenset(confinement.groups)),
        groups=cgroup.doors(confinement.groups),
    )


@functools.cache
def _scoping() -> bool:
    """Landlock needs a process that gains no rights by executing, which a set-uid bubblewrap has to."""
    program = os.path.realpath(find(_PROGRAM) or _PROGRAM)
    is_setuid = os.path.exists(program) and bool(os.stat(program).st_mode & stat.S_ISUID)
    return landlock.version() >= landlock.SCOPING and (os.geteuid() == 0 or not is_setuid)


def _scopes(confinement: Confinement) -> int:
    """Only who shares the host's network finds the host's abstract sockets there; the process namespace holds signals."""
    return landlock.SCOPES if confinement.network and _scoping() else 0


def _rights(confinement: Confinement) -> list[str]:
    if not confinement.rooted:
        return _POWERLESS
    return _ROOTED if os.geteuid() == 0 else _ROOTED_USER


def _loopback() -> loopback.Loopback:
    """Without devices of its own bubblewrap makes one user namespace at most, in which we are who we are."""
    program = find(_PROGRAM) or _PROGRAM
    words = [program, *_ALWAYS, *_POWERLESS, "--unshare-user-try", "--unshare-net", "--die-with-parent"]
    return loopback.made([*words, "--ro-bind", "/", "/", "--", "cat"], _init)


def _root(confinement: Confinement) -> list[Word]:
    if confinement.root == "host":
        return [*_HOST, *_empty("/tmp"), *_empty("/run"), *_devices()]  # noqa: S108 - inside
    words: list[Word] = list(_SYSTEM)
    for place in ("/tmp", "/run", "/var/tmp"):  # noqa: S108
        words += _empty(place)
    words += _devices()
    if b"--disable-userns" in _options() and not confinement.namespaces:
        words.append("--disable-userns")
    return words + system_root.shown(network=confinement.network)


def _mounts(confinement: Confinement) -> list[Word]:
    """Sources are real paths, opened at the start: bubblewrap would resolve a path once more, when it may lead elsewhere."""
    words: list[Word] = [] if confinement.home is None else [*_empty(confinement.home)]
    places = [(inside, folder, "--ro-bind-fd") for inside, folder in confinement.readable.items()]
    places += [(inside, folder, "--bind-fd") for inside, folder in confinement.writable.items()]
    if confinement.tunnel is not None:
        ours = relay.mounts(confinement.tunnel).items()
        places += [(inside, os.path.realpath(path), "--ro-bind-fd") for inside, path in ours]
    places += [(inside, folder, "--bind-fd") for inside, folder in _pinned(confinement).items()]
    # Outer places first: a mount would hide what was mounted below it before.
    for inside, folder, option in sorted(places, key=lambda place: place[0].rstrip("/").count("/")):
        words += [option, Place(folder), inside]
    for path in confinement.hidden:
        is_folder = os.path.isdir(path)
        for at in _shown_at(path, confinement):
            words += ["--tmpfs", at, "--remount-ro", at] if is_folder else ["--ro-bind", os.devnull, at]
    return words


def _pinned(confinement: Confinement) -> dict[str, str]:
    """Writable folders above what is hidden or read-only, each as a mount of its own: such a folder cannot be renamed.

    A mount over a file belongs to the folder in which the file is. A command that renames that folder would show the file
    to the next command, which looks for it by its old path.
    """
    held = [
        *confinement.readable,
        *(at for path in confinement.hidden for at in _shown_at(path, confinement)),
    ]
    found: dict[str, str] = {}
    for above in dict.fromkeys(folder for at in held for folder in _folders_above(at)):
        mount = next(
            (each for each in (above, *_folders_above(above)) if each in _mounted(confinement)), None
        )
        if mount is not None and mount != above and mount in confinement.writable:
            source = confinement.writable[mount].rstrip("/") + above[len(mount.rstrip("/")) :]
            if os.path.isdir(source):
                found[above] = source
    return found


def _mounted(confinement: Confinement) -> set[str]:
    return {*confinement.readable, *confinement.writable}


def _folders_above(path: str) -> list[str]:
    """The nearest first, without the root."""
    found = []
    while (path := os.path.dirname(path.rstrip("/"))) not in ("/", ""):
        found.append(path)
    return found


def _shown_at(path: str, confinement: Confinement) -> list[str]:
    """Every place at which a file or folder of the host is seen inside: its own, and those below mounts elsewhere."""
    found = {path: None}
    for inside, folder in (*confinement.readable.items(), *confinement.writable.items()):
        if f"{path}/".startswith(f"{folder.rstrip('/')}/"):
            found[inside.rstrip("/") + path[len(folder.rstrip("/")) :]] = None
    return [*found]


def _sealed(confinement: Confinement) -> list[str]:
    """The root and its devices are in memory: when everything is in place, nothing more is written there."""
    return ["--remount-ro", "/", "--remount-ro", "/dev"] if confinement.root == "system" else []


def _inside(confinement: Confinement, *, alone: bool) -> list[str]:
    """What runs inside before the command: relay, then the limit that only counts inside."""
    words = []
    if confinement.tunnel is not None:
        words = relay.words(
            confinement.tunnel, seccomp.addition(sockets=confinement.sockets, processes=not alone)
        )
    return words + rlimits.inside(confinement.limits, pids="pids" not in confinement.groups)


_FREE = Item("files", "not restricted", "unconfined", "reads and writes all that the user can, as outside")


def _enforce(confinement: Confinement) -> Enforcement:
    held = Item(
        "files", "read-only except for mounts", "enforced", f"mount namespace, {confinement.root} root"
    )
    found = [
        Item("processes", "sees and signals only its own", "enforced", "process namespace"),
        Item("env", "only what the host gives", "enforced", "allow-list; process namespace"),
        _FREE if writes_everywhere(confinement) else held,
    ]
    for inside in confinement.readable:
        found.append(Item(f"mount {inside}", "read-only", "enforced", "read-only bind mount"))
    for inside in confinement.contents:
        found.append(
            Item(f"file {inside}", "read-only, in memory", "enforced", "memory of the mount namespace")
        )
    for inside in confinement.writable:
        found.append(Item(f"mount {inside}", "read-write", "enforced", "bind mount"))
    for path in confinement.hidden:
        found.append(Item(f"hidden {path}", "neither read nor written", "enforced", "empty mount over it"))
        found += _other_names(path)
    if confinement.tunnel is not None:
        wanted = ", ".join(confinement.tunnel.allowed) or "none"
        missing = relay.missing()
        if missing is None:
            found.append(Item("network.egress", wanted, "enforced", "network namespace; filtering proxy"))
        else:
            found.append(Item("network.egress", wanted, "refused", missing))
    elif confinement.loopback is not None:
        found.append(Item("network.egress", "none", "enforced", "network namespace, shared"))
    elif confinement.network:
        how = "shares the host's network: its services on loopback, and every host that it reaches"
        found.append(Item("network", "the host's", "unconfined", how))
    else:
        found.append(Item("network.egress", "none", "enforced", "network namespace"))
    own_users = confinement.root == "system" or os.geteuid() != 0
    found += rlimits.report(
        confinement.limits, frozenset(confinement.groups), own_users=own_users, by_entry=True
    )
    return (*found, *open_items(confinement, scopes=bool(_scopes(confinement))))


def _other_names(path: str) -> list[Item]:
    """A mount hides a name. A file with several (hard links) can be read by the others, and no process can list them."""
    try:
        status = os.lstat(path)
    except OSError:
        return []  # it is gone
    if not stat.S_ISREG(status.st_mode) or status.st_nlink == 1:
        return []
    how = f"the file has {status.st_nlink} names (hard links), and only this one is hidden"
    return [Item(f"other names of {path}", "not hidden", "unconfined", how)]


def _init(pid: int) -> int | None:
    """The first process inside: the only child of the monitor."""
    found = children(pid)
    return found[0] if found else None


def _leader(pid: int) -> int | None:
    first = _init(pid)
    return None if first is None else _init(first)


def _is_linux() -> bool:
    return os.path.isdir("/proc/self/task")


SANDBOX = Sandbox(
    name="bubblewrap",
    missing=_probe,
    wrap=_wrap,
    leader=_leader,
    init=_init,
    enforce=_enforce,
    loopback=_loopback,
    isolates_env=True,
)
