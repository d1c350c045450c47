"""Calls of `operable` by a fork of a process that has it imported (`fork_server`): the same outcome without the start.

One server for each set of packages and process that runs tests, started by the first call. What a fork could not be given (the
interpreter's own variables, another locale) is started as a process; `TESTS_START=real` does so with everything, to compare.
"""

import atexit
import json
import os
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

_SERVER = Path(__file__).with_name("fork_server.py")
_CLIENT = Path(__file__).with_name("fork_client.py")
# What an interpreter looks at when it starts, and never again.
_AT_START = ("PYTHON", "LC_", "LANG", "LANGUAGE", "TZ", "LD_", "MALLOC_", "GLIBC_")
_LONGEST = 100_000


class Prepared(NamedTuple):
    """What a server has before its first call."""

    packages: tuple[str, ...]
    at_start: tuple[tuple[str, str], ...] | None = None
    """those variables that an interpreter looks at when it starts; None: ours"""


class Program(NamedTuple):
    """What is called: the module that has its `main`, and what the server that forks it has."""

    module: str
    prepared: Prepared


_PARTS = ("cli", "flow", "host", "run", "wire", "proc", "manifest", "app", "kernel", "tool", "state", "wrap")
# What the commands import of others when they need it: a call in five needs one of them, for 10 to 50 ms.
_OTHERS = (
    *("_sha256", "encodings.ascii", "encodings.utf_16_be", "sysconfig", "zoneinfo"),
    *("cronsim", "jsonschema_rs", "psycopg", "regress", "ruamel.yaml", "semantic_version"),
    "cryptography.hazmat.primitives.serialization",
)
COMMANDS = Prepared(tuple(f"operable.{part}" for part in _PARTS))
OPERABLE = Program("operable.cli", COMMANDS)
AGENTCLI = Program("operable.cli.agentcli", COMMANDS)


