"""A process that has `operable` imported and forks itself for every call: most of what a short command costs is its start.

Started by `tests.cli.forks`, which writes a request per call and passes four descriptors with it: stdin, stdout and stderr
of the call, and where its pid and, at its end, its status are to be told. The fork is what a fresh process would be: its
arguments, environment, directory, umask, name and descriptors are those of the request and no others, and it leaves through
the interpreter's own end. It inherits signals, group and session from here, and so from whoever runs the tests.

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

_PACKAGES = ("cli", "flow", "host", "run", "wire", "proc", "manifest", "app", "kernel", "tool", "state")
_LONGEST_REQUEST = 1 << 18


def load() -> None:
    """Import what commands import. Nothing of it reads the environment when it is imported, nor starts a thread."""
    for name in _PACKAGES:
        package = importlib.import_module(f"operable.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            # One that runs when it is imported, or cannot be: for the call that needs it to say.
            if not module.name.endswith("__main__"):
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def serve(door: socket.socket) -> None:
    """Returns in the fork of each call; the server itself ends with whoever started it."""
    ends: dict[int, int] = {}  # descriptor of a process -> where its status is told
    poll = select.poll()
    poll.register(door, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor != door.fileno():
                poll.unregister(descriptor)
                _tell_end(descriptor, ends.pop(descriptor))
                continue
            text, given, _, _ = socket.recv_fds(door, _LONGEST_REQUEST, 4)
            if not text:
                os._exit(0)
            *streams, report = given
            if not (pid := os.fork()):
                _become(json.loads(text), streams)
                return
            for stream in streams:
                os.close(stream)
            os.write(report, b"%d\n" % pid)
            process = os.pidfd_open(pid)
            ends[process] = report
            poll.register(process, select.POLLIN)


def _tell_end(process: int, report: int) -> None:
    ended = os.waitid(os.P_PIDFD, process, os.WEXITED)
    assert ended is not None
    status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    with contextlib.suppress(BrokenPipeError):  # nobody waits any more
        os.write(report, b"%d\n" % status)
    os.close(report)
    os.close(process)


def _become(request: dict[str, object], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1 << 20)
    argv, env = request["argv"], request["env"]
    assert isinstance(argv, list)
    assert isinstance(env, dict)
    os.chdir(str(request["cwd"]))
    os.umask(int(str(request["umask"])))
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = argv
    sys.path[0] = os.path.dirname(argv[0])
    with open("/proc/self/comm", "w") as name:
        name.write(os.path.basename(argv[0]))


if __name__ == "__main__":
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
    from operable.cli import main

    main()
