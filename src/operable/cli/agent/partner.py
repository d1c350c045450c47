"""An agent that the host drives, as the terminal face sees it; and the questions of a session of another process."""

from __future__ import annotations

import threading
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from operable.cli.terminal.partner import ChatStatus
from operable.cli.terminal.question import DENIED
from operable.gate.approvals import Decision
from operable.host.session.link import session_ended
from operable.host.start.choices import quirks_of
from operable.kernel.errors import Fail
from operable.project.settings import load_settings
from operable.wire import events as e

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from operable.cli.terminal.partner import ChatMessage
    from operable.gate.approvals import Ask
    from operable.host.agent_cli import AgentCliHandle
    from operable.host.sync import SyncSession

_BEGINNING = 200  # events of a session before its first turn


class AskingSession(Protocol):
    """What answering needs of a session: of this process, or of another one."""

    @property
    def id(self) -> str: ...
    @property
    def asks(self) -> list[Ask]: ...
    def answer(
        self,
        request_id: str,
        allowed: bool = True,
        *,
        reason: str = "",
        option_id: str | None = None,
        content: Any = None,
        remember: str = "",
        digest: str = "",
        by: str = "caller",
    ) -> None: ...


class SessionQuestions:
    """The questions of a session, which wait in its queue of approvals: another process may be faster."""

    def __init__(self, session: AskingSession) -> None:
        self._asking = session

    def question(self, prompt: e.AgentPrompt) -> Ask | None:
        return next((ask for ask in self._asking.asks if ask.id == prompt.tool_call_id), None)

    def waits(self, ask: Ask) -> bool:
        return any(each.id == ask.id for each in self._asking.asks)

    def answer(self, ask: Ask, decision: Decision) -> None:
        self._asking.answer(
            ask.id,
            decision.allowed,
            reason=decision.reason,
            option_id=decision.option_id,
            content=decision.content,
            remember=decision.remember,
            digest=decision.digest,
            by=decision.by,
        )

    def give_up(self, ask: Ask) -> None:
        self.answer(ask, Decision(False, DENIED, digest=ask.digest))

    def lasting(self, ask: Ask) -> str:
        del ask  # the same for every call
        return "this call with exactly these arguments, in this session"

    def elsewhere(self, ask: Ask) -> str:
        seen = f" --digest {ask.digest}" if ask.digest else ""  # an answer to something else is refused
        return f"operable agent answer {self._asking.id} {ask.id} --allow" + seen


class HostPartner(SessionQuestions):
    """One running session. `play` begins a turn and gives its events; it raises Fail unless the turn is completed."""

    def __init__(
        self, session: SyncSession, agent: AgentCliHandle, play: Callable[[ChatMessage], Iterator[e.AnyEvent]]
    ) -> None:
        super().__init__(session)
        self._session = session
        self._name = agent.manifest.name
        # ACP has no member for the reason of a denial, and no agent but ours looks into `_meta` for it.
        self._takes_reasons = agent.manifest.protocol != "acp" or bool(
            quirks_of(agent.manifest).get("reads_reasons")
        )
        self._play = play
        self._chosen: dict[str, str | None] = {}  # mode and model, as the agent or the person said last
        self._used = e.UsageUpdate(session.id)
        self._commands: list[str] | None = None  # of the agent's own, as far as it has said them

    @property
    def greeting(self) -> str:
        return f"Session {self._session.id} with {self._name} in {self.workspace}\n/help says what else there is."

    @property
    def workspace(self) -> str:
        return self._session.meta.cwd

    @property
    def status(self) -> ChatStatus:
        meta, opened = self._session.meta, self._session.opened
        mode = self._chosen.get("mode") or meta.mode or (opened and opened.current_mode)
        model = self._chosen.get("model") or meta.model or (opened and opened.current_model)
        return ChatStatus(
            model or self._name,
            mode or "",
            meta.tokens_in,
            meta.tokens_out,
            meta.cost_usd,
            self._used.used or meta.context_used,
            self._used.size or meta.context_size,
        )

    @property
    def alive(self) -> bool:
        return self._session.status == "running"

    def ended(self) -> Fail | None:
        return None if self.alive else session_ended(self._session.id, self._session.status)

    @property
    def takes_reasons(self) -> bool:
        return self._takes_reasons

    @property
    def commands(self) -> Mapping[str, str]:
        known = load_settings(self.workspace).commands
        own = {f"/{name}": "" for name in self._own_commands()}
        return own | {f"/{name}": each.description or each.prompt[:60] for name, each in known.items()}

    def _own_commands(self) -> Sequence[str]:
        """What the agent said last of its commands, or before its first turn."""
        if self._commands is None:
            notices = (record.event for record in islice(self._session.events(), _BEGINNING))
            self._learn(notices)
        return self._commands or ()

    def _learn(self, events: Iterable[Any]) -> None:
        for event in events:
            if isinstance(event, e.Notice) and event.code == "commands" and isinstance(event.data, list):
                self._commands = [name for name in event.data if isinstance(name, str)]

    def understands(self, word: str) -> bool:
        del word  # agents have words of their own, which the host does not know
        return True

    def values(self, word: str) -> Sequence[str]:
        opened = self._session.opened
        if opened is None:
            return ()
        return opened.modes if word == "/mode" else opened.models if word == "/model" else ()

    def listen(self, heard: Callable[[str, str], None]) -> None:
        """Agents report what a command has printed when it has ended."""

    def turn(self, message: ChatMessage) -> Iterator[e.AnyEvent]:
        for event in self._play(message):
            if isinstance(event, e.UsageUpdate):
                self._used = event
            elif isinstance(event, e.Notice):
                self._learn((event,))
            elif isinstance(event, e.ModeChange):
                self._chosen |= {"mode": event.mode} if event.mode else {}
                self._chosen |= {"model": event.model} if event.model else {}
            yield event

    def stop(self) -> None:
        if self.alive:
            threading.Thread(target=self._session.cancel, daemon=True, name="stop").start()

    def give_up(self, ask: Ask) -> None:
        del ask  # it is withdrawn with its turn
        self.stop()

    def select(self, *, mode: str | None = None, model: str | None = None) -> None:
        modes, models = self.values("/mode"), self.values("/model")
        if mode is not None and modes and mode not in modes:
            raise Fail("usage", "UNKNOWN_MODE", f"A mode is one of {', '.join(modes)}")
        if model is not None and models and model not in models:
            raise Fail("usage", "UNKNOWN_MODEL", f"A model is one of {', '.join(models)}")
        self._session.select(mode=mode, model=model)
        self._chosen |= {name: value for name, value in (("mode", mode), ("model", model)) if value}

    def begin_anew(self) -> None:
        raise Fail(
            "usage",
            "NEW_SESSION_NEEDED",
            "A conversation with this agent is one session",
            hint="leave, and start it again: the old session is kept",
        )
