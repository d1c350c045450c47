"""Items of a turn (a command, a patch, a call of an MCP server…) as tool calls and their results.

The app server names fields in camelCase, `exec --json` in snake_case; `camel` makes the second kind look like the first. The
kind of a command is always `execute`, also where Codex believes that the command only reads: that is a guess about a shell
line, and rules about mutation must not depend on it.
"""

from typing import Any, Final, NamedTuple

from operable.host.peer import mapping, plain_content, string
from operable.wire.events import PlanEntry


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
