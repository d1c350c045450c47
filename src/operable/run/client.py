"""Calling tools from blocking code: iterate over the events, then read the verdict.

    with call(["outline", "search", "agent", "--output", "jsonl"]) as search:
        for event in search:
            ...
    print(search.verdict.reason)

The process is looked after by a thread (`proc.reactor.Attendant`): its deadline holds, its stderr is drained and its stdin
fed also while the caller is busy with an event. The events themselves are decoded in the caller's thread, when it asks.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, Unpack

from msgspec import structs

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.reactor import Attendant
from operable.proc.tree.escalation import Graces
from operable.proc.tree.group import signal_group
from operable.run.chain import Chain
from operable.run.channel import Channel
from operable.run.discovery import Description, describe
from operable.run.failure import is_retryable
from operable.run.journey import MAX_PAGES, Journey, waits
from operable.run.judge import CANCELLED, ruling
from operable.run.options import CallOptions, options_from
from operable.run.session import CallSession, Outcome, Stage, decisive, raise_if_failed
from operable.run.words import machine_words
from operable.wire.decode import is_domain
from operable.wire.framework import Event
from operable.wire.verdict import Verdict

# `collect` keeps its events: ten thousand of 200 bytes are about 10 MB of Python objects.
MAX_EVENTS = 10_000
# On top of the graces: for a machine so loaded that the attendant itself is late.
_SLACK = 10.0


def call(argv: Sequence[str], **options: Unpack[CallOptions]) -> Call:
    """Call one tool. Nothing runs until the result is entered (`with`) or iterated; see `CallOptions`."""
    return Call(CallSession([argv], options_from(options)))


def pipe(stages: Sequence[Sequence[str]], **options: Unpack[CallOptions]) -> Call:
    """Call several tools, each reading the output of the one before. The events are those of the last; `.stages` has a
    verdict for each; `.verdict` is that of the stage that caused the failure (`.cause`), and `.exit_code` that of the last
    stage that is not ok (pipefail).
    """
    return Call(CallSession(stages, options_from(options)))


@dataclass(frozen=True, slots=True)
class Collected:
    """A whole call in memory."""

    events: list[Event]
    verdict: Verdict
    stages: tuple[Stage, ...]

    @property
    def ok(self) -> bool:
        return all(stage.ok for stage in self.stages)

    @property
    def results(self) -> list[Event]:
        """What the tool found or did: the events that are not the framework's."""
        return [event for event in self.events if is_domain(event)]

    @property
    def stderr(self) -> str:
        return self.stages[-1].stderr

    def raise_for_status(self) -> Self:
        """Raise `Fail` if the call is not ok: the tool's own error where it gave one, else the verdict."""
        raise_if_failed(self.stages)
        return self


def collect(
    argv: Sequence[str],
    *,
    max_events: int = MAX_EVENTS,
    attempts: int = 1,
    **options: Unpack[CallOptions],
) -> Collected:
    """Call one tool and keep its events. More than `max_events` end it: the verdict is then EVENT_LIMIT_REACHED.

    With `attempts`, a call whose last error is `retryable` is made again, after the seconds that it asks for.
    """
    for wait in waits(attempts, options_from(options)):
        result = _collect_once(argv, max_events, options)
        if not is_retryable(result.verdict):
            return result
        time.sleep(wait(result.verdict))
    return _collect_once(argv, max_events, options)


def pages(
    argv: Sequence[str], *, max_pages: int = MAX_PAGES, **options: Unpack[CallOptions]
) -> Iterator[Collected]:
    """One call after the other, each with the cursor of the one before, until there is no more. Each page is ok, or raised.

        for page in pages(["outline", "list", "--limit", "100"]):
            page.results

    `Fail` also for a cursor that does not move and for more than `max_pages` pages.
    """
    journey = Journey(machine_words(argv, exact=options.get("exact", False)), max_pages)
    words = journey.words
    while words:
        page = collect(words, **options).raise_for_status()
        yield page
        words = journey.after(page.verdict)


def _collect_once(argv: Sequence[str], max_events: int, options: CallOptions) -> Collected:
    events: list[Event] = []
    with call(argv, **options) as running:
        for batch in running.batches():
            events += batch
            if len(events) > max_events:
                break
    return collected(events, running.stages, max_events)


def collected(events: list[Event], stages: tuple[Stage, ...], max_events: int) -> Collected:
    """The result of collecting; what was left out shows in the verdict, never as a success."""
    verdict = decisive(stages).verdict
    if len(events) > max_events:
        del events[max_events:]
        verdict = structs.replace(verdict, **ruling("EVENT_LIMIT_REACHED", detail=str(max_events)))
        stages = (*stages[:-1], replace(stages[-1], verdict=verdict))
    return Collected(events, verdict, stages)


