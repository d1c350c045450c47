"""One pass over the text of a shell: its simple commands, quotes understood, and the scripts that it substitutes.

A word is a list of pieces of text; WILD is where only the shell knows what will be there (`$X`, `*`, `$(…)`). Lists,
pipes, groups, redirections, comments and here-documents are distinguished; nothing is expanded, and no file is looked at.
A text whose quotes or brackets do not close is an UnreadableError; what was found before it stays. Characters that
programs show or split in different ways (`obscured`) are ordinary here, as they are for a shell.
"""

import re
from collections.abc import Sequence
from typing import Final

WILD: Final = None
MARK: Final = "\ue000"  # a WILD inside of a text that is read again
Piece = str | None
Words = list[list[Piece]]

_HEREDOC: Final = re.compile(r"""<<(-?)[ \t]*((?:[^\s'"\\;&|<>()$`]|\\[^\n]|'[^'\n]*'|"[^"\\$`\n]*")+)""")
# Where `<<` may be a shift: arithmetic, and the index of an array. The word behind it ends no document there.
_ARITHMETIC: Final = re.compile(r"\(\(|\$\[|(?:^|[\s;&|(])[A-Za-z_]\w*\[")
_QUOTES: Final = re.compile(r"\\(.)|['\"]", re.DOTALL)
_BRACES: Final = re.compile(r"""\{(?:[^\s}]*(?:,|\.\.|['"\\$`])|[^\s}]{399})""")


# Control characters but tab and newline, and the line ends of Unicode.
_OBSCURE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
BLANK: Final = " \t\n"  # what a shell leaves out around a line, and nothing else


class UnreadableError(Exception):
    pass


def obscured(text: str) -> bool:
    """Whether it has characters that may hide a part of it from those who read it: no reading of it is certain."""
    return _OBSCURE.search(text) is not None


def text_of(word: Sequence[Piece]) -> str | None:
    """The word, where nothing in it is WILD."""
    return None if WILD in word else "".join(map(str, word))


