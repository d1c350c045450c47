"""One call of a wrapped program, as its parser sees it: the inputs, the bytes that it prints, and how it ended.

Theory of operation. Nothing runs before the parser asks for bytes, and nothing is read ahead of it: one chunk is taken when
the last one has been dealt with, so a slow reader slows the program and memory stays flat. A parser that stops early (a
limit was reached, a signal came) ends the program's whole group, and what has left it (`proc.orphans`). After the parser,
`settle` judges how the program ended: only an end that the manifest calls a success lets the stream be one (`endings`).

The program runs in the sandbox that its manifests declare (`enclosure`), with an allow-listed environment, no terminal, and
nothing on stdin but what the wrapper gives it. Its stderr is kept in bounds, redacted, and shown as a warning or as part of
the error.
"""

from __future__ import annotations

from time import monotonic

from operable.kernel.errors import Fail
from operable.wrap.endings import WrappedCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from typing import Any

    from operable.proc.tree.orphans import Adoption
    from operable.tool.kinds import Page
    from operable.tool.run.context import Context
    from operable.wrap.enclosure import ConfinedCommand
    from operable.wrap.plan.model import WrapCommandPlan, WrapPlan

# A record of a program is held in memory while it is read: more than this is not a record (wire.lines has the same limit).
RECORD_LIMIT = 16 * 1024 * 1024
# Asked to end, a program gets this long before SIGKILL; one that holds a lock file needs a moment to remove it.
TERMINATE_GRACE = 1.0
# The SDK's own deadline comes this much after ours: SIGTERM, SIGKILL and draining the pipes have to fit (see cli.calling).
GRACE = 8.0


# Of a command without a deadline (`watch`): how long the program may take to answer one question.
ASK_TIMEOUT = 30.0


class StderrChunk(bytes):
    """What a program printed on stderr, where its caller asked for both."""


