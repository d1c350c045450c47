"""What a turn of Codex says: its items (a command, a patch…) as tool calls and results, its answer, and its failure.

The app server names fields in camelCase, `exec --json` in snake_case; `camel` makes the second kind look like the first. The
kind of a command is always `execute`, also where Codex believes that the command only reads: that is a guess about a shell
line, and rules about mutation must not depend on it.
"""

from typing import Any, Final, NamedTuple

from operable.host.agent_failure import classified, explained
from operable.host.arm import Happening
from operable.host.conversation import Conversation
from operable.host.peer import count, mapping, plain_content, string
from operable.wire.events import ERROR, MAX_TOKENS, REFUSAL, Failure, PlanEntry

_CODES: Final = {
    "unauthorized": "auth_required",
    "usageLimitExceeded": "rate_limited",
    "rateLimitExceeded": "rate_limited",
    "sessionBudgetExceeded": "budget_exceeded",
    "serverOverloaded": "model_error",
    "internalServerError": "model_error",
    "modelNotFound": "model_error",
    "badRequest": "model_error",
    "sandboxError": "sandbox_error",
}
_RETRYABLE: Final = frozenset(
    {"rateLimitExceeded", "serverOverloaded", "internalServerError", "flexUnavailable"}
)
_REASONS: Final = {
    "contextWindowExceeded": MAX_TOKENS,
    "cyberPolicy": REFUSAL,
    "misalignmentPolicyViolation": REFUSAL,
}


class ToolItem(NamedTuple):
    name: str
    arguments: dict[str, Any]
    kind: str
    title: str = ""
    locations: tuple[str, ...] = ()


class ItemOutcome(NamedTuple):
    result: Any
    is_error: bool = False
    denied: bool = False


_SIMPLE: Final = {
    "webSearch": ("web_search", ("query", "action"), "fetch"),
    "imageView": ("view_image", ("path",), "read"),
    "imageGeneration": ("image_generation", ("revisedPrompt",), "other"),
    "collabAgentToolCall": ("", ("prompt", "receiverThreadIds", "model"), "think"),
}
_FAILED: Final = frozenset({"failed", "declined"})


def camel(item: dict[str, Any]) -> dict[str, Any]:
    """An item of `exec --json` in the words of the app server."""
    named = {_camel(name): value for name, value in item.items()}
    for name in ("type", "status"):
        if name in named:
            named[name] = _camel(string(named[name]))
    return named


def tool_of(item: dict[str, Any]) -> ToolItem | None:
    """The tool call that an item is; None if it is not one."""
    match item.get("type"):
        case "commandExecution":
            command = string(item.get("command"))
            return ToolItem("shell", _given(item, "command", "cwd"), "execute", command)
        case "fileChange":
            return _patch(item)
        case "mcpToolCall":
            name = f"mcp__{string(item.get('server'))}__{string(item.get('tool'))}"
            return ToolItem(name, mapping(item.get("arguments")), "other", string(item.get("tool")))
        case "dynamicToolCall":
            return ToolItem(string(item.get("tool")), mapping(item.get("arguments")), "other")
        case str() as kind if kind in _SIMPLE:
            name, fields, ours = _SIMPLE[kind]
            return ToolItem(name or string(item.get("tool")) or kind, _given(item, *fields), ours)
    return None


def outcome_of(item: dict[str, Any]) -> ItemOutcome:
    """What a finished item gave."""
    status = string(item.get("status"))
    denied = status == "declined"
    error = mapping(item.get("error")).get("message")
    match item.get("type"):
        case "commandExecution":
            code = item.get("exitCode")
            output = string(item.get("aggregatedOutput"))
            failed = status in _FAILED or (isinstance(code, int) and code != 0)
            return ItemOutcome(output or ("declined" if denied else {"exitCode": code}), failed, denied)
        case "mcpToolCall":
            result = mapping(item.get("result"))
            content = plain_content(result.get("content"))
            return ItemOutcome(
                error or content, bool(error) or status in _FAILED or item.get("success") is False, denied
            )
        case "dynamicToolCall":
            return ItemOutcome(
                item.get("contentItems"), item.get("success") is False or status in _FAILED, denied
            )
    return ItemOutcome(error or status or None, bool(error) or status in _FAILED, denied)


def plan_of(steps: Any) -> tuple[PlanEntry, ...]:
    """The steps of a plan, of either protocol."""
    entries = [mapping(step) for step in steps] if isinstance(steps, list) else []
    return tuple(
        PlanEntry(
            string(entry.get("step")) or string(entry.get("text")),
            status="completed" if entry.get("completed") is True else _status(string(entry.get("status"))),
        )
        for entry in entries
    )


