"""The sandbox of a wrapped command, as its manifests declare it, and the program that runs in it.

Theory of operation. `wanted` makes a `SandboxPlan` of an AIP-29 block when the manifests are read; a block that allows
everything is None, and such a program runs as it is. A program that may read everything gives up the rest before it is
executed (`proc.sandbox.restriction`: writing except in a folder of the call's own, the network, other processes), which
costs nearly nothing and works inside of other sandboxes. Whatever else is
declared, and systems without that, need bubblewrap: folders that may be written or read, places that are denied, hosts that
may be reached (through the filtering proxy). What cannot be enforced is refused, naming it; a user who wants a program to
run nevertheless, with all of the user's rights, says so in OPERABLE_UNCONFINED.
"""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.wrap.plan.model import SandboxPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from operable.manifest.blocks import ToolSandbox
    from operable.proc.command import PreparedCommand
    from operable.proc.sandbox.confinement import Confinement, Enforcement
    from operable.proc.sandbox.enclosure import Enclosure

UNCONFINED = "OPERABLE_UNCONFINED"
_EVERYTHING = ("**", "/**")
# Of the kernel: never given away as folders to write to.
_KERNEL = ("dev", "proc", "sys")
# Where programs make their temporary files.
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
# Represents the folder of the call's own in a variable; without such a folder the variable is not set.
_SCRATCH = "${scratch}"
# A need -> the word of `proc.sandbox.restriction` for what a program without it gives up.
_GIVEN_UP = {"network": "network", "programs": "processes", "sockets": "sockets", "write": "writes"}
# What the namespaces of bubblewrap do not take away by themselves.
_INSIDE = frozenset(("processes",))
_TEXTS = {
    "writes": "writes nothing",
    "network": "no network",
    "processes": "no other processes",
    "signals": "no signals to others",
    "sockets": "no sockets of local services",
}


def wanted(sandbox: ToolSandbox) -> SandboxPlan | None:
    """What a block declares; None when it allows everything."""
    files, network = sandbox.fs, sandbox.network
    writes_all = any(pattern in _EVERYTHING for pattern in files.write)
    reads_all = writes_all or any(pattern in _EVERYTHING for pattern in files.read)
    reaches_all = "*" in network.egress
    gives_up = [
        word
        for word, given in (
            ("writes", not files.write),
            ("network", not network.egress),
            ("processes", not sandbox.exec.allow),
        )
        if given
    ]
    found = SandboxPlan(
        gives_up=gives_up,
        read=None if reads_all else list(files.read),
        write=None if writes_all else list(files.write),
        deny=list(files.deny),
        hosts=None if reaches_all else list(network.egress),
        refused=list(_refused(sandbox, reaches_all=reaches_all)),
        boxed=bool(
            files.deny
            or not reads_all
            or (files.write and not writes_all)
            or (network.egress and not reaches_all)
        ),
    )
    return found if gives_up or found.boxed or found.refused else None


def narrowed(sandbox: SandboxPlan, needs: Sequence[str]) -> SandboxPlan:
    """The same sandbox without some of the needs that it grants (`needs.NEEDS`)."""
    words = [_GIVEN_UP[need] for need in needs if need in _GIVEN_UP]
    write = [] if "write" in needs else sandbox.write
    hosts = [] if "network" in needs else sandbox.hosts
    return sandbox.replace(
        gives_up=[
            *sandbox.gives_up,
            *(word for word in dict.fromkeys(words) if word not in sandbox.gives_up),
        ],
        write=write,
        hosts=hosts,
        scratch=sandbox.scratch and "scratch" not in needs,
        boxed=bool(sandbox.deny or sandbox.read is not None or write or hosts),
    )


def settled(sandbox: SandboxPlan | None) -> SandboxPlan | None:
    """The same sandbox as this machine has to enforce it: without folders to write to where none of them exists.

    A command that changes nothing then gives up writing, except in its scratch folder, and needs no bubblewrap.
    """
    if sandbox is None or not sandbox.write or "signals" not in sandbox.gives_up:
        return sandbox
    there = _existing(_set_places(sandbox.write), os.path.realpath(os.getcwd()))
    return sandbox if there else narrowed(sandbox, ["write"])


