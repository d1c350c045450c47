"""The inner end of a tunnel: the first process of a network namespace without a connection. It starts the command.

Theory of operation. Started inside the sandbox as a script, with the standard library only. It listens on 127.0.0.1: on the
proxy's port, where connections are passed on to the proxy's socket as they are, and on the ports of loopback services that
were allowed by number, for which it first asks the proxy to CONNECT. Then it starts the command, serves, reaps, and ends
with the command's status. It decides nothing: the proxy outside does. A system call filter that would stop the relay itself
(no unix sockets, no processes) is applied to the command alone. So the relay may do what the command may not, and the
command must not reach it: the relay is not dumpable, and the kernel refuses a process without capabilities its memory, its
descriptors and its folder in /proc. As the first process it also ignores every signal from inside.

`words`, `mounts` and `missing` are for the host.
"""

import os
import signal
import socket
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from operable.proc.sandbox.confinement import Tunnel

_INSIDE_SOCKET = "/run/operable/egress"
_INSIDE_SCRIPT = "/run/operable/relay.py"
_CHUNK = 64 * 1024
_BACKLOG = 128
_STACK = 128 * 1024  # two threads per connection, which only copy
_BREATH = 0.05
_ANSWER_LIMIT = 4096
_SYSTEM = ("/usr/", "/bin/", "/lib/")
_SET_SECCOMP, _MODE_FILTER, _SET_DUMPABLE = 22, 2, 4


def words(tunnel: "Tunnel", addition: bytes = b"") -> list[str]:
    """What is executed before the command. `addition`: a filter for the command, on top of what binds the relay."""
    return [
        _interpreter(),
        "-I",
        "-S",
        "-B",
        _INSIDE_SCRIPT,
        _INSIDE_SOCKET,
        str(tunnel.port),
        addition.hex(),
        *tunnel.forwards,
        "--",
    ]


def mounts(tunnel: "Tunnel") -> dict[str, str]:
    """Place inside -> what must be seen there, read-only."""
    found = {_INSIDE_SOCKET: tunnel.socket, _INSIDE_SCRIPT: os.path.abspath(__file__)}
    if not _interpreter().startswith(_SYSTEM):
        # An interpreter of the user's own (pyenv, uv): its files, and nothing beside them.
        found[sys.base_prefix] = sys.base_prefix
    return found


def missing() -> str | None:
    """Why no relay can run inside; None: it can."""
    return (
        None if os.access(_interpreter(), os.X_OK) else "there is no Python interpreter to run the relay with"
    )


def _interpreter() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable or "python3")


def main(argv: list[str]) -> None:
    path, port, addition, *rest = argv
    at = rest.index("--")
    forwards, command = rest[:at], rest[at + 1 :]
    doors = [(_listen("127.0.0.1", int(port)), "")]
    for forward in forwards:
        host, _, number = forward.rpartition(":")
        doors.append(
            (_listen("127.0.0.1" if host == "localhost" else host.strip("[]"), int(number)), forward)
        )
    _withdraw()
    child = os.fork()
    if child == 0:
        for door, _ in doors:
            door.close()
        # Python ignores these, and a program inherits that.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        if addition:
            _apply(bytes.fromhex(addition))
        os.execv(command[0], command)
    _serve(path, doors)
    os._exit(_outcome(child))


def _withdraw() -> None:
    """Out of the reach of the command. Executing a program undoes it, so the command itself is as any other."""
    import ctypes

    # The first process of a namespace gets no signal that it does not handle, and Python handles this one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError("the kernel does not protect the relay")


def _outcome(child: int) -> int:
    """The status of the command, as a shell has it; reaps what others leave."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _apply(program: bytes) -> None:
    """No command runs when the kernel does not take it. Nothing has to be given up first: bubblewrap has done that."""
    import ctypes
    import struct

    code = ctypes.create_string_buffer(program, len(program))
    whole = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    if ctypes.CDLL(None).prctl(_SET_SECCOMP, _MODE_FILTER, whole, 0, 0) != 0:
        raise OSError("the kernel refused the system call filter")


def _listen(host: str, port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind((host, port))
    door.listen(_BACKLOG)
    return door


def _serve(path: str, doors: "list[tuple[socket.socket, str]]") -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)  # a caller that waits for the command's output must not wait for us
    kept = {door.fileno() for door, _ in doors}
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                continue  # that of the listing
    threading.stack_size(_STACK)
    for door, target in doors:
        threading.Thread(target=_answer, args=(door, path, target), daemon=True).start()


def _answer(door: socket.socket, path: str, target: str) -> None:
    while True:
        try:
            client, _ = door.accept()
            threading.Thread(target=_join, args=(client, path, target), daemon=True).start()
        except (OSError, RuntimeError):
            time.sleep(_BREATH)  # no descriptor or thread available now: those who wait are served later


def _join(client: socket.socket, path: str, target: str) -> None:
    with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as proxy:
        try:
            proxy.connect(path)
            if target:
                _connect(proxy, target)
            back = threading.Thread(target=_copy, args=(proxy, client), daemon=True)
            back.start()
        except (OSError, RuntimeError):
            return
        _copy(client, proxy)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on until the end; then say so, in this direction only."""
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it is down already


def _connect(proxy: socket.socket, target: str) -> None:
    proxy.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer and len(answer) < _ANSWER_LIMIT:
        byte = proxy.recv(1)  # not one byte more than the head: the rest is the service's
        if not byte:
            break
        answer += byte
    if not answer.startswith(b"HTTP/1.1 200"):
        raise OSError("refused")


if __name__ == "__main__":
    main(sys.argv[1:])
