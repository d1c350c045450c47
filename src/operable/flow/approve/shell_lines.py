"""Which texts of a task a shell reads as lines, how far we understand that shell, and where its `cd`s lead.

The rule is closed: what is not listed here as understood is not understood, and a word of it is reported as `unbound`.
That is so for a shell of another language, an option that we do not know, and builtins that change how words are read.
It errs to the side of more lines and more folders: a name too many names no file and does no harm.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from operable.flow.approve.unasked_files import is_interpreter
from operable.kernel.data_class import dataclass

# Shells whose words are read as `shell_words` reads them, and those with a language of their own.
_POSIX = frozenset(
    "sh bash rbash dash ash ksh ksh93 mksh lksh oksh pdksh yash posh hush busybox toybox".split()
)
_OTHERS = frozenset("zsh fish csh tcsh nu pwsh powershell elvish xonsh".split())
_RUNNERS = frozenset(("su", "runuser", "flock", "script", "env"))  # give a line to a shell by an option
_GIVERS = frozenset(("eval", "trap", "watch", "ssh", "parallel"))  # give their arguments to a shell
_FINDERS = frozenset(("find", "fd", "fdfind", "xargs", "parallel"))
_RUNS_FILES = re.compile(r"(?:\w*sh|env|busybox|python|pypy|node|deno|bun|ruby|perl|php|lua|source)")
_VERSION = re.compile(r"-?[0-9][0-9.]*$")
_HAS_CODE = re.compile(
    r"-[A-Za-z]*[cemEpM]|--(?:eval|print|version|help)"
)  # with its code as a word, or without code
_LINE_OPTION = re.compile(
    r"[-+][A-Za-z]*[cCS][A-Za-z]*|-S.*|--(?:init-)?command(?:=.*)?|--split-string(?:=.*)?", re.DOTALL
)
_WITH_LINE = re.compile(r"-[A-Za-z]*S.|--(?:init-)?command=|--split-string=")
_KNOWN_OPTION = re.compile(r"[-+][abcefhiklmnpstuvxBCEHPT]+|--|--(?:norc|noprofile|posix|login)")
_SET_OPTION = re.compile(r"[-+][abefhiklmnpstuvxBCEHPT]*o")
_MODES = frozenset("pipefail errexit nounset xtrace verbose noglob allexport noclobber noexec posix".split())
# Builtins and variables after which words mean something else.
_REINTERPRETING = frozenset("shopt alias setopt emulate hash enable".split())
_SPECIAL = re.compile(r"(?:PATH|CDPATH|HOME|IFS|ENV|BASH_ENV|GLOBIGNORE|PWD|OLDPWD|LD_[A-Z_]+)\+?=")
# Folders in which programs look for code, and what makes them load it.
_CODE_FOLDERS = (
    "PYTHONPATH PYTHONHOME NODE_PATH PERL5LIB PERLLIB RUBYLIB LUA_PATH LUA_CPATH CLASSPATH GOPATH GOFLAGS LD_LIBRARY_PATH "
    "GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXEC_PATH"
).split()
_IN_PROCESS = re.compile(r"/(?:proc/(?:self|thread-self|[0-9]+)|dev/fd)/.*", re.DOTALL)
# Programs that choose the code which they run by folder; with these words, if any are named.
_COLLECTORS: dict[str, frozenset[str]] = {
    "go": frozenset("run test build generate install vet tool".split()),
    "cargo": frozenset("run test build bench check doc install clippy r t b c d".split()),
    **dict.fromkeys(("pytest", "py.test", "unittest", "tox", "nox", "jest", "vitest", "mocha"), frozenset()),
    "node": frozenset(("--test",)),
    "bun": frozenset(("test",)),
    "deno": frozenset(("test", "bench")),
}
_STARTERS = frozenset(
    "env nice nohup sudo doas exec command time setsid stdbuf ionice chronic unbuffer timeout".split()
)
_BESIDE = re.compile(
    r"[-+].*|[A-Za-z_]\w*=.*|[0-9.]+[smhd]?", re.DOTALL
)  # an option, an assignment, a number
_INHERITED = ("CDPATH", "ENV", "BASH_ENV", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE")
_CHANGING = frozenset(("cd", "pushd", "chdir"))
_FOLDER_OPTIONS = frozenset(("-C", "-I", "--chdir", "--directory", "--prefix", "--cwd", "--dir"))
_PATTERN = re.compile(r"[*?\[{]")  # in a folder, that the running shell follows
_MOST_FOLDERS = 64
_NEAR = 32  # words after a shell or a `cd` that may be its options


def _name(word: str) -> str:
    return _VERSION.sub("", os.path.basename(word)) or os.path.basename(word)


def is_shell(words: Sequence[str]) -> bool:
    """Whether one of these words starts a shell, so that standard input may be its script."""
    return any(_name(word) in _POSIX | _OTHERS | _RUNNERS | _GIVERS for word in words)


@dataclass(slots=True)
class CommandWords:
    """The words of one command, in their order; whether the next one is a line for a shell that an earlier one names."""

    words: list[str] = field(default_factory=list)
    _has_shell: bool = False
    _has_option: bool = False

    def is_line(self, word: str) -> bool:
        return self._has_option or (self._has_shell and _WITH_LINE.match(word) is not None)

    def take(self, word: str) -> None:
        name = _name(word)
        if self._has_shell and _LINE_OPTION.fullmatch(word):
            self._has_option = True
        self._has_shell = self._has_shell or name in _POSIX | _OTHERS | _RUNNERS
        self._has_option = self._has_option or name in _GIVERS
        self.words.append(word)


def misunderstood(words: Sequence[str]) -> list[str]:
    """The words of one command that make a shell read its line in a way that we do not."""
    found = found_by_running(words)
    for number, word in enumerate(words):
        name = _name(word)
        if name in _OTHERS and number + 1 < len(words):
            found.append(word)
        elif name in _POSIX:
            found += _unknown_options(words[number + 1 : number + 1 + _NEAR])
        elif name in _REINTERPRETING or _SPECIAL.match(word):
            found.append(word)
    return found


def found_by_running(words: Sequence[str]) -> list[str]:
    """The words that stand for files which a program finds while it runs, and gives to another one or runs itself."""
    found = [
        word for word in words if _name(word) == "run-parts" or (word == "{}" and _FINDERS & _names_of(words))
    ]
    if "xargs" in _names_of(words) and any(_RUNS_FILES.fullmatch(_name(word)) for word in words):
        found.append("xargs")
    found += [word for number, word in enumerate(words) if _collects(_name(word), words[number + 1 :])]
    return found + [word for word in words if _IN_PROCESS.fullmatch(word)]


def _collects(name: str, following: Sequence[str]) -> bool:
    asked = _COLLECTORS.get(name)
    return asked is not None and (not asked or not asked.isdisjoint(following[:_NEAR]))


def read_from_pipe(words: Sequence[str]) -> list[str]:
    """The shell or interpreter at the end of a pipe that gets no file, so that it runs what comes out of the pipe."""
    for number, word in enumerate(words):
        if _name(word) in _POSIX | _OTHERS or is_interpreter(os.path.basename(word)):
            rest = words[number + 1 :]
            return (
                [word] if all(_BESIDE.fullmatch(each) and not _HAS_CODE.match(each) for each in rest) else []
            )
        if _name(word) not in _STARTERS and not _BESIDE.fullmatch(word):
            return []
    return []


def _names_of(words: Sequence[str]) -> set[str]:
    return {_name(word) for word in words}


def inherited(environment: Mapping[str, str]) -> list[str]:
    """Variables of the task that change how every shell reads its lines."""
    return [name for name in _INHERITED if environment.get(name)]


def code_folders(environment: Mapping[str, str]) -> list[str]:
    """Variables of the task that name folders with code, or other code, for programs that they start."""
    return [name for name in _CODE_FOLDERS if environment.get(name)]


def _unknown_options(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if _SET_OPTION.fullmatch(word):
            mode = next(rest, "")
            if mode not in _MODES:
                yield f"{word} {mode}"
        elif word[:1] not in ("-", "+") or word == "-":
            return  # the line, or the script
        elif not _KNOWN_OPTION.fullmatch(word):
            yield word


@dataclass(slots=True)
class Folders:
    """Where words of a task may mean: its folder, and those that `cd` and similar words lead to, each from each."""

    cwd: str
    home: str
    found: list[str] = field(init=False)
    unknown: list[str] = field(default_factory=list)  # changes of the folder that were not followed

    def __post_init__(self) -> None:
        self.found = [self.cwd]

    def follow(self, words: Sequence[str]) -> None:
        """The changes of the folder in a row of words."""
        for number, word in enumerate(words):
            following = words[number + 1 : number + 1 + _NEAR] if word in _CHANGING | _FOLDER_OPTIONS else ()
            if word in _CHANGING:
                self._add(self.home)  # without a word it leads there
                target = next((each for each in following if not each.startswith("-") or each == "-"), None)
                if target is not None and target.isdecimal():
                    self.unknown.append(f"{word} {target}")  # a redirection is before the folder
                elif target is not None and target != "-":
                    self._lead(word, target)
                    self.unknown += [f"{word} {target}"] if _PATTERN.search(target) else []
            elif word in _FOLDER_OPTIONS:
                self._lead(word, following[0] if following else "")
            elif word.partition("=")[0] in _FOLDER_OPTIONS and "=" in word:
                self._lead(word, word.partition("=")[2])
            elif word.startswith(("-C", "-I")) and len(word) > len("-C"):
                self._lead(word, word[len("-C") :])

    def _lead(self, word: str, target: str) -> None:
        if not target or "\0" in target:
            return
        for place in list(self.found):
            joined = os.path.join(place, target)
            # By its text, as `cd` does by default, and by its links, as `cd -P` and everything else do.
            for path in dict.fromkeys((os.path.normpath(joined), os.path.realpath(joined))):
                if not self._add(path):
                    self.unknown.append(f"{word} {target}" if word != target else word)
                    return

    def _add(self, path: str) -> bool:
        """False if there are too many."""
        if path in self.found:
            return True
        if len(self.found) >= _MOST_FOLDERS:
            return False
        self.found.append(path)
        return True