def _refused(sandbox: ToolSandbox, *, reaches_all: bool) -> Generator[tuple[str, str, str], None, None]:
    """What nothing here can enforce: (item, what was declared, what is missing)."""
    if sandbox.tty.required:
        yield "tty.required", "true", "a wrapped program gets no terminal"
    if sandbox.exec.spawn:
        yield "exec.spawn", ", ".join(sandbox.exec.spawn), "no mechanism limits which programs are executed"
    if sandbox.network.ingress and not reaches_all:
        ingress = ", ".join(sandbox.network.ingress)
        yield "network.ingress", ingress, "a program without the host's network cannot be reached through it"
    for key in ("read", "write", "deny"):
        for pattern in getattr(sandbox.fs, key):
            if pattern not in _EVERYTHING and any(sign in _place(pattern) for sign in "*?["):
                yield f"fs.{key}", pattern, "only whole folders (`path/**`) and single files can be mounted"


def texts(sandbox: SandboxPlan | None) -> list[str]:
    """What a command may not do, for people."""
    if sandbox is None:
        return []
    found = [_TEXTS[word] for word in sandbox.gives_up]
    for only, text in (
        (sandbox.write, "writes only"),
        (sandbox.read, "reads only"),
        (sandbox.hosts, "reaches only"),
    ):
        if only:
            found.append(f"{text} {', '.join(only)}")
    return found + [f"neither reads nor writes {pattern}" for pattern in sandbox.deny]


def may_start_others(sandbox: SandboxPlan | None) -> bool:
    """Whether the program can leave processes behind that a caller has to look for."""
    sandbox = settled(sandbox)
    return sandbox is None or unconfined(sandbox) or not (sandbox.boxed or "processes" in sandbox.gives_up)


def unconfined(sandbox: SandboxPlan | None) -> bool:
    """Whether the user has said that a program which declares a sandbox is to run without one."""
    return sandbox is not None and bool(os.environ.get(UNCONFINED))


def problem(sandbox: SandboxPlan | None) -> Fail | None:
    """Why a program cannot be confined so on this machine; None: it can."""
    sandbox = settled(sandbox)
    if sandbox is None or unconfined(sandbox):
        return None
    from operable.proc.sandbox.restriction import missing

    given_up = frozenset(sandbox.gives_up)
    light = missing(given_up)
    if light is None and not sandbox.boxed and not sandbox.refused:
        return None
    from operable.proc.sandbox.confinement import Item, refuse
    from operable.proc.sandbox.confinement import sandbox as mechanism

    try:
        refuse("wrap", tuple(Item(item, said, "refused", why) for item, said, why in sandbox.refused))
    except Fail as fail:
        return fail
    # Inside of bubblewrap only what it cannot do itself is given up.
    reason = mechanism("bubblewrap").missing() or missing(given_up & _INSIDE)
    if reason is None:
        return None
    return Fail(
        "config",
        "SANDBOX_UNAVAILABLE",
        f"what the wrapper declares ({'; '.join(texts(sandbox))}) cannot be enforced here: "
        + "; ".join(dict.fromkeys(why for why in (light, reason) if why)),
        hint=f"{UNCONFINED}=1 runs it with all of your rights",
    )


def looking(command: PreparedCommand) -> PreparedCommand:
    """The command of a program that is asked for its help or its version."""
    from operable.proc.sandbox.restriction import without_effects

    return command if os.environ.get(UNCONFINED) else without_effects(command)


class ConfinedCommand:
    """A command that runs as its sandbox says: entered, it is the command to start; left, nothing of it remains."""

    def __init__(self, command: PreparedCommand, sandbox: SandboxPlan | None) -> None:
        self._command, self._sandbox = command, settled(sandbox)
        self._enclosure: Enclosure | None = None
        self._folder: str | None = None

    @property
    def ledger(self) -> Enforcement:
        """What is held and what stays open, item by item, while it is entered."""
        from operable.proc.sandbox.ledger import given_up_items

        if self._enclosure is not None:
            return self._enclosure.report
        held = self._sandbox is not None and not unconfined(self._sandbox)
        return tuple(given_up_items(frozenset(self._sandbox.gives_up if self._sandbox and held else ())))

    def __enter__(self) -> PreparedCommand:
        sandbox = self._sandbox
        if sandbox is None or unconfined(sandbox):
            return _placed(self._command, None)
        failure = problem(sandbox)
        if failure is not None:
            raise failure

        from operable.proc.sandbox.restriction import missing

        given_up = frozenset(sandbox.gives_up)
        if not sandbox.boxed and missing(given_up) is None:
            return self._light(sandbox, given_up)
        try:
            return self._boxed(sandbox, given_up)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        if self._enclosure is not None:
            self._enclosure.close()
            self._enclosure = None
        if self._folder is not None:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _light(self, sandbox: SandboxPlan, given_up: frozenset[str]) -> PreparedCommand:
        scratch = self._scratch() if sandbox.scratch else None
        return _placed(self._command, scratch)._replace(gives_up=given_up, scratch=scratch)

    def _boxed(self, sandbox: SandboxPlan, given_up: frozenset[str]) -> PreparedCommand:
        from operable.proc.sandbox.confinement import sandbox as mechanism
        from operable.proc.sandbox.enclosure import Egress, enclose

        scratch = self._scratch() if sandbox.scratch else None
        command = _placed(self._command, scratch)._replace(gives_up=given_up & _INSIDE)
        place = confinement(command, sandbox, scratch)
        egress = Egress(tuple(sandbox.hosts)) if sandbox.hosts else None
        # No keeper for one program: what a killed call leaves, the next one removes.
        self._enclosure = enclose(mechanism("bubblewrap"), place, egress=egress, kept=False)
        return self._enclosure.wrap(command)

    def _scratch(self) -> str:
        """The folder that the program may write to; it goes with everything else of the call."""
        import tempfile

        self._folder = tempfile.mkdtemp(prefix="operable-wrap-")
        return self._folder


