"""What a run reports, as the events that every conversation with an agent has here (`operable.wire.events`)."""

from collections.abc import Iterator

from operable.agent.session.conversation import SessionConversation
from operable.agent.tool import presentation
from operable.wire import events as e
from operable.wire import json_stream as protocol

_CHOICES = {
    "once": e.Choice("once", "Allow", "allow_once"),
    "always": e.Choice("always", "Always allow in this session", "allow_always"),
    "deny": e.Choice("deny", "Deny", "reject_once"),
}
_REASONS = {"max_tokens": e.MAX_TOKENS, "max_turns": e.MAX_TURNS, "refusal": e.REFUSAL}


class Telling:
    """The translation of one turn. `denied` are the calls that were answered with no."""

    def __init__(self, session_id: str, conversation: SessionConversation) -> None:
        self._session_id = session_id
        self._conversation = conversation
        self._told: set[str] = set()
        self.denied: set[str] = set()
        self.cancelled = False
        self.finished = "end"  # why the model has stopped, in the words of `operable.agent.provider.model`
        self.problem: protocol.FrameProblem | None = None  # why the turn failed

    def events(self, event: protocol.Event) -> Iterator[e.AnyEvent]:
        session_id = self._session_id
        match event:
            case protocol.TextDeltaFrame(text=text):
                yield e.TextDelta(session_id, text)
            case protocol.ThinkingFrame(text=text):
                yield e.Thought(session_id, text)
            case protocol.ToolRequestFrame(call_id=call_id, tool=tool):
                yield self._call(call_id, tool)
                yield self._question(call_id, tool)
            case protocol.ToolRunningFrame(call_id=call_id, tool_name=name) if call_id not in self._told:
                yield self._call(call_id, self._known(call_id, name))
            case protocol.ToolResultFrame(call_id=call_id, tool_name=name):
                if call_id not in self._told:
                    yield self._call(call_id, self._known(call_id, name))
                yield e.ToolResult(session_id, call_id, _output(event), event.status != "success")
            case protocol.ToolCancelledFrame(call_id=call_id, reason=reason) if call_id in self._told:
                yield e.ToolResult(session_id, call_id, reason, True, call_id in self.denied)
            case protocol.InfoFrame(message=message):
                yield e.Notice("info", message, session_id)
            case protocol.ErrorFrame(error=problem):
                yield from self._failed(problem)
            case protocol.StreamEndFrame(usage=usage):
                yield self._end(usage or protocol.FrameUsage())

    def _call(self, call_id: str, tool: protocol.FrameTool) -> e.ToolCall:
        self._told.add(call_id)
        place = presentation.place_of(tool.args, self._conversation.workspace)
        return e.ToolCall(
            self._session_id,
            call_id,
            tool.name,
            tool.args,
            presentation.kind_of(tool.name, tool.category),
            tool.description or tool.name,
            () if place is None else (place.path,),
        )

    def _known(self, call_id: str, name: str) -> protocol.FrameTool:
        """A call that needed no approval."""
        use = presentation.use_of(self._conversation, call_id, name)
        arguments = use.arguments if isinstance(use.arguments, dict) else {}
        ability = self._conversation.ability(name)
        if ability is None:
            return protocol.FrameTool(name=name, args=arguments)
        described = ability.describe(arguments)
        return protocol.FrameTool(name=name, category=ability.category, args=arguments, description=described)

    def _question(self, call_id: str, tool: protocol.FrameTool) -> e.AgentPrompt:
        lasting = presentation.can_last(self._conversation, tool.name, tool.args)
        return e.AgentPrompt(
            self._session_id,
            call_id,
            tuple(choice for name, choice in _CHOICES.items() if lasting or name != "always"),
            tool.description,
            tool.name,
            tool.args,
            presentation.kind_of(tool.name, tool.category),
            call_id,
        )

    def _failed(self, problem: protocol.FrameProblem) -> Iterator[e.AnyEvent]:
        if (
            problem.code == "internal_error" and problem.retryable
        ):  # the session was not saved; the turn goes on
            yield e.Notice("unsaved", problem.message, self._session_id)
            return
        self.problem = problem
        yield e.AgentError(e.Failure(problem.message, problem.code, problem.retryable), self._session_id)

    def _end(self, usage: protocol.FrameUsage) -> e.TurnEnd:
        reason = _REASONS.get(self.finished, e.COMPLETED)
        if self.cancelled or self.problem:
            reason = e.CANCELLED if self.cancelled else e.ERROR
        spent = e.Usage(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return e.TurnEnd(self._session_id, reason, usage=spent)


def _output(result: protocol.ToolResultFrame) -> object:
    if result.output_type == "text":
        return result.output
    return {"type": result.output_type, "output": result.output}
