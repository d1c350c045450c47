"""The exact reader of a small subset of the grammar of shells; what is outside of it is an UnreadableError.

Every character of a line is accounted for, in a way that sh, bash, dash, zsh and fish agree about, or the line is refused.
The subset is: plain words, quotes, `$NAME` and simple `${…}`, `$(…)`, globs and simple braces; lists, pipes, groups, `if`,
`while`, `until` and `for … in`; usual redirections, comments, and one here-document in a line. Outside of it are for example
backquotes, `case`, functions, arithmetic with names, `$'…'`, process substitution, arrays, and comments or here-documents
within `$(…)`. The last has one exception, the form in which agents write the message of a commit (`_MESSAGE`).

The reader does not expand anything and does not look at files. It is linear in the length of the line.
"""

import re
from dataclasses import field
from typing import Final

from operable.gate.policy.shell.text import WILD, Piece, obscured
from operable.kernel.data_class import dataclass

LENGTH: Final = 128_000  # characters of a line that are read
_DEPTH: Final = 8  # substitutions within substitutions
_WORDS: Final = 10_000  # words of a line; more would take longer than a question may

_BLANKS: Final = re.compile(r"[ \t]+")
_CONTINUED: Final = re.compile(r"(?<=[ \t])\\\n[ \t]*(?=[A-Za-z0-9_./\"'$|&>-])")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:,@%+=~^-][A-Za-z0-9_./:,@%+=~^#-]*")
# A backslash before a letter or a digit is an escape to fish.
_ESCAPE: Final = re.compile(r"\\([ \t\"'\\$`()*?;&|<>#\[\]{}~!.=+/:,%@^_-])")
_SINGLE: Final = re.compile(r"'([^']*)'")
_DOUBLE: Final = re.compile(r"[^\"$`\\!]+")
_BANG: Final = re.compile(r"!(?=[ \t\n=\"])")  # elsewhere an interactive shell looks into its history
_BRACES: Final = re.compile(r"\{[A-Za-z0-9_.,/*-]+\}")
# zsh takes a bracket behind a name for an index, which it computes, and `$#x` for a length.
_PARAMETER: Final = re.compile(
    r"\$(?:[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_\[])|#(?![A-Za-z0-9_\[])|[0-9@*?$!-](?!\[))"
)
_SAFE: Final = r"A-Za-z0-9_./:, @+-"
_BRACED: Final = re.compile(
    r"\$\{(?:#?[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?])\}"
    rf"|\$\{{[A-Za-z_][A-Za-z0-9_]*(?::?[-+?]|%%?|##?)"
    rf'(?:[*?{_SAFE}]|"[{_SAFE}]*"|\$[A-Za-z_][A-Za-z0-9_]*|\$\{{[A-Za-z_][A-Za-z0-9_]*\}})*\}}'
)
_NUMBERS: Final = re.compile(r"\$\(\([ 0-9+*/%-]*\)\)")
_DOLLAR: Final = re.compile(r"\$(?=[ \t\n]|\Z)")
_QUOTED_DOLLAR: Final = re.compile(r"\$(?=[ \t\n|\"])")
# Without quotes, substitutions and lone parentheses in it, every shell finds the same end of this text.
_INERT: Final = r"[^'\"\\$`#!()\n]"
_MESSAGE: Final = re.compile(
    rf"\$\(cat <<(['\"])([A-Z]+)\1\n(?:(?!\2\n)(?:{_INERT}|\({_INERT}*\))*\n)*\2\n[ \t]*\)"
)
_OPERATOR: Final = re.compile(r"&&|\|\||\|&|[;&|()\n]")
# An interactive zsh reads a comment as words. What could hide a name from `mention` there is not accounted for.
_COMMENT_RISK: Final = re.compile(r"[$`\\'\"*?\[\]{}!<]")
# Not `>|`: fish takes it for a pipe.
_REDIRECTION: Final = re.compile(r"&>>?|[0-9]*(?:<<<|<<-?|>>|[<>]&|[<>])")
_NUMBERS_GLOB: Final = re.compile(r"[0-9]*-[0-9]*>")  # behind `<`: zsh finds files by numbers
_DESCRIPTOR: Final = re.compile(r"(?:[0-9]+|-)(?=[ \t\n;&|)]|$)")
_DELIMITER: Final = re.compile(
    r"[ \t]*(?:([A-Za-z0-9_]+)|'([A-Za-z0-9_. -]+)'|\"([A-Za-z0-9_. -]+)\")(?=[ \t\n;&|)<>])"
)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_FIRST: Final = re.compile(
    r"[A-Za-z_][A-Za-z0-9_]*\[|[=%^]"
)  # an element of an array, a program of zsh, a job
_REFUSED: Final = frozenset("case esac in select function coproc foreach end repeat ]] always".split())
# What closes, or goes on with, what is open; and what is open then (None: nothing of it).
_CLOSES: Final[dict[str, dict[str, str | None]]] = {
    "then": {"if": "then"},
    "elif": {"then": "if"},
    "else": {"then": "else"},
    "fi": {"then": None, "else": None},
    "do": {"while": "do", "for": "do"},
    "done": {"do": None},
    "}": {"{": None},
}
_OPENS: Final = {"if": "if", "while": "while", "until": "while", "{": "{"}


class UnreadableError(Exception):
    """The line has something that this reader does not account for."""


@dataclass(slots=True)
class ShellWord:
    """A word: as it is written, and its pieces."""

    raw: str
    pieces: list[Piece]

    @property
    def text(self) -> str | None:
        return None if WILD in self.pieces else "".join(map(str, self.pieces))

    @property
    def may_be_option(self) -> bool:
        """Whether a variable or a substitution begins it: it may become an option."""
        return self.pieces[0] is WILD and not self.raw.startswith(("*", "?", "[", "{"))

    @property
    def is_open(self) -> bool:
        """Whether it begins with what the shell may make several words of."""
        return self.pieces[0] is WILD and not self.raw.startswith('"')


@dataclass(slots=True)
class SimpleCommand:
    """A simple command: the variables that it sets, its words, and its redirections."""

    names: list[str] = field(default_factory=list)
    settings: list[ShellWord] = field(default_factory=list)
    words: list[ShellWord] = field(default_factory=list)
    redirections: list[ShellWord] = field(default_factory=list)
    document: str | None = None  # the text of its here-document

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.words or self.redirections)


