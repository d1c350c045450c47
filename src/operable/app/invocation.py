"""Calling one command of an application: admitted first, then run as argv from the package's root, bounded, and judged.

    answer = call(find("todo-app"), ["add", "Write docs"])

Every adapter (the command line, Python, MCP, HTTP) calls this module, so the order applies to all of them: the command
is documented, scheduling is, the package is trusted as it is now, the user has confirmed what needs it; only then is a
process started. It is started once: nothing is retried. Everything that it started ends with it: when it ends, when
its time is over, when it prints too much, or when the caller goes away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from operable.app.admission import command_path, require_confirmation
from operable.app.answers import Answer, answer_rules, judged, speaks_aoi, streamed
from operable.app.entry import command_line, variables
from operable.app.packages import Package
from operable.app.sandbox import confined
from operable.app.trust import Approvals
from operable.app.usage import require_schedulable
from operable.kernel.errors import EX_TIMEOUT, Fail
from operable.kernel.redact import Known, redact_text
from operable.proc.environment import secret_values
from operable.proc.run import CommandOutput, aoutput, output

if TYPE_CHECKING:
    from operable.run.judge import Judge
    from operable.wire.framework import Event

# APP.md has no rule; a command of an application that owns its data answers in seconds.
TIMEOUT = 60.0
OUTPUT_LIMIT = 16 * 1024 * 1024


# A chunk of the stream and the events that it completed; False: enough, the application is to end.
OnPassage = Callable[[bytes, "list[Event]"], bool | None]


class AppCallOptions(TypedDict, total=False):
    """The keyword arguments of a call. All are optional."""

    confirmed: bool
    """The user has agreed to a command that needs confirmation."""
    env: Mapping[str, str] | None
    stdin: bytes | None
    """What the command reads."""
    inherit: Sequence[str]
    """Names of further variables to pass on, beside those that its APP.md declares."""
    timeout: float
    limit: int
    """Bytes of an answer. A stream that is passed on has none."""
    on_passage: OnPassage | None
    """Gets the stream of an application that speaks AOI as it comes: each chunk, with the events that it completed."""


def call(
    package: Package,
    words: Sequence[str],
    approvals: Approvals | None = None,
    **options: Unpack[AppCallOptions],
) -> Answer:
    """Run `words`, a command path and its arguments. Fail for what must not or cannot run or is over its limits."""
    with _Call(package, words, approvals, options) as made:
        return made.answer(
            output(made.command, stdin=made.stdin, timeout=made.timeout, heed=made.listener.take)
        )


async def acall(
    package: Package,
    words: Sequence[str],
    approvals: Approvals | None = None,
    **options: Unpack[AppCallOptions],
) -> Answer:
    """`call` for asyncio. Cancelling the task ends the application before the cancellation goes on."""
    with _Call(package, words, approvals, options) as made:
        return made.answer(
            await aoutput(made.command, stdin=made.stdin, timeout=made.timeout, heed=made.listener.take)
        )


class _Call:
    """One call, whatever waits for it: what is run, who listens, and failures in words that name the application."""

    def __init__(
        self, package: Package, words: Sequence[str], approvals: Approvals | None, options: AppCallOptions
    ) -> None:
        self._package = package
        self._limit = options.get("limit", OUTPUT_LIMIT)
        self.timeout = options.get("timeout", TIMEOUT)
        self.stdin = options.get("stdin")
        require_confirmation(package, words, confirmed=options.get("confirmed", False))
        require_schedulable(package, words)
        self._approved = (approvals if approvals is not None else Approvals()).require(package)
        inherit = (*options.get("inherit", ()), *variables(package))
        self.command = command_line(package, words, env=options.get("env"), inherit=inherit)
        known = Known(secret_values(self.command.env, given=True))
        path = command_path(package, words)
        answer_rules(package, path)  # refused before anything is run
        self.listener = Listener(package, self._limit, options.get("on_passage"), known, path)
        self._enclosure = confined(package, self.command)

    def __enter__(self) -> Self:
        self.command = self._enclosure.__enter__()
        return self

    def __exit__(
        self, _: type[BaseException] | None, problem: BaseException | None, __: TracebackType | None
    ) -> None:
        self._enclosure.__exit__()
        # The message must not show where the application is, so the deadline gets a message of its own.
        if isinstance(problem, Fail) and problem.code == "DEADLINE_EXCEEDED":
            raise Fail(
                "timeout",
                "APP_TIMEOUT",
                f"{self._package.slug} did not end within {self.timeout:g} s",
                target=self._package.slug,
                retryable=False,  # what it has done until then is not known
                exit_code=EX_TIMEOUT,
            ) from problem

    def answer(self, ran: CommandOutput) -> Answer:
        if self.listener.over:
            raise Fail(
                "validation",
                "APP_OUTPUT_TOO_LARGE",
                f"{self._package.slug} printed more than {self._limit} bytes",
                target=self._package.slug,
            )
        touched = self._approved.touched() if self._approved is not None else None
        if touched is not None:
            raise Fail(
                "conflict",
                "APP_CHANGED",
                f"{touched} of {self._package.slug} changed while the command ran: its answer is not of what was approved",
                target=touched,
                hint="look at the package; an application's own data belongs into app/state",
                retryable=False,  # what it has done is not known
            )
        return self.listener.answer(ran.status, ran.stderr)


# What an application prints, as it comes: one JSON document, kept within bounds, or a stream that is passed on at
# once.
#
# The first line decides. If it is an `aoi:meta` and the caller set `on_passage`, each chunk is passed on with the
# events that it completed. Nothing is kept, and the verdict follows at the end. Everything else is kept until the end
# and judged then (`answers`), up to a limit. Sans-I/O.


class Listener:
    """Reads the output of one application to its end."""

    def __init__(
        self,
        package: Package,
        limit: int,
        on_passage: OnPassage | None = None,
        known: Known | None = None,
        command: str = "",
    ) -> None:
        self._command = command
        self._known = known if known is not None else Known()  # secrets that the application was given
        self._package = package
        self._limit = limit
        self._on_passage = on_passage
        self._pieces: list[bytes] = []
        self._size = 0
        self._decided = on_passage is None
        self._judge: Judge | None = None
        self._problem: Exception | None = None
        self.over = False  # it printed more than the limit
        self.enough = False  # the receiver of the passages wants no more of them

    def take(self, chunk: bytes) -> bool:
        """Take what it printed; False: it is to be ended."""
        if self._judge is not None:
            return self._pass(self._judge, chunk)
        self._pieces.append(chunk)
        self._size += len(chunk)
        if not self._decided and b"\n" in chunk:
            self._decided = True
            heard = b"".join(self._pieces)
            if speaks_aoi(heard):
                self._judge, self._pieces = _judge(), []
                return self._pass(self._judge, heard)
            self._pieces = [heard]
        if self._size > self._limit:
            self.over, self._pieces = True, []
        return not self.over

    def answer(self, status: int | None, stderr: str) -> Answer:
        """The answer, once it has ended."""
        judge = self._judge
        if judge is None:
            return judged(self._package, b"".join(self._pieces), status, stderr, self._known, self._command)
        from operable.proc.child import ChildEnd
        from operable.proc.excerpt import Excerpt

        if not self.enough and self._problem is None:
            self._give(b"", judge.deliver(judge.close()))
        if self._problem is not None:
            raise self._problem
        end = ChildEnd(status=status, cause=None, elapsed=0.0, stderr=Excerpt())
        reported = streamed(judge.conclude(end, unread=self.enough), status, redact_text(stderr, self._known))
        return replace(reported, message=self._known.text(reported.message))

    def _pass(self, judge: Judge, chunk: bytes) -> bool:
        return self._give(chunk, judge.deliver(judge.read(chunk)))

    def _give(self, chunk: bytes, events: list[Any]) -> bool:
        if self.enough or self._problem is not None or self._on_passage is None:
            return False
        try:
            self.enough = self._on_passage(chunk, events) is False
        except Exception as problem:  # noqa: BLE001 - raised again when the application has ended, in any kind of loop
            self._problem = problem
        return not self.enough and self._problem is None


def _judge() -> Judge:
    from operable.run.judge import Judge
    from operable.run.options import CheckedOptions

    return Judge(CheckedOptions())
