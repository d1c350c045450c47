"""What the agent reports while it works, as events: the table from `session/update` to the seven kinds and the extensions.

Inside a turn an update is an event of that turn. Outside of a turn it is either a fact about the session, which may come
at any time (mode, options, context), or late or replayed history. The latter becomes a notice: history that an agent repeats
while it resumes a session must never look like something that happens now.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from operable.host.acp.calls import Calls
from operable.host.acp.dialects import SessionSettings
from operable.host.acp.values import joined, media_of, text_of
from operable.host.arm import Happening
from operable.wire import acp, events
from operable.wire.events import (
    AgentPlan,
    ModeChange,
    Notice,
    PlanEntry,
    TextDelta,
    Thought,
    UsageUpdate,
)

_TEXT: Final = "text"


class Updates:
    """Translates the updates of one session."""

    def __init__(self, session_id: str, calls: Calls, settings: SessionSettings) -> None:
        self._session_id = session_id
        self._calls = calls
        self._settings = settings
        self._streamed: set[str | None] = set()
        self.heard = (0, 0)
        """How many pieces of history were replayed: those that are the agent's, and all."""
        self._facts: dict[type, Callable[[Any], list[Happening]]] = {
            acp.AcpUsage: self._usage,
            acp.CurrentMode: self._mode,
            acp.ConfigOptions: self._options,
            acp.Commands: self._commands,
            acp.SessionInfo: self._info,
            acp.AcpNotice: self._noticed,
            acp.AcpCompaction: self._compaction,
        }
        self._acts: dict[type, Callable[[Any], list[Happening]]] = {
            **self._facts,
            acp.ThoughtChunk: self._thought,
            acp.UserChunk: self._nothing,  # an echo of what we sent (vibe)
            acp.WholeUserMessage: self._nothing,
            acp.WholeMessage: self._message,
            acp.WholeThought: self._whole_thought,
            acp.PlanList: self._plan,
            acp.PlanUpdate: self._plan_update,
            acp.TerminalOutput: self._terminal_output,
            acp.TerminalUpdate: self._terminal_update,
        }
        self._tools: dict[type, Callable[[Any], list[Happening]]] = {
            acp.ToolStart: lambda update: [*calls.report(update, starts=True)],
            acp.ToolUpdate: lambda update: [
                *calls.report(update, starts=settings.second and not calls.ends(update))
            ],
            acp.ToolContentChunk: lambda update: [*calls.output(update.tool_call_id, update.content)],
        }

    def begin_turn(self) -> None:
        self._streamed.clear()

    def in_turn(self, update: acp.Update) -> list[Happening]:
        """The events of an update that came while a turn runs."""
        kind = type(update)
        if kind in self._tools:
            return self._tools[kind](update)
        happenings: list[Happening] = [*self._calls.passed_over()] if self._calls.holding else []
        if kind is acp.Chunk:
            happenings += self.chunk(update)  # type: ignore[arg-type]
        else:
            happenings += self._acts[kind](update)
        return happenings

    def chunk(self, update: acp.Chunk) -> list[Happening]:
        content = update.content
        if self._settings.second:
            self._streamed.add(update.message_id)
        if content.type == _TEXT and content.text is not None:
            return [TextDelta(self._session_id, content.text, update.message_id)]
        text = text_of(content)
        if text is None:
            return [
                self._notice("media", f"The agent shows {content.type or 'something'}.", media_of(content))
            ]
        return [TextDelta(self._session_id, text, update.message_id)]

    def outside(self, update: acp.Update, *, replaying: bool) -> list[Happening]:
        """The events of an update that came while no turn runs."""
        fact = self._facts.get(type(update))
        if fact is not None:
            return fact(update)
        match update:
            case (
                acp.Chunk(content=content)
                | acp.ThoughtChunk(content=content)
                | acp.UserChunk(content=content)
            ):
                text = text_of(content) or ""
            case acp.WholeMessage() | acp.WholeThought() | acp.WholeUserMessage():
                text = joined(update.content)
            case acp.ToolStart() | acp.ToolUpdate() if not replaying:
                return [*self._calls.report_outside(update)]
            case acp.ToolStart() | acp.ToolUpdate():
                text = update.title or update.tool_call_id
            case _:
                return []
        role = _ROLES.get(type(update), "agent")
        if replaying:
            words, pieces = self.heard
            self.heard = (words + (role != "user"), pieces + 1)
            return [self._notice("replayed", text, {"role": role})]
        return [] if role == "user" else [self._notice("late_text", text, {"role": role})]

    # --- acts: they belong to a turn ---------------------------------------------------------------------------------

    def _thought(self, update: acp.ThoughtChunk) -> list[Happening]:
        if self._settings.second:
            self._streamed.add(update.message_id)
        text = text_of(update.content)
        return [Thought(self._session_id, text)] if text is not None else []

    def _message(self, update: acp.WholeMessage) -> list[Happening]:
        # A whole message repeats what was streamed under its id.
        text = "" if update.message_id in self._streamed else joined(update.content)
        return [TextDelta(self._session_id, text, update.message_id)] if text else []

    def _whole_thought(self, update: acp.WholeThought) -> list[Happening]:
        text = "" if update.message_id in self._streamed else joined(update.content)
        return [Thought(self._session_id, text)] if text else []

    def _plan(self, update: acp.PlanList) -> list[Happening]:
        entries = (
            PlanEntry(entry.content, entry.priority or "medium", entry.status or "pending")
            for entry in update.entries
        )
        return [AgentPlan(self._session_id, tuple(entries))]

    def _plan_update(self, update: acp.PlanUpdate) -> list[Happening]:
        plan = update.plan if isinstance(update.plan, dict) else {}
        entries = plan.get("entries")
        if isinstance(entries, list):
            found = [entry for entry in entries if isinstance(entry, dict)]
            rows = tuple(
                PlanEntry(
                    str(entry.get("content", "")),
                    str(entry.get("priority") or "medium"),
                    str(entry.get("status") or "pending"),
                )
                for entry in found
            )
            return [AgentPlan(self._session_id, rows)]
        text = plan.get("content") or plan.get("uri")
        return [self._notice("plan", str(text))] if text else []

    def _terminal_output(self, update: acp.TerminalOutput) -> list[Happening]:
        self._calls.terminal(update.terminal_id, update.data, whole=False)
        return []

    def _terminal_update(self, update: acp.TerminalUpdate) -> list[Happening]:
        if isinstance(update.output, dict):
            self._calls.terminal(update.terminal_id, update.output.get("data"), whole=True)
        return []

    def _nothing(self, _update: acp.UserChunk | acp.WholeUserMessage) -> list[Happening]:
        return []

    # --- facts: they may come at any time ----------------------------------------------------------------------------

    def _usage(self, update: acp.AcpUsage) -> list[Happening]:
        cost = update.cost.get("amount") if isinstance(update.cost, dict) else None
        return [
            UsageUpdate(
                self._session_id,
                int(update.used or 0),
                int(update.size or 0),
                cost=float(cost) if isinstance(cost, int | float) else None,
            )
        ]

    def _mode(self, update: acp.CurrentMode) -> list[Happening]:
        self._settings.mode = update.current_mode_id
        return [ModeChange(self._session_id, mode=update.current_mode_id)]

    def _options(self, update: acp.ConfigOptions) -> list[Happening]:
        self._settings.learn_options(update.config_options)
        return [self.settings_change()]

    def settings_change(self) -> ModeChange:
        settings = self._settings
        return ModeChange(self._session_id, settings.mode, settings.model, settings.plain())

    def _commands(self, update: acp.Commands) -> list[Happening]:
        names = [command.get("name") for command in update.available_commands if isinstance(command, dict)]
        known = [name for name in names if isinstance(name, str)]
        return [self._notice("commands", f"The agent has {len(known)} commands of its own.", known)]

    def _info(self, update: acp.SessionInfo) -> list[Happening]:
        return [self._notice("title", update.title)] if update.title else []

    def _noticed(self, update: acp.AcpNotice) -> list[Happening]:
        text = f"{update.title}: {update.description}" if update.description else update.title
        return [self._notice("agent", text, {"severity": update.severity})]

    def _compaction(self, update: acp.AcpCompaction) -> list[Happening]:
        return [self._notice("compaction", update.error or update.status)]

    def _notice(self, code: str, message: str, data: Any = None) -> Notice:
        return Notice(code, message, self._session_id, data)


_ROLES: Final[dict[type, str]] = {
    acp.UserChunk: "user",
    acp.WholeUserMessage: "user",
    acp.ThoughtChunk: "thought",
    acp.WholeThought: "thought",
    acp.ToolStart: "tool",
    acp.ToolUpdate: "tool",
}


def usage_of(answer: Mapping[str, Any]) -> events.Usage | None:
    """The tokens of a turn, where its end says them: `usage` of the protocol, or the quota in the metadata (Gemini)."""
    said = answer.get("usage")
    if isinstance(said, dict):
        return events.Usage(
            _count(said, "inputTokens"),
            _count(said, "outputTokens"),
            _count(said, "cachedReadTokens"),
            _count(said, "cachedWriteTokens"),
        )
    meta = answer.get("_meta")
    quota = meta.get("quota") if isinstance(meta, dict) else None
    counted = quota.get("token_count") if isinstance(quota, dict) else None
    if isinstance(counted, dict):
        return events.Usage(
            _count(counted, "inputTokens", "input_tokens"), _count(counted, "outputTokens", "output_tokens")
        )
    return None


def _count(said: Mapping[str, Any], *names: str) -> int:
    return next((value for name in names if type(value := said.get(name)) is int and value >= 0), 0)
