"""What a call is made of, whatever loop it runs on: commands, judges, the chain, and the result of each stage.

Made before anything is started. So a missing tool, a missing validator or a tool without a schema (if one was
demanded) is an error without effects. The drivers (`client`, `aclient`) add only how to wait.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Protocol, Self

from operable.kernel.data_class import dataclass
from operable.kernel.errors import EX_OK, Fail
from operable.kernel.extras import require
from operable.kernel.redact import Known, Redactor, redact_argv
from operable.proc.child import ChildEnd
from operable.proc.environment import environment, secret_values
from operable.proc.reactor import Reactor
from operable.proc.spawn import prepare
from operable.run.chain import Chain, Sink
from operable.run.discovery import Description, ToolSource, cached, version_options
from operable.run.judge import Judge
from operable.run.options import CheckedOptions
from operable.run.validator import validator_available
from operable.run.words import machine_words, telling, withheld
from operable.wire.notes import Note
from operable.wire.verdict import Verdict

_NAMES_SHOWN = 10


class Observer(Protocol):
    """Receives what a call does, as it does it (`cassette`). Called in the reactor's thread, except for `ended`."""

    def started(self, argv: tuple[str, ...]) -> None: ...
    def took(self, at: float, chunk: bytes) -> None: ...
    def ended(self, end: ChildEnd, stage: Stage) -> None: ...


@dataclass(frozen=True, slots=True)
class Stage:
    """The result of one process. Everything here is redacted and may be logged, except the events in the verdict."""

    argv: tuple[str, ...]
    verdict: Verdict
    stderr: str
    elapsed: float
    withheld: tuple[str, ...] = ()
    """The names of our variables that it was not given."""
    excused: bool = False
    """Its reader went away before its end: not its fault, and not counted against the whole."""
    cut: bool = False
    """Its reader went away before its end."""

    @property
    def ok(self) -> bool:
        return self.verdict.ok or self.excused


