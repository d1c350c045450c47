"""What a shell line may run: every simple command in it, as the rules look at it.

Theory of operation. `operable.gate.policy.shell.grammar` reads the line exactly, or not at all. Each simple command is then
looked through (`operable.gate.policy.shell.known_programs`): variables, wrappers such as `sudo` or `xargs`, and scripts that
are given to a shell or to `eval`, again in the same way. A line, a script or a program that is not read exactly may run
anything, so that every rule that denies or asks applies. Rules that allow use `plain_script` and `is_exact`.

Neither follows files: `sh script.sh`, `python -c …` and aliases stay what they are.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from operable.gate.policy.shell.grammar import LENGTH, ShellWord, SimpleCommand, UnreadableError, read
from operable.gate.policy.shell.known_programs import use_of
from operable.gate.policy.shell.mention import fragments
from operable.gate.policy.shell.programs import (
    COPIES,
    FREE,
    SHELLS,
    WRAPPERS,
    WRITERS,
    is_integer_name,
    is_risky_name,
    is_usual_setting,
)
from operable.gate.policy.shell.text import BLANK, WILD, Command, Piece, may_match

_ANYTHING: Final[Command] = (WILD,)
_DEPTH, _COMMANDS, _WORDS = 8, 2_000, 300
_IGNORES_CASE: Final = sys.platform in ("darwin", "win32")
_STANDARD: Final = re.compile(r"(?:(?:/usr(?:/local)?)?/bin/)?([a-z]+)")
_BEFORE_PROGRAM: Final = frozenset("if then elif else while until do ! eval".split())
_VALUE: Final = re.compile(r"[=:]!?")
# A text whose first word only a shell can read: a variable, a substitution, a pattern of paths.
_HIDES_PROGRAM: Final = re.compile(
    r"(?:\A|[;&|\n])[ \t]*(?:[^\s;&|]*[$`]|[^\s;&|]*/[^\s;&|]*[*?\[])[^;&|]*[ \t]"
)
_TAKES_SCRIPT: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--command")


class _Runs(dict[Command, None]):
    """What was found, and how deep each script was read: none is read twice for the same."""

    def __init__(self, found: dict[Command, None], *, guesses: bool) -> None:
        super().__init__(found)
        self.guesses = guesses
        self._read: dict[str, int] = {}
        self._left = 4 * LENGTH
        self._written: dict[Command, list[str | None]] = {}
        self._started: set[str] = set()

    def add(self, command: Command) -> None:
        self._left -= sum(len(piece) for piece in command if piece is not WILD)
        self[_ANYTHING if len(self) > _COMMANDS or self._left < 0 else command] = None

    def add_anything(self) -> None:
        self[_ANYTHING] = None

    def is_new(self, script: str, depth: int) -> bool:
        if self._read.get(script, depth + 1) <= depth:
            return False
        self._read[script] = depth
        self._left -= len(script)
        return True

    def note_written(self, file: ShellWord, text: str | None = None) -> None:
        """A file that the line writes, and its text if the line shows it. An open name is not followed."""
        name = tuple(_last_part(file.pieces))
        if any(name):
            self._written.setdefault(name, []).append(text)

    def note_started(self, program: str) -> None:
        self._started.add(program.rpartition("/")[2])

    def take_text(self) -> str | None:
        """The text of a file that the line writes and runs, once. None if no such file is left, or its text is not shown."""
        names = [name for name in self._written if name[0] in self._started]
        if not names:
            names = [name for name in self._written if WILD in name]
            is_run = len(names) * len(self._started) > _COMMANDS or any(
                may_match(program, name) for program in self._started for name in names
            )
            if is_run:
                self.add_anything()
            return None
        texts = self._written.pop(names[0])
        if len(texts) > 1 or texts[0] is None:
            self.add_anything()
            return None
        return texts[0]

    @property
    def is_done(self) -> bool:
        """Whether it can be anything already: nothing more needs to be found."""
        return _ANYTHING in self


def commands_in(line: str, *, guesses: bool = True) -> list[Command]:
    """Everything that the line may run, the line itself first; something WILD where that is not visible.

    `guesses`: a program that is not known may run what is behind it. In a text that perhaps is prose, it does not, and
    what is not a command line has only the commands that are written in the open.
    """
    runs = _Runs({(line.strip(),): None, (line.strip(BLANK),): None}, guesses=guesses)
    _read_script(line, runs, 0)
    while not runs.is_done and (text := runs.take_text()) is not None:
        _read_script(text, runs, 1)
    if not guesses and runs.is_done:
        for words in fragments(line[:LENGTH]):
            runs[(" ".join(words),)] = None
    return list(runs)


def is_exact(line: str) -> bool:
    """Whether the reader accounts for every character of the line."""
    try:
        read(line)
    except UnreadableError:
        return False
    return True


def simple_commands(line: str) -> Iterator[list[Piece]]:
    """The words of each simple command of a line, those of substitutions included; WILD for what only the shell knows.

    For a caller that looks for what is written in the open: wrappers and scripts within words stay what they are. A line
    that is not read exactly is divided at every separator, quotes ignored.
    """
    try:
        found = read(line)
    except UnreadableError:
        yield from fragments(line[:LENGTH])  # type: ignore[misc]
        return
    for command in found:
        yield [word.text for word in command.words]


def given_script(program: str, arguments: Sequence[str]) -> str | None:
    """The script that a shell is given among its arguments (`-c`); None: the program is not a shell, or is given none."""
    if program not in SHELLS:
        return None
    takes = (at for at, word in enumerate(arguments[:-1]) if _TAKES_SCRIPT.fullmatch(word))
    return next((arguments[at + 1] for at in takes), None)


def plain_script(line: str) -> str | None:
    """The script, if the line only gives one to a shell of the system; None: it is not that."""
    try:
        found = read(line)
    except UnreadableError:
        return None
    if len(found) != 1 or found[0].redirections or found[0].names:
        return None
    words = [word.text for word in found[0].words]
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


# --- what a simple command runs ------------------------------------------------------------------------------------------


def _read_script(script: str, runs: _Runs, depth: int) -> None:
    if not runs.is_new(script, depth):
        return
    try:
        if depth > _DEPTH:
            raise UnreadableError
        found = read(script)
    except UnreadableError:
        runs.add_anything()
        return
    for command in found:
        if runs.is_done:
            return
        _read_command(command, runs, depth)


def _read_command(command: SimpleCommand, runs: _Runs, depth: int) -> None:
    # The first names are those of the settings; others are variables of loops.
    values = [setting.text for setting in command.settings]
    others = command.names[len(values) :]
    named = [name for name, value in zip(command.names, values, strict=False) if not is_usual_setting(value)]
    if any(map(is_risky_name, [*named, *others])) or not all(map(_is_plain_setting, command.settings)):
        runs.add_anything()
    if any(map(is_integer_name, others)):
        runs.add_anything()
    for operator, target in pairwise(command.redirections):
        if ">" in operator.raw and not operator.raw.endswith("&"):
            runs.note_written(target, _text_written(command))
    if not command.words:
        return
    if command.settings:
        runs.add(_joined([*command.settings, *command.words]))
        _guess_values(command.settings, runs, depth)
    if command.redirections:
        runs.add(_joined([*command.words, *command.redirections]))
    _look_through(command.words, runs, depth)


def _text_written(command: SimpleCommand) -> str | None:
    """The text that a command puts out, where the line shows all of it."""
    texts = [word.text for word in command.words]
    if texts == ["cat"] and len(command.redirections) == 3:
        return command.document
    given = [text for text in texts[1:] if text is not None]
    if (
        texts[:1] not in (["echo"], ["printf"])
        or len(given) + 1 < len(texts)
        or any("%" in text for text in given)
    ):
        return None
    return " ".join(given[1:] if given and re.fullmatch(r"-[neE]+", given[0]) else given)


def _is_plain_setting(setting: ShellWord) -> bool:
    """Whether what is set is not something that a shell computes."""
    name, _, value = setting.raw.partition("=")
    if is_integer_name(name.rstrip("+")):
        return value.isdigit()
    return re.search(r"\[.*(?:\$\(|`)", setting.text or "", re.DOTALL) is None


def _look_through(words: Sequence[ShellWord], runs: _Runs, depth: int) -> None:
    """The command, and what it runs of its arguments."""
    waiting, seen = [words], 0
    while waiting:
        if seen > _WORDS:
            runs.add_anything()
        if runs.is_done:
            return
        seen += 1
        words = waiting.pop()
        program = words[0].text
        runs.add(_joined(words))
        if program is None or "~" in words[0].raw or not _is_named(words[0]):
            runs.add_anything()
            return
        for name in _names(program):
            runs.add(_joined([ShellWord(name, [name]), *words[1:]]))
        runs.note_started(program)
        use = use_of(_names(program)[-1], words[1:])
        if use.is_opaque:
            runs.add_anything()
        for script in use.scripts:
            _read_script(script, runs, depth + 1)
        waiting += use.commands
        _guess_values(use.values, runs, depth)
        _note_files(_names(program)[-1], words[1:], runs)
        if use.is_unknown and runs.guesses:
            _guess(words[1:], runs, depth)


def _note_files(name: str, words: Sequence[ShellWord], runs: _Runs) -> None:
    """The files that a program writes, and the programs that it gives another name."""
    for word in words if name in WRITERS else ():
        runs.note_written(word)
        if name in COPIES and any("bin/" in piece for piece in word.pieces if piece is not WILD):
            runs.add((*_last_part(word.pieces), WILD))


def _is_named(word: ShellWord) -> bool:
    """Whether the first word of a command is the name or the path of a program to every shell."""
    return not (word.text or "").startswith(("=", "%", "^", "{"))


def _names(program: str) -> list[str]:
    """The name of a program without its folder, and in small letters where the file system ignores case."""
    name = program.rpartition("/")[2]
    return list(dict.fromkeys((name, name.lower() if _IGNORES_CASE else name)))


def _last_part(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces of the name of a file, without its folder and what is before `=`."""
    begin = max(
        (at for at, piece in enumerate(pieces) if piece is not WILD and re.search("[/=]", piece)), default=0
    )
    for at, piece in enumerate(pieces[begin:]):
        yield piece if at or piece is WILD else re.split("[/=]", piece)[-1]


