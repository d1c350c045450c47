"""What a process gives up before it executes a program, without a sandbox around it.

    writes     changing any file (content, names, modes, owners, times, attributes) or the machine (clock, modules, …);
               shared memory, semaphores and message queues of the machine; with a scratch folder, content and names in
               that one stay
    attributes modes, owners, times and attributes of files: the change succeeds and does nothing, where with `writes` alone
               it fails; for a program that unpacks itself and would end there
    network    every socket but unix sockets, and netlink to ask what interfaces there are
    sockets    unix sockets, of the file system and abstract; a connected pair of its own stays
    processes  starting another process
    signals    signals to processes outside; tracing, memory, environment, priority and limits of any other process; keys

Theory of operation. Landlock takes away writing (Linux 6.2) and signals (6.12), a system call filter the rest. Both are
inherited and cannot be given back, need no privilege, no namespace and no program, and cost a few system calls between
fork and exec (`bubblewrap` costs ten milliseconds and more). What stays open: reading every file that the user can read,
files that are open already, the null device, memory, processor time, and what /proc says about other processes.
"""

import errno
import os
import struct
import sys

from operable.proc.command import PreparedCommand
from operable.proc.sandbox import landlock, seccomp
from operable.proc.sandbox.syscalls import libc

# What can be given up, by the word that a `PreparedCommand` has for it.
WRITES, NETWORK, PROCESSES, SIGNALS, SOCKETS = "writes", "network", "processes", "signals", "sockets"
WORDS = frozenset((WRITES, NETWORK, PROCESSES, SIGNALS, SOCKETS))
ATTRIBUTES = "attributes"
_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_DROP_FROM_BOUNDS = 24
# With these, root looks into other processes or acts on them past every check of Landlock: CAP_KILL, SYS_MODULE, SYS_RAWIO,
# SYS_PTRACE, SYS_ADMIN, SYS_NICE, SYS_RESOURCE, PERFMON, BPF, CHECKPOINT_RESTORE. What root may read stays.
_OVER_OTHERS = (5, 16, 17, 19, 21, 23, 24, 38, 39, 40)
# With these, root changes files of others or the machine: all but reading (DAC_READ_SEARCH), other processes (above), the
# network (NET_BIND_SERVICE, NET_BROADCAST, NET_RAW), locked memory and the logs.
_OVER_THE_MACHINE = (
    *(0, 1, 3, 4, 6, 7, 8, 9, 12, 16, 17, 18, 20, 21, 22),
    *(*range(24, 34), 35, 36, 38, 39, 40),
)
# With these, root changes the network through netlink, which stays for asking: CAP_NET_ADMIN, NET_RAW.
_OVER_NETWORK = (12, 13)
_GIVEN_UP = frozenset((NETWORK, SIGNALS, SOCKETS, WRITES))
_CHANGES = frozenset((SIGNALS, WRITES))


def missing(what: frozenset[str]) -> str | None:
    """Why these cannot be given up here; None: they can."""
    if not what:
        return None
    if not what <= WORDS | {ATTRIBUTES}:
        return f"no mechanism is known that gives up {', '.join(sorted(what - WORDS))}"
    if not sys.platform.startswith("linux") or seccomp.missing() is not None:
        return f"there is no Landlock and seccomp for {sys.platform} on {os.uname().machine}"
    version = landlock.version() if what & {WRITES, SIGNALS} else 0
    if WRITES in what and version < landlock.TRUNCATING:
        return "the kernel has no Landlock that knows about truncating (Linux 6.2 and later, enabled)"
    if SIGNALS in what and version < landlock.SCOPING:
        return "the kernel has no Landlock that knows about signals (Linux 6.12 and later, enabled)"
    return None


def program(what: frozenset[str]) -> bytes:
    """The filter, as the kernel reads it."""
    return seccomp.restriction(
        writes=WRITES in what,
        network=NETWORK in what,
        processes=PROCESSES in what,
        sockets=SOCKETS in what,
        signals=SIGNALS in what,
        attributes=ATTRIBUTES in what,
    )


class Restriction:
    """Prepared in the host, applied by `__call__` in the child: only system calls happen there."""

    def __init__(self, what: frozenset[str], scratch: str | None = None) -> None:
        import ctypes

        self._libc = libc()
        scopes = (landlock.SIGNALS if SIGNALS in what else 0) | _abstract(what)
        self._dropped = {
            *(_OVER_OTHERS if SIGNALS in what else ()),
            *(_OVER_NETWORK if NETWORK in what else ()),
            *(_OVER_THE_MACHINE if WRITES in what else ()),
        }
        self._rules: int | None = None
        if WRITES in what or scopes:
            self._rules = landlock.ruleset(writes=WRITES in what, scopes=scopes, scratch=scratch)
        code = program(what)
        self._code = ctypes.create_string_buffer(code, len(code))
        self._filter = ctypes.create_string_buffer(
            struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(self._code)), 16
        )

    def __call__(self) -> None:
        for capability in self._dropped:
            self._libc.prctl(
                _DROP_FROM_BOUNDS, capability, 0, 0, 0
            )  # fails for a process that has none to drop
        if self._libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(errno.EPERM, "no_new_privs")
        if self._rules is not None:
            landlock.restrict(self._rules)
        if self._libc.prctl(_SET_SECCOMP, _MODE_FILTER, self._filter, 0, 0) != 0:
            raise OSError(errno.EPERM, "seccomp")

    def close(self) -> None:
        if self._rules is not None:
            os.close(self._rules)
            self._rules = None


def _abstract(what: frozenset[str]) -> int:
    """A process that gives up the network reaches no service beside the file system either, where the kernel can hold
    that.
    """
    wanted = bool(what & {NETWORK, SOCKETS}) and landlock.version() >= landlock.SCOPING
    return landlock.ABSTRACT_SOCKETS if wanted else 0


# A program that is only asked what it is, for its version or its help: it changes nothing and reaches no network.
# It gives up writing, the network, sockets and signals to others before it is executed, and keeps what it can read. It
# may start other programs, because many are found through a shim. Who runs it and judges the answer is the caller's
# business.
def without_effects(command: PreparedCommand, scratch: str | None = None) -> PreparedCommand:
    """The command without its effects. With `scratch`, that folder is its home, and it may change what is in there.

    Where the kernel cannot take the rights away (`keeps_effects` says why), the program keeps them.
    """
    if keeps_effects() is not None:
        return command
    if scratch is None:
        return command._replace(gives_up=_GIVEN_UP)
    env = {name: value for name, value in command.env.items() if not name.startswith("XDG_")}
    home = {**env, "HOME": scratch, "TMPDIR": scratch}
    return command._replace(gives_up=_GIVEN_UP | {ATTRIBUTES}, scratch=scratch, env=home)


def keeps_effects() -> str | None:
    """Why `without_effects` takes nothing away here; None: it does."""
    return missing(_GIVEN_UP)


def without_changes(command: PreparedCommand) -> PreparedCommand:
    """The command of a program that is asked its state, also elsewhere: it keeps the network and sockets.

    Changing modes and times succeeds in name only, because programs do it on the way. Where the kernel cannot take the
    rights away (`keeps_changes` says why), the program keeps them.
    """
    return command if keeps_changes() is not None else command._replace(gives_up=_CHANGES | {ATTRIBUTES})


def keeps_changes() -> str | None:
    """Why `without_changes` takes nothing away here; None: it does."""
    return missing(_CHANGES)