class CallSession:
    """One call: options, judges and, once `open`, a running chain."""

    def __init__(
        self, argvs: Sequence[Sequence[str]], options: CheckedOptions, observer: Observer | None = None
    ) -> None:
        if not argvs:
            raise Fail("usage", "ARGV_INVALID", "there is nothing to run")
        self.options = options
        self._observer = observer
        self.commands = [
            prepare(
                machine_words(argv, exact=options.exact) if argv else argv,
                env=options.env,
                inherit=options.inherit,
                cwd=options.cwd,
            )._replace(tree=options.tree)
            for argv in argvs
        ]
        self.sources = [
            ToolSource(
                words=tuple(options.tool or command.argv[:1]),
                env=options.env,
                inherit=options.inherit,
                cwd=options.cwd,
                version_options=version_options(command.argv[1:]),
            )
            for command in self.commands
        ]
        self.known = known_values(options)
        self.withheld = withheld(environment(options.env, inherit=options.inherit))
        self.judges: list[Judge] = []
        self.ends: list[ChildEnd] = []
        self._chain: Chain | None = None
        self._callback_error: BaseException | None = None
        if options.validate is True:
            require("jsonschema_rs")

    @property
    def shown(self) -> tuple[tuple[str, ...], ...]:
        """The command lines as they may be shown: secrets masked."""
        return tuple(
            tuple(self.known.text(word) for word in redact_argv(list(command.argv)))
            for command in self.commands
        )

    @property
    def judge(self) -> Judge:
        """The judge of the stream that the caller reads."""
        return self.judges[-1]

    @property
    def is_pointless(self) -> bool:
        """Whether the call should be ended: its stream is void, and no deadline would ever say so.

        With a deadline the tool may finish: stopping a mutation half-way, for a flaw in its report, would be worse.
        """
        return self.options.timeout is None and self.judge.violated

    @property
    def must_describe(self) -> Sequence[ToolSource]:
        """The tools that have to be asked before the start, because validation was demanded."""
        return self.sources if self.options.validate is True else ()

    def open(self, reactor: Reactor, sink: Sink, descriptions: Sequence[Description] = ()) -> Chain:
        """Start the processes. A description without a schema is refused here, before the start."""
        for source, description in zip(self.sources, descriptions, strict=False):
            self._demand_schema(source, description)
        kept = [cached(source) if self.options.validate == "auto" else None for source in self.sources]
        self.judges = [Judge(self.options, description=known) for known in descriptions or kept]
        if self._observer is not None:
            sink = _Observed(reactor, sink, self._observer)
        chain = Chain(
            reactor,
            self.commands,
            sink,
            stdin=self.options.stdin,
            timeout=self.options.timeout,
            graces=self.options.graces,
            watch=self._watch,
            on_stderr=self._took_stderr if self.options.on_stderr is not None else None,
        )
        self._chain = chain
        if self._observer is not None and chain.failure is None:
            self._observer.started(self.shown[-1])
        _log("started %s", " | ".join(" ".join(argv) for argv in self.shown))
        return chain

    def source_asked(self) -> ToolSource | None:
        """The tool that the judge of the caller's stream wants to have described now; see `Judge.asks`."""
        if self.judge.asks is None:
            return None
        if not validator_available():
            self.judge.answer(None, "the package jsonschema-rs is not installed")
            return None
        return self.sources[-1]

    def answer(self, description: Description | Fail) -> None:
        """Inform the judge; a tool that cannot be asked is an error only when validation was demanded."""
        if isinstance(description, Fail):
            if self.options.validate is True:
                raise description
            self.judge.answer(None, description.message)
        else:
            self._demand_schema(self.sources[-1], description)
            self.judge.answer(description)

    def conclude(self, chain: Chain, *, unread: bool) -> tuple[Stage, ...]:
        """The result of every stage, when the chain is done and the last stream is read."""
        stages = []
        last = len(self.commands) - 1
        for number, (end, judge) in enumerate(zip(chain.ends, self.judges, strict=True)):
            if end is None:
                raise chain.failure or RuntimeError("a stage has no end")
            self.ends.append(end)
            if number < last:
                judge.deliver(judge.close())
            verdict = judge.conclude(
                end,
                unread=unread and number == last,
                cut=chain.cut[number],
                known=partial(cached, self.sources[number]),
                more=self._about_environment(number),
            )
            stages.append(
                Stage(
                    argv=self.shown[number],
                    verdict=verdict,
                    stderr=redacted(end.stderr.text(), self.known),
                    elapsed=end.elapsed,
                    withheld=self.withheld,
                    excused=chain.cut[number] and verdict.code == "DOWNSTREAM_CLOSED",
                    cut=chain.cut[number],
                )
            )
            _log("ended %s: %s", stages[-1].argv[0], verdict.code)
        return tuple(stages)

    def _about_environment(self, number: int) -> list[Note]:
        """What a tool might have answered otherwise with: its own variables, and those that name files with settings."""
        names = telling(self.withheld, [self.commands[number].argv[0], *self.sources[number].words])
        if not names:
            return []
        shown = ", ".join(names[:_NAMES_SHOWN]) + (" and more" if len(names) > _NAMES_SHOWN else "")
        return [Note("ENVIRONMENT_WITHHELD", f"the tool was not given these variables: {shown}")]

    def tell_observer(self, stages: Sequence[Stage]) -> None:
        if self._observer is not None and self.ends:
            self._observer.ended(self.ends[-1], stages[-1])

    def raise_callback_error(self) -> None:
        """What the caller's own callback raised ended the call; the caller gets it back now."""
        if self._callback_error is not None:
            error, self._callback_error = self._callback_error, None
            raise error

    def _took_stderr(self, chunk: bytes) -> None:
        if self.options.on_stderr is None or self._callback_error is not None:
            return
        try:
            self.options.on_stderr(chunk)
        except BaseException as error:  # noqa: BLE001 - given back to the caller at the end of the call
            self._callback_error = error
            if self._chain is not None:
                self._chain.cancel()

    def _demand_schema(self, source: ToolSource, description: Description) -> None:
        if self.options.validate is True and description.schema is None:
            raise Fail(
                "config",
                "SCHEMA_UNAVAILABLE",
                f"cannot validate: {'; '.join(description.notes)}",
                target=source.words[0],
                hint="use validate='auto' to go on without",
            )

    def _watch(self, stage: int, chunk: bytes) -> None:
        """A stage in the middle: judged as it passes, with what is known; no user can be asked from here."""
        judge = self.judges[stage]
        events = judge.read(chunk)
        if judge.asks is not None:
            judge.answer(None, "the description at hand is of another release, or missing")
        judge.deliver(events)


