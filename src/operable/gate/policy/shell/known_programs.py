"""What known programs run of their arguments: shells, wrappers, `find`, `git`, `sed` and others, each read exactly.

Options that a reader does not know make the command opaque: it may run anything. A program that is not known at all is
`unknown`: each of its words may be a command. What is written into files is not followed.
"""

import re
from collections.abc import Callable
from typing import Final

from operable.gate.policy.shell.grammar import ShellWord
from operable.gate.policy.shell.program_use import (
    ANYTHING,
    NOTHING,
    ProgramUse,
    Words,
    has_option_by_chance,
    opaque_if,
    texts_of,
)
from operable.gate.policy.shell.programs import (
    FREE,
    OPAQUE,
    OPTION_NAMES,
    QUIET,
    RISKS,
    RUNNERS,
    SHELLS,
    WRAPPERS,
    is_risky_name,
)
from operable.gate.policy.shell.script_languages import LANGUAGES
from operable.gate.policy.shell.shell_builtins import BUILTINS
from operable.gate.policy.shell.text import WILD, Piece

_SETTING: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_SHELL_OPTION: Final = re.compile(r"-[lieuxn]+|--(?:norc|noprofile|login|posix)")
_SHELL_NAMED: Final = re.compile(r"-[lieux]*o")  # its value is the name of an option
_OPERAND_TESTS: Final = frozenset(
    "-name -iname -path -ipath -wholename -regex -iregex -newer -type -maxdepth -mindepth -mtime -mmin -size -user".split()
)
_INPUT_FOLDERS: Final = frozenset("dev fd proc self thread-self stdin tty pts".split())


def use_of(name: str, rest: Words) -> ProgramUse:
    """What the program of this name runs, given these words behind it."""
    texts = [word.text for word in rest]
    reader = _READERS.get(name)
    if reader is not None:
        return reader(rest)
    if name in SHELLS:
        return _shell(name, rest)
    if name in WRAPPERS:
        return _wrapped(name, rest)
    if name in FREE:
        return _free(rest)
    if name in OPAQUE:
        return ANYTHING
    if name in RISKS:
        if has_option_by_chance(rest) or any(text is not None and RISKS[name].has(text) for text in texts):
            return ANYTHING
        return ProgramUse(is_unknown=name in RUNNERS)
    return NOTHING if name in QUIET else ProgramUse(is_unknown=True)


def _shell(name: str, rest: Words) -> ProgramUse:
    """A shell: the script that it is given, or the file that it runs; its input is not shown."""
    texts = texts_of(rest)
    at = 0
    while at < len(texts):
        text = texts[at]
        if text in ("--version", "--help"):
            return NOTHING
        if text is not None and re.fullmatch(r"-[lieux]*c", text):
            script = texts[at + 1] if at + 1 < len(texts) else None
            if script is None or script.startswith(("-", "+")):
                return ANYTHING  # another option, or a script that the line does not show
            if name == "fish" and any(text is None or text.startswith("-") for text in texts[at + 2 :]):
                return ANYTHING  # it takes several scripts
            return ProgramUse(scripts=[script])
        if text is None or text.startswith(("-", "+")):
            if text is not None and _SHELL_OPTION.fullmatch(text):
                at += 1
                continue
            value = texts[at + 1] if at + 1 < len(texts) else None
            if text is None or not _SHELL_NAMED.fullmatch(text) or value not in OPTION_NAMES:
                return ANYTHING
            at += 2
            continue
        # Its file counts as the program that it is.
        return ProgramUse(commands=[rest[at:]]) if _is_file(text) else ANYTHING
    return ANYTHING


def _is_file(path: str) -> bool:
    """Whether a path is surely not what a process reads from: a device or a descriptor, from any folder."""
    *folders, name = path.split("/")
    if path.startswith(("/dev", "/proc")) or _INPUT_FOLDERS & {part.lower() for part in folders[-3:]} - {
        "dev"
    }:
        return False
    if folders and folders[-1] == "dev" and ".." in folders:
        return False
    return (
        re.search(r"[A-Za-z]", name) is not None and name not in _INPUT_FOLDERS and not name.startswith("tty")
    )


def _source(rest: Words) -> ProgramUse:
    path = rest[0].text if rest else None
    if path is None or path.startswith("-") or not _is_file(path):
        return ANYTHING
    return ProgramUse(commands=[rest])