class Scan:
    """The simple commands of one text: `found` has their words and their redirections, `inside` what is substituted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._word: list[Piece] | None = None
        self._words: Words = []
        self._redirected: Words = []
        self._target = False  # the next word belongs to a redirection
        self._bodies: list[tuple[str, bool, bool]] = []  # here-documents: their end, literal, indented
        self.found: list[tuple[Words, Words]] = []
        self.inside: list[str] = []

    def commands(self) -> None:
        while self._at < len(self._text):
            self._step(self._text[self._at])
        self._end_command()

    def _step(self, char: str) -> None:  # noqa: C901, PLR0912 - one case per kind of character
        match char:
            case " " | "\t":
                self._end_word()
                self._at += 1
            case "\n" | ";" | "|" | "(" | ")":
                self._end_command()
                self._at += 1
                if char == "\n":
                    self._skip_bodies()
            case "&":
                if self._text.startswith("&>", self._at):
                    self._redirect()
                else:
                    self._end_command()
                    self._at += 1
            case "<" | ">":
                self._redirect()
            case "#" if self._begins_comment():
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            case "\\":
                if self._at + 1 >= len(self._text):
                    raise UnreadableError
                following = self._text[self._at + 1]
                self._add("" if following == "\n" else following)
                self._at += 2
            case "'":
                self._add(self._until("'"))
            case '"':
                self._double()
            case "$" | "`":
                self._expand()
            case "*" | "?" | "{" | "[":
                self._glob(char)
            case _:
                self._add(WILD if char == MARK else char)
                self._at += 1

    def _begins_comment(self) -> bool:
        """Only behind a blank or a separator: behind `<(…)` or `x=(…)` it belongs to the word, and the line goes on."""
        return self._word is None and (self._at == 0 or self._text[self._at - 1] in " \t\n;&|(")

    def _add(self, piece: Piece) -> None:
        self._word = self._word if self._word is not None else []
        if piece is WILD or not self._word or self._word[-1] is WILD:
            self._word.append(piece)
        else:
            self._word[-1] = f"{self._word[-1]}{piece}"

    def _end_word(self) -> None:
        if self._word is not None:
            (self._redirected if self._target else self._words).append(
                [piece for piece in self._word if piece != ""] or [""]
            )
            self._target = False
        self._word = None

    def _end_command(self) -> None:
        self._end_word()
        self._target = False
        if self._words or self._redirected:
            self.found.append((self._words, self._redirected))
        self._words, self._redirected = [], []

    def _glob(self, char: str) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        alone = char in "[{" and (not following or following in " \t\n[")
        # A brace may become several words, its program among them: everything up to the next space is open.
        if char == "{" and not alone and _BRACES.match(self._text[self._at : self._at + 400]):
            self._word = []
            self._add(WILD)
        else:
            self._add(char if alone or char == "{" else WILD)
        self._at += 1

    def _until(self, mark: str) -> str:
        end = self._text.find(mark, self._at + 1)
        if end < 0:
            raise UnreadableError
        piece = self._text[self._at + 1 : end]
        self._at = end + 1
        return piece

    def _double(self) -> None:
        self._add("")
        self._at += 1
        while True:
            if self._at >= len(self._text):
                raise UnreadableError
            char = self._text[self._at]
            if char == '"':
                self._at += 1
                return
            if char in "$`":
                self._expand(quoted=True)
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                following = self._text[self._at + 1]
                self._add("" if following == "\n" else following)
                self._at += 2
            else:
                self._add(WILD if char == MARK else char)
                self._at += 1

    def _expand(self, *, quoted: bool = False) -> None:
        """What the shell puts in place; commands in it are kept to be read as well."""
        text, at = self._text, self._at
        following = text[at + 1 : at + 2]
        if text[at] == "`":
            self.inside.append(self._backquoted())
        elif following == "(":
            inner = self._enclosed(at + 1)
            self.inside.append(f"({inner})" if inner.startswith("(") else inner)  # perhaps arithmetic
        elif following == "{":
            inner = self._parameter(at + 2)
            if "$(" in inner or "`" in inner:
                self.inside.append(inner)
        elif following == "'" and not quoted:
            self._at += 1
            piece = self._until_unescaped("'")
            self._add(WILD if "\\" in piece else piece)
            return
        elif following == '"' and not quoted:
            self._at += 1
            return
        elif named := re.match(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]", text[at + 1 : at + 200]):
            self._at += 1 + named.end()
        else:
            self._add("$")
            self._at += 1
            return
        self._add(WILD)

    def _backquoted(self) -> str:
        return re.sub(r"\\([`\\$])", r"\1", self._until_unescaped("`"))

    def _until_unescaped(self, mark: str) -> str:
        found = re.compile(rf"(?:[^\\{mark}]|\\.)*{mark}", re.DOTALL).match(self._text, self._at + 1)
        if found is None:
            raise UnreadableError
        self._at = found.end()
        return found[0][:-1]

    def _enclosed(self, at: int) -> str:
        """From an opening parenthesis to its closing one, quotes and nesting respected."""
        text, depth, begin = self._text, 0, at + 1
        while at < len(text):
            char = text[at]
            if char == "\\":
                at += 1
            elif char == "'":
                at = text.find("'", at + 1)
                if at < 0:
                    raise UnreadableError
            elif char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if not depth:
                    self._at = at + 1
                    return text[begin:at]
            at += 1
        raise UnreadableError

    def _parameter(self, at: int) -> str:
        """What is between `${` and its brace. Where shells differ about which brace that is, it is unreadable."""
        found = re.compile(r"(?:[^\\{}]|\\.)*(?=([{}])?)", re.DOTALL).match(self._text, at)
        end, depth = at, 1
        while found is not None and found[1] is not None:
            end = found.end()
            if found[1] == "{" and self._text[end - 1] != "$":
                raise UnreadableError
            depth += 1 if found[1] == "{" else -1
            if not depth:
                break
            found = found.re.match(self._text, end + 1)
        inner = self._text[at:end]
        if depth or any(inner.count(mark) % 2 for mark in "'\"`") or inner.count("(") != inner.count(")"):
            raise UnreadableError
        self._at = end + 1
        return inner

    def _redirect(self) -> None:
        if self._word is not None and re.fullmatch(r"[0-9]+", text_of(self._word) or ""):
            self._word = None
        elif self._word and str(self._word[0]).startswith("{"):
            # `{fd}>file` is a redirection to bash and a word to others: what the next word is cannot be known.
            self._word = [WILD]
        self._end_word()
        if self._text.startswith("<<", self._at) and not self._text.startswith("<<<", self._at):
            heredoc = _HEREDOC.match(self._text, self._at)
            has_body = "\n" in self._text[self._at :]
            if has_body and (heredoc is None or _ARITHMETIC.search(self._text, 0, self._at)):
                raise UnreadableError
            if heredoc is None:
                self._redirected.append(["<<"])
                self._at += 2
                return
            end = _QUOTES.sub(lambda found: found[1] or "", heredoc[2])
            self._bodies.append((end, _QUOTES.search(heredoc[2]) is not None, bool(heredoc[1])))
            self._redirected.append([heredoc[0]])
            self._at = heredoc.end()
            return
        operator = re.compile(r"&?[<>]+[&|]?").match(self._text, self._at)
        if operator is None:
            raise UnreadableError
        self._at = operator.end()
        self._redirected.append([operator[0]])
        self._target = True

    def _skip_bodies(self) -> None:
        for end, literal, indented in self._bodies:
            lines = []
            while True:
                if self._at >= len(self._text):
                    break
                stop = self._text.find("\n", self._at)
                line = self._text[self._at : stop if stop >= 0 else len(self._text)]
                self._at = stop + 1 if stop >= 0 else len(self._text)
                if (line.lstrip("\t") if indented else line) == end:
                    break
                lines.append(line)
            if not literal:
                body = "\n".join(lines)
                self.inside += _substitutions(body)
        self._bodies.clear()


def _substitutions(body: str) -> list[str]:
    """The scripts that a text of a here-document substitutes."""
    # As within double quotes, but a double quote is a character like any other there.
    scan = Scan(
        '"' + re.sub(r'\\(.)|"', lambda found: found[0] if found[1] else '\\"', body, flags=re.DOTALL) + '"'
    )
    try:
        scan.commands()
    except UnreadableError:
        return ["eval " + MARK]
    return scan.inside
