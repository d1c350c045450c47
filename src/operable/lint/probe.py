"""Runs one invocation for real, confined and bounded, and records what happened.

Theory of operation. One reactor per run. Everything that a tool can do to its caller has a bound: time (deadline, then
SIGKILL for the whole tree), output (beyond `FLOOD` it is killed), memory, file sizes and processes (`prlimit` where there
is one). A signal is sent when the stream has begun and been silent for `settle` seconds. With a sandbox the tool has a
process namespace of its own: what is left in it when the tool has ended are its orphans; they are named, then killed.

It decides nothing: no verdict is formed here.
"""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass, field

from operable.lint.evidence import Invocation, Observation
from operable.proc.child import OPEN, Child, End, Stdin
from operable.proc.confine import Confinement, Sandbox
from operable.proc.group import signal_group
from operable.proc.ladder import Graces
from operable.proc.reactor import SelectorReactor, Timer
from operable.proc.spawn import Command

# A tool that prints more for a sample call is flooding; what was read so far is kept.
FLOOD = 16 * 1024 * 1024
# After a signal or a lost reader a tool has so long to end. "Promptly" for a person; generous for a loaded machine.
PROMPT = 4.0
# What is killed at the deadline had its chance: no polite signals that would look like ours.
_GRACES = Graces(interrupt=0.0, terminate=0.0, kill=2.0, drain=0.5)
# Private writable memory. Address space is no measure: Go, Node and the JVM reserve it by the terabyte.
_MEMORY = 4 * 1024**3
_FILE_SIZE = 1024**3
_PROCESSES = 4096
# How long descendants may take to follow their leader before they count as orphans.
_ORPHAN_GRACE = 0.5
_LOOK = 0.02
# A stream that has not begun after so many seconds is signalled all the same.
_SILENCE = 3.0
_TERMINAL_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tool runs: folders of the host, and where it sees them."""

    work: str
    home: str
    inside_work: str
    inside_home: str
    readable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """How to run one program."""

    program: str  # absolute
    shown: str  # as the user named it
    sandbox: Sandbox | None
    env: dict[str, str] = field(default_factory=dict)
    network: bool = False
    timeout: float = 10.0

    def run(self, invocation: Invocation, place: Place) -> Observation:
        for path, content in invocation.files:
            target = os.path.join(place.home, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(content)
        return _Run(self, invocation, place).observe()

    def command(self, invocation: Invocation, place: Place) -> Command:
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": place.inside_home}
        if not invocation.bare:
            env |= {"LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp" if self.sandbox else place.work}  # noqa: S108
            env |= self.env | dict(invocation.env)
        words: list[str] = [self.program, *invocation.words]
        setsid = shutil.which("setsid")
        if invocation.terminal and setsid is not None:
            words = [setsid, "--ctty", "--wait", *words]
        command = Command(tuple(words), words[0], env, place.work)
        if self.sandbox is not None:
            command = self.sandbox.wrap(command, self._confinement(invocation, place))
        return _limited(command)

    def _confinement(self, invocation: Invocation, place: Place) -> Confinement:
        places = {place.inside_work: place.work}
        seen = {path: path for path in place.readable}
        if invocation.bare:
            seen[place.inside_home] = place.home
        else:
            places[place.inside_home] = place.home
        return Confinement(
            cwd=place.inside_work,
            writable=places,
            readable=seen,
            network=self.network and not invocation.bare,
            # Only where orphans are looked for: everything else dies with us, also when we are killed.
            outlive=bool(invocation.signal) or invocation.reader != "patient",
        )


def _limited(command: Command) -> Command:
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        return command
    limits = [f"--data={_MEMORY}", f"--fsize={_FILE_SIZE}", f"--nproc={_PROCESSES}", "--core=0"]
    return Command(
        (prlimit, *limits, "--", command.executable, *command.argv[1:]), prlimit, command.env, command.cwd
    )


class _Run:
    """One invocation, from start to observation."""

    def __init__(self, probe: Probe, invocation: Invocation, place: Place) -> None:
        self.probe = probe
        self.invocation = invocation
        self.place = place
        self.reactor = SelectorReactor()
        self.started = self.reactor.time()
        self.chunks: list[bytes] = []
        self.size = 0
        self.first: float | None = None
        self.signalled: float | None = None
        self.ended: End | None = None
        self.flooded = False
        self.init: int | None = None
        self.leader: int | None = None
        self.orphans: tuple[str, ...] = ()
        self.terminal = bytearray()
        self.master: int | None = None
        self.timer: Timer | None = None
        self.child: Child | None = None

    def observe(self) -> Observation:
        invocation = self.invocation
        slave: int | None = None
        try:
            stdin: Stdin = invocation.stdin
            if invocation.terminal:
                self.master, slave = os.openpty()
                stdin = slave
                self.reactor.add_reader(self.master, self._took_terminal)
            elif invocation.hold_stdin:
                stdin = OPEN
            self.child = self._start(stdin)
            if slave is not None:
                os.close(slave)
                slave = None
            self._begin()
            self.reactor.run(lambda: self.ended is not None)
            self._see_orphans()
        finally:
            self._clean(slave)
        return self._observation()

    def _start(self, stdin: Stdin) -> Child:
        return Child(
            self.reactor,
            self.probe.command(self.invocation, self.place),
            on_stdout=self._took,
            on_end=self._has_ended,
            stdin=stdin,
            timeout=self.invocation.timeout or self.probe.timeout,
            graces=_GRACES,
        )

    def _begin(self) -> None:
        assert self.child is not None  # noqa: S101 - started in the line before
        if self.invocation.hold_stdin and self.child.stdin is not None and self.invocation.stdin:
            self.child.stdin.write(self.invocation.stdin)
        if self.invocation.reader == "gone":
            self.child.stdout.close()
            self.reactor.call_later(PROMPT, self._too_late)
        if self.invocation.signal:
            # A tool that reads may have nothing to say before its input ends; any other has begun by then, or never will.
            self._arm(0.3 if self.invocation.hold_stdin else _SILENCE)
        self._learn_pids()

    def _learn_pids(self) -> None:
        """Whom to signal, and whose end is the end of all: to be asked while they live."""
        sandbox = self.probe.sandbox
        if sandbox is None or self.child is None or self.ended is not None:
            return
        self.init = sandbox.init(self.child.pid) or self.init
        self.leader = sandbox.leader(self.child.pid) or self.leader
        if self.leader is None:
            self.reactor.call_later(0.001, self._learn_pids)

    def _took(self, chunk: bytes) -> None:
        if self.first is None:
            self.first = self.reactor.time() - self.started
            if self.invocation.watch:
                self._arm(self.invocation.watch)
        self.size += len(chunk)
        if self.size > FLOOD:
            self.flooded = True
            self._kill()
            return
        self.chunks.append(chunk)
        if self.invocation.reader == "leaves" and b"\n" in chunk and self.child is not None:
            self.child.stdout.close()
            self.reactor.call_later(PROMPT, self._too_late)
        if self.invocation.signal and self.signalled is None and not self.invocation.watch:
            self._arm(self.invocation.settle)

    def _took_terminal(self) -> None:
        assert self.master is not None  # noqa: S101 - it is what became readable
        try:
            data = os.read(self.master, 4096)
        except OSError:  # EIO: nobody has the other end open any more
            data = b""
        if not data:
            self.reactor.remove_reader(self.master)
        elif len(self.terminal) < _TERMINAL_LIMIT:
            self.terminal += data

    def _arm(self, delay: float) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.reactor.call_later(delay, self._signal)

    def _signal(self) -> None:
        if self.ended is not None or self.child is None or self.signalled is not None:
            return
        self._learn_pids()
        self.signalled = self.reactor.time() - self.started
        number = signal.Signals[self.invocation.signal]
        if self.probe.sandbox is None:
            signal_group(self.child.pid, number)
        elif self.leader is not None:
            try:
                signal_group(os.getpgid(self.leader), number)
            except ProcessLookupError:
                self.signalled = None  # it was faster
        self.reactor.call_later(PROMPT, self._too_late)

    def _too_late(self) -> None:
        if self.ended is None and self.child is not None:
            self.child.kill("deadline")
            self._kill()

    def _kill(self) -> None:
        if self.child is not None:
            self.child.kill("limit")
        if self.init is not None:
            _kill(self.init)

    def _has_ended(self, end: End) -> None:
        self.ended = end

    def _see_orphans(self) -> None:
        """Who is left in the sandbox though the tool has ended by itself."""
        if self.init is None or self.ended is None or self.ended.cause is not None:
            return
        self._until_gone(self.init, _ORPHAN_GRACE)
        self.orphans = tuple(_names_below(self.init))
        if self.orphans:
            _kill(self.init)
            self._until_gone(self.init, _GRACES.kill)

    def _until_gone(self, pid: int, grace: float) -> None:
        deadline = self.reactor.time() + grace
        while _living(pid) and self.reactor.time() < deadline:
            self._wait(_LOOK)

    def _wait(self, seconds: float) -> None:
        over: list[bool] = []
        self.reactor.call_later(seconds, lambda: over.append(True))
        self.reactor.run(lambda: bool(over))

    def _clean(self, slave: int | None) -> None:
        if self.init is not None:
            _kill(self.init)
        if self.child is not None and self.ended is None:
            self.child.abort()
        if self.master is not None:
            self.reactor.remove_reader(self.master)
            os.close(self.master)
        if slave is not None:
            os.close(slave)
        self.reactor.close()

    def _observation(self) -> Observation:
        end = self.ended
        assert end is not None  # noqa: S101 - the reactor ran until then
        late = end.cause == "deadline"
        return Observation(
            invocation=self.invocation,
            program=self.probe.shown,
            stdout=b"".join(self.chunks),
            stderr=end.stderr.text(),
            status=end.status,
            elapsed=self.reactor.time() - self.started,
            ended="flood" if self.flooded else "deadline" if late else "itself",
            first_output=self.first,
            signalled=self.signalled,
            terminal_output=bytes(self.terminal),
            orphans=self.orphans or (("a process of its group",) if end.leftovers and not late else ()),
        )


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _living(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] not in (b"Z", b"X")
    except OSError:
        return False


def _names_below(init: int) -> list[str]:
    """The command lines of the processes that the first one of a namespace has adopted."""
    found = []
    try:
        with open(f"/proc/{init}/task/{init}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        return []
    for child in children:
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                words = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            continue
        if words and _living(int(child)):
            found.append(words[:120])
    return found
