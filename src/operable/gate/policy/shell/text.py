"""The text of command lines: what hides characters, what a word is made of, and what a pattern matches.

A word is a list of pieces of text; WILD is where only the shell knows what will be there (`$X`, `*`, `$(…)`).
"""

import re
from collections.abc import Sequence
from typing import Final

WILD: Final = None
Piece = str | None
Command = tuple[Piece, ...]

BLANK: Final = " \t\n"  # what a shell leaves out around a line, and nothing else
# Control characters but tab and newline, and the line ends of Unicode.
_OBSCURE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def obscured(text: str) -> bool:
    """Whether it has characters that may hide a part of it from those who read it: no reading of it is certain."""
    return _OBSCURE.search(text) is not None


def text_of(word: Sequence[Piece]) -> str | None:
    """The word, where nothing in it is WILD."""
    return None if WILD in word else "".join(map(str, word))


def may_match(pattern: str, command: Command) -> bool:
    """Whether a pattern (`*`, `?`) matches the command, or may match what the shell makes of it."""
    if WILD not in command:
        return re.fullmatch(_expression(pattern), "".join(map(str, command)), re.DOTALL) is not None
    size = len(pattern)
    states = _closed({0}, pattern)
    for piece in command:
        if piece is WILD:
            states = set(range(min(states), size + 1))
            continue
        for char in piece:
            ahead = {at for at in states if at < size and pattern[at] in ("*", "?", char)}
            states = _closed({at if pattern[at] == "*" else at + 1 for at in ahead}, pattern)
            if not states:
                return False
    return size in states


def _closed(states: set[int], pattern: str) -> set[int]:
    reached = set(states)
    for at in states:
        following = at
        while following < len(pattern) and pattern[following] == "*":
            following += 1
            reached.add(following)
    return reached


def _expression(pattern: str) -> str:
    words = {"*": ".*", "?": "."}
    return "".join(
        words.get(piece) or re.escape(piece) for piece in re.split(r"(\*+|\?)", pattern.replace("**", "*"))
    )