def _guess_values(settings: Sequence[ShellWord], runs: _Runs, depth: int) -> None:
    """What programs may run that find these variables; they add words of their own."""
    for setting in settings:
        value = (setting.text or "").partition("=")[2]
        if value and runs.guesses:
            _guess([ShellWord(value, [value]), ShellWord("", [WILD])], runs, depth)


def _guess(words: Sequence[ShellWord], runs: _Runs, depth: int) -> None:
    """What a program that is not known may run: each word may be a program or a script, up to the end of the command."""
    if len(words) > _WORDS:
        runs.add_anything()
        return
    for at, word in enumerate(words):
        if runs.is_done:
            return
        text = word.text
        if text is None:
            continue
        name = text.rpartition("/")[2]
        runs.add(_joined(words[at:]))
        for each in dict.fromkeys((name, *(value.rpartition("/")[2] for value in _values(text)))):
            runs.add(_joined([ShellWord(each, [each]), *words[at + 1 :]]))
        if name in SHELLS:
            for script in use_of(name, words[at + 1 :]).scripts:
                _read_script(script, runs, depth + 1)
        for value in (text, *_values(text)):
            if re.search(r"[\s;&|]", value):
                if _HIDES_PROGRAM.search(value):
                    runs.add_anything()
                for fragment in fragments(value):
                    _guess_fragment(fragment, runs)


