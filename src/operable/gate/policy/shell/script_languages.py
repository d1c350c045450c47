"""Programs whose arguments are a small language of their own: `git`, `sed`, `awk`, `tar`.

Known are the commands and options that run nothing. Everything else may run anything: `git -c alias.x='!…' x`, the flag `e`
of sed, `system` in awk, `tar --to-command`.
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
from operable.gate.policy.shell.programs import RISKS

_GIT: Final = frozenset(
    "add am apply archive blame branch bundle cat-file check-ignore checkout cherry cherry-pick clean clone"
    " commit count-objects describe diff diff-index diff-tree fetch for-each-ref format-patch fsck gc grep init"
    " log ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push range-diff rebase reflog"
    " remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stash"
    " status switch symbolic-ref tag update-index version whatchanged worktree write-tree".split()
)
_GIT_LONG: Final = (
    "exec", "upload-pack", "receive-pack", "config", "config-env", "template", "ext-diff", "textconv", "open-files-in-pager",
    "exec-path", "gpg-sign-program",
)  # fmt: skip
_GIT_LETTERS: Final = {"rebase": "x", "grep": "O", "clone": "uc"}
# They have options that run a command.
_GIT_RUNNERS: Final = frozenset("archive clone fetch grep init ls-remote pull push rebase remote".split())
_GIT_READS: Final = re.compile(r"-l|--list|--get(?:-all|-regexp)?|--show-origin|--local|--global")
_GIT_SETS: Final = re.compile(r"user\.(?:name|email)|init\.defaultBranch|pull\.rebase|core\.autocrlf")


def _sed_pattern(mark: str) -> str:
    """A pattern of sed up to its mark. A set has neither the mark in it nor `]` at its beginning: it would end later."""
    return rf"(?:[^{mark}\\\n\[]|\\.|\[(?!\^?\])(?:\[:[a-z]+:\]|[^\[\]{mark}\n\\])+\])*{mark}"


_SED_ADDRESS: Final = rf"(?:[0-9]+(?:~[0-9]+)?|\$|/{_sed_pattern('/')}I?)"
_SED_CHANGE: Final = "|".join(
    rf"s{mark}{_sed_pattern(mark)}(?:[^{mark}\\\n]|\\.)*{mark}[gpIi0-9]*"
    for mark in ("/", r"\|", "#", ",", "@")
)
_SED_COMMAND: Final = (
    rf"(?:{_SED_ADDRESS}(?:,\+?{_SED_ADDRESS})?)?[ ]*!?[ ]*"
    rf"(?:[pdqnNDPgGhHx=]|{_SED_CHANGE}|[aic]\\?[ ][^\n\\]*)"
)
_SED: Final = re.compile(rf"[ ]*{_SED_COMMAND}(?:[ ]*[;\n][ ]*{_SED_COMMAND})*[ ;\n]*", re.DOTALL)
_QUOTED_VALUE: Final = re.compile(r'(?:\w+=)?"[^"]*"')
_AWK_RISK: Final = re.compile(r"system|getline|@|(?<!\|)\|(?!\|)")


def _git(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    at = 0
    while at < len(texts) and (text := texts[at]) is not None and text.startswith("-"):
        if text in ("--version", "--help"):
            return NOTHING
        if text == "-C":
            at += 1
        elif text not in ("--no-pager", "-P"):
            return ANYTHING
        at += 1
    if at >= len(texts):
        return NOTHING
    command, behind = texts[at], texts[at + 1 :]
    if command == "config":
        return opaque_if(not _is_plain_config(behind))
    if command == "submodule":
        return opaque_if(not behind or behind[0] not in ("status", "update", "init", "sync", "deinit"))
    if command is None or command not in _GIT:
        return ANYTHING
    if _is_git_runner(command, rest[at + 1 :]):
        return ANYTHING
    # A rule names the command as it is without these options: `git -C a push` is `git push`.
    return ProgramUse(commands=[[ShellWord("git", ["git"]), *rest[at:]]]) if at else NOTHING


def _is_git_runner(command: str, behind: Words) -> bool:
    """Whether a command of git has an option, or an address, that runs a program."""
    if command in _GIT_RUNNERS and has_option_by_chance(behind):
        return True
    letters = _GIT_LETTERS.get(command, "")
    for text in filter(None, texts_of(behind)):
        name = text[2:].partition("=")[0] if text.startswith("--") else ""
        if (name and any(each.startswith(name) for each in _GIT_LONG)) or re.match(
            r"(?:--?[a-z-]+=)?[A-Za-z0-9]+::", text
        ):
            return True
        if letters and re.match(rf"-[A-Za-z]*[{letters}]", text):
            return True
    return False


def _is_plain_config(behind: list[str | None]) -> bool:
    """Whether `git config` reads, or sets what no program is taken from."""
    words = [text for text in behind if text is None or not _GIT_READS.fullmatch(text)]
    if any(text is None or text.startswith("-") for text in words):
        return False
    has_read = any(text and text not in ("--local", "--global") for text in behind if text not in words)
    return has_read or len(words) == 1 or bool(words and _GIT_SETS.fullmatch(words[0] or ""))


def _sed(rest: Words) -> ProgramUse:
    """`sed`: GNU has a command, and a flag, that run what the text has. Only other commands are known here."""
    texts = texts_of(rest)
    scripts, files, at = [], [], 0
    while at < len(texts):
        text = texts[at]
        if text in ("-e", "--expression"):
            at += 1
            scripts.append(texts[at] if at < len(texts) else None)
        elif text is not None and re.fullmatch(r"-[nErsuz]+|-[nEr]*i(?:\.\w+)?", text):
            pass
        elif text is not None and text.startswith("-"):
            return ANYTHING
        else:
            files.append(text)
        at += 1
    scripts += [] if scripts else files[:1]
    if has_option_by_chance(rest):
        return ANYTHING
    return opaque_if(not scripts or not all(text is not None and _SED.fullmatch(text) for text in scripts))


def _awk(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    at = 0
    while at < len(texts) and (text := texts[at]) is not None and text.startswith("-"):
        if text in ("-F", "-v"):
            at += 1
            value = rest[at] if at < len(rest) else None
            if value is not None and value.text is None and not _QUOTED_VALUE.fullmatch(value.raw):
                return ANYTHING  # it may become several words
        elif not re.fullmatch(r"-[Fv].+", text):
            return ANYTHING
        at += 1
    program = texts[at] if at < len(texts) else None
    return opaque_if(program is None or _AWK_RISK.search(program) is not None)


def _tar(rest: Words) -> ProgramUse:
    texts = texts_of(rest)
    risk = RISKS["tar"]
    # A file name may be an option: `tar *`.
    first = texts[0] if texts else None
    return opaque_if(
        first is None
        or risk.has(first)
        or any(
            word.is_open or word.may_be_option or risk.has(word.text or "-")
            for word in rest[1:]
            if (word.text or "-").startswith("-")
        )
    )


LANGUAGES: Final[dict[str, Callable[[Words], ProgramUse]]] = {
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "git": _git,
    "tar": _tar,
}
