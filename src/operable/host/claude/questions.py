"""Control requests of the agent: permission for a tool, questions of a tool or of an MCP server, and how each is answered.

Every request gets an answer, since the agent waits for it: what the host cannot do is refused in the protocol's own words.
A rule that the agent suggests is a choice of its own, named with what it allows and where it would be kept; it is sent only
when that choice is made.
"""

from collections.abc import Mapping
from typing import Any, Final

from operable.host.arm import Answer
from operable.host.conversation import Conversation
from operable.host.peer import mapping, string
from operable.wire.events import Choice

_RULE: Final = "rule-"
# Qwen puts the captions of its own buttons (allow, deny, modify) where Claude Code suggests rules.
_RULES: Final = frozenset({"addRules", "replaceRules", "setMode", "addDirectories"})


def choices(request: dict[str, Any]) -> tuple[Choice, ...]:
    """What may be answered to a permission request."""
    suggested = (
        Choice(f"{_RULE}{place}", _named(mapping(suggestion)), "allow_always")
        for place, suggestion in enumerate(_suggestions(request))
        if string(mapping(suggestion).get("type")) in _RULES
    )
    return (
        Choice("allow", "Allow this call", "allow_once"),
        *suggested,
        Choice("deny", "Deny", "reject_once"),
    )


def permission(request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The answer to a permission request. A denial lets the turn go on; a cancel ends it."""
    if not is_allowed(answer):
        reason = answer.reason or ("The user cancelled the turn." if answer.cancelled else "Denied.")
        return {"behavior": "deny", "message": reason, "interrupt": answer.cancelled}
    allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": mapping(request.get("input"))}
    if answer.option_id is not None and answer.option_id.startswith(_RULE):
        place = answer.option_id.removeprefix(_RULE)
        suggested = _suggestions(request)
        if answer.option_id in {choice.id for choice in choices(request)}:
            allowed["updatedPermissions"] = [suggested[int(place)]]
    return allowed


def is_allowed(answer: Answer) -> bool:
    return answer.allowed and not answer.cancelled and answer.option_id != "deny"


def is_inquiry(request: dict[str, Any]) -> bool:
    """Whether the tool wants answers of the user, not a permission."""
    return request.get("tool_name") == "AskUserQuestion" and bool(_inquiries(request))


def inquiry_text(request: dict[str, Any]) -> str:
    return "\n".join(string(question.get("question")) for question in _inquiries(request))


def inquiry_schema(request: dict[str, Any]) -> dict[str, Any]:
    """The questions as one JSON Schema: a property per question, named by its text."""
    properties = {}
    for question in _inquiries(request):
        options = question.get("options")
        labels = (
            [string(mapping(option).get("label")) for option in options] if isinstance(options, list) else []
        )
        text: dict[str, Any] = {"type": "string", "examples": labels}
        several = {"type": "array", "items": text}
        properties[string(question.get("question"))] = (
            several if question.get("multiSelect") is True else text
        )
    return {"type": "object", "properties": properties, "required": list(properties)}


def inquiry(request: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """The answer to such questions: the input of the tool, with the answers in it."""
    if not is_allowed(answer):
        return permission(request, answer)
    given = answer.content if isinstance(answer.content, Mapping) else {}
    answers = {
        name: ", ".join(map(str, said)) if isinstance(said, list) else str(said)
        for name, said in given.items()
    }
    return {"behavior": "allow", "updatedInput": {**mapping(request.get("input")), "answers": answers}}


def elicited(answer: Answer) -> dict[str, Any]:
    """The answer to what an MCP server asks."""
    if answer.cancelled:
        return {"action": "cancel"}
    if not is_allowed(answer):
        return {"action": "decline"}
    return {"action": "accept", "content": answer.content if isinstance(answer.content, Mapping) else {}}


def _suggestions(request: dict[str, Any]) -> list[Any]:
    suggested = request.get("permission_suggestions")
    return suggested if isinstance(suggested, list) else []


def _inquiries(request: dict[str, Any]) -> list[dict[str, Any]]:
    questions = mapping(request.get("input")).get("questions")
    return (
        [question for question in questions if isinstance(question, dict)]
        if isinstance(questions, list)
        else []
    )


def _named(suggestion: dict[str, Any]) -> str:
    kept = f" (kept in: {string(suggestion.get('destination')) or 'session'})"
    if suggestion.get("type") == "setMode":
        return f"Allow, and switch to mode {string(suggestion.get('mode'))}{kept}"
    if suggestion.get("type") == "addDirectories":
        directories = suggestion.get("directories")
        named = ", ".join(map(str, directories)) if isinstance(directories, list) else ""
        return f"Allow, and give access to {named}{kept}"
    rules = suggestion.get("rules")
    entries = [mapping(rule) for rule in rules] if isinstance(rules, list) else []
    named = ", ".join(f"{string(e.get('toolName'))}({string(e.get('ruleContent')) or '*'})" for e in entries)
    return f"Allow, and from now on {string(suggestion.get('behavior')) or 'allow'} {named}{kept}"


class Control:
    """Control lines beside the conversation: requests of ours and which are open, and answers to the agent's.

    `open`: our requests that wait for an answer, what each is for, and the value that it sets.
    """

    def __init__(self, state: Conversation) -> None:
        self.open: dict[str, tuple[str, Any]] = {}
        self._state = state
        self._numbered = 0

    def request(self, subtype: str, value: Any, **fields: Any) -> None:
        self._numbered += 1
        request_id = f"operable-{self._numbered}"
        self.open[request_id] = (subtype, value)
        request = {"subtype": subtype, **fields}
        self._state.write_json({"type": "control_request", "request_id": request_id, "request": request})

    def respond(self, control_id: str, response: dict[str, Any]) -> None:
        self._answer({"subtype": "success", "request_id": control_id, "response": response})

    def refuse(self, control_id: str, error: str) -> None:
        self._answer({"subtype": "error", "request_id": control_id, "error": error})

    def _answer(self, response: dict[str, Any]) -> None:
        self._state.write_json({"type": "control_response", "response": response})
