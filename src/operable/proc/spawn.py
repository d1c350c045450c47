"""Starting one process: what exactly is run, and every way in which that can fail.

A `PreparedCommand` is complete and inspectable: absolute program, argument list (never a shell line), the whole
environment, the working directory. `launch` starts it in its own session. So the terminal's signals do not reach it, it
cannot ask a person on /dev/tty, and one signal reaches all of its descendants that stay in its group. A command with
`tree` is started by the keeper instead, and then a signal reaches every descendant, and none survives the host.

subprocess.Popen is used and nothing newer: it costs 1.0x of the measured floor also in a large threaded host, because
CPython forks with CLONE_VFORK (the asyncio and uvloop process APIs cost 1.3x to 39x). A command that gives up rights runs
code of ours between fork and exec, and is started without it (`fork`).
"""

from __future__ import annotations

import errno
import os

from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand, resolve
from operable.proc.environment import environment, is_encodable
from operable.proc.tree.group import Group
from operable.proc.tree.warden import WARDEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import subprocess
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NamedTuple, Protocol

    from operable.proc.fork import RestrictedProcess
    from operable.proc.reactor import Reactor
    from operable.proc.sandbox.entry import Entrance
    from operable.proc.sandbox.restriction import Restriction
else:
    from operable.kernel.named_tuple import NamedTuple

    Protocol = object
    try:
        import _signal  # the C module behind `signal`, which imports `enum`
    except ImportError:  # not CPython
        import signal as _signal

# Not SIGCHLD: a host that ignores it wants its children reaped by the kernel.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM")


class Leader(Protocol):
    """What was started, with its followers: a `group.Group` or a `keeper.Tree`."""

    @property
    def pid(self) -> int: ...
    @property
    def status(self) -> int | None: ...
    def watch(self, reactor: Reactor, on_exit: Callable[[], object]) -> None: ...
    def signal(self, number: int) -> None: ...
    def alive(self) -> bool: ...
    def reap(self) -> None: ...
    def release(self) -> None: ...
    def abandon(self) -> None: ...
    def abort(self) -> None: ...


class Launched(NamedTuple):
    """A started leader, and the host's ends of its pipes (None: not a pipe)."""

    leader: Leader
    stdin: int | None
    stdout: int
    stderr: int
    report: int | None = None  # of a sandbox: a file, in which it says at the end what became of the command


def prepare(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    inherit: Iterable[str] = (),
    cwd: str | os.PathLike[str] | None = None,
) -> PreparedCommand:
    """Decide what would be run. `env` is added to the allow-listed variables, `inherit` names further ones to pass on."""
    if isinstance(argv, str) or not argv:
        raise Fail("usage", "ARGV_INVALID", "argv must be a list of strings that begins with the program")
    arguments = tuple(os.fspath(argument) for argument in argv)
    for position, argument in enumerate(arguments):
        if "\0" in argument:
            raise Fail("usage", "ARGV_INVALID", f"argument {position} contains a NUL character")
        if not is_encodable(argument):
            raise Fail("usage", "ARGV_INVALID", f"argument {position} is not valid UTF-8")
    folder = None if cwd is None else os.path.abspath(cwd)
    if folder is not None and not os.path.isdir(folder):
        raise Fail(
            "not_found", "CWD_NOT_FOUND", f"the working directory {folder} does not exist", target=folder
        )
    variables = environment(env, inherit=inherit)
    return PreparedCommand(arguments, resolve(arguments[0], env=variables, cwd=folder), variables, folder)