class Upstream(WrappedCall):
    """What a parser is given. A function of parser.py takes one of these and yields rows, lists of rows, or notices."""

    def __init__(
        self,
        plan: WrapPlan,
        command: WrapCommandPlan,
        inputs: dict[str, Any],
        context: Context,
        page: Page | None = None,
    ) -> None:
        super().__init__(plan, command, inputs, context)
        self.after: Any = None if page is None else page.after
        self.fetch: int | None = None if page is None else page.fetch
        self.stdin: bytes | None = None
        self.env: dict[str, str] = {}  # what the function adds to the variables that the manifest names
        self.cwd: str | None = None  # where the program runs; None: where the caller is
        self.project_code = False  # whether the caller lets this dry run run code of the project
        self._started = monotonic()

    # -- bytes

    def words(self) -> list[str]:
        """The command line of this call, after the program."""
        from operable.wrap.words import expand

        return expand(self.command.argv, self.command.options, self.inputs)

    def chunks(self, argv: Sequence[str] | None = None, *, both: bool = False) -> Iterator[bytes]:
        """Run the program and give what it prints, as it comes; with `both` what it prints on stderr too, as StderrChunk."""
        from operable.proc.run import require_started, supervise
        from operable.proc.tree.escalation import Graces

        queue: list[bytes] = []  # of one round: a few
        self.end = None
        with (
            self._looked_after(),
            self._prepared(self.words() if argv is None else argv) as command,
            supervise(
                command,
                on_stdout=queue.append,
                on_stderr=(lambda chunk: queue.append(StderrChunk(chunk))) if both else None,
                stdin=self.stdin,
                timeout=self._remaining(),
                graces=Graces(interrupt=TERMINATE_GRACE, terminate=TERMINATE_GRACE),
            ) as run,
        ):
            try:
                while True:
                    run.reactor.run(lambda: bool(queue) or run.ended is not None)
                    if not queue:
                        if run.ended is not None:
                            require_started(run.ended)
                        return
                    while queue:
                        yield queue.pop(0)
            finally:
                if run.ended is None:
                    run.child.terminate("enough")
                    while run.ended is None:
                        queue.clear()
                        run.reactor.run(lambda: bool(queue) or run.ended is not None)
                self.end = run.ended

    def records(self, separator: bytes = b"\0", limit: int = RECORD_LIMIT) -> Iterator[list[bytes]]:
        """What the program prints, cut behind each separator: lists of as many records as a chunk completes.

        What follows the last separator is a record that was cut off: the program died, or is not the one we know.
        """
        rest: list[bytes] = []
        kept = 0
        for chunk in self.chunks():
            if separator in chunk:
                found = b"".join([*rest, chunk]).split(separator)
                rest = [found.pop()]
                kept = len(rest[0])
                yield found
            else:
                rest.append(chunk)
                kept += len(chunk)
            if kept > limit:
                raise self.too_long(limit)
        if kept:
            self.cut_off()

    def blocks(self, limit: int = RECORD_LIMIT) -> Iterator[bytes]:
        """What the program prints in blocks of whole lines; a last line without its end comes too."""
        from operable.wire.lines import BlockSplitter

        splitter = BlockSplitter(limit)
        for chunk in self.chunks():
            if block := splitter.feed(chunk):
                yield block
            if splitter.too_long:
                raise self.too_long(limit)
        if rest := splitter.eof():
            yield rest

    def ask(
        self, argv: Sequence[str], *, limit: int = RECORD_LIMIT, fine: Container[int | None] = (0,)
    ) -> bytes:
        """Run the same program with other words to its end; any exit status that is not `fine` is a Fail."""
        from operable.proc.run import output

        with self._looked_after(), self._prepared(argv) as command:
            done = output(command, timeout=self._remaining() or ASK_TIMEOUT, limit=limit)
        if done.status not in fine:
            from operable.wrap.endings import failed

            raise failed(self, done.status, done.stderr)
        return done.stdout

    # -- ends

    def settle(self) -> Iterator[Any]:
        """Judge the end of the program. Yields warnings; raises Fail unless it was a success."""
        from operable.wrap.endings import judged

        yield from judged(self)

    def cut_off(self) -> None:
        """A record stops in its middle: whatever the exit status says, this stream is not whole."""
        if self.failure is None:
            message = f"{self.plan.bin} stopped in the middle of a record"
            self.failure = Fail("partial", "UPSTREAM_INCOMPLETE", message, target=self.plan.bin)

    def too_long(self, limit: int) -> Fail:
        message = f"{self.plan.bin} printed a record of more than {limit} bytes"
        return Fail("validation", "UPSTREAM_RECORD_TOO_LONG", message, target=self.plan.bin)

    def foreign_line(self, line: bytes) -> Any:
        """A warning for what is not of the promised form: counted, shown in bounds, never dropped silently."""
        from operable.wrap.endings import foreign

        self.foreign += 1
        return foreign(self, line)

    # -- surroundings

    def do_without(self, *needs: str) -> None:
        """Give up needs of the manifest that this call does not have: an option was not given, a repository is local."""
        from operable.wrap.enclosure import narrowed

        if self.command.sandbox is not None:
            self.command = self.command.replace(sandbox=narrowed(self.command.sandbox, needs))

    def _prepared(self, argv: Sequence[str]) -> ConfinedCommand:
        from operable.proc.spawn import prepare
        from operable.proc.tree.orphans import Adoption
        from operable.wrap.enclosure import ConfinedCommand

        plan = self.plan
        words = [plan.bin, *plan.bin_args, *argv]
        quiet = plan.read_env if self.command.reads else {}
        env = {**plan.env_set, **quiet, **self.env, **Adoption.variables()}
        try:
            command = prepare(words, env=env, inherit=plan.env_pass, cwd=self.cwd)
        except Fail as fail:
            if fail.code == "TOOL_NOT_FOUND":
                fail.hint = f"install it: {' or '.join(plan.install)}"
            raise
        return ConfinedCommand(command, self.command.sandbox)

    def _looked_after(self) -> Adoption:
        """What leaves the group of the program ends with it, where this process exists for the program alone."""
        from operable.proc.tree.orphans import Adoption
        from operable.wrap.enclosure import may_start_others

        return Adoption(wanted=self.plan.own_process and may_start_others(self.command.sandbox))

    def _remaining(self) -> float | None:
        if self.context.timeout is None:
            return None
        left = self.context.timeout - (monotonic() - self._started)
        if left <= 0:
            raise self.timed_out()
        return left
