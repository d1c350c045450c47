"""Node's permission model: a script that Node itself keeps from files, from other programs, from workers and add-ons.

For agents that are Node scripts and need no programs beside them. Files outside the mounts cannot be opened, nothing can be
executed. Network access can be forbidden from Node 25 on (`--allow-net` exists); a list of hosts never: it is refused. It
guards against mistakes of trusted code: native code in the process bypasses it. It does not hide the
environment, and so does not go together with `auth`.
"""

import functools
import os
import shutil

from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand
from operable.proc.run import output
from operable.proc.sandbox import cgroup, rlimits
from operable.proc.sandbox.confinement import Confinement, Enforcement, Item, Sandbox, refuse
from operable.proc.spawn import prepare

_PROBE_TIMEOUT = 10.0


@functools.cache
def _flags() -> bytes:
    program = shutil.which("node")
    return b"" if program is None else output(prepare([program, "--help"]), timeout=_PROBE_TIMEOUT).stdout


def _switch() -> str | None:
    """What turns the model on: its name changed when it was declared stable (22.13 and 23.5)."""
    for name in ("--permission", "--experimental-permission"):
        if f"  {name} ".encode() in _flags() or f"{name}\n".encode() in _flags():
            return name
    return None


def _missing() -> str | None:
    if shutil.which("node") is None:
        return "node is not installed"
    return None if _switch() else "this node has no permission model (20 and later have)"


def _wrap(command: PreparedCommand, confinement: Confinement) -> PreparedCommand:
    reason = _missing()
    if reason is not None:
        raise Fail("config", "SANDBOX_UNAVAILABLE", reason, hint="install Node.js 22.13 or later")
    refuse("node-permission", _enforce(confinement))
    node, script = _script(command)
    words = [*cgroup.joining(confinement.groups), *rlimits.words(confinement.limits, pids=False)]
    words += [node, str(_switch())]
    package = os.path.dirname(script)
    for folder in (package, *confinement.readable.values(), *confinement.writable.values()):
        words.append(f"--allow-fs-read={folder}{'' if os.path.isfile(folder) else '/*'}")
    for folder in confinement.writable.values():
        words.append(f"--allow-fs-write={folder}/*")
    if confinement.network and _knows_network():
        words.append("--allow-net")
    words += [script, *command.argv[1:]]
    return command._replace(argv=tuple(words), executable=words[0], cwd=confinement.cwd)


def _script(command: PreparedCommand) -> tuple[str, str]:
    """(node, script): what is run must be a script whose first line names node."""
    script = os.path.realpath(command.executable)
    with open(script, "rb") as file:
        first = file.readline(256)
    node = shutil.which("node")
    if node is None or not first.startswith(b"#!") or b"node" not in first:
        raise Fail(
            "config",
            "SANDBOX_CANNOT_ENFORCE",
            f"node-permission confines only Node scripts, and {command.executable} is not one",
            target=command.argv[0],
            hint="use the provider bubblewrap",
        )
    return node, script


def _knows_network() -> bool:
    return b"--allow-net" in _flags()


def _enforce(confinement: Confinement) -> Enforcement:
    how = f"node {_switch() or '--permission'}"
    found = [
        Item("files", "declared mounts only", "enforced", f"{how} --allow-fs-read, --allow-fs-write"),
        Item("processes", "no other programs", "narrowed", f"{how}: nothing can be started"),
        Item(
            "env",
            "only what the host gives",
            "narrowed",
            "allow-list; readable by other processes of the same user",
        ),
    ]
    for inside in confinement.contents:
        missing = "without a mount namespace its content would have to be on disk"
        found.append(Item(f"file {inside}", "read-only, in memory", "refused", missing))
    for inside, folder in {**confinement.readable, **confinement.writable}.items():
        mode = "read-write" if inside in confinement.writable else "read-only"
        if inside == folder:
            found.append(Item(f"mount {inside}", mode, "enforced", how))
        else:
            missing = f"without a mount namespace {folder} cannot be seen there"
            found.append(Item(f"mount {inside}", mode, "refused", missing))
    if confinement.tunnel is not None:
        found.append(
            Item(
                "network.egress",
                ", ".join(confinement.tunnel.allowed),
                "refused",
                "node has no list of allowed hosts",
            )
        )
    elif confinement.network:
        found.append(Item("network", "the host's", "enforced", "not restricted, as declared"))
    elif _knows_network():
        found.append(Item("network.egress", "none", "enforced", f"{how} without --allow-net"))
    else:
        found.append(
            Item(
                "network.egress", "none", "refused", "this node cannot forbid the network (25 and later can)"
            )
        )
    found += rlimits.report(confinement.limits, frozenset(confinement.groups), own_users=False)
    return tuple(found)


SANDBOX = Sandbox(
    name="node-permission",
    missing=lambda root="host": _missing(),  # noqa: ARG005 - any root is the host's
    wrap=_wrap,
    leader=lambda pid: pid,
    init=lambda _: None,
    enforce=_enforce,
)