def launch(command: PreparedCommand, *, stdin: int | None = None, pipe_stdin: bool = False) -> Launched:
    """Start it. `stdin` is a descriptor that the child inherits as its standard input; without one it reads /dev/null,
    with `pipe_stdin` a pipe whose other end is ours. The host's ends are non-blocking and never inherited.
    """
    hear()
    opened: list[int] = []
    report: int | None = None
    try:
        if command.entry is not None:
            command, report = _reporting(command, opened)
        out_read, out_write = _pipe(opened)
        err_read, err_write = _pipe(opened)
        in_read, in_write = _pipe(opened) if pipe_stdin else (None, None)
        child_stdin = in_read if in_read is not None else stdin
        start = _start_tree if command.tree else _start_group
        leader = start(command, child_stdin, out_write, err_write)
    except OSError as error:
        _close(opened)
        raise _spawn_failure(error, command) from error
    except Fail:
        _close(opened)
        raise
    _close([fd for fd in (out_write, err_write, in_read) if fd is not None])
    for fd in (out_read, err_read, in_write):
        if fd is not None:
            os.set_blocking(fd, False)
    return Launched(leader, in_write, out_read, err_read, report)


def _start_group(command: PreparedCommand, stdin: int | None, stdout: int, stderr: int) -> Leader:
    process: RestrictedProcess | subprocess.Popen[bytes]
    if command.gives_up:
        process = _start_restricted(command, stdin, stdout, stderr)
    else:
        process = _start_program(command, stdin, stdout, stderr)
    try:
        WARDEN.watch(process.pid)
    except Fail:
        # A process that no other process would end after us must not run.
        process.kill()
        process.wait()
        raise
    return Group(process)


def start_detached(argv: list[str], env: Mapping[str, str], log: int) -> int:
    """Start a program of ours that outlives this process, which a user asked for by name; returns its process id.

    It has a session of its own, an empty standard input, and the log as its output.
    """
    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, log, 1),
            (os.POSIX_SPAWN_DUP2, log, 2),
        ],
        setsid=True,
    )


