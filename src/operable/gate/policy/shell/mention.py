"""A second net under the reader of command lines: the words of a rule in a line whose form is not plain.

It shares nothing with the reader. A line is plain if it is made of bare words, simple quotes, `; & |`, and redirections,
with here-documents whose end is a bare word: there, a text in quotes or in a document is data in every shell. It must be
data to the programs of the line too. Each of them is therefore known to run nothing, or the line writes nothing that it
could run; and none is a shell, a file of the project, or an interpreter that is given anything but a file. In every other
line (expansions, substitutions, comments, continued lines, code) a rule that denies or asks applies when the words of its
pattern are somewhere in the text, quotes and backslashes removed.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from operable.gate.policy.shell.programs import FREE, INTERPRETERS, SHELLS, WRAPPERS

_CONTINUATION: Final = re.compile(r"\\\n")
_BLANK_ESCAPE: Final = re.compile(r"\\[abefnrtv]")
_QUOTES: Final = re.compile(r"[\\'\"]")
_SEPARATORS: Final = re.compile(r"[;&|\n(){}`<>]+|\$\(")
_QUOTED: Final = r"'[^'\n]*'|\"[^\"$`\\!\n]*\""
_PLAIN_LINE: Final = re.compile(rf"(?:[A-Za-z0-9_./:,@%+=^~*?\[\]{{}} \t;&|<>-]|{_QUOTED})*")
_DOCUMENT: Final = re.compile(r"<<(-?)[ \t]*(['\"]?)([A-Za-z0-9_]+)\2(?=[ \t;&|<>]|$)")
# A redirection and its target; to `/dev/null` and between descriptors, it writes no file.
_REDIRECTION: Final = re.compile(r"&?[0-9]*(?:<<<|<<-?|>>|>|<)&?[ \t]*[^\s;&|<>]*")
_WRITES_NOTHING: Final = re.compile(r"[0-9]*>&[0-9-]|&?[0-9]*>>?[ \t]*/dev/null(?=[\s;&|<>]|$)|[0-9]*<(?!<)")
_SETTING: Final = re.compile(r"[A-Za-z_]\w*\+?=.*")
_OF_GIT: Final = re.compile(
    r"(?<![\w.-])\.(?:git(?:/|attributes|config|modules)|husky)|hooks"
)  # git runs these
_SYSTEM: Final = re.compile(r"/(?:usr/(?:local/)?)?s?bin/([^/]+)")
_FILE: Final = re.compile(r"[\w./@+-]*\w\.(?:py|pl|rb|js|mjs|cjs|ts|php|lua|t|sql)")
_HARMLESS: Final = re.compile(r"-[uBIO]+|--version|-V")  # options of interpreters
_KEYWORDS: Final = frozenset("if then elif else fi while until do done ! { }".split())
_READERS: Final = frozenset(
    ": true false echo printf pwd cd ls dir tree cat tac head tail nl od xxd hexdump strings wc sort uniq cut paste join"
    " comm tr fold fmt column expand rev shuf seq grep egrep fgrep rg jq diff cmp file stat du df sleep date cal uptime"
    " uname hostname id whoami who groups ps pgrep kill printenv type which whereis umask ulimit test [ [[ export set unset"
    " exit return break continue wait basename dirname realpath readlink sha1sum sha256sum md5sum base64 git"
    " read shift".split()
)
"""They run nothing that is in a file, and write only their output."""
_WRITERS: Final = frozenset(
    "tee dd cp mv ln link touch mkdir rmdir rm unlink chmod chown chgrp mktemp truncate shred split csplit sed awk find tar"
    " unzip zip gzip gunzip bzip2 xz zstd curl wget patch rsync scp install".split()
)
"""They run nothing that is in a file, but they write files."""


@lru_cache(maxsize=256)
def _loose_text(line: str) -> str | None:
    """The text of a line in which a mention counts; None: its form is plain. `printf` makes blanks of escapes."""
    return None if _is_plain(line) else f"{_unquoted(line)}\n{_unquoted(_BLANK_ESCAPE.sub(' ', line))}"


def mentions(pattern: str, line: str) -> bool:
    """Whether a line that is not plain has every literal part of the pattern somewhere in its text."""
    text = _loose_text(line)
    if text is None:
        return False
    parts = [part for part in re.split(r"[*?\s]+", pattern) if part]
    if not parts:
        return True
    program = "" if pattern[0] in "*?" else parts.pop(0).rpartition("/")[2]
    ends = "" if re.match(r"\S*[*?]", pattern) else r"(?![\w.-])"
    if program and not re.search(rf"(?<![\w.-]){re.escape(program)}{ends}", text, re.IGNORECASE):
        return False
    return all(part in text for part in parts)


def _unquoted(text: str) -> str:
    """The text without quotes, backslashes and continued lines, whatever they belong to."""
    return _QUOTES.sub("", _CONTINUATION.sub("", text))


def fragments(text: str) -> Iterator[list[str]]:
    """The words between separators, quotes ignored: what a reader sees in the open in a text of any kind."""
    for fragment in _SEPARATORS.split(_unquoted(text)):
        if words := fragment.split():
            yield words


def _is_plain(line: str) -> bool:
    lines = line.split("\n")
    commands: list[str] = []
    at = 0
    while at < len(lines):
        current = lines[at]
        at += 1
        if not _PLAIN_LINE.fullmatch(current):
            return False
        if any("<<" in quoted for quoted in re.findall(_QUOTED, current)):
            return False
        commands.append(current)
        documents = _DOCUMENT.findall(current.replace("<<<", ""))
        if len(documents) != current.replace("<<<", "").count("<<") or len(documents) > 1:
            return False
        if documents:
            dash, quote, end = documents[0]
            at = _end_of_document(lines, at, end, is_indented=bool(dash), is_literal=bool(quote))
            if not at:
                return False
    return _runs_no_text("\n".join(commands))


def _end_of_document(lines: list[str], at: int, end: str, *, is_indented: bool, is_literal: bool) -> int:
    """The line behind the document; 0: it does not end, or the shell puts something into it."""
    for number in range(at, len(lines)):
        text = lines[number]
        if (text.lstrip("\t") if is_indented else text) == end:
            return number + 1
        if not is_literal and re.search(r"[$`\\]", text):
            return 0
    return 0


def _runs_no_text(commands: str) -> bool:
    """Whether no program of these lines runs a text that the lines have. A quoted text is one word here, `"`."""
    outline = re.sub(_QUOTED, '"', commands)
    writes = ">" in (kept := _WRITES_NOTHING.sub(" ", outline)) or "<<" in kept
    is_runner = False
    for fragment in re.split(r"[;&|\n]+", _REDIRECTION.sub(" ", outline)):
        program, *rest = _words_of(fragment) or [":"]
        name = system[1] if (system := _SYSTEM.fullmatch(program)) else program
        if name == "git" and _OF_GIT.search(commands):
            return False
        if name in _READERS or name == "for":
            continue
        if name in _WRITERS and not any(word.startswith(("-exec", "-ok")) for word in rest):
            writes = True
        elif _is_code(name, rest):
            return False
        else:
            is_runner = True
    return not (is_runner and writes)


def _words_of(fragment: str) -> list[str]:
    """The program of a command and what is behind it, without the words of the grammar and the variables before it."""
    words = fragment.split()
    while words and (words[0] in _KEYWORDS or _SETTING.fullmatch(words[0])):
        words.pop(0)
    return words


def _is_code(name: str, rest: list[str]) -> bool:
    """Whether a shell, an interpreter or a file of the project is given something to run."""
    if (
        name in SHELLS
        or name in ("source", ".", "eval", "trap", "find")
        or not re.fullmatch(r"[\w.+-]+", name)
    ):
        return True
    if name in WRAPPERS or name in FREE:
        behind = [system[1] if (system := _SYSTEM.fullmatch(word)) else word for word in rest]
        return any(word in SHELLS or _is_interpreter(word) or re.search(r'[/"]', word) for word in behind)
    if not _is_interpreter(name):
        return False
    given = [word for word in rest if not _HARMLESS.fullmatch(word)]
    if given[:1] == ["-m"]:
        return not re.fullmatch(r"[\w.]+", given[1] if given[1:] else "")
    return not (_FILE.fullmatch(given[0]) if given else any(word in ("--version", "-V") for word in rest))


def _is_interpreter(name: str) -> bool:
    return name.rstrip("0123456789.") in _BARE_INTERPRETERS


_BARE_INTERPRETERS: Final = frozenset(name.rstrip("0123456789") for name in INTERPRETERS)