def run(
    argv: Sequence[str],
    *,
    input: bytes,
    env: Mapping[str, str],
    cwd: str | None,
    timeout: float,
    program: Program = OPERABLE,
) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run` does it with pipes."""
    if (begun := begin(argv, env=env, cwd=cwd, program=program)) is not None:
        call = _Call(begun, timeout)
        if (ended := call.finish(input)) is not None:
            return subprocess.CompletedProcess(argv, *ended)
    return subprocess.run(
        argv, input=input, env=env, cwd=cwd, capture_output=True, timeout=timeout, check=False
    )


def begin(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, program: Program = OPERABLE
) -> list[int] | None:
    """Our ends of the stdin, stdout and stderr of a call, and of what is told about it; None: it must be a process."""
    request = {
        "program": program.module,
        "argv": list(argv),
        "env": dict(env),
        "cwd": os.path.abspath(cwd or "."),
        "umask": _umask(),
    }
    text = json.dumps(request).encode("utf-8", "surrogatepass")
    if os.environ.get("TESTS_START") == "real" or not is_forkable(argv, env, len(text), program):
        return None
    return server(os.getpid(), program.prepared).begin(text)


def is_forkable(argv: Sequence[str], env: Mapping[str, str], size: int, program: Program = OPERABLE) -> bool:
    if size > _LONGEST or any("\0" in word for word in (*argv, *env, *env.values())):
        return False  # for the system to refuse
    prepared = program.prepared.at_start
    wanted = at_start(os.environ) if prepared is None else dict(prepared)
    return at_start(env) == wanted


def at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_AT_START)}


def _umask() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("\nUmask:")[2].split()[0], 8)


class _Server:
    def __init__(self, prepared: Prepared) -> None:
        self._lock = threading.Lock()
        self._door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gate = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, gate:
            gate.bind("")  # an address of the abstract namespace that is free
            gate.listen()
            self.address = gate.getsockname()[1:].decode("ascii")
            numbers = [theirs.fileno(), gate.fileno()]
            self.process = subprocess.Popen(
                [sys.executable, str(_SERVER), *map(str, numbers), ",".join(_OTHERS), *prepared.packages],
                pass_fds=numbers,
                env=_environment(prepared),
                # Pipes, as the calls have them: what its streams lead to is looked at when an interpreter starts.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        atexit.register(self.close)

    def begin(self, request: bytes) -> list[int]:
        """Start a call; our ends of its stdin, stdout, stderr, and of what is told about it."""
        pairs = [os.pipe() for _ in range(4)]
        ours = [pairs[0][1], *(reading for reading, _ in pairs[1:])]
        theirs = [pairs[0][0], *(writing for _, writing in pairs[1:])]
        try:
            with self._lock:
                socket.send_fds(self._door, [request], theirs)
        except ConnectionError:
            pass  # it is gone: nothing will be told of the call
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return ours

    def close(self) -> None:
        self._door.close()
        self.process.communicate()


def _environment(prepared: Prepared) -> dict[str, str]:
    if prepared.at_start is None:
        return dict(os.environ)
    rest = {name: value for name, value in os.environ.items() if not name.startswith(_AT_START)}
    return rest | dict(prepared.at_start)


@cache
def server(_process: int, prepared: Prepared) -> _Server:
    """Of this process: a fork of it needs its own."""
    return _Server(prepared)


def stand_in(argv0: str, program: Program) -> str:
    """The path of a script that runs as a fork of this program, for whoever starts programs by their path (`fork_client`)."""
    if os.environ.get("TESTS_START") == "real":
        return argv0
    return str(_stand_in(os.getpid(), argv0, program))


@cache
def _stand_in(process: int, argv0: str, program: Program) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="stand-in-")
    atexit.register(folder.cleanup)
    path = Path(folder.name, os.path.basename(argv0))
    wanted = program.prepared.at_start
    started = at_start(os.environ) if wanted is None else dict(wanted)
    variables = json.dumps([_AT_START, started, os.readlink("/proc/self/ns/user")])
    address = server(process, program.prepared).address
    words = shlex.join([str(_CLIENT), address, variables, argv0, program.module])
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {words} "$@"\n')
    path.chmod(0o755)
    return path


class _Call:
    """One call that runs."""

    def __init__(self, ours: list[int], timeout: float) -> None:
        self._stdin, *self._reading = ours
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._received = {descriptor: bytearray() for descriptor in self._reading}

    def finish(self, input: bytes) -> tuple[int, bytes, bytes] | None:
        """Its status, stdout and stderr; None when it was not begun, because there is no server any more."""
        with selectors.DefaultSelector() as selector:
            for descriptor in self._reading:
                selector.register(descriptor, selectors.EVENT_READ)
            os.set_blocking(self._stdin, False)
            selector.register(self._stdin, selectors.EVENT_WRITE)
            rest = memoryview(input)
            while selector.get_map():
                ready = selector.select(self._deadline - time.monotonic())
                if time.monotonic() > self._deadline:
                    self._give_up()
                for key, _ in ready:
                    descriptor = key.fd
                    if descriptor == self._stdin:
                        rest = self._write(rest)
                        ended = not rest
                    else:
                        ended = not self._read(descriptor)
                    if ended:
                        selector.unregister(descriptor)
                        os.close(descriptor)
        stdout, stderr, told = (bytes(self._received[descriptor]) for descriptor in self._reading)
        if not told:
            return None
        _, status = told.split()
        return int(status), stdout, stderr

    def _write(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._stdin, rest) :] if rest else rest
        except BrokenPipeError:
            return rest[:0]

    def _read(self, descriptor: int) -> bytes:
        chunk = os.read(descriptor, 1 << 16)
        self._received[descriptor] += chunk
        return chunk

    def _give_up(self) -> None:
        told = bytes(self._received[self._reading[-1]]).split()
        if len(told) == 1:
            os.kill(int(told[0]), signal.SIGKILL)
        raise subprocess.TimeoutExpired("operable", self._timeout)
