"""The words of a shell line as the shell reads them, to find the files that it names: quotes, escapes, `~`, patterns.

Words are candidates: one too many names no file and does no harm, one too few lets an edited script run. So what is in
quotes is read again as a line of its own (`sh -c '…'`), brackets and backquotes only separate, and the folders of every
`cd` count for every word. What only the running shell knows (variables, substitutions) is `open`. Nothing is run.
"""

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_SEPARATORS = " \t\r\n;&|()<>`"
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\}|\{[^}]*\}|[0-9@*#?$!-])")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SHELL_OPTION = re.compile(r"-[A-Za-z]*c")
_ESCAPED_IN_QUOTES = '$`"\\\n'
_SHELLS = frozenset("sh bash dash ash ksh zsh mksh fish busybox su".split())
_FOLDER_WORDS = frozenset(("cd", "pushd", "chdir", "-C", "--chdir", "--directory"))
_MOST_BRACES = 64
_MOST_FOLDERS = 16


@dataclass(frozen=True, slots=True)
class Word:
    """`text` without quotes; `pattern` for glob when it has one; `open` when the shell puts something in its place."""

    text: str
    pattern: str | None = None
    open: bool = False
    shown: str = ""  # as it is written


def is_line(words: Sequence[str], at: int) -> bool:
    """Whether the argument at this place is a line for a shell that an earlier one names."""
    shells = (number for number, word in enumerate(words[:at]) if os.path.basename(word) in _SHELLS)
    begin = next(shells, None)
    return begin is not None and any(_SHELL_OPTION.fullmatch(word) for word in words[begin + 1 : at])


def is_shell(words: Sequence[str]) -> bool:
    return any(os.path.basename(word) in _SHELLS for word in words)


def words(text: str, environment: Mapping[str, str]) -> list[Word]:
    return list(_Reader(text, environment).words())


def folders(named: Sequence[str], cwd: str) -> list[str]:
    """The task's folder, and those that `cd` and similar commands in a row of words lead to, each from each."""
    found = [cwd]
    row = [word for word in named if word not in ("--", "-P", "-L")]  # options of cd
    for word, following in itertools.pairwise(row):
        target = following if word in _FOLDER_WORDS else None
        if word.startswith(("--chdir=", "--directory=")):
            target = word.partition("=")[2]
        if target and "\0" not in target:
            found += [os.path.join(place, target) for place in found]
        found = list(dict.fromkeys(found))[:_MOST_FOLDERS]
    return found


class _Reader:
    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self._line = text
        self._environment = environment
        self._at = self._begin = 0
        self._text: list[str] | None = None
        self._pattern: list[str] = []
        self._is_pattern = self._is_open = False
        self._inside: list[
            tuple[str, bool]
        ] = []  # texts in quotes, and whether a shell reads them for certain

    def words(self) -> Iterator[Word]:
        last = ""
        while self._at <= len(self._line):
            char = self._line[self._at : self._at + 1]
            if not char or char in _SEPARATORS:
                read = list(self._ended())
                inside, self._inside = self._inside, []
                yield from read
                for text, substituted in inside:
                    again = _Reader(text, self._environment).words()
                    is_line = substituted or last == "eval" or _SHELL_OPTION.fullmatch(last) is not None
                    # An ordinary text in quotes is perhaps a line: its names count, its variables are not reported.
                    yield from (word if is_line else Word(word.text) for word in again)
                last = read[-1].text if read else last
                self._is_open = char == "`"
                self._at += 1
            elif char == "#" and self._text is None:
                end = self._line.find("\n", self._at)
                self._at = end if end >= 0 else len(self._line)
            else:
                if self._text is None:
                    self._text, self._begin = [], self._at
                self._take(char)

    def _take(self, char: str) -> None:
        line, at = self._line, self._at
        if char == "\\":
            self._add("" if line[at + 1 : at + 2] == "\n" else line[at + 1 : at + 2])
            self._at += 2
        elif char == "'" and (end := line.find("'", at + 1)) > 0:
            self._add(line[at + 1 : end])
            self._inside.append((line[at + 1 : end], False))
            self._at = end + 1
        elif char == '"' and (end := self._closing(at + 1)) > 0:
            self._quoted(line[at + 1 : end])
            self._at = end + 1
        elif char == "$":
            self._at += self._variable(line[at:])
        elif char == "~" and not self._text:
            name = re.compile(r"~[\w.-]*").match(line, at)
            self._add(self._home(name[0] if name else "~"))
            self._at = name.end() if name else at + 1
        else:
            self._add(char, special=char in "*?[")
            self._at += 1

    def _add(self, text: str, *, special: bool = False) -> None:
        assert self._text is not None  # noqa: S101 - a word has begun
        self._text.append(text)
        self._pattern.append(text if special or text == "]" else re.sub(r"([*?[])", r"[\1]", text))
        self._is_pattern = self._is_pattern or special

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
                self._add(plain)
                plain = ""
                at += self._variable(text[at:])
            else:
                plain += char
                at += 1
        self._add(plain)
        substituted = re.search(r"(?<!\\)(\$\(|`)", text) is not None
        self._inside.append((re.sub(r'\\([$`"\\])', r"\1", text), substituted))

    def _variable(self, text: str) -> int:
        """How many characters are replaced. The value that the task would find is the best guess; it stays open."""
        found = _VARIABLE.match(text)
        if found is None:
            if text.startswith(("$(", "`")):
                self._is_open = True
            elif not text.startswith(("$'", '$"')):
                self._add("$")
            elif "\\" in text[2:].partition(text[1])[0]:
                self._is_open = True
            return 1
        self._is_open = True
        self._add(self._environment.get(found[1] or found[2] or "", ""))
        return found.end()

    def _home(self, name: str) -> str:
        if name == "~":
            return self._environment.get("HOME") or os.path.expanduser("~")
        return os.path.expanduser(name)

    def _ended(self) -> Iterator[Word]:
        if self._text is None:
            return
        text, pattern = "".join(self._text), "".join(self._pattern) if self._is_pattern else None
        shown = self._line[self._begin : self._at] + ("(…)" if self._line[self._at - 1] == "$" else "")
        yield Word(text, pattern, self._is_open or ("{" in text and ".." in text), shown)
        if _BRACES.search(text):
            yield from (Word(each, each if self._is_pattern else None) for each in _braces(text)[1:])
        self._text, self._pattern, self._is_pattern = None, [], False


def _braces(text: str) -> list[str]:
    """The word, and what a shell with braces makes of it."""
    found = [text]
    for each in found:
        braces = _BRACES.search(each)
        if braces is not None and len(found) < _MOST_BRACES:
            found += [each[: braces.start()] + part + each[braces.end() :] for part in braces[1].split(",")]
    return found
