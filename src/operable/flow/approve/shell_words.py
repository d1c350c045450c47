"""The words of a shell line as the shell reads them, to find the files that it names: quotes, escapes, `~`, patterns.

Words are candidates: one too many names no file and does no harm, one too few lets an edited script run. So what is in
quotes is read again as a line of its own (`sh -c '…'`), and brackets and backquotes only separate. A pattern matches at
least what a shell matches with it. What only the running shell knows (variables, substitutions, `~+`), and what this
reader does not know (an unclosed quote, `@(a|b)`, `**`), is `open`. Nothing is run.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from operable.flow.approve.shell_lines import CommandWords, is_shell, misunderstood, read_from_pipe
from operable.kernel.data_class import dataclass

_SEPARATORS = " \t\r\n;&|()<>`"
_ENDS = "\n;&|()`"  # of a command
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}|\{[^}]*\}|[0-9@*#?$!-])")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_HOME = re.compile(r"~([^/\s;&|()<>`'\"\\$:]*)")
_ACCOUNT = re.compile(r"[A-Za-z_][\w.-]*")
_ESCAPED_IN_QUOTES = '$`"\\\n'
_MOST_BRACES = 64
# Quoted characters of patterns, in a place of Unicode that no file name of ours uses, until the pattern is whole.
_QUOTED = {ord(char): 0xF0000 + ord(char) for char in "*?[]{},"}
_PLAIN = {place: f"[{chr(char)}]" if chr(char) in "*?[" else chr(char) for char, place in _QUOTED.items()}
_HIDDEN = re.compile("[\U000f0000-\U000f00ff]")
# One character of a set; without collating elements, which can be several.
_SET = re.compile(r"\[[!^]?+\]?+(?:\[:[a-z]*:\]|\[(?![.=:])|[^\]\[/])*+\]")
_ONE_QUOTE = re.compile(r"'[^']*'" + r'|"(?:[^"\\]|\\.)*"', re.DOTALL)
_REST = re.compile(r"[^/]*")


@dataclass(frozen=True, slots=True)
class Word:
    """`text` without quotes; `pattern` for glob when it has one; `open` when its files are not known."""

    text: str
    pattern: str | None = None
    open: bool = False
    shown: str = ""  # as it is written
    ends: bool = False  # nothing of it: here a command ends


END = Word("", ends=True)


def words(text: str, environment: Mapping[str, str], *, whole: bool = True) -> list[Word]:
    """The words, with `END` between commands. A part of a text (not `whole`) may begin or end inside of quotes."""
    return list(_Reader(text, environment, whole=whole).words())


class _Reader:
    def __init__(self, text: str, environment: Mapping[str, str], *, whole: bool) -> None:
        self._line = text
        self._environment = environment
        self._whole = whole
        self._at = self._begin = 0
        self._text: list[str] | None = None
        self._pattern: list[str] = []
        self._is_pattern = self._is_open = False
        self._command = CommandWords()
        self._is_piped = False  # whether the input of this command is the output of the one before
        self._inside: list[tuple[str, bool]] = []  # texts in quotes, and whether one is a substitution

    def words(self) -> Iterator[Word]:
        while self._at <= len(self._line):
            char = self._line[self._at : self._at + 1]
            if not char or char in _SEPARATORS:
                yield from self._separated(char)
            elif char == "#" and self._text is None:
                end = self._line.find("\n", self._at)
                self._at = end if end >= 0 else len(self._line)
            else:
                if self._text is None:
                    self._text, self._begin = [], self._at
                self._take(char)

    def _separated(self, char: str) -> Iterator[Word]:
        if char == "(" and self._text and self._line[self._at + 1 : self._at + 2] != ")":
            self._is_open = True  # `@(a|b)`, `*(.)`: a pattern of some shells
        read = list(self._ended())
        if read and self._is_read_twice(read[0]):
            self._inside.append((read[0].text, True))
            read[0] = replace(read[0], open=True)
        inside, self._inside = self._inside, []
        yield from read
        for text, substituted in inside:
            again = _Reader(text, self._environment, whole=self._whole).words()
            certain = substituted or self._command.is_line(text)
            # An ordinary text in quotes is perhaps a line: its names count, its variables are not reported.
            yield from (word if certain or word.ends else Word(word.text) for word in again)
        for word in read[:1]:
            self._command.take(word.text)
        if not char or char in _ENDS:
            yield from self._command_ended(char)
        self._is_open = char == "`"
        self._at += 1

    def _command_ended(self, char: str) -> Iterator[Word]:
        command = self._command.words
        found = misunderstood(command) + (read_from_pipe(command) if self._is_piped else [])
        yield from (Word(each, open=True, shown=each) for each in found)
        yield END
        # `||` is not a pipe; a line end and the `&` of `|&` do not end one.
        self._is_piped = bool(command) if char == "|" else self._is_piped and not command and char in "&\n("
        self._command = CommandWords()

    def _is_read_twice(self, word: Word) -> bool:
        """Whether a shell reads again what quotes and escapes left of it, and it is not simply one line in quotes."""
        if word.shown == word.text or not self._command.is_line(word.text):
            return False
        last = self._command.words[-1]
        is_first = last.startswith("-") or is_shell([last])
        return not (_ONE_QUOTE.fullmatch(word.shown) and (is_first or not set(_ENDS) & set(word.text)))

    def _take(self, char: str) -> None:
        line, at = self._line, self._at
        if char == "\\":
            self._add("" if line[at + 1 : at + 2] == "\n" else line[at + 1 : at + 2], quoted=True)
            self._at += 2
        elif char == "'" and (end := line.find("'", at + 1)) > 0:
            self._add(line[at + 1 : end], quoted=True)
            self._inside.append((line[at + 1 : end], False))
            self._at = end + 1
        elif char == '"' and (end := self._closing(at + 1)) > 0:
            self._quoted(line[at + 1 : end])
            self._at = end + 1
        elif char == "$":
            self._at += self._variable(line, at)
        elif char == "~" and not "".join(self._text or []):
            self._take_home()
        else:
            # A quote without its end, and `~` in the value of a variable: read, and not understood.
            after_sign = char == "~" and line[at - 1 : at] in ("=", ":")
            self._is_open = self._is_open or after_sign or (char in "'\"" and self._whole)
            self._add(char)
            self._at += 1

    def _take_home(self) -> None:
        name = _HOME.match(self._line, self._at)
        assert name is not None  # noqa: S101 - it begins with ~
        known = not name[1] or _ACCOUNT.fullmatch(name[1]) is not None
        self._is_open = self._is_open or not known  # ~+, ~-, ~1
        home = self._environment.get("HOME") if not name[1] else None
        guess = "." if name[1] == "+" else name[0]  # the folder in which the shell is
        self._add((home or os.path.expanduser(name[0])) if known else guess, quoted=True)
        self._at = name.end()

    def _add(self, text: str, *, quoted: bool = False) -> None:
        assert self._text is not None  # noqa: S101 - a word has begun
        self._text.append(text)
        self._pattern.append(text.translate(_QUOTED) if quoted else text)
        self._is_pattern = self._is_pattern or (not quoted and text in ("*", "?", "["))

    def _closing(self, at: int) -> int:
        found = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL).match(self._line, at)
        return -1 if found is None else found.end() - 1

    def _quoted(self, text: str) -> None:
        """What is in double quotes: variables and substitutions count there."""
        at, plain = 0, ""
        while at < len(text):
            char = text[at]
            if char == "\\" and text[at + 1 : at + 2] in _ESCAPED_IN_QUOTES:
                plain += text[at + 1 : at + 2].replace("\n", "")
                at += 2
            elif char in "$`":
                self._add(plain, quoted=True)
                plain = ""
                at += self._variable(text, at)
            else:
                plain += char
                at += 1
        self._add(plain, quoted=True)
        substituted = re.search(r"(?<!\\)(\$\(|`)", text) is not None
        self._inside.append((re.sub(r'\\([$`"\\])', r"\1", text), substituted))

    def _variable(self, text: str, at: int) -> int:
        """How many characters are replaced. The value that the task would find is the best guess; it stays open."""
        found = _VARIABLE.match(text, at)
        if found is None:
            sign = text[at : at + 2]
            if sign == "$(" or sign[0] == "`":
                self._is_open = True
            elif sign not in ("$'", '$"'):
                self._add("$")
            elif "\\" in text[at + 2 : text.find(sign[1], at + 2)]:
                self._is_open = True
            return 1
        self._is_open = True
        self._add(self._environment.get(found[1] or found[2] or "", ""), quoted=True)
        return found.end() - at

    def _ended(self) -> Iterator[Word]:
        if self._text is None:
            return
        text, pattern = "".join(self._text), "".join(self._pattern)
        shown = self._line[self._begin : self._at] + ("(…)" if self._line[self._at - 1] == "$" else "")
        spread = _braces(pattern)
        unknown = ("{" in pattern and ".." in pattern) or len(spread) > _MOST_BRACES
        unknown = unknown or (self._is_pattern and "**" in pattern)
        yield Word(text, _glob(pattern) if self._is_pattern else None, self._is_open or unknown, shown)
        for each in spread[1:]:
            yield Word(_HIDDEN.sub(_shown, each), _glob(each) if self._is_pattern else None)
        self._text, self._pattern, self._is_pattern = None, [], False


def _shown(char: "re.Match[str]") -> str:
    return chr(ord(char[0]) - 0xF0000)


def _glob(pattern: str) -> str:
    """A pattern of `glob` that matches what every shell would match with this one, or more."""
    made, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if char != "[":
            made += char
            at += 1
            continue
        rest = _REST.match(pattern, at)
        assert rest is not None  # noqa: S101 - it may be empty
        found = _SET.match(pattern, at)
        if "]" not in rest[0] and not _HIDDEN.search(rest[0]):
            made += "[[]"  # an ordinary character: nothing closes it
            at += 1
        elif found is not None and not _HIDDEN.search(found[0]):
            made += "?"
            at = found.end()
        else:
            made += "*"
            at = rest.end()
    return made.translate(_PLAIN)


def _braces(text: str) -> list[str]:
    """The word, and what a shell with braces makes of it; one more than `_MOST_BRACES` if there are too many."""
    found = [text]
    for each in found:
        braces = _BRACES.search(each)
        if braces is not None:
            found += [each[: braces.start()] + part + each[braces.end() :] for part in braces[1].split(",")]
        if len(found) > _MOST_BRACES:
            return found[: _MOST_BRACES + 1]
    return found