class _Observed:
    def __init__(self, reactor: Reactor, sink: Sink, observer: Observer) -> None:
        self._reactor = reactor
        self._started = reactor.time()
        self._sink = sink
        self._observer = observer

    def put(self, chunk: bytes) -> None:
        self._observer.took(self._reactor.time() - self._started, chunk)
        self._sink.put(chunk)

    def finish(self) -> None:
        self._sink.finish()


def decisive(stages: Sequence[Stage]) -> Stage:
    """Which stage speaks for the whole: the one that caused the failure; else the last.

    What fails in front fails what reads it. A stage whose reader went away is not the cause, whatever it then says.
    """
    failed = [stage for stage in stages if not stage.ok]
    return next((stage for stage in failed if not stage.cut), failed[0] if failed else stages[-1])


def exit_code(stages: Sequence[Stage]) -> int:
    """The status that a command which relays these stages exits with: of the last that is not ok, as with pipefail."""
    last = next((stage for stage in reversed(stages) if not stage.ok), None)
    return EX_OK if last is None else last.verdict.exit_code


def known_values(options: CheckedOptions) -> Known:
    """The secrets among the variables that the tools are given."""
    known = Known(secret_values(options.env or {}, given=True))
    known.add(*secret_values(environment(inherit=options.inherit)))
    return known


def redacted(text: str, known: Known) -> str:
    """Diagnostics without secrets; line by line, because a private key reaches over many."""
    redactor = Redactor(known)
    return "\n".join(
        redactor.line(line.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        for line in text.split("\n")
    )


def _log(message: str, *arguments: str) -> None:
    # If logging is not imported, no handler can be listening, and importing it costs more than the call.
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("operable.run").debug(message, *arguments)


def raise_if_failed(stages: Sequence[Stage]) -> None:
    """Raise what made these stages fail."""
    cause = decisive(stages)
    if not cause.ok:
        from operable.run.failure import reason_of

        raise reason_of(cause.verdict, cause.argv[0], cause.stderr)


class Outcome:
    """The read-only face of a call. Not for users to make: `call` and its kin do."""

    def __init__(self, session: CallSession) -> None:
        self._session = session
        self._chain: Chain | None = None
        self._stages: tuple[Stage, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: of the only stage, or of the one that caused the failure."""
        return self.cause.verdict

    @property
    def cause(self) -> Stage:
        """The stage that caused the failure; the last one when all are ok."""
        return decisive(self.stages)

    def raise_for_status(self) -> Self:
        """Raise `Fail` if the call is not ok: the tool's own error where it gave one, else the verdict."""
        raise_if_failed(self.stages)
        return self

    @property
    def stages(self) -> tuple[Stage, ...]:
        """One result per process, when the call has ended."""
        if self._stages is None:
            raise RuntimeError("the call has not ended: iterate to its end, or close it")
        return self._stages

    @property
    def violated(self) -> bool:
        """Whether the stream has broken the protocol: then no more events come, though the tool may still be running."""
        return bool(self._session.judges) and self._session.judge.violated

    @property
    def ok(self) -> bool:
        return all(stage.ok for stage in self.stages)

    @property
    def exit_code(self) -> int:
        """The status that a command which relays this call should exit with."""
        return exit_code(self.stages)

    @property
    def stderr(self) -> str:
        """What the (last) tool wrote to its stderr: bounded, redacted."""
        return self.stages[-1].stderr

    @property
    def pids(self) -> list[int]:
        """The process groups that are running now."""
        return self._chain.pids if self._chain is not None else []
