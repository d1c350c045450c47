"""What the terminal face needs of a conversation: the built-in agent in this process, or an agent that the host drives.

`turn` blocks in a thread of its own and yields the events of `operable.wire.events`. Everything else is called from the
thread of the screen and returns soon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from operable.kernel.data_class import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from operable.gate.approvals import Ask, Decision
    from operable.kernel.errors import Fail
    from operable.wire.events import AgentPrompt, AnyEvent


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What the line below the prompt says. 0 and None: it is not known."""

    model: str = ""
    mode: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    context_used: int = 0
    context_size: int = 0


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """What the person says: the text, the files that it names, and images among them (media type, base64)."""

    text: str
    files: Sequence[str] = ()
    images: Sequence[tuple[str, str]] = ()

    def after(self, notes: str) -> ChatMessage:
        """With this in front, for the agent alone."""
        return replace(self, text=f"{notes}{self.text}") if notes else self


class AnswerDesk(Protocol):
    """Where the questions of one conversation wait."""

    def question(self, prompt: AgentPrompt) -> Ask | None:
        """What waits for an answer. None: it was answered meanwhile."""

    def waits(self, ask: Ask) -> bool: ...

    def answer(self, ask: Ask, decision: Decision) -> None:
        """Raises Fail if it cannot be answered any more."""

    def give_up(self, ask: Ask) -> None:
        """No, and nothing more of this turn."""

    def lasting(self, ask: Ask) -> str:
        """What an answer "always" would allow, in words; empty: each call is asked about."""

    def elsewhere(self, ask: Ask) -> str:
        """The command that answers from another terminal; empty: none does."""


class ChatPartner(AnswerDesk, Protocol):
    """One conversation."""

    @property
    def greeting(self) -> str:
        """Who is there, and where."""

    @property
    def workspace(self) -> str: ...

    @property
    def status(self) -> ChatStatus: ...

    @property
    def alive(self) -> bool:
        """Whether another turn can follow."""

    def ended(self) -> Fail | None:
        """Why no other turn can follow, with what to do; None: it can."""

    @property
    def takes_reasons(self) -> bool:
        """Whether its model reads why a call was denied."""

    @property
    def commands(self) -> Mapping[str, str]:
        """Words behind a slash that it understands, as far as they are known, each with what it does, or ""."""

    def understands(self, word: str) -> bool:
        """Whether a word behind a slash may be meant for it."""

    def values(self, word: str) -> Sequence[str]:
        """What may follow `/mode` and `/model`, as far as that is known."""

    def listen(self, heard: Callable[[str, str], None]) -> None:
        """Call this with (call, text) for what a running command prints, where that is known."""

    def turn(self, message: ChatMessage) -> Iterator[AnyEvent]:
        """Say something. Raises Fail if the turn was not completed, behind its last event."""

    def stop(self) -> None:
        """End the turn; returns at once."""

    def select(self, *, mode: str | None = None, model: str | None = None) -> None:
        """Raises Fail for a mode that does not exist, and where the agent cannot change it."""

    def begin_anew(self) -> None:
        """Forget what was said. Raises Fail where that needs another session."""
