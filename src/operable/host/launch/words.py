r"""Command lines of manifests: text with placeholders becomes a list of words, or a script whose values cannot be code.

A `cmd` is written like a line for a shell: `openclaw config set token ${value}`. Where it is only words and quotes, it is
split here and run without a shell, and a value is part of one word whatever it contains. Where it uses the shell (`|`, `~`,
`$(…)`, `command -v`), it is run by /bin/sh, and each value is a shell variable that the script names: the shell expands a
variable once and never reads the result as code, in quotes or not. Text substitution would not do: inside double quotes no
way of quoting protects a value.

Placeholders: `${value}`, `${input.STEP}`, `${secrets.SLUG}`, `${callback_url}`. Any other `$` belongs to the shell.
"""

import re
from collections.abc import Mapping
from dataclasses import field

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail

_PLACEHOLDER = re.compile(
    r"\$\{(value|callback_url|input\.[a-z0-9][a-z0-9-]*|secrets\.[a-z][a-z0-9-]*(?:/[a-z][a-z0-9-]*)?)\}"
)
# Unquoted, these mean something to a shell. A bracket or brace at the start of a word may be a compound command.
_OPERATORS = frozenset("|&;<>$`*?[\n")
_AT_WORD_START = frozenset("~#{}!")
# What only a shell has; `test`, `true`, `echo` and similar commands are also programs.
_BUILTINS = frozenset(
    ". : alias cd command eval exec exit export read set source trap type ulimit umask unset wait".split()
)
_VARIABLE = "OPERABLE_VALUE_"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What to run: `argv`, and the variables that it needs beside its environment."""

    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def shell(self) -> bool:
        return self.argv[:2] == ("/bin/sh", "-c")


def line(text: str, values: Mapping[str, str] | None = None) -> CommandLine:
    """Read a command line; Fail when it is empty, a quote is open, or a placeholder has no value."""
    reader = _Reader(text, values or {})
    reader.read()
    if reader.needs_shell:
        return CommandLine(("/bin/sh", "-c", "".join(reader.script)), reader.variables)
    if not reader.words:
        raise _malformed(text, "it is empty")
    return CommandLine(tuple(reader.words))


def references(text: str) -> set[str]:
    """The placeholders of a text: `value`, `input.STEP` and similar names."""
    return set(_PLACEHOLDER.findall(text))


def fill(url: str, values: Mapping[str, str]) -> str:
    """Put values into an address; each stays within its place, whatever it contains."""
    from urllib.parse import quote

    return _PLACEHOLDER.sub(lambda found: quote(_value(found[1], values, url), safe=""), url)


def show(text: str, values: Mapping[str, str]) -> str:
    """Put earlier inputs into a text for people. Secrets are not shown."""
    return _PLACEHOLDER.sub(
        lambda found: _value(found[1], values, text) if found[1].startswith("input.") else found[0], text
    )


class _Reader:
    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self.words: list[str] = []
        self.script: list[str] = []
        self.variables: dict[str, str] = {}
        self.needs_shell = False
        self._text = text
        self._values = values
        self._word: list[str] | None = None
        self._quote = ""  # the quote that is open
        self._outer: list[
            str
        ] = []  # the quotes around each open bracket: inside of `"$(…)"` quoting begins again

    def read(self) -> None:
        text, position = self._text, 0
        while position < len(text):
            found = _PLACEHOLDER.match(text, position)
            if found:
                self._placeholder(found[1])
                position = found.end()
            else:
                width = self._character(position)
                self.script.append(text[position : position + width])
                position += width
        if self._quote:
            raise _malformed(text, f"a {self._quote} is not closed")
        self._end_word()

    def _placeholder(self, name: str) -> None:
        value = _value(name, self._values, self._text)
        self._add(value)
        variable = f"{_VARIABLE}{len(self.variables)}"
        self.variables[variable] = value
        shown = f"${{{variable}}}"
        self.script.append({"": f'"{shown}"', '"': shown, "'": f"'\"{shown}\"'"}[self._quote])

    def _character(self, position: int) -> int:
        """Take what is here; how many characters that was."""
        character = self._text[position]
        following = self._text[position + 1 : position + 2]
        if self._quote != "'" and character == "$" and following == "(":
            self._open_bracket()
            return 2
        if self._quote:
            return self._quoted(character, following)
        if character == "(":
            self._open_bracket()
        elif character == ")":
            self.needs_shell = True
            self._quote = self._outer.pop() if self._outer else ""
        elif character in "'\"":
            self._quote = character
            self._add("")
        elif character == "\\" and following:
            self._add(following)
            return 2
        elif character in " \t":
            self._end_word()
        else:
            self.needs_shell |= character in _OPERATORS or (
                self._word is None and character in _AT_WORD_START
            )
            self.needs_shell |= character == "=" and not self.words  # an assignment before the program
            self._add(character)
        return 1

    def _open_bracket(self) -> None:
        self.needs_shell = True
        self._outer.append(self._quote)
        self._quote = ""

    def _quoted(self, character: str, following: str) -> int:
        if character == self._quote:
            self._quote = ""
        elif self._quote == '"' and character == "\\" and following and following in '$`"\\':
            self._add(following)
            return 2
        else:
            self.needs_shell |= self._quote == '"' and character in "$`"
            self._add(character)
        return 1

    def _add(self, piece: str) -> None:
        self._word = self._word if self._word is not None else []
        self._word.append(piece)

    def _end_word(self) -> None:
        if self._word is not None:
            self.words.append("".join(self._word))
            self._word = None
            self.needs_shell |= len(self.words) == 1 and self.words[0] in _BUILTINS


def _value(name: str, values: Mapping[str, str], text: str) -> str:
    if name not in values:
        raise _malformed(text, f"nothing before it gives ${{{name}}} a value")
    value = values[name]
    if "\0" in value:
        raise _malformed(text, f"the value of ${{{name}}} contains a NUL character")
    return value


def _malformed(text: str, why: str) -> Fail:
    return Fail("config", "COMMAND_INVALID", f"not a usable command line: {why}", target=text[:200])
