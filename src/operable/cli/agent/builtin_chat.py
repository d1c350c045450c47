"""What `operable chat` does between meta and summary: one turn for the caller, or a conversation with a person.

The options are those of `operable-agent`, read by its own reader, so that both mean the same by them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any

from operable.agent.chat.conversation import Chat
from operable.agent.options import read_options
from operable.agent.places import sessions_folder
from operable.agent.session.store import Sessions
from operable.agent.tool.permissions import MODES
from operable.cli.agent.manifests import read_text
from operable.cli.agent.wire import Said, row
from operable.cli.terminal.line_output import LineOutput, settle
from operable.cli.terminal.partner import ChatMessage, ChatStatus
from operable.cli.terminal.resume import OFFERED, PICK, ResumeOffer, pick
from operable.cli.terminal.session import converse
from operable.cli.terminal.transcript import ChatTranscript
from operable.gate.approvals import Ask
from operable.kernel.errors import Fail
from operable.state.paths import policy_path
from operable.tool import Warn
from operable.tool.run.context import interactive_required
from operable.wire import events as e
from operable.wire.json_stream import SetConfigFrame

if TYPE_CHECKING:
    from operable.gate.approvals import Decision
    from operable.tool import Context
    from operable.wire.json_stream import FrameProblem

_OURS = "operable-agent"
_UNATTENDED = "No user can be asked"
_COMPACT = {"/compact": "make the conversation shorter, by a summary of what is older"}


def chatted(
    context: Context,
    words: Mapping[str, Any],
    message: Sequence[str],
    *,
    mode: str | None = None,
    thoughts: bool = False,
) -> Iterator[Said | Warn]:
    """The events of the turn, for machines; people see them."""
    if not message and not context.person:
        raise interactive_required("a conversation is typed", "give a message, or - to read one")
    text = read_text("-") if list(message) == ["-"] else " ".join(message)
    if message and not text.strip():
        raise Fail("usage", "EMPTY_MESSAGE", "the message is empty")
    environment = dict(os.environ)
    options = read_options(_line(words), environment)
    if options.get("resume") == PICK:
        _choose_session(context, options)
    with ExitStack() as stack:
        with _admitted(context, options):
            chat = stack.enter_context(Chat(options, environment))
        if mode is not None:
            chat.conversation.desk.permissions.mode = mode
        if context.person:
            chat.allow_reads()
        context.conclude(session=chat.session_id)
        partner = BuiltinPartner(chat)
        if message:
            yield from _turn(context, partner, text, thoughts=thoughts)
        else:
            converse(partner, context, thoughts=thoughts)
            context.conclude(session=chat.session_id)


def _admitted(context: Context, options: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Around the start: free without a policy file, judged and recorded with one, as every call of a person."""
    if policy_path() is None:
        return nullcontext()
    from operable.cli.gate.command_line import admitted_session

    return admitted_session([_OURS], options["workspace"], context)


def _choose_session(context: Context, options: dict[str, Any]) -> None:
    workspace = os.path.realpath(options.get("workspace", "."))
    known = (each for each in Sessions(sessions_folder()).listing() if each.cwd == workspace and each.turns)
    offers = [
        ResumeOffer(each.id, each.updated_at, each.messages, each.summary, each.last_words)
        for each, _ in zip(known, range(OFFERED), strict=False)
    ]
    chosen = pick(context, offers, LineOutput(context).line)
    options.pop("resume")
    if chosen is not None:
        options["resume"] = chosen


def _turn(context: Context, partner: BuiltinPartner, text: str, *, thoughts: bool) -> Iterator[Said | Warn]:
    """One message; Fail unless it was answered."""
    denied = 0
    out = LineOutput(context)
    transcript = ChatTranscript(out, partner.workspace, thoughts=thoughts)
    try:
        if not context.machine:
            out.wait()
        for event in partner.turn(ChatMessage(text)):
            if isinstance(event, e.AgentPrompt) and not context.person:
                denied += 1
                partner.refuse(event)
            elif context.machine:
                yield row(event)
            else:
                _show(event, partner, context, transcript, out)
    finally:
        out.rest()
        context.conclude(denied=denied)
        if denied:
            said = "tool call was" if denied == 1 else "tool calls were"
            context.warn(
                "ASKS_DENIED", f"{denied} {said} denied: no user could be asked; see --allow, --mode"
            )


def _show(
    event: e.AnyEvent, partner: BuiltinPartner, context: Context, transcript: ChatTranscript, out: LineOutput
) -> None:
    transcript.show(event)
    if isinstance(event, e.AgentPrompt):
        ask = partner.question(event)
        if ask is not None:
            settle(partner, ask, context, transcript, event.call_id)
    elif isinstance(event, e.AgentPlan):
        transcript.end_plan()
    elif not isinstance(event, e.TurnEnd):
        out.wait()