def read(line: str) -> list[SimpleCommand]:
    """The simple commands of a line, those of its substitutions included. UnreadableError: it has more than the subset."""
    if len(line) > LENGTH or obscured(line):
        raise UnreadableError
    reader = _Reader(line)
    reader.read_list(0)
    return reader.found


@dataclass(slots=True)
class _Level:
    """Where a list is: what is open in it, the command that is being read, and what came just before."""

    open: list[str] = field(default_factory=list)
    command: SimpleCommand = field(default_factory=SimpleCommand)
    is_closed: bool = False  # a group or a loop has just ended: only redirections may follow
    is_joined: bool = False  # behind `&&`, `|` or `!`: a command must follow
    is_both: bool = False  # `&>` came: dash ends the command before it, and begins another behind it


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._size = len(text)
        self._at = 0
        self._words = 0
        self._body: tuple[int, str, bool, bool] | None = None  # line end, delimiter, literal, indented
        self._reader_of_body = SimpleCommand()
        self.found: list[SimpleCommand] = []

    # --- lists

    def read_list(self, depth: int) -> None:
        """Up to the end of the text; of a substitution, up to its parenthesis."""
        if depth > _DEPTH:
            raise UnreadableError
        level = _Level()
        while self._at < self._size:
            if blank := (_BLANKS.match(self._text, self._at) or self._continued()):
                self._at = blank.end()
            elif self._text[self._at] == "#":
                self._comment(depth)
            elif redirection := _REDIRECTION.match(self._text, self._at):
                self._redirect(level, redirection, depth)
            elif operator := _OPERATOR.match(self._text, self._at):
                self._at = operator.end()
                if self._operate(level, operator[0], depth):
                    return
            else:
                self._take(level, self._word(depth), depth)
        self._end(level)
        if depth or level.open or level.is_joined or self._body is not None:
            raise UnreadableError

    def _continued(self) -> re.Match[str] | None:
        found = _CONTINUED.match(self._text, self._at)
        if found is not None and self._body is not None:
            raise UnreadableError  # shells differ about where the document begins
        return found

    def _comment(self, depth: int) -> None:
        """A comment is one only behind a blank, and not in a substitution; its text must be plain words."""
        if depth or (self._at and self._text[self._at - 1] not in " \t\n"):
            raise UnreadableError
        end = self._text.find("\n", self._at)
        end = self._size if end < 0 else end
        if _COMMENT_RISK.search(self._text, self._at, end):
            raise UnreadableError
        self._at = end

    def _operate(self, level: _Level, operator: str, depth: int) -> bool:
        """An operator between commands. True: it ends the substitution."""
        if operator == "(":
            if not level.command.is_empty or level.is_closed or self._text.startswith("(", self._at):
                raise UnreadableError
            self._begin(level)
            level.open.append("(")
            return False
        has_ended = self._end(level)
        if operator == "\n":
            self._skip_body()
            return False
        if operator == ")":
            if level.is_joined:
                raise UnreadableError
            if depth and not level.open:
                return True
            if not level.open or level.open.pop() != "(":
                raise UnreadableError
            level.is_closed = True
            return False
        if not has_ended or (operator in ";&" and self._text[self._at : self._at + 1] in (";", "&", "|")):
            raise UnreadableError
        level.is_joined = operator not in ";&"
        return False

    def _end(self, level: _Level) -> bool:
        """The command ends here, if there is one."""
        has_ended = level.is_closed or not level.command.is_empty
        if not level.command.is_empty:
            self.found.append(level.command)
            level.command = SimpleCommand()
        level.is_closed = level.is_both = False
        return has_ended

    def _begin(self, level: _Level) -> None:
        """A command begins here."""
        if level.open and level.open[-1] == "for":
            raise UnreadableError  # only `do` may follow
        level.is_joined = False

    def _take(self, level: _Level, word: ShellWord, depth: int) -> None:
        command = level.command
        if level.is_closed or level.is_both:
            raise UnreadableError
        if command.words:
            if word.raw in ("{", "}"):
                raise UnreadableError  # zsh ends a group there
            command.words.append(word)
        elif command.is_empty and self._keyword(level, word.raw, depth):
            return
        else:
            self._begin(level)
            setting = _ASSIGNMENT.match(word.raw)
            if setting is not None:
                command.names.append(setting[1])
                command.settings.append(word)
            elif word.raw in _REFUSED or word.raw in _CLOSES or word.raw in _OPENS or _FIRST.match(word.raw):
                raise UnreadableError
            else:
                command.words.append(word)

    def _keyword(self, level: _Level, raw: str, depth: int) -> bool:
        """Whether the word is one of the grammar; then it is taken."""
        if raw == "!":
            self._begin(level)
            level.is_joined = True
        elif raw in _OPENS:
            self._begin(level)
            level.open.append(_OPENS[raw])
        elif raw in _CLOSES:
            if level.is_joined or not level.open or level.open[-1] not in _CLOSES[raw]:
                raise UnreadableError
            following = _CLOSES[raw][level.open.pop()]
            if following is None:
                level.is_closed = True
            else:
                level.open.append(following)
        elif raw == "for":
            self._begin(level)
            self._for(depth)
            level.open.append("for")
        else:
            return False
        return True

    def _for(self, depth: int) -> None:
        """`for NAME in WORD…`, up to the end of its words."""
        words: list[ShellWord] = []
        while True:
            if blank := _BLANKS.match(self._text, self._at):
                self._at = blank.end()
            elif end := re.compile(r";|\n").match(self._text, self._at):
                self._at = end.end()
                break
            else:
                words.append(self._word(depth))
        if (
            len(words) < 2
            or not _NAME.fullmatch(words[0].raw)
            or words[1].raw != "in"
            or self._body is not None
        ):
            raise UnreadableError
        self.found.append(SimpleCommand(names=[words[0].raw]))

    # --- redirections

    def _redirect(self, level: _Level, match: re.Match[str], depth: int) -> None:
        operator = match[0]
        before = self._text[self._at - 1 : self._at]
        if level.command.is_empty and not level.is_closed:
            self._begin(level)
        if before in ("}", ")") and not level.is_closed:
            raise UnreadableError  # `{fd}>file` is a redirection to bash and a word to others
        self._at = match.end()
        if operator.endswith("<") and _NUMBERS_GLOB.match(self._text, self._at):
            raise UnreadableError
        level.is_both = level.is_both or operator.startswith("&")
        redirections = level.command.redirections
        if operator.lstrip("0123456789") in ("<<", "<<-"):
            redirections.append(ShellWord(raw := operator + self._delimiter(depth, operator), [raw]))
            self._reader_of_body = level.command
            return
        redirections.append(ShellWord(operator, [operator]))
        if operator.endswith("&"):
            descriptor = _DESCRIPTOR.match(self._text, self._at)
            if descriptor is None:
                raise UnreadableError
            redirections.append(ShellWord(descriptor[0], [descriptor[0]]))
            self._at = descriptor.end()
            return
        if blank := _BLANKS.match(self._text, self._at):
            self._at = blank.end()
        redirections.append(self._word(depth))

    def _delimiter(self, depth: int, operator: str) -> str:
        match = _DELIMITER.match(self._text, self._at)
        if match is None or depth or self._body is not None:
            raise UnreadableError
        end = self._text.find("\n", match.end())
        plain, single, double = match.groups()
        self._body = (end, plain or single or double, plain is None, operator.endswith("-"))
        self._at = match.end()
        return match[0]

    def _skip_body(self) -> None:
        """The lines of a here-document, which begins at this line end if one was announced."""
        if self._body is None:
            return
        end, delimiter, is_literal, is_indented = self._body
        if end != self._at - 1:
            raise UnreadableError
        self._body = None
        lines: list[str] = []
        while self._at < self._size:
            stop = self._text.find("\n", self._at)
            stop = self._size if stop < 0 else stop
            line = self._text[self._at : stop]
            self._at = min(stop + 1, self._size)
            lines.append(line := line.lstrip("\t") if is_indented else line)
            if line == delimiter:
                self._reader_of_body.document = "\n".join(lines[:-1])
                return
            if not is_literal and re.search(r"[$`\\]", line):
                raise UnreadableError
        raise UnreadableError

    # --- words

    def _word(self, depth: int) -> ShellWord:  # noqa: C901 - one case per kind of character
        text, begin = self._text, self._at
        pieces: list[Piece] = []
        bracket: int | None = None
        is_equals = False
        while self._at < self._size:
            if plain := _PLAIN.match(text, self._at):
                # zsh puts the path of a program for `=name`, also behind empty quotes.
                is_equals = is_equals or (plain[0].startswith("=") and not any(pieces))
                pieces.append(plain[0])
                self._at = plain.end()
                continue
            match text[self._at]:
                case "'":
                    pieces += self._single()
                case '"':
                    self._double(pieces, depth)
                case "$":
                    self._expand(pieces, depth, _DOLLAR)
                case "\\":
                    escaped = _ESCAPE.match(text, self._at)
                    if escaped is None:
                        raise UnreadableError
                    pieces.append(escaped[1])
                    self._at = escaped.end()
                case "*" | "?":
                    pieces.append(WILD)
                    self._at += 1
                case "[" | "]" | "{" | "}" | "!":
                    self._mark(pieces, begin)
                    # What a set of characters stands for is not worked out: the rest of the word is open.
                    bracket = len(pieces) - 1 if bracket is None and pieces[-1] is WILD else bracket
                case " " | "\t" | "\n" | ";" | "&" | "|" | "<" | ">" | "(" | ")":
                    break
                case _:
                    raise UnreadableError
        self._words += 1
        if self._at == begin or self._words > _WORDS:
            raise UnreadableError
        if is_equals and text[begin : self._at] not in ("=", "==", "=~"):
            raise UnreadableError
        if bracket is not None:
            del pieces[bracket + 1 :]
        return ShellWord(text[begin : self._at], _merged(pieces))

    def _mark(self, pieces: list[Piece], begin: int) -> None:
        """A bracket, a brace or an exclamation mark: a word of its own, or a pattern of names."""
        text, at = self._text, self._at
        for alone in ("[[", "]]", "[", "]", "{}", "{", "}", "!=", "!"):
            if text.startswith(alone, at):
                ends = text[at + len(alone) : at + len(alone) + 1] in ("", *" \t\n;&|)")
                if (ends and at == begin) or alone == "{}":
                    pieces.append(alone)
                    self._at += len(alone)
                    return
                break
        if text[at] in "[]":
            pieces.append(WILD)
            self._at += 1
        elif braces := _BRACES.match(text, at):
            pieces.append(WILD)
            self._at = braces.end()
        else:
            raise UnreadableError

    def _single(self) -> list[Piece]:
        quoted = _SINGLE.match(self._text, self._at)
        # fish takes a backslash before the quote for an escape.
        if quoted is None or quoted[1].endswith("\\") or (self._body is not None and "\n" in quoted[1]):
            raise UnreadableError
        self._at = quoted.end()
        # fish makes one backslash of two: what a program gets is not known.
        return [each for part in quoted[1].split("\\\\") for each in (part, WILD)][:-1]

    def _double(self, pieces: list[Piece], depth: int) -> None:
        text, begin = self._text, self._at
        pieces.append("")
        self._at += 1
        while True:
            char = text[self._at : self._at + 1]
            if char == '"':
                break
            if plain := (_DOUBLE.match(text, self._at) or _BANG.match(text, self._at)):
                pieces.append(plain[0])
                self._at = plain.end()
            elif char == "$":
                self._expand(pieces, depth, _QUOTED_DOLLAR)
            elif char == "\\" and self._at + 1 < self._size:
                following = text[self._at + 1]
                pieces.append(
                    "" if following == "\n" else following if following in '$`"\\' else char + following
                )
                self._at += 2
            else:
                raise UnreadableError
        self._at += 1
        if self._body is not None and "\n" in text[begin : self._at]:
            raise UnreadableError

    def _expand(self, pieces: list[Piece], depth: int, literal: re.Pattern[str]) -> None:
        """What the shell puts in place; the commands of a substitution are read as well."""
        text, at = self._text, self._at
        for form in (_PARAMETER, _BRACED, _NUMBERS, _MESSAGE):
            if match := form.match(text, at):
                pieces.append(WILD)
                self._at = match.end()
                if form is _MESSAGE and self._body is not None:
                    raise UnreadableError
                return
        if literal.match(text, at):
            pieces.append("$")
            self._at += 1
        elif text.startswith("$(", at) and not text.startswith("$((", at) and self._body is None:
            self._at += 2
            self.read_list(depth + 1)
            pieces.append(WILD)
        else:
            raise UnreadableError


def _merged(pieces: list[Piece]) -> list[Piece]:
    """The pieces, neighbouring texts joined; never empty."""
    merged: list[Piece] = []
    run: list[str] = []
    for piece in (*pieces, WILD):
        if piece is not WILD:
            run.append(piece)
            continue
        if run and (joined := "".join(run)):
            merged.append(joined)
        run.clear()
        merged.append(WILD)
    return merged[:-1] or [""]