def _eval(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    given = texts[1:] if texts[:1] == ["--"] else texts
    if any(text is None for text in given):
        return ANYTHING
    return ProgramUse(scripts=[" ".join(str(text) for text in given)])


def _trap(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    if not texts or texts[0] in ("-", "-l", "-p", ""):
        return NOTHING
    script = texts[1] if texts[0] == "--" and len(texts) > 1 else texts[0]
    return ANYTHING if script is None else ProgramUse(scripts=[script])


def _wrapped(name: str, rest: Words) -> ProgramUse:
    """A wrapper with known options: the command behind them."""
    form, at = WRAPPERS[name], 0
    if name == "command" and rest and rest[0].text in ("-v", "-V"):
        return NOTHING
    while at < len(rest):
        text = rest[at].text
        if text is None or not text.startswith("-"):
            break
        if text in form.valued:
            at += 2
            if at <= len(rest) and rest[at - 1].text is None:
                return ANYTHING  # it may become several words
        elif form.options.fullmatch(text):
            at += 1
        else:
            return ANYTHING
        if text == "--":
            break
    at += form.positional
    if at > len(rest) or any(word.text is None for word in rest[at - form.positional : at]):
        return ANYTHING
    return _behind(rest[at:])


def _behind(words: Words) -> ProgramUse:
    return ProgramUse(commands=[words]) if words else NOTHING


def _free(rest: Words) -> ProgramUse:
    """A wrapper whose options are not known: every word may be the program, and every word may be a script."""
    if any(word.text is None for word in rest):
        return ANYTHING
    # The script may be the value of an option, glued to its letter.
    if any(re.match(r"-[A-Za-z]*c.+|--[a-z-]+=.*[\s;&|]", word.text or "") for word in rest):
        return ANYTHING
    scripts = [text for word in rest if re.search(r"[\s;&|<>()$`!]", text := word.text or "")]
    return ProgramUse(commands=[rest[at:] for at in range(len(rest))], scripts=scripts)


def _free_shell(rest: Words) -> ProgramUse:
    """A wrapper that starts a shell, which reads its input, where the line names no command."""
    named = [text for text in texts_of(rest) if text and not re.fullmatch(r"-.*|[0-9]+|[^=]*=.*", text)]
    if len(named) < 2 and not any(text and re.match(r"-[A-Za-z]*c", text) for text in texts_of(rest)):
        return ANYTHING
    return _free(rest)


def _env(rest: Words) -> ProgramUse:
    """`env`: options, then variables, then the command."""
    texts = texts_of(rest)
    if any(re.match(r"-[A-Za-z0-9]*S|--s", text or "") for text in texts):
        return ANYTHING  # it has escapes and variables of its own in such a text
    return _behind_settings(_wrapped("env", rest))


def _sudo(rest: Words) -> ProgramUse:
    return _behind_settings(_wrapped("sudo", rest))


def _behind_settings(found: ProgramUse) -> ProgramUse:
    """The command behind variables; a program may run what is set for it."""
    for words in found.commands:
        at = 0
        while at < len(words) and (setting := _SETTING.match(words[at].pieces[0] or "")):
            if is_risky_name(setting[1]):
                return ANYTHING
            at += 1
        if at < len(words) and "=" in (words[at].text or "="):
            return ANYTHING
        return ProgramUse(commands=[words[at:]] if words[at:] else [], values=list(words[:at]))
    return found


def _xargs(rest: Words) -> ProgramUse:
    """`xargs`: the command with words that the line does not show behind it, or where `-I` says."""
    texts = texts_of(rest)
    for at, text in enumerate(texts):
        mark, command = None, rest
        if text == "-I" and at + 2 < len(texts):
            mark, command = texts[at + 1], rest[at + 2 :]
        elif text is not None and re.fullmatch(r"-I.+", text):
            mark, command = text[2:], rest[at + 1 :]
        if mark:
            found = _wrapped("xargs", [*rest[:at], *command])
            return ProgramUse(found.is_opaque, commands=[_replaced(each, mark) for each in found.commands])
        if text is not None and not text.startswith("-") and texts[at - 1 : at] != ["-d"]:
            break
    found = _wrapped("xargs", rest)
    return ProgramUse(found.is_opaque, commands=[[*words, ShellWord("", [WILD])] for words in found.commands])


def _find(rest: Words) -> ProgramUse:
    """`find`: the command of each `-exec`, with what it finds for `{}`."""
    texts = texts_of(rest)
    if any(text and text.startswith("-files0") for text in texts):
        return ANYTHING
    for at, word in enumerate(rest):
        if word.text is None and (word.is_open or word.may_be_option):
            before = texts[at - 1] if at else None
            following = texts[at + 1] if at + 1 < len(texts) else "-"
            is_operand = before in _OPERAND_TESTS and not word.is_open
            is_folder = at == 0 and not word.is_open and following is not None and following.startswith("-")
            if not (is_operand or is_folder):
                return ANYTHING
    commands, at = [], 0
    while at < len(texts):
        if texts[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((each for each in range(at + 1, len(texts)) if texts[each] in (";", "+")), None)
            if end is None or end == at + 1:
                return ANYTHING
            commands.append(_replaced(rest[at + 1 : end], "{}"))
            at = end
        at += 1
    return ProgramUse(commands=commands)


def _fd(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    return opaque_if(any(text is None or re.match(r"-[A-Za-z]*[xX]|--exec", text) for text in texts))


def _replaced(words: Words, mark: str) -> list[ShellWord]:
    """The words with WILD in place of a mark."""
    replaced = []
    for word in words:
        pieces: list[Piece] = []
        for piece in word.pieces:
            parts = (
                [piece]
                if piece is WILD
                else [each for part in piece.split(mark) for each in (part, WILD)][:-1]
            )
            pieces += [part for part in parts if part != ""]
        replaced.append(ShellWord(word.raw, pieces or [""]))
    return replaced


def _ssh(rest: Words) -> ProgramUse:
    """`ssh`: the words behind the host, as one line of the other side."""
    texts = texts_of(rest)
    at = 0
    while at < len(texts):
        text = texts[at]
        if text is None:
            return ANYTHING
        if not text.startswith("-"):
            break
        if text in ("-p", "-i", "-l"):
            at += 1
        elif not re.fullmatch(r"-[tTnqvA46CNfx]+", text):
            return ANYTHING
        at += 1
    behind = texts[at + 1 :]
    # Without a command the other side reads its input; options may also follow the host.
    if not behind or any(text is None for text in behind) or str(behind[0]).startswith("-"):
        return ANYTHING
    return ProgramUse(scripts=[" ".join(str(text) for text in behind)])


_READERS: Final[dict[str, Callable[[Words], ProgramUse]]] = {
    **BUILTINS,
    **LANGUAGES,
    **dict.fromkeys((".", "source"), _source),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    **dict.fromkeys(("su", "runuser", "chroot", "unshare", "nsenter", "setarch", "script"), _free_shell),
    "eval": _eval,
    "trap": _trap,
    "env": _env,
    **dict.fromkeys(("sudo", "doas"), _sudo),
    "xargs": _xargs,
    "find": _find,
    "ssh": _ssh,
}
