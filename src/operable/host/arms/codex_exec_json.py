"""Codex without a conversation, `codex exec --json`: one process per turn, whole items instead of pieces.

Command line: the manifest gives `exec --json --skip-git-repo-check` and what else is wanted; each turn adds `-`, or
`resume <thread> -`. The message comes by standard input, which is then closed, so that it has no limit of length and is in
no list of processes.

Nothing is asked: Codex refuses by itself whatever would need an approval. Warnings come as items of type `error` and are
notices; reconnections are notices. The turn ends with the process. An interrupted one says nothing more.

Usage runs on through the thread and counts cached tokens as input; here it is per turn, and input is without them. What the
first turn of a resumed thread took cannot be distinguished from what was before.
"""

from typing import Any

from operable.host.arm import Arm, Happening, Message, Noise, Opened, TurnCommand
from operable.host.codex.items import called, camel, failure, plan_of, tool_of
from operable.host.conversation import Conversation
from operable.host.one_shot import OneShot, refuse_images
from operable.host.peer import Odometer, count, mapping, parse, session_word, string, with_files
from operable.wire.events import COMPLETED, ERROR, AgentError, AgentPlan, Usage


class ExecMeter:
    """What each turn took, through all processes of a session."""

    def __init__(self) -> None:
        self._odometer = Odometer()
        self._has_read = False

    def turn(self, counts: dict[str, Any], *, is_resumed: bool) -> Usage | None:
        cached = count(counts.get("cached_input_tokens"))
        total = Usage(
            max(0, count(counts.get("input_tokens")) - cached),
            count(counts.get("output_tokens")),
            cached,
            count(counts.get("cache_write_input_tokens")),
        )
        usage, was_first, self._has_read = self._odometer.turn(total), not self._has_read, True
        return None if was_first and is_resumed else usage


class CodexTurn:
    def __init__(self, state: Conversation, meter: ExecMeter, *, is_resumed: bool) -> None:
        self._state = state
        self._meter = meter
        self._is_resumed = is_resumed
        self._usage: Usage | None = None
        self._outcome: str | None = None

    def line(self, line: bytes) -> list[Happening]:
        message = parse(line)
        if isinstance(message, Noise):
            return [message]
        match message.get("type"):
            case "thread.started":
                return [
                    Opened(string(message.get("thread_id")) or None, agent_name="codex", observed=_OBSERVED)
                ]
            case "item.started" | "item.updated" | "item.completed":
                is_done = message.get("type") == "item.completed"
                return self._item(camel(mapping(message.get("item"))), is_done=is_done)
            case "turn.completed":
                self._outcome = COMPLETED
                self._usage = self._meter.turn(mapping(message.get("usage")), is_resumed=self._is_resumed)
            case "turn.failed":
                self._outcome = ERROR
                return [] if self._state.failed else self._failed(mapping(message.get("error")))
            case "error":
                text = string(message.get("message"))
                if text.startswith("Reconnecting"):
                    return self._state.notice("retry", text)
                return self._failed(message)
            case str():
                return []
            case _:
                return [Noise(line, "no type")]
        return []

    def end(self, exit_status: int | None) -> list[Happening]:
        if self._outcome is None:
            return self._state.eof(exit_status)
        return self._state.end(self._outcome, usage=self._usage)

    def _item(self, item: dict[str, Any], *, is_done: bool) -> list[Happening]:
        item_id, state = string(item.get("id")), self._state
        tool = tool_of(item)
        if tool is not None and item_id:
            return called(state, item_id, item, tool, is_done=is_done)
        match item.get("type"):
            case "agentMessage" if is_done:
                return state.text(string(item.get("text")), item_id or None)
            case "reasoning" if is_done:
                return state.thought(string(item.get("text")))
            case "todoList":
                return [AgentPlan(state.session_id, plan_of(item.get("items")))]
            case "error":
                return state.notice("warning", string(item.get("message")))
        return []

    def _failed(self, error: dict[str, Any]) -> list[Happening]:
        self._state.failed = True
        return [AgentError(failure(error), self._state.session_id)]


_OBSERVED = {"streaming": False, "tool_calls": True, "bidirectional": False, "resumable": True}


def connect() -> OneShot:
    meter = ExecMeter()
    return OneShot(lambda state, opening: CodexTurn(state, meter, is_resumed=opening.resume is not None))


def turn_command(message: Message, resume: str | None, quirks: Any) -> TurnCommand:  # noqa: ARG001 - it has none
    refuse_images(message, "codex exec")
    text = with_files(message.text, message.files).encode("utf-8", "replace")
    return TurnCommand(("-",) if resume is None else ("resume", session_word(resume), "-"), text)


ARM = Arm(
    name="codex-exec-json",
    title="Codex, one process per turn",
    connect=connect,
    per_turn=True,
    turn_command=turn_command,
    adapters=("codex-exec-json", "@agentproto/adapter-codex-exec"),
    can_ask=False,
)