def confinement(command: PreparedCommand, sandbox: SandboxPlan, scratch: str | None = None) -> Confinement:
    """The same in the words of `proc.sandbox.confinement`."""
    from operable.proc.sandbox.confinement import Confinement

    cwd = os.path.realpath(command.cwd or os.getcwd())
    written = _existing(_set_places(sandbox.write or ()), cwd)
    read = _existing(sandbox.read or (), cwd)
    # The root of the host has its links itself; in a root of its own a folder is also shown by the link that named it.
    links = () if sandbox.read is None else _showable({**read, **written})
    writable = _folders() if sandbox.write is None else _shown(written, links)
    if scratch is not None:
        writable[scratch] = os.path.realpath(scratch)
    readable = {path: os.path.realpath(path) for path in ("/tmp", "/run")}  # noqa: S108 - as they are, where all is read
    shown = cwd
    if sandbox.read is not None:
        real = os.path.realpath(command.executable)
        system = ("/usr/", "/bin/", "/lib")
        readable = {path: real for path in (command.executable, real) if not path.startswith(system)}
        readable |= _shown(read, links)
        places = (*readable, *writable)
        shown = cwd if any(f"{cwd}/".startswith(f"{place.rstrip('/')}/") for place in places) else "/"
    return Confinement(
        cwd=shown,
        writable=writable,
        readable={place: path for place, path in readable.items() if place not in writable},
        # Where they really are: a link is hidden with its target.
        hidden=tuple(dict.fromkeys(_existing(sandbox.deny, cwd).values())),
        root="host" if sandbox.read is None else "system",
        network=sandbox.hosts is None,
        sockets="sockets" not in sandbox.gives_up,
    )


def _placed(command: PreparedCommand, scratch: str | None) -> PreparedCommand:
    """The command with its scratch folder in the variables that name it."""
    named = [name for name, value in command.env.items() if _SCRATCH in value]
    if scratch is None and not named:
        return command
    env = {name: value for name, value in command.env.items() if name not in named}
    if scratch is not None:
        env |= dict.fromkeys(_TEMPORARY, scratch)
        env |= {name: command.env[name].replace(_SCRATCH, scratch) for name in named}
    return command._replace(env=env)


def _set_places(patterns: Sequence[str]) -> list[str]:
    """Places to write to, with their variables; one that names a variable which is not set names no place."""
    return [place for place in map(os.path.expandvars, patterns) if "$" not in place]


def _existing(patterns: Sequence[str], cwd: str) -> dict[str, str]:
    """Name -> real path of the folders and files that patterns name; what is not there can be neither shown nor hidden."""
    named = [os.path.normpath(os.path.join(cwd, os.path.expanduser(_place(each)))) for each in patterns]
    return {path: os.path.realpath(path) for path in named if os.path.exists(path)}


def _shown(found: dict[str, str], links: Sequence[str]) -> dict[str, str]:
    """Place inside -> real path: each where it is, and at those of its names that are `links`."""
    names = {path: real for path, real in found.items() if path in links}
    return {real: real for real in found.values()} | names


def _showable(found: dict[str, str]) -> tuple[str, ...]:
    """Names at which something can be mounted: below another one a link is seen itself, and nothing fits over it."""
    return tuple(
        path
        for path in found
        if not any(path != other and path.startswith(f"{other.rstrip('/')}/") for other in found)
    )


def _place(pattern: str) -> str:
    return pattern[: -len("/**")] or "/" if pattern.endswith("/**") else pattern


def _folders() -> dict[str, str]:
    """All that can be written: the folders of the root that are neither devices nor the kernel's."""
    found = (f"/{name}" for name in sorted(os.listdir("/")) if name not in _KERNEL)
    return {path: path for path in found if os.path.isdir(path) and not os.path.islink(path)}
