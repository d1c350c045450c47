"""Questions of the agent that wait for people: permission for a tool call, and input (elicitation).

Theory of operation. A question is open from its request until it is answered, withdrawn by the agent, or over with its
turn. What is sent is decided here and is safe by construction: an approval only ever names an option that the agent offered
and that the host chose by its id, or the one option that says "once"; options that last (`allow_always` means a different
thing to every agent) and kinds that are not known are never picked without being named; a denial is the agent's own reject
option, with the reason beside it; and once a question is closed nothing is sent for it any more, so that no approval can
follow a cancel (opencode ran the command when one did).
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from operable.host.arm import Answer, CallWithdrawn
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.wire.events import Choice, Notice
from operable.wire.jsonrpc import RpcLink

_CANCELLED: Final = {"outcome": {"outcome": "cancelled"}}
_ONCE: Final = frozenset(
    {"allow", "allow_once", "once", "yes", "accept", "approve", "proceed", "proceed_once"}
)
"""How agents call the option that allows this one call, where they have several of that kind (openhands has two)."""


@dataclass(frozen=True, slots=True)
class _Ask:
    kind: str  # "permission" | "form" | "url"
    options: tuple[Choice, ...]
    call_id: str | None
    of_turn: bool
    field: str | None = None  # the only member of a form, which a bare value then fills


class AcpAsks:
    """The open questions of one session."""

    def __init__(self, link: RpcLink, session_id: str) -> None:
        self._link = link
        self._session_id = session_id
        self._open: dict[str, _Ask] = {}

    def permission(self, key: str, options: tuple[Choice, ...], call_id: str | None) -> None:
        self._open[key] = _Ask("permission", options, call_id, True)

    def input(self, key: str, schema: Any, *, call_id: str | None, of_turn: bool) -> None:
        """A question for input; `schema` is None for one that sends people to an address."""
        members = schema.get("properties") if isinstance(schema, dict) else None
        field = next(iter(members)) if isinstance(members, dict) and len(members) == 1 else None
        self._open[key] = _Ask("url" if schema is None else "form", (), call_id, of_turn, field)

    def call_of(self, key: str) -> str | None:
        """The tool call that an open question is about."""
        return self._open[key].call_id if key in self._open else None

    def answer(self, key: str, answer: Answer) -> tuple[list[Notice], bool]:
        """Send the answer to one question; also says whether it was a denial of a tool call."""
        ask = self._open.get(key)
        if ask is None:
            return [
                self._notice("stale_answer", "The agent no longer waits for this answer; it was not sent.")
            ], False
        if ask.kind != "permission":
            del self._open[key]
            self._link.respond(key, _input_of(ask, answer))
            return [], False
        option, notices = self._chosen(ask.options, answer)
        del self._open[key]
        if answer.cancelled or option is None:
            self._link.respond(key, _CANCELLED)
            return notices, not answer.cancelled
        outcome: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": option.id}}
        denied = option.kind.startswith("reject")
        if denied and answer.reason:
            # The protocol has no member for the reason of a denial; `_meta` is its place for what it has none for.
            outcome["_meta"] = {"reason": answer.reason}
        self._link.respond(key, outcome)
        return notices, denied

    def refuse(self, key: str) -> None:
        """Answer a question that must not be approved: it came after a cancel, or outside of a turn."""
        self._link.respond(key, _CANCELLED)

    def withdraw(self, key: str) -> list[CallWithdrawn]:
        """The agent no longer waits. It still gets the answer that every request gets."""
        ask = self._open.pop(key, None)
        if ask is None:
            return []
        self._link.respond(key, _CANCELLED if ask.kind == "permission" else {"action": "cancel"})
        return [CallWithdrawn(key)]

    def withdraw_all(self, *, of_turn: bool) -> list[CallWithdrawn]:
        keys = [key for key, ask in self._open.items() if ask.of_turn or not of_turn]
        return [withdrawn for key in keys for withdrawn in self.withdraw(key)]

    def _chosen(self, options: tuple[Choice, ...], answer: Answer) -> tuple[Choice | None, list[Notice]]:
        if answer.cancelled:
            return None, []
        if answer.option_id is not None:
            return _named(options, answer), []
        if answer.allowed:
            once = _one_time(options)
            if once is not None:
                return once, []
            message = "The agent offers no option that allows this one call; it was denied. Choose one of its options."
            return _rejecting(options), [self._notice("no_one_time_option", message)]
        reject = _rejecting(options)
        if reject is None:
            return None, [
                self._notice(
                    "no_reject_option", "The agent offers no way to deny; it was answered as cancelled."
                )
            ]
        return reject, []

    def _notice(self, code: str, message: str) -> Notice:
        return Notice(code, message, self._session_id)


def choices(offered: Any) -> tuple[Choice, ...]:
    """The options of a request for permission, as far as they are whole; an id counts once.

    An id that two kinds share is left out: it cannot be known whether it denies, allows once or always.
    """
    found: dict[str, Choice] = {}
    kinds: dict[str, set[str]] = {}
    for option in offered if isinstance(offered, Sequence) else ():
        if isinstance(option, dict) and isinstance(option.get("optionId"), str):
            name, kind = option.get("name"), option.get("kind")
            choice = Choice(
                option["optionId"],
                name if isinstance(name, str) else option["optionId"],
                kind if isinstance(kind, str) else "",
            )
            found.setdefault(choice.id, choice)
            kinds.setdefault(choice.id, set()).add(choice.kind)
    return tuple(choice for choice in found.values() if len(kinds[choice.id]) == 1)


def _named(options: tuple[Choice, ...], answer: Answer) -> Choice:
    option = next((option for option in options if option.id == answer.option_id), None)
    if option is None:
        raise Fail(
            "usage",
            "UNKNOWN_OPTION",
            f"The agent did not offer an option {answer.option_id!r}.",
            hint=f"Offered: {', '.join(option.id for option in options) or 'nothing'}.",
        )
    # A denial may only name an option that rejects: what an unknown kind does is not known.
    if answer.allowed == option.kind.startswith("reject"):
        raise Fail(
            "usage",
            "OPTION_CONTRADICTS",
            f"The option {option.id!r} is of kind {option.kind!r}, and the answer is {'yes' if answer.allowed else 'no'}.",
        )
    return option


def _one_time(options: tuple[Choice, ...]) -> Choice | None:
    once = [option for option in options if option.kind == "allow_once"]
    if len(once) > 1:
        once = [option for option in once if _word(option.id) in _ONCE] or [
            option for option in once if _word(option.name) in _ONCE
        ]
    return once[0] if len(once) == 1 else None


def _rejecting(options: tuple[Choice, ...]) -> Choice | None:
    for kind in ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return option
    return None


def _word(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.strip().lower())


def _input_of(ask: _Ask, answer: Answer) -> dict[str, Any]:
    if answer.cancelled:
        return {"action": "cancel"}
    if not answer.allowed:
        return {"action": "decline"}
    if ask.kind == "url":
        return {"action": "accept"}
    if isinstance(answer.content, dict):
        return {"action": "accept", "content": answer.content}
    if answer.content is None or ask.field is None:
        return {"action": "accept", "content": {}}
    return {"action": "accept", "content": {ask.field: answer.content}}
