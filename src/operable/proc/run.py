"""Run a command to its end, in this thread: started, looked after, and gone when the caller goes on.

`supervise` owns the reactor and the child. However its block is left, by an interrupt also, the command has ended by then:
one that still runs is killed first. Callers take its output as it comes, write to it, or end it when they have enough.

`CommandOutput` is the one result of a command that ran to its end. `output` and its async twin `aoutput` give it, with a
bounded amount of what the command printed: for short answers, not for streams. They have a deadline always, and an output
beyond `limit` ends the command instead of being cut silently. With `heed` each chunk goes to the caller as it comes, and
nothing is kept; False from it ends the command.

Sessions and pipelines, whose children outlive a call, use `proc.child` themselves.
"""

from __future__ import annotations

from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.proc.child import Child
from operable.proc.reactor import SelectorReactor
from operable.proc.tree.escalation import CANCELLED, DEADLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NamedTuple, Self

    from operable.proc.child import ChildEnd, Stdin
    from operable.proc.command import PreparedCommand
    from operable.proc.reactor import Reactor
    from operable.proc.tree.escalation import Graces

    Heed = Callable[[bytes], bool]
else:
    from operable.kernel.named_tuple import NamedTuple

# Discovery is local and network-free by contract; ten seconds are a cold start on a very slow disk.
TIMEOUT = 10.0
# The largest published schemas of command-line tools are below 2 MB.
LIMIT = 16 * 1024 * 1024


class CommandOutput(NamedTuple):
    """A command that ran to its end: how it ended, and what was kept of its output. No other type says so."""

    stdout: bytes
    stderr: str
    end: ChildEnd
    cut: bool = False  # it printed more than was kept
    env: Mapping[str, str] | None = None  # the variables that it was given, so that `said` can mask them

    @property
    def status(self) -> int | None:
        """As subprocess has it: negative means killed by that signal. None: it could not be learnt."""
        return self.end.status

    @property
    def timed_out(self) -> bool:
        """Whether we ended it, because its time was up."""
        return self.end.cause == DEADLINE

    @property
    def cancelled(self) -> bool:
        """Whether we ended it, because its caller gave up."""
        return self.end.cause == CANCELLED

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    def said(self, limit: int) -> str:
        """The end of what it printed, for an error: without the secrets that it was given."""
        from operable.kernel.redact import Redactor
        from operable.proc.environment import secret_values

        secrets = secret_values(self.env or {}, given=True)
        return Redactor(secrets).text(self.stderr.strip() or self.text.strip())[-limit:]


def require_in_time(end: ChildEnd, name: str, timeout: float) -> None:
    """Raise Fail timeout/DEADLINE_EXCEEDED if we ended the command because its time was up."""
    if end.cause == DEADLINE:
        message = f"{name} did not end within {timeout:g} s"
        raise Fail("timeout", "DEADLINE_EXCEEDED", message, target=name, exit_code=EX_TIMEOUT)


def require_started(end: ChildEnd) -> None:
    """Raise Fail config/SANDBOX_FAILED if the sandbox was not put up: then nothing of the end is the program's."""
    if end.unstarted:
        said = end.stderr.text().strip()[-500:] or f"status {end.status}"
        message = f"the sandbox was not put up, and the program did not start: {said}"
        raise Fail("config", "SANDBOX_FAILED", message)


