"""Whom a confined tool tried to reach: the kernel's own counters of its network namespace.

A sandbox without a network has only a loopback device, so whatever is sent elsewhere fails; the kernel counts it all
the same, per namespace. An open counter file keeps its namespace alive: it is opened and read before the tool starts, and
read again when everything of it has ended; the difference is what was tried in between. Nothing that runs inside can change
or avoid the counts.

What counts. Addresses outside: every attempt, a name lookup included. Addresses of this machine: only where nothing
inside answered, because then a service outside was meant. A tool that talks to its own helper on 127.0.0.1 has reached
no network, and a Unix socket is not a network (the folders in which daemons keep theirs are empty). Nor has one that
talks with a program that its profile put beside it: that is the tool's own server, and the tool's state shows what is
changed there. What such a program tries to reach while a call runs counts for the call, like everything that it does
because of one.
"""

from __future__ import annotations

from typing import BinaryIO, Self


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
    told = (
        (unroutable, "to an address outside this machine, or to a name server"),
        (unanswered, "to a port of this machine at which nothing in the sandbox listens (TCP)"),
        (unheard, "to a port of this machine at which nothing in the sandbox listens (UDP)"),
    )
    return tuple(
        f"{number} {'times' if number > 1 else 'time'} {whom}" for number, whom in told if number > 0
    )
