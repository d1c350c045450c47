"""One confined process tree, from the outside: held until it is known, counted, signalled, and ended whole.

A tool waits behind the gate until its namespaces are there. Then the counters of its network are opened and it is put into a
control group, so that everything is seen from its first instruction on. Without a sandbox there is no gate and no
first process; then only the group of the tool can be signalled.
"""

from __future__ import annotations

import os
import signal
from typing import BinaryIO, Self

from operable.lint.lab import processes
from operable.proc.sandbox import cgroup
from operable.proc.sandbox.confinement import Sandbox
from operable.proc.tree.group import signal_group

# Private writable memory. Address space is not a measure: Go, Node and the JVM reserve it by the terabyte.
MEMORY = 4 * 1024**3
# Threads and processes. A JVM has a few dozen threads, a build some processes.
TASKS = 512
# More at once than any sample call needs. Below the hard limits, so that it is seen and said.
PROCESSES = 128


class Custody:
    """What is known of the tree of one run."""

    def __init__(self, sandbox: Sandbox | None, *, network: bool) -> None:
        self._sandbox = sandbox
        self._network = network
        self._contacts: Contacts | None = None
        self._groups: dict[str, str] = {}
        self._ours: int | None = None
        self.theirs: int | None = None  # the end of the gate that the tool waits at
        self.init: int | None = None
        self.leader: int | None = None
        if sandbox is not None:
            self.theirs, self._ours = os.pipe()

    def handed_over(self) -> None:
        """The tool has its end of the gate."""
        if self.theirs is not None:
            os.close(self.theirs)
            self.theirs = None

    def known(self, pid: int) -> bool:
        """Whether the tree of this process is there by now; at the first time it is taken into custody."""
        if self._sandbox is None:
            return True
        if self.init is None:
            self.init = self._sandbox.init(pid)
            if self.init is None:
                return False
            if not self._network:
                self._contacts = Contacts.of(self.init)
            # Where none can be made, RLIMIT_NPROC limits users other than root, and `excess` every user.
            self._groups = cgroup.prepare({"pids": TASKS, "memory": MEMORY})
            cgroup.admit(self._groups, self.init)
        return True

    def open(self) -> None:
        """Let the tool begin."""
        if self._ours is not None:
            os.close(self._ours)
            self._ours = None

    def led(self, pid: int) -> bool:
        """Whether it is known whom to signal."""
        if self._sandbox is not None and self.leader is None:
            self.leader = self._sandbox.leader(pid)
        return self._sandbox is None or self.leader is not None

    def gone(self) -> bool:
        """Whether the tool itself, if it was ever seen, has ended."""
        return self.leader is not None and not processes.living(self.leader)

    def waiting(self) -> processes.Waiting:
        return processes.Waiting() if self.init is None else processes.waiting(self.init)

    def used(self) -> float:
        """The seconds of processor time that the tree has used so far, as far as it still lives."""
        return 0.0 if self.init is None else processes.used(self.init)

    def excess(self) -> str | None:
        """What the tree uses too much of."""
        if self.init is None:
            return None
        found = processes.census(self.init)
        if found.processes > PROCESSES:
            return f"it had {found.processes} processes at once"
        return f"it used {found.memory >> 20} MiB of memory" if found.memory > MEMORY else None

    def signal(self, pid: int, number: signal.Signals) -> bool:
        """Send it to the group of the tool; False if no process is left."""
        if self._sandbox is None:
            signal_group(pid, number)
            return True
        self.led(pid)
        if self.leader is None:
            return False
        try:
            signal_group(os.getpgid(self.leader), number)
        except ProcessLookupError:
            return False
        return True

    def kill(self) -> None:
        if self.init is not None:
            processes.kill(self.init)

    def ended(self) -> bool:
        return self.init is None or not processes.living(self.init)

    def orphans(self) -> tuple[str, ...]:
        return () if self.init is None else tuple(processes.names_below(self.init))

    def outgoing(self) -> tuple[str, ...] | None:
        """Whom it tried to reach; None if that is not visible."""
        return None if self._contacts is None else self._contacts.outgoing()

    def close(self) -> None:
        self.kill()
        self.handed_over()
        self.open()
        if self._contacts is not None:
            self._contacts.close()
        cgroup.remove(self._groups)


# Whom a confined tool tried to reach: the kernel's own counters of its network namespace.
#
# A sandbox without a network has only a loopback device, so whatever is sent elsewhere fails; the kernel counts it
# all the same, per namespace. An open counter file keeps its namespace alive: it is opened and read before the tool
# starts, and read again when everything of it has ended; the difference is what was tried in between. Nothing that
# runs inside can change or avoid the counts.
#
# What counts. Addresses outside: every attempt, a name lookup included. Addresses of this machine: only where nothing
# inside answered, because then a service outside was meant. A tool that talks to its own helper on 127.0.0.1 has
# reached no network, and a Unix socket is not a network (the folders in which daemons keep theirs are empty). Nor has
# one that talks with a program that its profile put beside it: that is the tool's own server, and the tool's state
# shows what is changed there. What such a program tries to reach while a call runs counts for the call, like
# everything that it does because of one.


class Contacts:
    """The counters of one namespace; a closed one reports nothing more."""

    def __init__(self, files: list[BinaryIO]) -> None:
        self._files = files
        self._before = self._read()

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The counters of the namespace that this process is in; None when they cannot be read here."""
        files: list[BinaryIO] = []
        for name in ("snmp", "snmp6"):
            try:
                files.append(open(f"/proc/{pid}/net/{name}", "rb", buffering=0))  # noqa: SIM115 - closed by `close`
            except OSError:
                if name == "snmp":
                    return None  # without IPv6 there is no second file
        return cls(files)

    def outgoing(self) -> tuple[str, ...]:
        """What was tried since it was opened, in words."""
        return described({name: now - self._before.get(name, 0) for name, now in self._read().items()})

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _read(self) -> dict[str, int]:
        text = ""
        for file in self._files:
            file.seek(0)
            text += file.read(1 << 16).decode("ascii", "replace")
        return counters(text)


def counters(text: str) -> dict[str, int]:
    """Name -> number, from both forms: a line of names above a line of numbers (snmp), or one pair per line (snmp6)."""
    found: dict[str, int] = {}
    names: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] and words[0].endswith(":"):
            if names[:1] == words[:1]:
                pairs = zip(names[1:], words[1:], strict=False)
                found |= {f"{words[0][:-1]}{name}": int(number) for name, number in pairs}
                names = []
            else:
                names = words
        elif len(words) == 2 and words[1].isdecimal():
            found[words[0]] = int(words[1])
    return found


def described(counts: dict[str, int]) -> tuple[str, ...]:
    """The counts that mean a contact with the outside."""
    unroutable = counts.get("IpOutNoRoutes", 0) + counts.get("Ip6OutNoRoutes", 0)
    unanswered = counts.get("TcpActiveOpens", 0) - counts.get("TcpPassiveOpens", 0)
    unheard = counts.get("UdpNoPorts", 0) + counts.get("Udp6NoPorts", 0)
    reported = (
        (unroutable, "to an address outside this machine, or to a name server"),
        (unanswered, "to a port of this machine at which nothing in the sandbox listens (TCP)"),
        (unheard, "to a port of this machine at which nothing in the sandbox listens (UDP)"),
    )
    return tuple(
        f"{number} {'times' if number > 1 else 'time'} {whom}" for number, whom in reported if number > 0
    )
