"""A process that has a program imported and forks itself for every call: most of what a short command costs is its start.

    python3 fork_server.py DOOR GATE MODULES PACKAGE...

It imports MODULES, separated by commas, and all that is in the packages; each call names the module whose `main` it is.

Started by `tests.cli.forks`, which writes a request per call and passes four descriptors with it: stdin, stdout and stderr
of the call, and where its pid and, at its end, its status are to be told. A fifth is the mount namespace of the call.

DOOR and GATE are descriptors of sockets: the server ends when nobody has the other end of DOOR any more, and at GATE it takes
the request of each connection (`fork_client`). The fork is what a fresh process would be: its arguments, environment,
directory, umask, name and descriptors are those of the request and no others, and it leaves through the interpreter's own
end. It inherits signals, group and session from here, and so from whoever runs the tests.

Only the start is saved. Whatever is about the start itself is tested with real processes.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import sys

_LONGEST_REQUEST = 1 << 18


def load(modules: list[str], packages: list[str]) -> None:
    """Import what calls import. Nothing of it reads the environment when it is imported, nor starts a thread.

    The directory of the start is remembered when it is imported (`operable.state.paths`): `_become` corrects that.
    """
    for name in modules:
        importlib.import_module(name)
    for name in packages:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # One that runs when it is imported, or cannot be: for the call that needs it to say.
            if not module.name.endswith("__main__"):
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def serve(door: socket.socket, gate: socket.socket) -> str:
    """Returns in the fork of each call, with its program; the server itself ends with whoever started it."""
    ends: dict[int, int] = {}  # descriptor of a process -> where its status is told
    poll = select.poll()
    poll.register(door, select.POLLIN)
    poll.register(gate, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor in ends:
                poll.unregister(descriptor)
                _tell_end(descriptor, ends.pop(descriptor))
                continue
            text, given = _receive(door) if descriptor == door.fileno() else _accept(gate)
            if not text:
                if descriptor == door.fileno():
                    os._exit(0)
                continue
            (*streams, report), mounts = given[:4], given[4:]
            if not (pid := os.fork()):
                request = json.loads(text)
                _enter(mounts)
                _become(request, streams)
                return str(request["program"])
            for end in (*streams, *mounts):
                os.close(end)
            os.write(report, b"%d\n" % pid)
            process = os.pidfd_open(pid)
            ends[process] = report
            poll.register(process, select.POLLIN)


def _receive(door: socket.socket) -> tuple[bytes, list[int]]:
    text, given, _, _ = socket.recv_fds(door, _LONGEST_REQUEST, 5)
    return text, given


def _accept(gate: socket.socket) -> tuple[bytes, list[int]]:
    connection, _ = gate.accept()
    with connection:
        return _receive(connection)


def _tell_end(process: int, report: int) -> None:
    ended = os.waitid(os.P_PIDFD, process, os.WEXITED)
    assert ended is not None
    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        os.write(report, b"%d\n" % status)
    os.close(report)
    os.close(process)


def _enter(mounts: list[int]) -> None:
    """See what the mount namespace of the call sees, if one was passed and it is another than ours."""
    for descriptor in mounts:
        if os.fstat(descriptor).st_ino != os.stat("/proc/self/ns/mnt").st_ino:
            import ctypes

            if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0):
                raise OSError(ctypes.get_errno(), "cannot enter the mount namespace of the call")


def _become(request: dict[str, object], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1 << 20)
    argv, env = request["argv"], request["env"]
    assert isinstance(argv, list)
    assert isinstance(env, dict)
    os.chdir(str(request["cwd"]))
    if (paths := sys.modules.get("operable.state.paths")) is not None:
        paths.__dict__["_START"] = os.getcwd()  # the one thing that is looked at when it is imported
    os.umask(int(str(request["umask"])))
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = argv
    sys.path[0] = os.path.dirname(argv[0])
    with open("/proc/self/comm", "w") as name:
        name.write(os.path.basename(argv[0]))


if __name__ == "__main__":
    _, *numbers = sys.argv[:3]
    load(sys.argv[3].split(","), sys.argv[4:])
    importlib.import_module(serve(*(socket.socket(fileno=int(number)) for number in numbers))).main()