class Call(Outcome):
    """A running call: context manager and iterable. Leaving the block early ends the whole process group."""

    def __init__(self, session: CallSession) -> None:
        super().__init__(session)
        self._attendant: Attendant | None = None
        self._channel = Channel()
        self._owner = os.getpid()  # a fork of this process has copies of its calls, which are not its own

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        for batch in self.batches():
            yield from batch

    def __del__(self) -> None:
        chain = getattr(self, "_chain", None)
        if chain is not None and self._stages is None and not chain.done and os.getpid() == self._owner:
            warnings.warn(
                f"a call was left running: {self!r}; use it in a with block", ResourceWarning, stacklevel=1
            )
            for pid in chain.pids:
                signal_group(pid, signal.SIGKILL)

    def __repr__(self) -> str:
        return f"<Call {' | '.join(' '.join(argv) for argv in self._session.shown)}>"

    def batches(self) -> Iterator[list[Event]]:
        """The events in the lists in which they arrived: for a consumer that is fast."""
        for _, events in self.passages():
            if events:
                yield events

    def passages(self) -> Iterator[tuple[bytes, list[Event]]]:
        """The chunks as they came, each with the events that it completed: for a relay, which passes the bytes on.

        A last line without LF gives its event with no bytes, after its chunk.
        """
        self.start()
        if self._stages is not None:
            return
        session = self._session
        while (chunk := self._channel.take()) is not None:
            yield chunk, self._valid(session.judge.read(chunk))
            if self._ended():
                return  # the consumer closed the call inside its loop
            if session.is_pointless:
                self.cancel()
        if events := self._valid(session.judge.close()):
            yield b"", events
        self._conclude()

    def wait(self) -> Verdict:
        """Run to the end without looking at the events."""
        for _ in self.batches():
            continue
        return self.verdict

    def start(self) -> None:
        """Start it, if it is not yet; Fail when it cannot be."""
        if self._chain is not None:
            return
        session = self._session
        descriptions = [describe(source) for source in session.must_describe]
        attendant = Attendant()
        try:
            chain = session.open(attendant.reactor, self._channel, descriptions)
            if chain.failure is not None:
                attendant.reactor.run(lambda: chain.done)
                raise chain.failure
        except BaseException:
            attendant.reactor.close()
            raise
        self._chain, self._attendant = chain, attendant
        self._channel.pause = chain.pause
        self._channel.resume = lambda: attendant.reactor.call_soon_threadsafe(chain.resume)
        attendant.start(lambda: chain.done, _crash_report(chain, self._channel))

    def cancel(self, cause: str = CANCELLED) -> None:
        """Ask the tool to end (SIGINT, then SIGTERM, then SIGKILL). Go on iterating to see its last words. Any thread."""
        chain, attendant = self._chain, self._attendant
        if chain is not None and attendant is not None:
            attendant.reactor.call_soon_threadsafe(lambda: chain.cancel(cause))

    def close(self, cause: str = CANCELLED) -> None:
        """End it now, if it has not ended, and wait for that: at most the graces."""
        if self._chain is None or self._stages is not None:
            return
        try:
            # The tool may answer before this thread goes on: a Ctrl-C can arrive in the middle of asking.
            if not self._chain.done:
                self.cancel(cause)
            self._channel.discard()
            self._join()
        except BaseException:  # a second Ctrl-C: no more patience
            self._kill()
            raise
        finally:
            if not self._channel.dropped:
                while (chunk := self._channel.take()) is not None:
                    self._session.judge.deliver(self._session.judge.read(chunk))
            self._conclude()

    def _valid(self, events: list[Event]) -> list[Event]:
        source = self._session.source_asked()
        if source is not None:
            description: Description | Fail
            try:
                # What is kept may be of another release: only the tool itself can say then.
                description = describe(source, refresh=self._session.judge.stale)
            except Fail as problem:
                description = problem
            self._session.answer(description)
        return self._session.judge.deliver(events)

    def _conclude(self) -> None:
        if self._chain is not None and self._stages is None:
            self._join()
            self._stages = self._session.conclude(self._chain, unread=self._channel.dropped)
            self._session.tell_observer(self._stages)
            self._session.raise_callback_error()

    def _kill(self) -> None:
        chain, attendant = self._chain, self._attendant
        if chain is not None and attendant is not None:
            attendant.reactor.call_soon_threadsafe(chain.kill)
            attendant.join(_SLACK)

    def _ended(self) -> bool:
        return self._stages is not None

    def _join(self) -> None:
        if self._attendant is None:
            return
        graces = self._session.options.graces or Graces()
        self._attendant.join(graces.interrupt + graces.terminate + graces.kill + graces.drain + _SLACK)


def _crash_report(chain: Chain, channel: Channel) -> Callable[[BaseException], None]:
    """What to do when the attendant dies of a bug. Not a method: the thread must not keep an abandoned call alive."""

    def report(error: BaseException) -> None:
        chain.abort()
        channel.fail(error)

    return report
