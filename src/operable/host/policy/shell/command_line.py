"""What a shell line may run: every simple command in it, as the rules look at it.

Theory of operation. `operable.host.policy.shell.text` finds the simple commands of the line. Each is then looked through:
assignments, words like `then`, wrappers (`sudo`, `timeout`, `xargs`), and scripts that are given to a shell or to `eval`,
again in the same way. A line that cannot be read, and a shell that reads its commands from elsewhere, is WILD as a whole.

It errs on the side of more commands: only rules that deny or ask look at them. `plain_script` is for rules that allow, and
errs the other way. Neither follows files: `sh script.sh`, `python -c …` and aliases stay what they are.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import dropwhile
from posixpath import normpath
from typing import Final

from operable.host.policy.shell.programs import ADDS_ARGUMENTS, PLAIN, RESERVED, SHELLS, SOURCES, WRAPPERS
from operable.host.policy.shell.text import (
    BLANK,
    MARK,
    WILD,
    Piece,
    Scan,
    UnreadableError,
    Words,
    obscured,
    text_of,
)

Command = tuple[Piece, ...]

_ANYTHING: Final[Command] = (WILD,)
_LENGTH, _DEPTH, _WORDS, _COMMANDS, _GLUES = 50_000, 8, 300, 1_000, 30
_WITH_VALUE: Final = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_INPUT: Final = re.compile(
    r"(?:^|.*/)(?:stdin|(?:dev|proc)/(?:stdin|fd|tty|self|thread-self|\d+)(?:/.*)?)", re.DOTALL
)
_GLUED: Final = re.compile(
    r"-[A-Za-z0-9]*?[cS]|--[a-z-]+="
)  # an option up to a command line that is its value
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_STANDARD: Final = re.compile(r"(?:(?:/usr(?:/local)?)?/bin/)?([a-z]+)")


class _Runs(dict[Command, None]):
    """What was found, and how deep each text was read: none is read twice for the same."""

    def __init__(self, found: dict[Command, None], *, guesses: bool) -> None:
        super().__init__(found)
        self.guesses = guesses
        self._read: dict[str, int] = {}
        self._left = 4 * _LENGTH

    def is_new(self, line: str, depth: int) -> bool:
        if self._read.get(line, depth + 1) <= depth:
            return False
        self._read[line] = depth
        self._left -= len(line)
        return True

    @property
    def is_too_much(self) -> bool:
        return len(self) > _COMMANDS or self._left < 0


def commands_in(line: str, *, guesses: bool = True) -> list[Command]:
    """Everything that the line may run, the line itself first; something WILD where that is not visible.

    `guesses`: a program that is not known may run what is behind it. In a text that perhaps is prose, it does not.
    """
    found = _Runs({(line.strip(),): None, (line.strip(BLANK),): None}, guesses=guesses)
    if obscured(line):
        found[_ANYTHING] = None
    _read(line, found, 0)
    return list(found)


def simple_commands(line: str, depth: int = 0) -> Iterator[list[Piece]]:
    """The words of each simple command of a line, those of substitutions included; WILD for what only the shell knows.

    For a caller that looks for what is written in the open: wrappers and scripts within words stay what they are, and of
    a line that cannot be read, there is what is before the place.
    """
    if depth > _DEPTH or len(line) > _LENGTH:
        return
    scan = Scan(line)
    with suppress(UnreadableError):
        scan.commands()
    for words, _ in scan.found:
        texts = [text_of(word) for word in words]
        yield list(dropwhile(lambda text: text in RESERVED, texts))
    for script in scan.inside:
        yield from simple_commands(script, depth + 1)


def given_script(program: str, arguments: Sequence[str]) -> str | None:
    """The script that a shell is given among its arguments (`-c`); None: the program is not a shell, or is given none."""
    if program not in SHELLS:
        return None
    takes = (at for at, word in enumerate(arguments[:-1]) if _takes_script([word]))
    return next((arguments[at + 1] for at in takes), None)


def plain_script(line: str) -> str | None:
    """The script, if the line only gives one to a shell of the system; None: it is not that."""
    if obscured(line):
        return None
    scan = Scan(line)
    try:
        scan.commands()
    except UnreadableError:
        return None
    if len(scan.found) != 1 or scan.found[0][1]:
        return None
    words = [word[0] if len(word) == 1 else WILD for word in scan.found[0][0]]
    if len(words) != 3 or any(word is WILD for word in words):
        return None
    shell, flags, script = (str(word) for word in words)
    if not is_system_shell(shell) or not re.fullmatch(r"-[lieux]*c", flags):
        return None
    return plain_script(script) or script.strip(BLANK)


def is_system_shell(program: str) -> bool:
    """Whether this is the bare name of a shell, or its path in a folder of the system."""
    named = _STANDARD.fullmatch(program)
    return named is not None and named[1] in SHELLS


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


# --- what a simple command runs ------------------------------------------------------------------------------------------


def _read(line: str, found: _Runs, depth: int) -> None:
    if not found.is_new(line, depth):
        return
    if depth > _DEPTH or len(line) > _LENGTH or found.is_too_much:
        found[_ANYTHING] = None
        return
    scan = Scan(line)
    try:
        scan.commands()
    except UnreadableError:
        found[_ANYTHING] = None
    for words, redirected in scan.found:
        if redirected:
            found[_joined([*words, *redirected])] = None
        _look_through(words, found, depth)
    for script in scan.inside:
        _read(script, found, depth + 1)


def _look_through(words: Words, found: _Runs, depth: int) -> None:
    """The command and what it wraps: from every word on that may be its program."""
    starts, seen = [(0, False)], set()
    if any((text_of(word) or "").rpartition("/")[2] in ADDS_ARGUMENTS for word in words):
        words = [*words, [WILD]]
    while starts:
        start, is_guess = starts.pop()
        if (start, is_guess) in seen or start >= len(words):
            continue
        seen.add((start, is_guess))
        if found.is_too_much:
            found[_ANYTHING] = None
            return
        text, rest = text_of(words[start]), words[start + 1 :]
        if not (is_guess and text is None):
            found[_joined(words[start:])] = None
        if text in RESERVED or _ASSIGNMENT.match(words[start][0] or ""):
            starts.append((start + 1, is_guess))
            continue
        if text is None:
            if not is_guess:
                found[_joined([[WILD], *rest])] = None
            continue
        name = text.rpartition("/")[2]
        found[_joined([[name], *rest])] = None
        for script in _scripts(name, rest):
            _read(script, found, depth + 1)
        if not is_guess and _is_opaque(name, rest):
            found[_ANYTHING] = None
        starts += _starts_behind(name, start, len(words), guesses=found.guesses and not is_guess)
        if len(starts) > _WORDS:
            found[_ANYTHING] = None
            return


def _starts_behind(name: str, start: int, count: int, *, guesses: bool) -> list[tuple[int, bool]]:
    """The words behind a program that may be a program themselves; a guess, where it is not known what the first does."""
    if name in WRAPPERS:
        return [(each, False) for each in range(start + 1, count)]
    if not guesses or name.startswith("-") or name in PLAIN | SHELLS | SOURCES:
        return []
    return [(each, True) for each in range(start + 1, count)]


def _scripts(name: str, rest: Words) -> Iterator[str]:
    """Texts among the words that are command lines themselves."""
    if name == "eval":
        # bash takes `--` for the end of options, and another shell for the program.
        words = rest[1:] if rest and text_of(rest[0]) == "--" else rest
        yield " ".join(_marked(word) for word in words)
    elif name in SHELLS:
        given = next((at for at, word in enumerate(rest) if _takes_script(word)), None)
        yield from (_marked(word) for word in rest[(len(rest) if given is None else given + 1) :])
        yield from _glued(rest)
    elif name in WRAPPERS:
        yield from (marked for word in rest if re.search(r"\s", marked := _marked(word)))
        yield from _glued(rest)


def _takes_script(word: list[Piece]) -> bool:
    text = text_of(word)
    return text is None or re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*|--command", text) is not None


def _is_opaque(name: str, rest: Words) -> bool:
    """Whether it runs what is somewhere else than in the line: standard input, a substituted file."""
    texts = [text_of(word) for word in rest]
    if name in ("xargs", "parallel"):
        return "{}" in texts
    if name in ("source", "."):
        return not texts or texts[0] is None or _is_input(texts[0])
    if name == "env" and any(re.match(r"-[A-Za-z0-9]*S|--s", text or "-S") for text in texts):
        # It has escapes and variables of its own in such a text.
        return any(text is None or re.search(r"[\\$]", text) for text in texts)
    if name not in SHELLS:
        return False
    at = 0
    while at < len(texts):
        text = texts[at]
        if text is None or _is_input(text):
            return True
        if re.fullmatch(r"-[A-Za-z]*c[A-Za-z]*|--command|--version|--help", text):
            return False
        if text == "-s" or (re.fullmatch(r"-[A-Za-z]+", text) and "s" in text):
            return True
        if text != "-" and not text.startswith(("-", "+")):
            return False  # the name of a script
        at += 2 if _WITH_VALUE.fullmatch(text) else 1
    return True


def _is_input(path: str) -> bool:
    """Whether a path is what a process reads from: a device or a descriptor, in any spelling."""
    plain = re.sub(r"/+", "/", normpath(path))
    return plain.startswith(("/dev/", "/proc/")) or _INPUT.fullmatch(plain) is not None


def _glued(words: Words) -> Iterator[str]:
    """Command lines that follow the letter of their option in the same word, alone and with the words behind them."""
    for at, word in enumerate(words):
        text = _marked(word)
        cut = _GLUED.match(text) if text.startswith("-") else None
        while cut is not None:
            if (rest := text[cut.end() :]) and len(words) > _GLUES:
                yield f"eval {MARK}"
                return
            if rest:
                yield rest
                yield " ".join((rest, *(_marked(each) for each in words[at + 1 :])))
            cut = re.compile(r"[A-Za-z0-9]*?[cS]").match(text, cut.end()) if text[1] != "-" else None


def _marked(word: Sequence[Piece]) -> str:
    return "".join(MARK if piece is WILD else piece for piece in word)


def _joined(words: Words) -> Command:
    pieces: list[Piece] = []
    for word in words:
        for piece in (" " if pieces else "", *word):
            if piece is WILD or not pieces or pieces[-1] is WILD:
                pieces.append(piece)
            else:
                pieces[-1] = f"{pieces[-1]}{piece}"
    return tuple(piece for piece in pieces if piece != "")
