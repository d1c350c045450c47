"""Words that only this machine knows, for the completion of a shell: what exists now, such as the sessions of a user.

A tool names a package as its `completions`. Each file of it is a kind of words and ends with its `CANDIDATES`, which
name the places where such a word is typed. The scripts of `completion` then ask `TOOL --complete KIND CURRENT WORD...`,
where the words are those before the cursor without options. The answer is a line for each candidate: the word, and
behind a tab what it is.

An answer is short, comes soon or not at all, and is printable: what a name contains cannot reach the terminal.
Candidates are found by reading, never by running anything. Failures are reported on stderr, which the scripts discard.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from operable.tool.signature import Command

# How a script asks.
ASK = "--complete"
# A person cannot choose among more, and does not type a longer name.
MOST, LONGEST = 200, 200
# A person waits for the answer: what a slow disk has not given by then is not offered.
SECONDS = 2.0


class Candidates:
    """A kind of words: where one is typed, and how those of this machine are found.

    A place is `COMMAND:PARAMETER`, in which `*` stands for any text; without a parameter it is the word behind these.
    `find` gets the words before the cursor, and gives words with what each is, the likeliest first.
    """

    __slots__ = ("find", "places")

    def __init__(self, *places: str, find: Callable[[list[str]], Iterable[tuple[str, str]]]) -> None:
        self.places = places
        self.find = find


def kinds(package: str) -> dict[str, tuple[str, ...]]:
    """Every kind of words of a package, with its places."""
    from operable.kernel.catalogue import load, names

    root = __import__(package, fromlist=["__path__"])
    return {
        name: load(package, name, "CANDIDATES").places for folder in root.__path__ for name in names(folder)
    }


def kind_of(known: dict[str, tuple[str, ...]], command: Command, parameter: str) -> str:
    """The kind of words that a parameter takes; empty if it has no kind."""
    from fnmatch import fnmatchcase

    place = f"{command.name}:{parameter}"
    for kind, places in known.items():
        if any(":" in each and fnmatchcase(place, each) for each in places):
            return kind
    return ""


def answer(package: str, words: list[str]) -> NoReturn:
    """Write the candidates that the words ask for, and end the process."""
    import os
    import signal

    from operable.kernel.catalogue import load
    from operable.kernel.errors import EX_TEMPFAIL, EX_USAGE, Fail
    from operable.tool.process import complain, leave, write_all

    signal.signal(signal.SIGALRM, lambda *_: os._exit(EX_TEMPFAIL))
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    if len(words) < 2:
        complain(f"write {ASK} KIND CURRENT WORD...")
        leave(EX_USAGE)
    kind, current, *before = words
    try:
        candidates: Candidates = load(package, kind, "CANDIDATES")
        lines = list(_lines(candidates.find([unquoted(word) for word in before]), unquoted(current)))
    except (Fail, OSError, ValueError) as problem:
        complain(f"no words for {kind[:LONGEST]!r}: {problem}")
        leave(EX_TEMPFAIL)
    leave(write_all(1, "".join(lines).encode()))


def _lines(found: Iterable[tuple[str, str]], current: str) -> Iterable[str]:
    given = 0
    for word, text in found:
        # An option would be taken for one, and a terminal obeys what is not printable.
        if word.startswith(current) and word.isprintable() and 0 < len(word) <= LONGEST and word[0] != "-":
            shown = "".join(character if character.isprintable() else " " for character in text[:LONGEST])
            yield f"{word}\t{shown}\n"
            given += 1
        if given == MOST:
            return


def unquoted(word: str) -> str:
    """A word as the shell would read it, if it is only quoted; nothing in it is expanded."""
    if not any(mark in word for mark in "'\"\\"):
        return word
    from shlex import split

    if (len(word) - len(word.rstrip("\\"))) % 2:
        word = word[:-1]  # what it would quote is not typed yet
    for end in ("", "'", '"'):  # the quote may still be open
        try:
            return "".join(split(word + end)[:1])
        except ValueError:
            continue
    return word