class Supervised:
    """A command that runs on a reactor of its own."""

    def __init__(
        self,
        command: PreparedCommand,
        *,
        on_stdout: Callable[[bytes], object],
        on_stderr: Callable[[bytes], object] | None,
        stdin: Stdin,
        timeout: float | None,
        graces: Graces | None,
    ) -> None:
        self.reactor = SelectorReactor()
        self.ended: ChildEnd | None = None
        try:
            self.child = Child(
                self.reactor,
                command,
                on_stdout=on_stdout,
                on_stderr=on_stderr,
                on_end=self._has_ended,
                stdin=stdin,
                timeout=timeout,
                graces=graces,
            )
        except BaseException:
            self.reactor.close()
            raise

    def _has_ended(self, end: ChildEnd) -> None:
        self.ended = end

    def wait(self) -> ChildEnd:
        """Wait for the end. Fail if a sandbox was not put up."""
        self.reactor.run(lambda: self.ended is not None)
        assert self.ended is not None  # noqa: S101 - the reactor ran until there was one
        require_started(self.ended)
        return self.ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill it if it still runs, and wait until it is gone."""
        try:
            if self.ended is None:
                self.child.kill()
                self.wait()
        finally:
            self.reactor.close()


def supervise(
    command: PreparedCommand,
    *,
    on_stdout: Callable[[bytes], object],
    on_stderr: Callable[[bytes], object] | None = None,
    stdin: Stdin = None,
    timeout: float | None = None,
    graces: Graces | None = None,
) -> Supervised:
    """Start a command; it has ended when the block is left. Fail if it cannot be started.

    Callbacks are called by `wait`, in this thread. The words mean what they mean for `Child`.
    """
    return Supervised(
        command, on_stdout=on_stdout, on_stderr=on_stderr, stdin=stdin, timeout=timeout, graces=graces
    )


def output(
    command: PreparedCommand,
    *,
    stdin: Stdin = None,
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    graces: Graces | None = None,
    heed: Heed | None = None,
) -> CommandOutput:
    """Run and wait. Fail timeout/DEADLINE_EXCEEDED or validation/OUTPUT_TOO_LARGE; the exit status is for the caller."""
    capture = _Capture(limit, heed)
    with supervise(command, on_stdout=capture.took, stdin=stdin, timeout=timeout, graces=graces) as run:
        capture.child = run.child
        capture.end = run.wait()
    return capture.result(command, timeout)


async def aoutput(
    command: PreparedCommand,
    *,
    stdin: Stdin = None,
    timeout: float = TIMEOUT,
    limit: int = LIMIT,
    graces: Graces | None = None,
    heed: Heed | None = None,
) -> CommandOutput:
    """`output` for asyncio. Cancelling the task kills the group before the cancellation goes on."""
    import asyncio

    loop = asyncio.get_running_loop()
    capture = _Capture(limit, heed)
    ended = asyncio.Event()
    capture.on_end = ended.set
    child = capture.start(loop, command, stdin, timeout, graces)
    try:
        await ended.wait()
    except asyncio.CancelledError:
        child.kill()
        await ended.wait()
        raise
    return capture.result(command, timeout)


class _Capture:
    def __init__(self, limit: int, heed: Heed | None) -> None:
        self.limit, self.heed = limit, heed
        self.chunks: list[bytes] = []
        self.size = 0
        self.end: ChildEnd | None = None
        self.child: Child | None = None
        self.on_end: Callable[[], None] | None = None

    def start(
        self, reactor: Reactor, command: PreparedCommand, stdin: Stdin, timeout: float, graces: Graces | None
    ) -> Child:
        self.child = Child(
            reactor,
            command,
            on_stdout=self.took,
            on_end=self.ended,
            stdin=stdin,
            timeout=timeout,
            graces=graces,
        )
        return self.child

    def took(self, chunk: bytes) -> None:
        if self.heed is not None:
            if not self.heed(chunk) and self.child is not None:
                self.child.terminate("enough")
            return
        self.size += len(chunk)
        if self.size <= self.limit:
            self.chunks.append(chunk)
        elif self.child is not None:
            self.chunks.clear()
            self.child.kill("limit")

    def ended(self, end: ChildEnd) -> None:
        self.end = end
        if self.on_end is not None:
            self.on_end()

    def result(self, command: PreparedCommand, timeout: float) -> CommandOutput:
        assert self.end is not None  # noqa: S101 - the caller waited for it
        name = command.argv[0]
        require_started(self.end)
        if self.size > self.limit:
            message = f"{name} printed more than {self.limit} bytes"
            raise Fail("validation", "OUTPUT_TOO_LARGE", message, target=name)
        require_in_time(self.end, name, timeout)
        return CommandOutput(b"".join(self.chunks), self.end.stderr.text(), self.end, env=command.env)
