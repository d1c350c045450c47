"""What `operable explain` says of words that are not checks: error codes, exit statuses, categories, verdicts and notes.

The texts are those of the reference; `./dev fix` writes them to `operable/spec/codes.json` from the source. A word may mean
two things, such as an error that is also a verdict: both are said.
"""

from __future__ import annotations

from operable.kernel.errors import CATEGORIES, Fail
from operable.tool import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

_SIGNALS = 128  # a shell adds the number of the signal to this


class ErrorForm(Record):
    """One way in which an error is worded; `{…}` stands for what is known only then."""

    category: str
    exit_status: int
    message: str
    hint: str


class CodeExplanation(Event):
    """What a word means that Operable ended or answered with."""

    name: str
    kind: Literal["error", "exit_status", "category", "verdict", "note", "warning"]
    meaning: str
    retryable: bool | None = None
    exit_status: int | None = None
    forms: list[ErrorForm] | None = None


def explanations(word: str) -> list[CodeExplanation]:
    """Everything that the word means; nothing if it is not known."""
    known = _codes()
    name = word.upper().replace("-", "_")
    found = [*_errors(name, known), *_judged(name, known)]
    if word.lower() in known["categories"]:
        found.append(_category(word.lower(), known))
    return [*found, *_status(word, known)]


def page(explanation: CodeExplanation) -> str:
    """For people."""
    lines = [f"{explanation.name}: {_KINDS[explanation.kind]}"]
    if explanation.exit_status is not None and explanation.kind != "exit_status":
        lines[0] += f", exit status {explanation.exit_status}"
    if explanation.retryable is not None:
        lines[0] += f", {'worth repeating later' if explanation.retryable else 'the same call fails again'}"
    lines += ["", explanation.meaning]
    for form in explanation.forms or ():
        lines += ["", f"    {_plain(form.message)}"]
        if form.hint:
            lines.append(
                "      hint: "
                + (_plain(form.hint) if form.hint != _COMPUTED else "says what to do where it happens")
            )
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """What is filled in, as the help of a command writes it: PACKAGE."""
    from re import sub

    return sub(r"\{(\w+)\}", lambda match: match[1].upper(), text).replace(_COMPUTED, "…")


def unknown(word: str, checks: list[str]) -> Fail:
    """The error for a word that nothing is known about; it offers what is written like it."""
    from difflib import get_close_matches

    known = _codes()
    names = [*(name for group in _NAMED for name in known[group]), *known["categories"], *checks]
    near = get_close_matches(word.upper(), names, 1) or get_close_matches(word.lower(), names, 1)
    hint = f"did you mean operable explain {near[0]}?" if near else "operable explain lists the checks"
    return Fail(
        "not_found",
        "UNKNOWN_WORD",
        f"{word} is not an error code, an exit status, a category, a verdict or a check",
        hint=hint,
        target=word,
    )


def known_words() -> Iterator[tuple[str, str]]:
    """Everything that can be explained beside the checks, each with what it is."""
    known = _codes()
    for group, kind in _NAMED.items():
        yield from ((name, _KINDS[kind]) for name in known[group])
    yield from ((name, _KINDS["category"]) for name in known["categories"])
    yield from ((status, meant["meaning"]) for status, meant in known["exit_statuses"].items())


_KINDS = {
    "error": "an error",
    "exit_status": "an exit status",
    "category": "a category of errors",
    "verdict": "a verdict on a stream",
    "note": "a note on a stream",
    "warning": "a warning: the work went on",
}
# Groups of codes, and the kind of each.
_NAMED = {"errors": "error", "verdicts": "verdict", "notes": "note", "warnings": "warning"}
_COMPUTED = "{…}"


def _errors(name: str, known: Any) -> list[CodeExplanation]:
    forms = known["errors"].get(name)
    if not forms:
        return []
    category = forms[0]["category"]
    return [
        CodeExplanation(
            name=name,
            kind="error",
            meaning=f"Category {category}. {known['categories'][category]}",
            retryable=CATEGORIES[category][0],
            exit_status=forms[0]["exit"],
            forms=[
                ErrorForm(
                    category=each["category"],
                    exit_status=each["exit"],
                    message=each["message"],
                    hint=each["hint"],
                )
                for each in forms
            ],
        )
    ]


def _judged(name: str, known: Any) -> list[CodeExplanation]:
    found = []
    if verdict := known["verdicts"].get(name):
        meaning = f"Outcome {verdict['outcome']}. {verdict['reason']}"
        found.append(CodeExplanation(name=name, kind="verdict", meaning=meaning))
    if note := known["notes"].get(name):
        found.append(CodeExplanation(name=name, kind="note", meaning=note))
    for warning in known["warnings"].get(name, ()):
        found.append(CodeExplanation(name=name, kind="warning", meaning=_plain(warning)))
    return found


def _category(name: str, known: Any) -> CodeExplanation:
    retryable, status = CATEGORIES[name]
    return CodeExplanation(
        name=name, kind="category", meaning=known["categories"][name], retryable=retryable, exit_status=status
    )


def _status(word: str, known: Any) -> list[CodeExplanation]:
    """An exit status: one of ours, or that of a program which a signal ended."""
    if not word.isdecimal() or len(word) > 3:
        return []
    number = int(word)
    meaning = known["exit_statuses"].get(str(number), {}).get("meaning")
    if meaning is not None:
        meant = [name for name, (_, status) in CATEGORIES.items() if status == number]
        meaning = "\n".join([meaning, *(f"{name}: {known['categories'][name]}" for name in meant)])
    if meaning is None and number > _SIGNALS:
        from signal import Signals

        if number - _SIGNALS not in list(Signals):
            return []
        meaning = f"A signal ended the process: {Signals(number - _SIGNALS).name}."
    if meaning is None:
        return []
    return [CodeExplanation(name=str(number), kind="exit_status", meaning=meaning, exit_status=number)]


def _codes() -> Any:
    """Read for each word: a person asks for one or two."""
    import json
    import os

    from operable import spec

    with open(os.path.join(os.path.dirname(spec.__file__), "codes.json"), encoding="utf-8") as file:
        return json.load(file)
