"""A conversation on a terminal: the agent's words on stdout, everything else on stderr, and the person's answers.

What an agent says is untrusted: nothing in it may act on the terminal. The marks in front of the other events are those of
AIP-46, so that people see the same words in every host.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from operable.gate.approvals import Ask, needs_option
from operable.kernel.errors import Fail
from operable.tool.human.mode import cell
from operable.wire import events as e

if TYPE_CHECKING:
    from operable.tool import Context

# A line of a terminal or two: what is longer is in the log.
_SHOWN = 160
_BY = "terminal"
_YES, _NO, _ALWAYS = ("y", "yes"), ("n", "no", ""), ("a", "always")


class AskingSession(Protocol):
    """What answering needs of a session: of this process, or of another one."""

    @property
    def id(self) -> str: ...
    @property
    def asks(self) -> list[Ask]: ...
    def answer(
        self,
        request_id: str,
        allowed: bool = True,
        *,
        reason: str = "",
        option_id: str | None = None,
        content: Any = None,
        remember: str = "",
        digest: str = "",
        by: str = "caller",
    ) -> None: ...


class Screen:
    """Shows the events of one conversation after the other."""

    def __init__(self, context: Context, *, thoughts: bool = False) -> None:
        self._context = context
        self._thoughts = thoughts
        self._open = False  # the last line of text has no end yet

    def show(self, event: e.AnyEvent) -> None:
        match event:
            case e.TextDelta(text=text):
                self._context.show(text)
                self._open = not text.endswith("\n") if text else self._open
            case e.Thought(text=text):
                if self._thoughts:
                    self.aside(f"[thought] {text}")
            case e.ToolCall():
                self.aside(f"[tool] {event.title or event.tool_name} {_brief(event.arguments)}")
            case e.ToolResult():
                if event.denied or event.is_error:
                    mark = "[tool-denied]" if event.denied else "[tool-error]"
                    self.aside(f"{mark} {_brief(event.result)}")
            case e.AgentError(error=error):
                self.aside(f"[error] {error.message}")
            case e.TurnEnd():
                self.end()
            case e.Notice(code=code, message=message) if code not in _QUIET:
                self.aside(f"[notice] {message}")

    def aside(self, text: str) -> None:
        """A line beside the conversation."""
        self.end()
        if sys.stderr is not None:
            try:
                sys.stderr.write(f"{cell(text)}\n")
                sys.stderr.flush()
            except OSError:
                return  # it has no reader; the conversation goes on

    def end(self) -> None:
        """Begin a new line, if one is open."""
        if self._open:
            self._context.show("\n")
            self._open = False


# What every session begins and ends with: in the log, for a user who looks for it.
_QUIET = frozenset({"enforcement", "session_closed", "drift"})


def _brief(value: Any) -> str:
    text = cell(value)
    left = len(text) - _SHOWN
    return text if left <= 0 else f"{text[:_SHOWN]}… ({left} more characters: operable agent logs SESSION)"


# The person at the terminal answers what an agent asks: yes, no, for the whole session, or one of its own options.
# The question is in the session's approval queue (`operable.gate.approvals`), so another process may be faster;
# its answer is then reported. Nothing is picked for the person: an agent that offers no plain one-time permission has
# its options shown, and one must be named.
def settle(session: AskingSession, question_id: str, context: Context, screen: Screen) -> None:
    """Ask the user, if the question still waits and a user is present."""
    ask = next((each for each in session.asks if each.id == question_id), None)
    if ask is None:
        return
    if not context.person:
        screen.aside(f"[awaiting input] {_what(ask)}")
        screen.aside(f"[awaiting input] {_line(session, ask)} (or --deny)")
        return
    screen.aside(f"[awaiting input] {_what(ask)}")
    try:
        if ask.kind == "input":
            _give_input(session, ask, context)
        else:
            _decide(session, ask, context, screen)
    except Fail as problem:
        if problem.code not in ("ALREADY_ANSWERED", "NO_SUCH_ASK", "QUESTION_WITHDRAWN"):
            raise
        screen.aside(f"[notice] {problem.message}")


def _line(session: AskingSession, ask: Ask) -> str:
    """The command that answers from another terminal."""
    seen = f" --digest {ask.digest}" if ask.digest else ""  # an answer to something else is refused
    return f"operable agent answer {session.id} {ask.id} --allow" + seen


def _ask(text: str, session: AskingSession, ask: Ask, context: Context, *, fresh: bool = False) -> str:
    """What the person says. Fail if the question does not wait any more: it was answered elsewhere, or its time is over."""

    def withdrawn() -> bool:
        return all(each.id != ask.id for each in session.asks)

    return context.ask(text, hint=_line(session, ask), fresh=fresh, withdrawn=withdrawn)


def _what(ask: Ask) -> str:
    words = [ask.text or ask.tool, cell(ask.arguments) if ask.arguments else "", ask.url or ""]
    words += [cell(diff) for diff in ask.diffs]
    words += [f"beside it: {cell(list(ask.locations))}"] if ask.locations else []
    words += [f"announced before: {cell(each)}" for each in ask.announced]
    return " ".join(word for word in words if word)


def _decide(session: AskingSession, ask: Ask, context: Context, screen: Screen) -> None:
    for number, choice in enumerate(ask.options, 1):
        screen.aside(f"  {number}  {choice.name} ({choice.kind or 'of an unknown kind'})")
    plain = not needs_option(ask.options)
    offered = "[y]es, [a]lways in this session, [N]o" if plain else "[N]o"
    numbers = f", or 1 to {len(ask.options)}" if ask.options else ""
    while True:
        said = _ask(f"Allow it? {offered}{numbers}:", session, ask, context, fresh=True).strip().lower()
        if said in _NO:
            session.answer(
                ask.id, False, reason="the person at the terminal denied it", by=_BY, digest=ask.digest
            )
            return
        if plain and said in (*_YES, *_ALWAYS):
            remember = "call" if said in _ALWAYS else ""
            session.answer(ask.id, True, by=_BY, digest=ask.digest, remember=remember)
            return
        if said.isdecimal() and 1 <= int(said) <= len(ask.options):
            choice = ask.options[int(said) - 1]
            allowed = not choice.kind.startswith("reject")
            session.answer(ask.id, allowed, by=_BY, digest=ask.digest, option_id=choice.id)
            return
        screen.aside("That is not one of the answers.")


def _give_input(session: AskingSession, ask: Ask, context: Context) -> None:
    """An answer to a question for input: one text, or one for each field of its schema. Nothing said is a denial."""
    fields = ask.schema.get("properties") if isinstance(ask.schema, dict) else None
    if not isinstance(fields, dict) or not fields:
        text = _ask("Your answer (empty to decline):", session, ask, context)
        session.answer(ask.id, bool(text), content=text or None, by=_BY, digest=ask.digest)
        return
    content: dict[str, Any] = {}
    for name, field in fields.items():
        kind = field.get("type") if isinstance(field, dict) else None
        text = _ask(f"{cell(name)} (empty to leave out):", session, ask, context)
        if text:
            content[name] = _typed(text, kind)
    session.answer(ask.id, bool(content), content=content or None, by=_BY, digest=ask.digest)


def _typed(text: str, kind: Any) -> Any:
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text  # the agent says what is wrong with it
    return text.strip().lower() in (*_YES, "true") if kind == "boolean" else text