def _status(status: str) -> str:
    return "in_progress" if status == "inProgress" else status or "pending"


def _patch(item: dict[str, Any]) -> ToolItem:
    listed = item.get("changes")
    changes = [mapping(change) for change in listed] if isinstance(listed, list) else []
    kinds = [
        string(mapping(change.get("kind")).get("type")) or string(change.get("kind")) for change in changes
    ]
    plain = [
        {"path": string(change.get("path")), "kind": kind, "diff": string(change.get("diff"))}
        for change, kind in zip(changes, kinds, strict=True)
    ]
    only_deletes = bool(kinds) and all(kind == "delete" for kind in kinds)
    paths = tuple(change["path"] for change in plain)
    return ToolItem(
        "apply_patch", {"changes": plain}, "delete" if only_deletes else "edit", ", ".join(paths), paths
    )


def _given(item: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: item[name] for name in names if item.get(name) is not None}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


# What of a Codex turn is the answer: text and thoughts that come in pieces and then whole, commands and patches as
# calls.
# Of a text that has come in pieces only the rest is reported when it comes whole. Items of other threads (sub-agents)
# are not part of the answer, but their commands are tool calls.
class CodexContent:
    """The items of the running turn."""

    def __init__(self, state: Conversation) -> None:
        self.arguments: dict[str, dict[str, Any]] = {}  # of announced calls
        self._state = state
        self._streamed: dict[str, int] = {}  # characters of an item that were reported

    def turn(self) -> None:
        """Another one begins."""
        self._streamed.clear()
        self.arguments.clear()

    def piece(self, item_id: str, text: str) -> list[Happening]:
        self._streamed[item_id] = self._streamed.get(item_id, 0) + len(text)
        return self._state.text(text, item_id or None)

    def thought(self, item_id: str, text: str) -> list[Happening]:
        self._streamed[item_id] = self._streamed.get(item_id, 0) + len(text)
        return self._state.thought(text)

    def item(self, item: dict[str, Any], *, is_done: bool, is_ours: bool) -> list[Happening]:
        """An item that begins, or has come to its end."""
        item_id = string(item.get("id"))
        tool = tool_of(item)
        if tool is not None and item_id:
            return self._call(item_id, item, tool, is_done=is_done)
        return self._whole(item_id, item) if is_done and is_ours else []

    def _call(self, item_id: str, item: dict[str, Any], tool: ToolItem, *, is_done: bool) -> list[Happening]:
        state = self._state
        if not state.running and is_done and state.has_seen(item_id):
            outcome = outcome_of(item)  # of a turn that ended
            return state.result(item_id, outcome.result, is_error=outcome.is_error, denied=outcome.denied)
        if state.running:
            self.arguments.setdefault(item_id, tool.arguments)
        return called(state, item_id, item, tool, is_done=is_done)

    def _whole(self, item_id: str, item: dict[str, Any]) -> list[Happening]:
        match item.get("type"):
            case "agentMessage" | "plan":
                return self.piece(item_id, string(item.get("text"))[self._streamed.get(item_id, 0) :])
            case "reasoning" if item_id not in self._streamed:
                parts = item.get("summary") or item.get("content")
                return self._state.thought("\n\n".join(map(string, parts))) if isinstance(parts, list) else []
            case "contextCompaction":
                return self._state.notice("compacted", "Codex compacted its context.")
        return []


def called(
    state: Conversation, item_id: str, item: dict[str, Any], tool: ToolItem, *, is_done: bool
) -> list[Happening]:
    """An item that is a call of a tool; with what came of it, when it is done."""
    found = state.call(
        item_id, tool.name, tool.arguments, kind=tool.kind, title=tool.title, locations=tool.locations
    )
    if not is_done:
        return found
    outcome = outcome_of(item)
    return found + state.result(item_id, outcome.result, is_error=outcome.is_error, denied=outcome.denied)


def failure(error: dict[str, Any]) -> Failure:
    name, status = _info(error)
    code = _CODES.get(name, "agent_error")
    words = explained(string(error.get("message")), None) or "The turn failed."
    data = {"info": name} if name else None
    return classified(Failure(words, code, name in _RETRYABLE, data), status)


def reason_of(error: dict[str, Any]) -> str:
    """Why a turn that failed ended."""
    return _REASONS.get(_info(error)[0], ERROR)


def _info(error: dict[str, Any]) -> tuple[str, int]:
    """The name of the error and its HTTP status: a word, or an object with one name that contains the status."""
    info = error.get("codexErrorInfo")
    if isinstance(info, dict) and info:
        name = next(iter(info))
        return name, count(mapping(info[name]).get("httpStatusCode"))
    return string(info), 0