def _start_program(
    command: PreparedCommand, stdin: int | None, stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    import subprocess

    entrance = _entrance(command) if command.entry is not None else None
    try:
        return subprocess.Popen(
            command.argv if entrance is None else entrance.argv(command.argv),
            executable=command.executable,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout,
            stderr=stderr,
            env=command.env,
            cwd=command.cwd,
            start_new_session=True,
            pass_fds=command.fds if entrance is None else (*command.fds, *entrance.fds),
            # Prepared system calls: it takes no lock and imports nothing, so other threads do not matter.
            preexec_fn=entrance if entrance is not None and entrance.needed else None,  # noqa: PLW1509
        )
    except subprocess.SubprocessError as error:
        # A process that could not give up what it was to give up has executed nothing.
        raise _unrestricted("the kernel refused") from error
    finally:
        if entrance is not None:
            entrance.close()


def _start_restricted(
    command: PreparedCommand, stdin: int | None, stdout: int, stderr: int
) -> RestrictedProcess:
    from operable.proc.fork import RestrictedProcess, UnrestrictedError

    if command.entry is not None:
        raise ValueError("a command in a sandbox cannot give up rights outside of it")
    restriction = _restriction(command)
    try:
        return RestrictedProcess(command, restriction, stdin=stdin, stdout=stdout, stderr=stderr)
    except UnrestrictedError as error:
        raise _unrestricted("the kernel refused") from error
    finally:
        restriction.close()


def _restriction(command: PreparedCommand) -> Restriction:
    from operable.proc.sandbox.restriction import Restriction, missing

    reason = missing(command.gives_up)
    if reason is not None:
        raise _unrestricted(reason)
    return Restriction(command.gives_up, command.scratch)


def _entrance(command: PreparedCommand) -> Entrance:
    from operable.proc.sandbox.entry import Entrance

    assert command.entry is not None  # noqa: S101 - the caller has looked
    return Entrance(command.entry)


def _reporting(command: PreparedCommand, opened: list[int]) -> tuple[PreparedCommand, int | None]:
    """The command, and the file to which its sandbox reports, if it does. By our own /proc entry, because the keeper
    may be who starts it.
    """
    from operable.proc.sandbox.entry import reported

    assert command.entry is not None  # noqa: S101 - the caller has looked
    report = os.memfd_create("operable-report")
    entry = reported(command.entry, f"/proc/{os.getpid()}/fd/{report}")
    if entry is None:
        os.close(report)
        return command, None
    opened.append(report)
    return command._replace(entry=entry), report


def _unrestricted(reason: str) -> Fail:
    return Fail("config", "SANDBOX_UNAVAILABLE", f"the program cannot be restricted: {reason}")


def _start_tree(command: PreparedCommand, stdin: int | None, stdout: int, stderr: int) -> Leader:
    from operable.proc.tree.keeper import KEEPER, missing

    if command.fds:
        raise ValueError("a tree inherits no further descriptors: their numbers are the keeper's own")
    if command.gives_up:
        raise ValueError("a tree is restricted by a sandbox around it")
    if missing() is not None:
        return _start_group(command, stdin, stdout, stderr)
    if stdin is not None:
        return KEEPER.start(command, stdin, stdout, stderr)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        return KEEPER.start(command, nothing, stdout, stderr)
    finally:
        os.close(nothing)


def _pipe(opened: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    opened.extend(ends)
    return ends


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _spawn_failure(error: OSError, command: PreparedCommand) -> Fail:
    name = command.argv[0]
    if isinstance(error, FileNotFoundError):
        # The program was there a moment ago: what is missing is the interpreter its first line names.
        return Fail(
            "config",
            "TOOL_INTERPRETER_MISSING",
            f"{command.executable} names an interpreter that does not exist",
            target=name,
            hint=f"look at its first line: head -1 {command.executable}",
        )
    if isinstance(error, PermissionError):
        return Fail("authz", "TOOL_NOT_EXECUTABLE", f"{command.executable} may not be executed", target=name)
    if error.errno == errno.ELOOP and command.entry is not None:
        message = (
            "a folder that the sandbox is to show is a symbolic link, or behind one, since it was checked"
        )
        return Fail("authz", "SANDBOX_PATH_CHANGED", message, target=name)
    if error.errno == errno.ENOEXEC:
        return Fail(
            "config",
            "TOOL_FORMAT_UNKNOWN",
            f"{command.executable} is neither a program for this machine nor a script with a #! line",
            target=name,
            hint=f"for a script in Python: write #!/usr/bin/env python3 into its first line, or call python3 {name}",
        )
    if error.errno == errno.E2BIG:
        return Fail(
            "usage",
            "ARGV_TOO_LONG",
            "arguments and environment are larger than the system allows",
            target=name,
            hint="pass long input on stdin",
        )
    return Fail("temporary", "SPAWN_FAILED", f"cannot start {name}: {error.strerror}", target=name)


# Resets ignored signals before a child starts.
#
# Ignoring a signal is inherited through exec, catching one is not. A shell starts background jobs with SIGINT ignored
# and `nohup` ignores SIGHUP; a tool that is started from there could not be interrupted, and a shell script cannot
# even trap what was ignored on its entry. So before the first start every ignored signal gets a handler that does
# nothing: for this process that is the same as ignoring it, for a child it is the default again.
#
# `signal.signal` works in the main thread only and processes are started in any; the C API's PyOS_setsig has no such
# rule.


def hear() -> None:
    """To be called before a process is started; costs next to nothing when nothing is ignored."""
    numbers = (int(getattr(_signal, name)) for name in _NAMES)
    deaf = [number for number in numbers if _signal.getsignal(number) == _signal.SIG_IGN]
    if deaf:
        _handle(deaf)


def _handle(numbers: list[int]) -> None:
    import ctypes

    # A handler must be C: Python code may not run inside a signal. abs(number) has no effect on anything.
    nothing = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p)
    set_handler = ctypes.pythonapi.PyOS_setsig
    set_handler.restype = ctypes.c_void_p
    set_handler.argtypes = [ctypes.c_int, ctypes.c_void_p]
    for number in numbers:
        set_handler(number, nothing)