def _values(text: str) -> Iterator[str]:
    """What may be a value in a word: behind the letter of an option, and behind the last `=`, `:` or `!`."""
    if re.match(r"-[A-Za-z][^-=]", text):
        yield text[2:]
    if marked := _VALUE.search(text):
        yield text[marked.end() :]


def _guess_fragment(words: list[str], runs: _Runs) -> None:
    """A command in the open, in a text for a program that is not known; behind a wrapper, each word may be the program."""
    while len(words) > 1 and (words[0] in _BEFORE_PROGRAM or re.match(r"[A-Za-z_]\w*=", words[0])):
        words = words[1:]
    is_wrapper = words[0].rpartition("/")[2] in (*WRAPPERS, *FREE, "env")
    for at, word in enumerate(words[: _WORDS if is_wrapper else 1]):
        rest = words[at + 1 :]
        runs.add((" ".join((word, *rest)),))
        runs.add((" ".join((word.rpartition("/")[2], *rest)),))


def _joined(words: Sequence[ShellWord]) -> Command:
    pieces: list[Piece] = []
    run: list[str] = []
    for number, word in enumerate(words):
        if number:
            run.append(" ")
        for piece in word.pieces:
            if piece is not WILD:
                run.append(piece)
                continue
            if text := "".join(run):
                pieces.append(text)
            run.clear()
            pieces.append(WILD)
    if text := "".join(run):
        pieces.append(text)
    return tuple(pieces)
