"""Requests of the app server to its client: approvals and questions, as prompts and as answers.

`decline` lets the turn go on, `cancel` ends it. Neither carries a reason, which is therefore given to the running turn as
further input (`turn/steer`) by the arm. Wider choices (for the session, rules for commands to come) are sent only when they
were chosen themselves.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from operable.host.arm import Answer
from operable.host.peer import mapping, string
from operable.wire.events import Choice

COMMAND: Final = "item/commandExecution/requestApproval"
PATCH: Final = "item/fileChange/requestApproval"
PERMISSIONS: Final = "item/permissions/requestApproval"
INPUT: Final = "item/tool/requestUserInput"
ELICITATION: Final = "mcpServer/elicitation/request"

_NAMES: Final = {
    "accept": Choice("accept", "Allow this once", "allow_once"),
    "acceptForSession": Choice("acceptForSession", "Allow this in the whole session", "allow_always"),
    "decline": Choice("decline", "Deny, the turn goes on", "reject_once"),
    "cancel": Choice("cancel", "Deny, and end the turn", "reject_once"),
}
# Ids, choices, and what says again which command it is. Everything else in a request is part of what is asked.
_DESCRIBED: Final = frozenset(
    "kind threadId turnId itemId approvalId startedAtMs reason command cwd commandActions availableDecisions"
    " proposedExecpolicyAmendment proposedNetworkPolicyAmendments".split()
)
_DENIALS: Final = frozenset({"decline", "cancel"})


class CodexPrompt(NamedTuple):
    """What to ask; fields as in `Conversation.ask`."""

    options: tuple[Choice, ...] = ()
    text: str = ""
    name: str = ""
    arguments: Any = None
    kind: str = "other"
    schema: Any = None
    url: str | None = None


def decisions(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The answers that are possible, by the id of their choice. Declining is always possible, offered or not."""
    offered = params.get("availableDecisions")
    found: dict[str, Any] = {}
    for place, decision in enumerate(offered if isinstance(offered, list) else []):
        if isinstance(decision, str):
            found[decision] = decision
        elif isinstance(decision, dict) and decision:
            found[f"rule-{place}"] = decision
    if not found:
        found = {"accept": "accept", "acceptForSession": "acceptForSession"}
    if method == PERMISSIONS:
        found = {"accept": "turn", "acceptForSession": "session"}
    return {**found, "decline": "decline", "cancel": "cancel"}


def prompt(method: str, params: dict[str, Any], arguments: Mapping[str, Any] | None) -> CodexPrompt:
    """The question that a request is; `arguments` are those of the tool call concerned, where it was announced."""
    reason = string(params.get("reason"))
    options = tuple(_choice(name, decision) for name, decision in decisions(method, params).items())
    match method:
        case "item/commandExecution/requestApproval":
            given = {name: params[name] for name in ("command", "cwd") if params.get(name) is not None}
            return CodexPrompt(
                options, reason, "shell", {**(given or arguments or {}), **_beside(params)}, "execute"
            )
        case "item/fileChange/requestApproval":
            return CodexPrompt(
                options, reason, "apply_patch", {**(arguments or {}), **_beside(params)}, "edit"
            )
        case "item/permissions/requestApproval":
            return CodexPrompt(options, reason, "request_permissions", mapping(params.get("permissions")))
        case "item/tool/requestUserInput":
            questions = _questions(params)
            return CodexPrompt(
                text="\n".join(string(q.get("question")) for q in questions), schema=_schema(questions)
            )
    return CodexPrompt(
        text=string(params.get("message")),
        schema=params.get("requestedSchema"),
        url=string(params.get("url")) or None,
    )


def is_denial(answer: Answer) -> bool:
    return not answer.allowed or answer.cancelled or answer.option_id in _DENIALS


def result(method: str, params: dict[str, Any], answer: Answer) -> dict[str, Any]:
    """What to answer to a request."""
    if method == ELICITATION:
        if is_denial(answer):
            return {"action": "cancel" if answer.cancelled else "decline"}
        return {"action": "accept", "content": answer.content if isinstance(answer.content, Mapping) else {}}
    if method == INPUT:
        given = answer.content if isinstance(answer.content, Mapping) and not is_denial(answer) else {}
        return {"answers": {str(name): {"answers": _texts(said)} for name, said in given.items()}}
    if method == PERMISSIONS:
        granted = {} if is_denial(answer) else mapping(params.get("permissions"))
        return {
            "permissions": granted,
            "scope": "session" if answer.option_id == "acceptForSession" else "turn",
        }
    if is_denial(answer):
        return {"decision": "cancel" if answer.cancelled or answer.option_id == "cancel" else "decline"}
    return {"decision": decisions(method, params).get(answer.option_id or "accept", "accept")}


def _beside(params: Mapping[str, Any]) -> dict[str, Any]:
    """What a yes would grant beside the call: more permissions, a folder to write to (`grantRoot`), what we do not know."""
    more = {name: value for name, value in params.items() if name not in _DESCRIBED and value is not None}
    if more.get("environmentId") == "local":
        del more["environmentId"]
    return more


def _choice(name: str, decision: Any) -> Choice:
    if name in _NAMES:
        return _NAMES[name]
    if not isinstance(decision, dict):
        return Choice(name, name)
    kind, rule = next(iter(decision.items()))
    words = next((value for value in mapping(rule).values()), "")
    shown = " ".join(map(str, words)) if isinstance(words, list) else str(words)
    return Choice(name, f"Allow, and keep a rule ({kind}): {shown}", "allow_always")


def _questions(params: dict[str, Any]) -> list[dict[str, Any]]:
    questions = params.get("questions")
    return [mapping(question) for question in questions] if isinstance(questions, list) else []


def _schema(questions: list[dict[str, Any]]) -> dict[str, Any]:
    properties = {}
    for question in questions:
        options = question.get("options")
        labels = (
            [string(mapping(option).get("label")) for option in options] if isinstance(options, list) else []
        )
        about: dict[str, Any] = {"type": "string", "title": string(question.get("question"))}
        properties[string(question.get("id"))] = {**about, "examples": labels} if labels else about
    return {"type": "object", "properties": properties, "required": list(properties)}


def _texts(said: Any) -> list[str]:
    return [str(text) for text in said] if isinstance(said, list) else [str(said)]
