"""The person and an agent at a terminal: messages are typed, questions answered, turns stopped, one face for every agent.

Theory of operation. The screen has the main thread and its loop; a turn works in a thread of its own, and its events come
through a bounded queue, so that an agent that writes faster than a terminal shows is slowed down. What is typed while a turn
runs waits for its end. One question is asked at a time; what was being typed before it came is kept aside, because it is not
its answer, and an answer of another process ends it here as well.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from typing import TYPE_CHECKING

from operable.cli.terminal.checkpoint import WorkspaceCheckpoints
from operable.cli.terminal.entry import ChatHistory, EntryCompleter, message
from operable.cli.terminal.line_output import TOO_LATE
from operable.cli.terminal.live_screen import LiveScreen
from operable.cli.terminal.question import DENIED, AnswerPrompt, interview
from operable.cli.terminal.slash import AT_ONCE, SlashCommands
from operable.cli.terminal.transcript import ChatTranscript
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.wire import events as e

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from operable.cli.terminal.partner import ChatPartner, ChatStatus
    from operable.gate.approvals import Ask, Decision

_AHEAD = 512  # events that wait to be shown
_AT_ONCE = 128  # events between two looks at the keyboard
_LOOK = 0.25  # seconds between two looks at whether a question still waits
_LEAVING = 20.0  # seconds for a turn to end when the person leaves


@dataclass(slots=True)
class _OpenQuestion:
    ask: Ask
    talk: Generator[AnswerPrompt, str, Decision | None]


@dataclass(frozen=True, slots=True)
class _TurnOver:
    """The last thing in the queue of a turn."""

    failure: BaseException | None


class Dialogue:
    """Turn after turn, until the person leaves."""

    def __init__(self, partner: ChatPartner, *, plain: bool, thoughts: bool = False) -> None:
        self._partner = partner
        self._checkpoints = WorkspaceCheckpoints(partner.workspace)
        self._waiting: deque[str] = deque()
        self._wake = asyncio.Event()
        self._events: queue.Queue[e.AnyEvent | _TurnOver] = queue.Queue(_AHEAD)
        self._over: asyncio.Future[BaseException | None] | None = None
        self._thread: threading.Thread | None = None
        self._question: _OpenQuestion | None = None
        self._stopping = False
        self._left = False
        self.failure: Fail | None = None  # why the conversation cannot go on
        self._loop: asyncio.AbstractEventLoop | None = None
        workspace = partner.workspace
        self._screen = LiveScreen(
            plain=plain,
            history=ChatHistory(),
            completer=EntryCompleter(lambda: self._slash.names, partner.values, workspace),
            live=self._live,
            status=self._status,
            typed=self._typed,
            interrupted=self._interrupted,
        )
        self._transcript = ChatTranscript(self._screen, workspace, thoughts=thoughts)
        self._slash = SlashCommands(partner, self._transcript, self._checkpoints, workspace)
        partner.listen(self._heard)

    def hold(self) -> None:
        """Until the person leaves. Raises Fail if the agent did."""
        try:
            asyncio.run(self._hold())
        finally:
            self._left = True
            self._partner.stop()
            if self._thread is not None:
                self._thread.join(_LEAVING)
            self._checkpoints.close()
        if self.failure is not None:
            raise self.failure

    async def _hold(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transcript.say(self._partner.greeting, "dim")
        tasks = [self._loop.create_task(work) for work in (self._work(), self._watch())]
        try:
            await self._screen.run()
        finally:
            for task in tasks:
                task.cancel()
            self._keep_unsent()

    def _keep_unsent(self) -> None:
        """What was typed and has reached no agent is shown, and is the first of the next chat's history."""
        for text in (*self._waiting, self._screen.unsent()):
            if text.strip():
                self._transcript.say(f"Not sent (Up brings it back in the next chat): {text}", "yellow")
        self._screen.flush()

    # --- what is typed

    def _typed(self, text: str) -> None:
        if self._question is not None and not text.startswith("/output"):
            self._answer(text)
            return
        said = text.strip()
        if said.partition(" ")[0] in AT_ONCE:
            if self._slash.said(said) is False:
                self._screen.leave()
        elif said:
            self._waiting.append(said)
            self._wake.set()

    def _interrupted(self) -> bool:
        """Ctrl-C; True: leave."""
        if self._over is None:
            self._transcript.say("Ctrl-C again leaves.", "dim")
            return False
        if self._stopping:
            return True
        self._stopping = True
        if not self._slash.stop():
            self._partner.stop()
        self._close_question()
        if self._waiting:
            self._screen.give_back("\n".join(self._waiting))
            self._waiting.clear()
        return False

    # --- turns

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            text = self._waiting.popleft()
            self._transcript.say(f"> {text}", "bold")
            if text.startswith("/") and (said := self._slash.said(text)) is not None:
                if said is False:
                    self._screen.leave()
                continue
            await self._turn(text)
            if not self._partner.alive:
                self._screen.leave()
                return

    async def _turn(self, text: str) -> None:
        assert self._loop is not None  # noqa: S101 - set before the first turn
        self._over, self._stopping, self._screen.busy = self._loop.create_future(), False, True
        self._thread = threading.Thread(target=self._run, args=(text,), daemon=True, name="turn")
        self._thread.start()
        try:
            failure = await self._over
        finally:
            self._over = None
            self._screen.rest()
        self._close_question()
        if isinstance(failure, Fail):
            self._transcript.fail(failure)
            self.failure = None if self._partner.alive else failure
        elif failure is not None:
            raise failure

    def _run(self, text: str) -> None:
        """In the thread of the turn."""
        failure: BaseException | None = None
        try:
            for event in self._said(text):
                self._put(event)
        except BaseException as error:  # noqa: BLE001 - it is raised where it can be shown
            failure = error
        self._put(_TurnOver(failure))

    def _said(self, text: str) -> Iterator[e.AnyEvent]:
        if text.startswith("!") and text[1:].strip():
            yield from self._slash.shell(text[1:].strip(), self._heard)
            return
        self._checkpoints.begin()
        said = message(text, self._partner.workspace)
        notes = self._slash.take_notes()
        try:
            yield from self._partner.turn(said.after(notes))
        finally:
            self._checkpoints.end()

    def _put(self, event: e.AnyEvent | _TurnOver) -> None:
        """For the screen; it may be behind, or gone."""
        while not self._left:
            try:
                self._events.put(event, timeout=_LOOK)
            except queue.Full:
                continue
            self._call(self._drain)
            return

    def _drain(self) -> None:
        """Show what has come; what comes while a question is open is shown behind it."""
        for _ in range(_AT_ONCE):
            if self._question is not None:
                return
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            if isinstance(event, _TurnOver):
                if self._over is not None and not self._over.done():
                    self._over.set_result(event.failure)
                return
            self._transcript.show(event)
            if isinstance(event, e.AgentPrompt) and not self._stopping:
                self._begin_question(event)
        self._call(self._drain)

    def _heard(self, call_id: str, text: str) -> None:
        """From any thread: what a running command prints."""
        self._call(lambda: self._transcript.heard(call_id, text))

    def _call(self, work: object) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)  # type: ignore[arg-type]  # without arguments

    # --- questions

    def _begin_question(self, prompt: e.AgentPrompt) -> None:
        ask = self._partner.question(prompt)
        if ask is None:
            return
        self._transcript.ask(ask, prompt.call_id)
        self._question = _OpenQuestion(ask, interview(ask, self._partner.lasting(ask)))
        self._ask(next(self._question.talk))

    def _ask(self, prompt: AnswerPrompt) -> None:
        if prompt.complaint:
            self._transcript.say(f"  {prompt.complaint}", "yellow")
        for key, meaning in prompt.offers:
            self._transcript.say(f"  {key}  {meaning}", "dim")
        self._screen.set_aside(f"  {prompt.text}: ")

    def _answer(self, text: str) -> None:
        question = self._question
        if question is None:
            return
        self._transcript.say(f"  {text.strip()}", "dim")
        try:
            self._ask(question.talk.send(text))
        except StopIteration as ended:
            self._close_question()
            self._decide(question.ask, ended.value)

    def _decide(self, ask: Ask, decision: Decision | None) -> None:
        if decision is None:
            self._interrupted()
            return
        try:
            self._partner.answer(ask, decision)
        except Fail as problem:
            if problem.code not in TOO_LATE:
                raise
            self._transcript.say(problem.message, "dim")
            return
        if not decision.allowed and decision.reason != DENIED and not self._partner.takes_reasons:
            self._transcript.say("  The agent takes no reasons: this one is your next message.", "dim")
            self._waiting.appendleft(decision.reason)
            self._wake.set()

    def _close_question(self) -> None:
        if self._question is not None:
            self._question = None
            self._screen.restore()
            self._call(self._drain)

    async def _watch(self) -> None:
        """An answer of another process, or the end of the time for one, ends the question here; so does the session's end
        the chat.
        """
        while True:
            await asyncio.sleep(_LOOK)
            if self._over is None and (ended := self._partner.ended()) is not None:
                self.failure = ended
                self._screen.leave()
                return
            question = self._question
            if question is None or await asyncio.to_thread(self._partner.waits, question.ask):
                continue
            if self._question is question:
                self._transcript.say("  It was answered elsewhere, or its time is over.", "dim")
                self._close_question()

    # --- what moves

    def _live(self) -> Iterator[tuple[str, str]]:
        yield from self._transcript.live()
        for text in self._waiting:
            yield f"» waits: {text.splitlines()[0]}", "dim"

    def _status(self) -> str:
        parts = status_words(self._partner.status)
        if self._over is not None:  # first, so that no narrow terminal cuts it off
            parts.insert(0, "stopping" if self._stopping else "Ctrl-C stops")
        return " · ".join(parts)


def status_words(status: ChatStatus) -> list[str]:
    """What is known, each in a few words."""
    model = "model: default" if status.model == "default" else status.model  # so can a mode be called
    parts = [word for word in (model, status.mode) if word]
    if status.tokens_in or status.tokens_out:
        parts.append(f"{_short(status.tokens_in)} in, {_short(status.tokens_out)} out")
    if status.cost_usd:
        parts.append(f"${status.cost_usd:.4f}" if status.cost_usd < 1 else f"${status.cost_usd:.2f}")
    if status.context_size:
        used = 100 * status.context_used // status.context_size
        parts.append(f"context {used}% of {_short(status.context_size)}")
    return parts


def _short(number: int) -> str:
    if number < 1000:
        return str(number)
    if number < 100_000:
        return f"{number / 1000:.1f}k"
    return f"{number // 1000}k" if number < 1_000_000 else f"{number / 1_000_000:.1f}M".replace(".0M", "M")
