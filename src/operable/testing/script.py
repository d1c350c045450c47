"""Scripts: what a scripted model or a scripted agent does, as plain JSON.

A step is an object with one verb and the options of that verb: `{"say": "Hello", "chunks": 3}`. This module knows the
form of scripts and how a prompt picks one; which verbs there are is for the player to say (`operable.testing.models`,
`operable.testing.scripted_agent`), and everything unknown is refused before anything runs.

A prompt picks what is played with a marker anywhere in its text: `SCRIPT:name` for a script with that name, or
`SCRIPT:[…]` with the steps themselves, so that most tests need no file at all.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

Step = dict[str, Any]
Verbs = Mapping[str, frozenset[str]]
"""verb -> the options that may be beside it"""

_MARKER = re.compile(r"SCRIPT:(?:(?P<name>[A-Za-z0-9_-]+)|(?=\[))")


class ScriptError(ValueError):
    """The author's fault: the script contains a step that cannot be played."""


def verb_of(step: Step, verbs: Verbs) -> str:
    """The one verb of a step; raises `ScriptError` if it has no verb, or two, or an option that the verb does not have."""
    if not isinstance(step, dict):
        raise ScriptError(f"a step is an object, not {step!r}")
    found = [key for key in step if key in verbs]
    if len(found) != 1:
        raise ScriptError(
            f"a step has exactly one of {', '.join(sorted(verbs))}; this one has {sorted(step)}"
        )
    surplus = set(step) - {found[0]} - verbs[found[0]]
    if surplus:
        raise ScriptError(f"{found[0]!r} has no option {', '.join(sorted(surplus))}")
    return found[0]


def check_steps(steps: Any, verbs: Verbs) -> list[Step]:
    """The same steps, known to be playable."""
    if not isinstance(steps, list):
        raise ScriptError(f"steps are a list, not {steps!r}")
    for step in steps:
        verb_of(step, verbs)
    return steps


def marked(text: str) -> str | list[Any] | None:
    """What the last marker in a text asks for: the name of a script, or the steps that are there."""
    matches = list(_MARKER.finditer(text))
    if not matches:
        return None
    match = matches[-1]
    if match["name"]:
        return match["name"]
    try:
        steps, _ = json.JSONDecoder().raw_decode(text, match.end())
    except ValueError as error:
        raise ScriptError(f"what follows SCRIPT: is not JSON: {error}") from None
    return list(steps)


def pieces(text: str | list[str], chunks: int) -> list[str]:
    """A text in so many pieces of about the same length; a list says its own pieces."""
    if isinstance(text, list):
        return text
    size = max(1, -(-len(text) // max(1, chunks)))
    return [text[start : start + size] for start in range(0, len(text), size)] or [text]
