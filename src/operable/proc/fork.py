"""A process that gives up rights before it executes its program, forked and executed with `os` alone.

Owns what happens between fork and exec for a command with `gives_up`. `subprocess` does the same with a `preexec_fn`. But
it loads `re`, `enum`, `threading` and `selectors`, which took a quarter of a wrapped call. Other commands are started by it
(`spawn`): without code of ours in the child it does not copy the host.

The child makes system calls, imports nothing and takes no lock, so other threads do not matter. What fails is reported
through a pipe that a successful exec closes. A child that could not give up what it was to give up executes nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import NoReturn

    from operable.proc.command import PreparedCommand
else:
    try:
        import _signal  # the C module behind `signal`, which imports `enum`
    except ImportError:  # not CPython
        import signal as _signal

# Python ignores them, and a program expects the default.
_DEFAULTS = ("SIGPIPE", "SIGXFSZ")
_OPEN_FILES = "/proc/self/fd"
_UNRESTRICTED = b"R"


class UnrestrictedError(Exception):
    """The kernel refused to take a right away; nothing was executed."""


class RestrictedProcess:
    """A started program. What `Group` needs of a process, as `subprocess.Popen` has it."""

    def __init__(
        self,
        command: PreparedCommand,
        restrict: Callable[[], object],
        *,
        stdin: int | None,
        stdout: int,
        stderr: int,
    ) -> None:
        self.returncode: int | None = None
        signals = [getattr(_signal, name) for name in _DEFAULTS if hasattr(_signal, name)]
        reading, writing = os.pipe()
        try:
            self.pid = os.fork()
            if self.pid == 0:
                _become(command, restrict, (stdin, stdout, stderr), writing, signals)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._await_exec(reading, command.executable)

    def _await_exec(self, reading: int, executable: str) -> None:
        try:
            reported = _read(reading)
        except BaseException:  # interrupted: no caller has this process yet that could end it
            self.kill()
            self.wait()
            raise
        finally:
            os.close(reading)
        if not reported:
            return
        self.wait()
        if reported == _UNRESTRICTED:
            raise UnrestrictedError
        number = int(reported)
        raise OSError(number, os.strerror(number), executable)

    def poll(self) -> int | None:
        """The exit status as `subprocess` gives it, None while it runs; 0 when something else has reaped it."""
        if self.returncode is None:
            self._reap(os.WNOHANG)
        return self.returncode

    def wait(self) -> int | None:
        if self.returncode is None:
            self._reap(0)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, _signal.SIGKILL)

    def _reap(self, options: int) -> None:
        try:
            pid, status = os.waitpid(self.pid, options)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid == self.pid:
            self.returncode = os.waitstatus_to_exitcode(status)


def _read(descriptor: int) -> bytes:
    reported = b""
    while piece := os.read(descriptor, 64):
        reported += piece
    return reported


def _become(
    command: PreparedCommand,
    restrict: Callable[[], object],
    streams: tuple[int | None, int, int],
    report: int,
    signals: list[int],
) -> NoReturn:
    """In the child: take the place, give up the rights, execute."""
    try:
        report = _above_streams(report)
        _connect(streams)
        if command.cwd is not None:
            os.chdir(command.cwd)
        os.setsid()
        for number in signals:
            _signal.signal(number, _signal.SIG_DFL)
        _inherit_only(command.fds, report)
        try:
            restrict()
        except BaseException:  # noqa: BLE001 - whatever it was, the program must not run
            os.write(report, _UNRESTRICTED)
            os._exit(255)
        os.execve(command.executable, command.argv, command.env)
    except OSError as error:
        os.write(report, str(error.errno or 0).encode())
    except BaseException:  # noqa: BLE001 - the caller has to learn that nothing was executed
        os.write(report, b"0")
    finally:
        os._exit(255)


def _above_streams(descriptor: int) -> int:
    """The same file with a number above the standard streams, which a host may have closed."""
    while descriptor <= 2:
        descriptor = os.dup(descriptor)
    return descriptor


def _connect(streams: tuple[int | None, int, int]) -> None:
    """The standard streams of the program; without a stdin it reads nothing."""
    opened = [_above_streams(os.open(os.devnull, os.O_RDWR) if each is None else each) for each in streams]
    for number, descriptor in enumerate(opened):
        os.dup2(descriptor, number)


def _inherit_only(descriptors: tuple[int, ...], report: int) -> None:
    """Let nothing else through exec: what Python opened does not pass anyway, what the host was started with would."""
    try:
        numbers = [int(name) for name in os.listdir(_OPEN_FILES)]
    except OSError:
        numbers = list(range(3, os.sysconf("SC_OPEN_MAX")))
    for number in numbers:
        if number > 2 and number not in descriptors and number != report:
            try:
                os.set_inheritable(number, False)
            except OSError:
                continue  # of the listing itself, or not open
    for number in descriptors:
        os.set_inheritable(number, True)
    os.set_inheritable(report, False)