class BuiltinPartner:
    """The built-in agent in this process, as the terminal face sees it."""

    alive = True
    takes_reasons = True

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._lasting: dict[str, str] = {}  # what "always" would cover, by the id of each open question

    def ended(self) -> Fail | None:
        return None

    @property
    def greeting(self) -> str:
        conversation = self._chat.conversation
        model = conversation.tuning.model
        return f"{model} in {conversation.workspace}\n/help says what else there is."

    @property
    def workspace(self) -> str:
        return self._chat.conversation.workspace

    @property
    def status(self) -> ChatStatus:
        conversation = self._chat.conversation
        tokens = conversation.tokens
        return ChatStatus(
            conversation.tuning.model,
            conversation.desk.permissions.mode,
            tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens,
            tokens.output_tokens,
            conversation.cost_usd,
            conversation.window_used,
            conversation.window,
        )

    @property
    def commands(self) -> Mapping[str, str]:
        known = self._chat.conversation.project.commands
        return {
            **_COMPACT,
            **{f"/{name}": each.description or each.prompt[:60] for name, each in known.items()},
        }

    def understands(self, word: str) -> bool:
        return word in self.commands

    def values(self, word: str) -> Sequence[str]:
        return MODES if word == "/mode" else ()

    def listen(self, heard: Callable[[str, str], None]) -> None:
        self._chat.listen(heard)

    def turn(self, message: ChatMessage) -> Iterator[e.AnyEvent]:
        end: e.TurnEnd | None = None
        for event in self._chat.turn(message.text, message.files):
            end = event if isinstance(event, e.TurnEnd) else end
            yield event
        if self._chat.problem is not None:
            raise _failure(self._chat.problem)
        if end is not None and end.reason == e.CANCELLED:
            raise Fail("cancelled", "TURN_CANCELLED", "the turn was stopped")

    def stop(self) -> None:
        if self._chat.running:
            self._chat.stop()

    def question(self, prompt: e.AgentPrompt) -> Ask | None:
        conversation, call_id = self._chat.conversation, prompt.tool_call_id
        ability = conversation.ability(prompt.tool_name)
        lasting = next((each.name for each in prompt.options if each.kind == "allow_always"), "")
        if (
            ability is not None
            and lasting
            and conversation.desk.permissions.allows(ability, prompt.arguments, each_time=False)
        ):  # an answer to another question covers this one
            self._chat.allow(call_id)
            return None
        self._lasting[call_id] = lasting
        return Ask(
            call_id,
            prompt.session_id,
            "permission",
            prompt.text,
            prompt.tool_name,
            prompt.kind,
            prompt.arguments,
        )

    def waits(self, ask: Ask) -> bool:
        return self._chat.conversation.desk.waits(ask.id)

    def answer(self, ask: Ask, decision: Decision) -> None:
        self._lasting.pop(ask.id, None)
        if decision.allowed:
            self._chat.allow(ask.id, always=bool(decision.remember))
        else:
            self._chat.deny(ask.id, decision.reason)

    def refuse(self, prompt: e.AgentPrompt) -> None:
        """The answer to a question if no user can be asked."""
        self._chat.deny(prompt.tool_call_id, _UNATTENDED)

    def give_up(self, ask: Ask) -> None:
        self._lasting.pop(ask.id, None)  # the turn has no use for its answer
        self.stop()

    def lasting(self, ask: Ask) -> str:
        return self._lasting.get(ask.id, "")

    def elsewhere(self, ask: Ask) -> str:
        del ask  # it waits in this process alone
        return ""

    def select(self, *, mode: str | None = None, model: str | None = None) -> None:
        if mode is not None:
            mode = mode.replace("-", "_")  # as the modes of other agents are spelled
            if mode not in MODES:
                raise Fail("usage", "UNKNOWN_MODE", f"A mode is one of {', '.join(MODES)}")
            self._chat.conversation.desk.permissions.mode = mode
        if model is not None:
            self._chat.conversation.configure(SetConfigFrame(model=model))

    def begin_anew(self) -> None:
        self._chat.begin_anew()


def _failure(problem: FrameProblem) -> Fail:
    if problem.code == "tool_error":
        return Fail("partial", "TURN_ABORTED", problem.message)
    if problem.code == "provider_error":
        category = "temporary" if problem.retryable else "io"
        return Fail(category, "PROVIDER_ERROR", problem.message, retryable=problem.retryable)
    return Fail("internal", "TURN_FAILED", problem.message)


def _line(words: Mapping[str, Any]) -> list[str]:
    """The same as words of a command line."""
    line: list[str] = []
    for flag, value in words.items():
        if value is True:
            line.append(flag)
        elif isinstance(value, list):
            line += [f"{flag}={each}" for each in value]
        elif value is not None and value is not False:
            line.append(f"{flag}={value}")
    return line
