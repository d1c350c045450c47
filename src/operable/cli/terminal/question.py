"""A question of an agent, as a dialogue: what is offered, what each answer would cover, and what was answered. No I/O.

`interview` is a generator: it yields what the person is to be asked, is sent what was typed, and returns the decision; None
means that the person wants the turn to end. Nothing is picked for the person: an agent that offers no plain one-time
permission has its options shown, and one must be named.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from operable.cli.terminal.change import CHANGES, PATHS
from operable.gate.approvals import Decision, needs_option
from operable.kernel.data_class import dataclass
from operable.tool.human.cells import cell, visible

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Mapping, Sequence

    from operable.cli.terminal.change import ShownChange
    from operable.gate.approvals import Ask

BY = "terminal"
DENIED = "The user denied it"
_UNKNOWN = "That is not one of the answers."
# Arguments that a diff shows already.
_IN_DIFF = frozenset({"old_string", "new_string", "content", "replace_all"})
_COMMANDS = ("command", "cmd")
_YES, _NO, _ALWAYS, _QUIT = ("y", "yes"), ("n", "no"), ("a", "always"), ("q", "quit")


@dataclass(frozen=True, slots=True)
class AnswerPrompt:
    """What to ask. `complaint`: what is wrong with what was typed before. `offers`: the answers, each with its meaning."""

    text: str
    complaint: str = ""
    offers: tuple[tuple[str, str], ...] = ()


def interview(ask: Ask, lasting: str) -> Generator[AnswerPrompt, str, Decision | None]:
    """`lasting`: what "always" would cover, in words; empty: it is not offered."""
    return _information(ask) if ask.kind == "input" else _permission(ask, lasting)


def _permission(ask: Ask, lasting: str) -> Generator[AnswerPrompt, str, Decision | None]:
    plain = not needs_option(ask.options)
    offers = tuple(_offers(ask, lasting if plain else "", plain=plain))
    prompt = AnswerPrompt(f"Allow it? [{'/'.join(key for key, _ in offers)}]", "", offers)
    while True:
        typed, _, reason = (yield prompt).strip().partition(" ")
        word = typed.lower()
        if word in _QUIT:
            return None
        if word in _NO:
            return Decision(False, reason.strip() or DENIED, BY, digest=ask.digest)
        if plain and word in _YES:
            return Decision(True, by=BY, digest=ask.digest)
        if plain and lasting and word in _ALWAYS:
            return Decision(True, by=BY, digest=ask.digest, remember="call")
        if word.isascii() and word.isdigit() and 1 <= int(word[:9]) <= len(ask.options):
            choice = ask.options[int(word) - 1]
            allowed = not choice.kind.startswith("reject")
            why = "" if allowed else reason.strip() or DENIED
            return Decision(allowed, why, BY, choice.id, digest=ask.digest)
        prompt = AnswerPrompt(prompt.text, _UNKNOWN)


def _offers(ask: Ask, lasting: str, *, plain: bool) -> Iterator[tuple[str, str]]:
    if plain:
        yield "y", "yes, this once"
    if lasting:
        yield "a", f"always: {lasting}"
    yield "n", "no; `n WHY` says why"
    yield "q", "no, and stop the turn"
    for number, choice in enumerate(ask.options, 1):
        if choice.kind in _KINDS:
            yield str(number), f"{cell(choice.name)} ({_KINDS[choice.kind]})"
        else:
            yield str(number), f"{cell(choice.name)} (the agent does not say what it covers)"


# What an option of an agent means. How long "always" lasts, and for what, each agent decides by itself.
_KINDS = {
    "allow_once": "the agent's own: this once",
    "allow_always": "the agent remembers it by its own rules, perhaps for later sessions",
    "reject_once": "the agent's own: not this time",
    "reject_always": "the agent remembers the no by its own rules",
}


def _information(ask: Ask) -> Generator[AnswerPrompt, str, Decision | None]:
    """One text, or one for each field of its schema. Nothing said is a denial."""
    fields = ask.schema.get("properties") if isinstance(ask.schema, dict) else None
    if not isinstance(fields, dict) or not fields:
        text = (yield AnswerPrompt("Your answer (empty to decline)")).strip()
        return Decision(bool(text), by=BY, content=text or None, digest=ask.digest)
    content: dict[str, Any] = {}
    for name, field in fields.items():
        kind = field.get("type") if isinstance(field, dict) else None
        text = (yield AnswerPrompt(f"{cell(name)} (empty to leave out)")).strip()
        if text:
            content[name] = _typed(text, kind)
    return Decision(bool(content), by=BY, content=content or None, digest=ask.digest)


def _typed(text: str, kind: Any) -> Any:
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text  # the agent says what is wrong with it
    return text.lower() in (*_YES, "true") if kind == "boolean" else text


def asked_lines(ask: Ask, changes: Sequence[ShownChange], workspace: str, *, said: str = "") -> Iterator[str]:
    """Everything that the question is about, whole, without what these changes and the line above (`said`) show."""
    known = {_real(change.path, workspace) for change in changes}
    yield from _argument_lines(ask, known, workspace, said)
    if ask.url:
        yield f"url: {cell(ask.url)}"
    if ask.locations and not known:
        yield f"at: {', '.join(map(cell, ask.locations))}"
    for announced in ask.announced:
        if not _names_only(announced, known, workspace):
            yield f"announced before: {cell(announced)}"
    for diff in () if known else ask.diffs:
        yield cell(diff)
    if ask.why and ask.why != "no rule allows it":
        yield f"because {cell(ask.why)}"


def _argument_lines(ask: Ask, known: Collection[str], workspace: str, said: str) -> Iterator[str]:
    given = ask.arguments or {}
    for name, value in (given if isinstance(given, dict) else {"arguments": given}).items():
        text = value if isinstance(value, str) else cell(value)
        if name in _COMMANDS:
            if text != cell(text) or said not in (text, f"Run {text}"):
                yield from _command_lines(text)
        elif name in PATHS and known:
            if _real(text, workspace) not in known:
                yield from _named(name, text)
        elif name in CHANGES and known:
            if ask.diffs and value != list(ask.diffs):
                yield from _named(name, text)
        elif not (known and name in _IN_DIFF) and not (name == "title" and text in ask.text):
            yield from _named(name, text)


def _names_only(announced: Mapping[str, Any], known: Collection[str], workspace: str) -> bool:
    """Whether an announcement only names the files whose changes are shown, in whatever spelling."""
    if not known or not announced.keys() <= {"arguments", "locations"}:
        return False
    arguments = announced.get("arguments", {})
    if not isinstance(arguments, dict) or not arguments.keys() <= PATHS:
        return False
    named = (*arguments.values(), *announced.get("locations", ()))
    return all(isinstance(path, str) and _real(path, workspace) in known for path in named)


def _real(path: str, workspace: str) -> str:
    return os.path.realpath(os.path.join(workspace, path))


def _command_lines(text: str) -> Iterator[str]:
    first, *rest = visible(text).split("\n")
    yield f"$ {first}"
    for line in rest:
        yield f"  {line}"


def _named(name: str, text: str) -> Iterator[str]:
    if "\n" not in text:
        yield f"{cell(name)}: {cell(text)}"
        return
    yield f"{cell(name)}:"
    for line in visible(text).split("\n"):
        yield f"  {line}"
