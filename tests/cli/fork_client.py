"""Stands in for a program that somebody else starts by its path: asks a fork server for it and lends it the own streams.

    fork_client.py ADDRESS VARIABLES PROGRAM MODULE WORD...

ADDRESS is that of the server's gate, in the abstract namespace; VARIABLES is JSON: the beginnings of the names that an
interpreter looks at when it starts, what the server has of them, and its namespace of users. It passes on SIGTERM and SIGINT,
and ends with the status of the fork. The fork sees the mounts that this process sees. Where a fork could not be what is asked
for (other variables, no server in this network, other users), it becomes PROGRAM itself. Made into a script by
`tests.cli.forks.stand_in`.
"""

import json
import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGTERM, signal.SIGINT)


def main(address: str, variables: str, argv0: str, module: str, *words: str) -> int:
    prefixes, wanted, users = json.loads(variables)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        if {name: value for name, value in given().items() if name.startswith(tuple(prefixes))} != wanted:
            raise ConnectionRefusedError
        if os.readlink("/proc/self/ns/user") != users:
            raise ConnectionRefusedError  # its mounts are those of other users
        door.connect("\0" + address)
    except ConnectionRefusedError:
        os.execv(argv0, [argv0, *words])
    # Until the fork is known, what comes for it waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    reading, writing = os.pipe()
    umask = os.umask(0)
    request = {
        "program": module,
        "argv": [argv0, *words],
        "env": dict(os.environ),
        "cwd": os.getcwd(),
        "umask": umask,
    }
    with door, open("/proc/self/ns/mnt", "rb") as mounts:
        text = json.dumps(request).encode("utf-8", "surrogatepass")
        socket.send_fds(door, [text], [0, 1, 2, writing, mounts.fileno()])
    for descriptor in (0, 1, 2, writing):
        os.close(descriptor)
    with os.fdopen(reading) as report:
        pid = int(report.readline())
        for number in _PASSED_ON:
            signal.signal(number, lambda received, _frame: os.kill(pid, received))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        status = int(report.readline())
    return status if status >= 0 else 128 - status


def given() -> dict[str, str]:
    """The variables that this process was started with: an interpreter without a locale adds one to `os.environ`."""
    with open("/proc/self/environ", encoding="utf-8", errors="surrogateescape") as file:
        pairs = [variable.partition("=") for variable in file.read().split("\0")]
    return {name: value for name, equals, value in pairs if equals}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
