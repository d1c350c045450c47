"""What the keeper process does: it starts agents for its host, adopts whatever they leave, and ends all of it.

Theory of operation. Run by `keeper` as a process of its own, one per host. It is a subreaper, and so is the *stem* that it
forks for each session; the agent is the stem's child. Whatever the agent starts, however often it forks and whichever
sessions it makes, is therefore below the stem until it is dead, and the stem knows whose it is. A stem ends its tree when
its control socket closes or when the host's pidfd says that the host is gone: both are facts of the kernel, so kill -9 of
the host changes nothing. The keeper itself kills what is left of a stem that another process killed.

Forked, not executed: a stem shares the interpreter's pages with the keeper and costs 1.6 MB of its own (measured).
Nothing here is imported by the host, and only the standard library is imported here.

    host -> keeper   "start", with descriptors of (what to run, control socket, stdin, stdout, stderr);
                     "leave PATH": a folder to be removed when the host is gone; "take PATH": not any more
    stem -> host     "started PID", or "failed ERRNO"; later "exited STATUS LEFT", and "gone"
    host -> stem     "signal N", for everything that lives below; closing the socket: end it all
"""

import array
import gc
import os
import signal
import socket
import time
from collections.abc import Callable

from operable.proc.sandbox.syscalls import libc
from operable.proc.tree.descendants import living, signal_tree
from operable.proc.tree.session_process import (
    GRACE,
    Stem,
    become,
    close_all,
    drain,
    notice_children,
    reaped,
    wait,
)

# Beyond the grace of the stems: a loaded machine takes its time to kill a thousand processes.
_PATIENCE = 10.0
_DESCRIPTORS = 5
_REQUEST = 8192  # a verb and a path


def main(host: int, requests_fd: int) -> None:
    """Serve until the host is gone, then until everything below is gone."""
    become(b"operable-keeper")
    gone = _pidfd(host)
    requests = socket.socket(fileno=requests_fd)
    noticed = notice_children()
    stems: set[int] = set()
    folders: set[bytes] = set()
    libc()  # once for all stems
    gc.freeze()  # what exists now is never freed: stems need not touch (and so copy) its pages
    watched = [requests.fileno(), noticed, *gone]
    # A number that is not our parent's any more was the host's until it died, before we looked.
    while os.getppid() == host:
        ready = wait(watched, None)
        if noticed in ready:
            drain(noticed)
            _bury(stems)
        if requests.fileno() in ready:
            data, fds = _received(requests)
            if not data:
                break
            _note(data, folders)
            if len(fds) == _DESCRIPTORS:
                stems.add(_fork_stem(requests, fds, noticed, gone))
            close_all(fds)
        if not gone.isdisjoint(ready):
            break
    _read_the_rest(requests, folders)
    _end_all(stems, noticed)
    for folder in folders:
        _remove(folder)


def _received(requests: socket.socket) -> tuple[bytes, list[int]]:
    """One request and its descriptors; nothing when the host has closed its end."""
    fds = array.array("i")
    data, ancillary, _, _ = requests.recvmsg(_REQUEST, socket.CMSG_SPACE(fds.itemsize * _DESCRIPTORS))
    for _, _, payload in ancillary:
        fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    return data, list(fds)


def _note(data: bytes, folders: set[bytes]) -> None:
    verb, _, path = data.partition(b" ")
    if verb == b"leave":
        folders.add(path)
    elif verb == b"take":
        folders.discard(path)


def _read_the_rest(requests: socket.socket, folders: set[bytes]) -> None:
    """What the host has said before it went. Its folders are removed; nothing is started for it any more."""
    requests.setblocking(False)
    try:
        while True:
            data, fds = _received(requests)
            close_all(fds)
            if not data:
                return
            _note(data, folders)
    except OSError:
        return  # nothing more, although another process (a fork of the host) still has the other end open


def _fork_stem(requests: socket.socket, fds: list[int], noticed: int, gone: set[int]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            requests.close()
            os.close(noticed)
            Stem(fds, gone).run()
        finally:
            os._exit(0)  # whatever happened: never back into the keeper's loop
    return pid


def _bury(stems: set[int]) -> None:
    """Reap. A child that is not a stem was adopted from a stem that another process killed: it has no owner any more."""
    before = len(stems)
    stems -= set(reaped())
    if len(stems) < before:
        for member in living(os.getpid()):
            if member.generation == 1 and member.pid not in stems:
                signal_tree(member.pid, signal.SIGKILL)
                _kill(member.pid)


def _end_all(stems: set[int], noticed: int) -> None:
    """Stems end their trees by themselves; what is still there when they had their time is killed by us."""
    deadline = time.monotonic() + GRACE + _PATIENCE
    while living(os.getpid()):
        wait([noticed], 0.1)
        drain(noticed)
        _bury(stems)
        if time.monotonic() > deadline:
            signal_tree(os.getpid(), signal.SIGKILL)


def _pidfd(pid: int) -> set[int]:
    """Readable when the process is gone. Without pidfds the closing of the sockets has to do."""
    try:
        return {os.pidfd_open(pid)}
    except OSError:
        return set()


def _remove(folder: bytes) -> None:
    """A folder of a session: secret files among it. Links are removed, not followed."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _try(os.unlink, os.path.join(place, name))
        for name in folders:
            path = os.path.join(place, name)
            _try(os.unlink if os.path.islink(path) else os.rmdir, path)
    _try(os.rmdir, folder)


def _try(what: Callable[[bytes], None], path: bytes) -> None:
    try:
        what(path)
    except OSError:
        return  # gone already, or not ours: no process is left to inform


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
