"""Sub-agents: tasks of their own, side by side, each with a fresh conversation and the same rules.

A sub-agent has the tools of its parent, asks through its parent's approval queue, and reports its calls under its
parent's message; what it says goes to its parent, not to the host. It has no session, stops when its parent is stopped,
and what it uses is counted with the parent's message. Sub-agents may spawn further ones, to a depth of two below the
person's conversation; one message has no more than twenty of them.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from operable.agent.loop.round import Emit
from operable.agent.session.conversation import SessionConversation
from operable.agent.session.history import Block, HistoryTurn, TextBlock, Tokens
from operable.agent.session.store import NullStore
from operable.agent.tool.ability import AbilityOutcome
from operable.wire import json_stream as protocol

SIDE_BY_SIDE = 5
MAX_DEPTH = 2
_PER_RUN = 20
_MAX_TURNS = 30
_MAX_TOKENS = 4096
_PROMPT = (
    "You are a sub-agent: do the one task that you are given, on your own, and answer with its result. "
    "Your caller reads only your last answer, so put everything that matters into it."
)


class SubRun(Protocol):
    """An `AgentRun`, which cannot be imported here because it makes these."""

    def work(self, blocks: Sequence[Block]) -> None: ...


class SubagentAllowance:
    """How many sub-agents one message of the person may still have, at all depths together."""

    def __init__(self) -> None:
        self._left = _PER_RUN
        self._lock = threading.Lock()

    def take(self, count: int) -> str | None:
        """Why so many are not possible; None when they can."""
        with self._lock:
            if count > self._left:
                return (
                    f"{count} sub-agents are too many: {self._left} of {_PER_RUN} are left for this message"
                )
            self._left -= count
            return None


class Spawner:
    """The sub-agents of one run."""

    def __init__(
        self,
        conversation: SessionConversation,
        make_run: Callable[[SessionConversation, Emit], SubRun],
        count: Callable[[Tokens], None],
        allowance: SubagentAllowance | None,
    ) -> None:
        self._conversation = conversation
        self._make_run = make_run
        self._count = count
        self.allowance = allowance or SubagentAllowance()

    def spawn(self, tasks: Sequence[tuple[str, str]]) -> list[AbilityOutcome]:
        """Run all of them, and give their answers in the same order. The depth is checked by not offering the tool."""
        if self._conversation.depth >= MAX_DEPTH:
            return [AbilityOutcome("Sub-agents of this depth cannot spawn", ok=False) for _ in tasks]
        if (problem := self.allowance.take(len(tasks))) is not None:
            return [AbilityOutcome(problem, ok=False) for _ in tasks]
        answers: list[AbilityOutcome] = [AbilityOutcome("", ok=False) for _ in tasks]
        threads = [
            threading.Thread(
                target=self._play,
                args=(name, prompt, answers, position),
                daemon=True,
                name=f"sub-agent {name}",
            )
            for position, (name, prompt) in enumerate(tasks)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def _play(self, name: str, prompt: str, answers: list[AbilityOutcome], position: int) -> None:
        parent = self._conversation
        toolbox = dict(parent.toolbox)
        if parent.depth + 1 >= MAX_DEPTH:
            toolbox.pop("Spawn", None)
        tuning = replace(
            parent.tuning,
            system_prompt=f"{parent.tuning.system_prompt}\n\n{_PROMPT}",
            max_tokens=min(parent.tuning.max_tokens, _MAX_TOKENS),
            max_turns=min(parent.tuning.max_turns or _MAX_TURNS, _MAX_TURNS),
        )
        conversation = parent.branch(NullStore(), toolbox, tuning)
        conversation.owner = name
        problems: list[str] = []

        def hear(event: protocol.Event) -> None:
            if isinstance(event, protocol.ErrorFrame):
                problems.append(event.error.message)

        self._make_run(conversation, hear).work([TextBlock(prompt)])
        self._count(conversation.tokens)
        answers[position] = _answer(conversation.turns, problems)


def _answer(turns: Sequence[HistoryTurn], problems: list[str]) -> AbilityOutcome:
    last = turns[-1] if turns else None
    text = "".join(
        block.text
        for block in (last.blocks if last is not None and last.role == "assistant" else ())
        if isinstance(block, TextBlock)
    )
    if problems:
        return AbilityOutcome("\n".join(filter(None, [f"Failed: {problems[-1]}", text])), ok=False)
    return AbilityOutcome(text, ok=True) if text else AbilityOutcome("It gave no answer.", ok=False)
