"""A network with only a loopback device that several confined commands share: a server, and its clients.

Theory of operation. A network namespace lives as long as a process has it open. A confined command makes one (its sandbox
brings the loopback device up), we open it, and the command may end: from then on the descriptors here keep the namespace.
The kernel removes it with the last of them and the last process inside, also if we are killed. `nsenter` puts a
command into it before its sandbox is made, through our own /proc entry, so that no descriptor of it is inherited.

A process that is not root may enter a network only through the user namespace that owns it; the kernel says which one
that is. Where that is not allowed, nsenter says so and the command does not run. A process that is root in that
namespace controls the network: may give it interfaces and routes.
"""

import fcntl
import os
from collections.abc import Callable, Sequence

from operable.kernel.errors import Fail
from operable.proc.child import OPEN
from operable.proc.command import find
from operable.proc.run import supervise
from operable.proc.spawn import prepare
from operable.proc.tree.escalation import Graces

_PROGRAM = "nsenter"
# ioctl_ns(2): the user namespace that owns this one (Linux 4.9).
_NS_GET_USERNS = 0xB701
_TIMEOUT = 20.0
_AT_ONCE = Graces(interrupt=0.0, terminate=0.0)


class Loopback:
    """One such network, held open. Made by `Sandbox.loopback`."""

    __slots__ = ("net", "user")

    def __init__(self, net: int, user: int | None) -> None:
        self.net = net
        self.user = user  # the user namespace to go through; None: our own

    def entering(self, *, rooted: bool = False) -> list[str]:
        """Words to put before a command: it then runs in this network, or not at all. `rooted`: as who rules it."""
        ours = f"/proc/{os.getpid()}/fd"
        words = [find(_PROGRAM) or _PROGRAM, f"--net={ours}/{self.net}"]
        if rooted and self.user is None:
            raise _unavailable("there are no user namespaces here in which a process could control it")
        # Root gets in anyway, and stays who it is.
        if rooted or os.geteuid() != 0:
            words += [] if self.user is None else [f"--user={ours}/{self.user}", "--preserve-credentials"]
        return [*words, "--"]

    def close(self) -> None:
        """Release it; a process inside keeps it."""
        for fd in (self.net, self.user):
            if fd is not None:
                os.close(fd)


def made(holder: Sequence[str], first: Callable[[int], int | None]) -> Loopback:
    """The network of a confined `cat`, which is then ended. `first`: its pid -> that of a process inside."""
    if find(_PROGRAM) is None:
        raise _unavailable("nsenter (util-linux) is not installed")
    found: list[Loopback] = []

    def inside(_: bytes) -> None:
        pid = first(run.child.pid)
        if pid is not None and not found:
            found.append(_opened(pid))
        run.child.kill("done")

    with supervise(prepare(holder), on_stdout=inside, stdin=OPEN, timeout=_TIMEOUT, graces=_AT_ONCE) as run:
        assert run.child.stdin is not None  # noqa: S101 - it was asked for
        run.child.stdin.write(b"\n")
        end = run.wait()
    if not found:
        raise _unavailable(end.stderr.text().strip()[-200:] or "its first process was not seen")
    return found[0]


def _opened(pid: int) -> Loopback:
    try:
        net = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            user: int = fcntl.ioctl(net, _NS_GET_USERNS)
        except OSError:
            os.close(net)
            raise
    except OSError as error:
        raise _unavailable(f"it cannot be opened: {error.strerror}") from error
    if os.fstat(user).st_ino == os.stat("/proc/self/ns/user").st_ino:
        os.close(user)
        return Loopback(net, None)
    return Loopback(net, user)


def _unavailable(reason: str) -> Fail:
    return Fail("config", "NETWORK_UNAVAILABLE", f"no private network can be made that is shared: {reason}")
