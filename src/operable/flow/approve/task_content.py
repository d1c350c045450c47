"""The files that a task runs and reads, by digest: what an approval is for, besides the words of the manifest.

Bound are the program (as it is found on the task's PATH, links followed), and every regular file that the task names: in an
argument or a part of one (`--config=a.toml`, `@list`), in its declared variables, its input, its verification, the commands
that give it credentials, and in the contract's allowed paths. Shell lines are read as a shell reads them (`shell_words`):
quotes, `~`, every match of a pattern, the folders of `cd`, programs on the PATH. A file that appears after the approval
counts as a change. Words that only the running shell knows (`$X`, `$(…)`), or that this reader does not understand, are
`unbound`: they are reported to the approver and to the runner.

Bound as well are files that a word names without their endings (`python -m tool`, `node .`), and those that well-known
runners read in their folder unasked (the Makefile of `make`, the package.json of `npm run`).

The interpreter that `#!` of such a file names is bound too, unless it is one of the system, and so are the packages of
a module (`-m a.b`).

The folder of the caller is bound where the binding does not have it: that of a prompt, whose agent works there, and that
from which the relative paths of a contract are meant while the program runs elsewhere.

Not bound, because it is not declared: what is in folders, and what a program or script reads by itself (an import, a
sourced script).
"""

import errno
import glob
import hashlib
import itertools
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from operable.flow.approve import shell_words
from operable.flow.approve.shell_lines import (
    CommandWords,
    Folders,
    code_folders,
    found_by_running,
    inherited,
    is_shell,
    misunderstood,
)
from operable.flow.approve.shell_words import Word
from operable.flow.approve.unasked_files import entry_files, unasked_files
from operable.flow.manifest.inheritance import merged_contract, merged_verify
from operable.flow.manifest.selection import Selected, value_commands
from operable.flow.manifest.tools import tool_of
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.command import resolve

if TYPE_CHECKING:
    from operable.host.upstream.registration import UpstreamServer

# What separates names of files in arguments and shell lines.
_BETWEEN = re.compile(r"[\s;&|()<>{}'\"`=,:@$!\\]+")
_PARTS = re.compile(r"[@:=,]+")
_LONGEST_PATH = 4096
_LONGEST_TEXT = 1024 * 1024
_LONGEST_HEAD = 4096  # of a script; the kernel reads 256 bytes
_SYSTEM_PROGRAMS = frozenset(("/bin", "/usr/bin", "/sbin", "/usr/sbin"))
_CLUSTER = re.compile(r"-[A-Za-z]{1,16}")  # options in one word, the last perhaps with its value
_PROGRAM = re.compile(r"[A-Za-z0-9_][\w.+-]*")
_MOST_PROGRAMS = 256
_MOST_MATCHES = 10_000
_MOST_STEPS = 10_000  # of a path through links; the kernel follows 40 of these, each of 4096 characters
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
UNREADABLE = "unreadable"
FOLDER = "folder"
"""In the place of a digest: this folder, whatever is in it."""


@dataclass(frozen=True, slots=True)
class TaskContent:
    """`digests` of the files, by absolute path (`FOLDER` of a folder); `unbound` words, as they are written, whose files are
    not known.
    """

    digests: dict[str, str]
    unbound: list[str]


def task_content(selected: Selected, *, cwd: str, base: str, environment: Mapping[str, str]) -> TaskContent:
    """What the task runs and reads now. `cwd` and `environment` are the task's, `base` is the caller's folder."""
    reading = _Reading(cwd, environment)
    found = {}
    named = list(dict.fromkeys(_plain(path) for path in _paths(selected, reading, base)))
    for path in named:  # it grows: an interpreter may be a script itself
        digest = _digest(path)
        if digest is not None:
            found[path] = digest
            behind = map(_plain, (*_interpreters(path, cwd, environment), *entry_files(path)))
            new = [each for each in dict.fromkeys(behind) if each not in named]
            named += [each for each in new if os.path.dirname(each) not in _SYSTEM_PROGRAMS]
    folder = os.path.realpath(base)
    if selected.task.get("shell") is None or folder != cwd:
        found[folder] = FOLDER
    tool = tool_of(selected.task)
    if tool is not None and tool.kind == "mcp":
        server = _upstream(tool.name)
        found[str(tool)] = "missing" if server is None else server.digest
    return TaskContent(found, list(dict.fromkeys(reading.unbound)))


def _upstream(name: str) -> "UpstreamServer | None":
    from operable.host.upstream.registration import find_server

    try:
        return find_server(name)
    except Fail:
        return None  # it cannot be called either; one that is registered later is a change


def programs(digests: Mapping[str, str]) -> set[str]:
    """Those of the bound files that are there to be run."""
    return {
        path
        for path, digest in digests.items()
        if digest != FOLDER and os.path.isabs(path) and is_program(path)
    }


def _paths(selected: Selected, reading: "_Reading", base: str) -> Iterator[str]:
    shell = selected.task.get("shell")
    contract = merged_contract(selected.workflow, selected.task)
    if shell is not None:
        tool = tool_of(selected.task)
        if tool is not None and tool.kind == "mcp":
            yield from _upstream_paths(tool.name, reading)
        else:
            yield from reading.command(shell if tool is None else {**shell, "program": tool.name})
    verify = merged_verify(selected.workflow, selected.task)
    if verify is not None:
        reading.line(str(verify["shell"]))
    yield from reading.paths()
    commands = list(value_commands(selected))
    if commands:
        # Where `value_commands` runs them.
        place = reading.cwd if contract.get("sandbox") == "strict" else base
        beside = _Reading(place, reading.environment, reading.unbound)
        for command in commands:
            beside.line(command)
        yield from beside.paths()
    for path in contract.get("allowed_paths") or []:
        yield os.path.join(os.path.realpath(base), str(path))


def _upstream_paths(name: str, reading: "_Reading") -> Iterator[str]:
    server = _upstream(name)
    if server is not None and server.argv:
        program, *args = server.argv
        beside = _Reading(server.cwd or reading.cwd, reading.environment, reading.unbound)
        yield from beside.command({"program": program, "args": args})
        yield from beside.paths()


class _Reading:
    """The texts of a task that may name files in one folder, and what of them is not understood."""

    def __init__(self, cwd: str, environment: Mapping[str, str], unbound: list[str] | None = None) -> None:
        self.cwd = cwd
        self.environment = environment
        self.unbound: list[str] = [] if unbound is None else unbound
        self._folders = Folders(cwd, environment.get("HOME") or os.path.expanduser("~"))
        self._texts: list[tuple[str, bool, list[Word]]] = []
        self._started: list[str] = []  # the program of the task, as it is written and as it is found

    def command(self, shell: Mapping[str, Any]) -> Iterator[str]:
        """The program of the task, and its texts."""
        program, args = str(shell["program"]), [str(word) for word in shell.get("args") or ()]
        try:
            found = resolve(program, env=self.environment, cwd=self.cwd)
            yield found
        except Fail:
            found = program  # it cannot be started either; a file that appears later is a change
        self._started = [program, os.path.realpath(found)]
        starts = CommandWords()
        starts.take(program if is_shell([program]) else os.path.realpath(found))  # a shell by another name
        has_line = False
        for word in args:
            is_line = starts.is_line(word)
            has_line = has_line or is_line
            self._take(word, is_line=is_line)
            starts.take("" if is_line and not word.startswith("-") else word)
        self.unbound += found_by_running([program, *args]) + code_folders(shell.get("env") or {})
        stdin = str(shell.get("stdin") or "")
        if has_line or (stdin and is_shell(starts.words)):
            self.unbound += misunderstood(starts.words)
        self._take(stdin, is_line=is_shell(starts.words))
        for value in (shell.get("env") or {}).values():
            self._take(str(value), is_line=False)
        self._folders.follow([program, *args])

    def line(self, text: str) -> None:
        self._take(text, is_line=True)

    def _take(self, text: str, *, is_line: bool) -> None:
        if not text:
            return
        words = self._words(text)
        self._texts.append((text, is_line, words))
        self._folders.follow([word.text for word in words if not word.ends])
        if is_line:
            self.unbound += [word.shown for word in words if word.open]
            self.unbound += inherited(self.environment)
            if len(text) > _LONGEST_TEXT:
                self.unbound.append("…")

    def _words(self, text: str) -> list[Word]:
        """Of the whole, and of each line by itself: an apostrophe in a here-document would hide the words after it."""
        kept = text[:_LONGEST_TEXT]
        lines = kept.splitlines()
        found = shell_words.words(kept, self.environment)
        for part in lines if len(lines) > 1 else ():
            found += shell_words.words(part, self.environment, whole=False)
        return found

    def paths(self) -> Iterator[str]:
        """Every path that the texts may name, in every folder that they may be in."""
        places = self._folders.found
        is_read = any(is_line for _, is_line, _ in self._texts)
        self.unbound += self._folders.unknown if is_read else ()
        implied = list(itertools.islice(self._implied(places), _MOST_MATCHES + 1))
        if len(implied) > _MOST_MATCHES:
            self.unbound.append("…")
        yield from implied
        for text, is_line, words in self._texts:
            for name in _names(text, words):
                yield from (os.path.join(place, name) for place in places)
            if is_line:
                yield from self._matches(words, places)
                yield from self._programs(words, places)

    def _implied(self, places: list[str]) -> Iterator[str]:
        """The files that no word names in full."""
        words = (*self._started, *(word.text for _, _, words in self._texts for word in words))
        for file in dict.fromkeys(unasked_files(words)):
            for place in places:
                yield from file.paths(place)

    def _matches(self, words: list[Word], places: list[str]) -> Iterator[str]:
        """The files that patterns match now."""
        left = _MOST_MATCHES
        for word in {word.pattern: word for word in words if word.pattern is not None}.values():
            for path in itertools.chain.from_iterable(
                _globbed(word.pattern or "", place) for place in places
            ):
                left -= 1
                if left < 0:
                    self.unbound.append(word.shown or word.text)
                    return
                yield path

    def _programs(self, words: list[Word], places: list[str]) -> Iterator[str]:
        """The files that the words of a line find on the task's PATH, whose folders may be relative."""
        names = list(dict.fromkeys(word.text for word in words if _PROGRAM.fullmatch(word.text)))
        if len(names) > _MOST_PROGRAMS:
            self.unbound.append(f"{names[_MOST_PROGRAMS]} …")
        folders = self.environment.get("PATH", os.defpath).split(os.pathsep)
        absolute = all(map(os.path.isabs, folders))
        for place in places[:1] if absolute else places:
            path = os.pathsep.join(os.path.join(place, folder) for folder in folders)
            for name in names[:_MOST_PROGRAMS]:
                if (found := shutil.which(name, path=path)) is not None:
                    yield found


def _globbed(pattern: str, place: str) -> Iterator[str]:
    """Matches by characters and by bytes: a shell does it in one of the two ways, by its locale."""
    for each in dict.fromkeys((pattern, pattern.rpartition("=")[2])):
        full = os.path.join(glob.escape(place), each)
        yield from glob.iglob(full, include_hidden=True)
        if "?" in each:
            yield from map(os.fsdecode, glob.iglob(os.fsencode(full), include_hidden=True))


def _names(text: str, words: list[Word]) -> Iterator[str]:
    """What could be the name of a file: the text, its words as a shell reads them, and the parts of these."""
    whole = [word.text for word in words]
    parts = [part for word in whole for part in _PARTS.split(word)]
    attached = [word[at:] for word in whole for at in _attached(word)]
    for name in dict.fromkeys((text, *whole, *parts, *attached, *_BETWEEN.split(text[:_LONGEST_TEXT]))):
        if name and len(name) <= _LONGEST_PATH and "\0" not in name:
            yield name


def _attached(word: str) -> range:
    """Where the value of an option may begin: `-fMakefile`, `-sfMakefile`."""
    letters = _CLUSTER.match(word)
    return range(2, min(letters.end() + 1, len(word))) if letters else range(0)


def _interpreters(path: str, cwd: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The programs that `#!` at the beginning of a script names, in a path and behind `env`."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            line = file.readline(_LONGEST_HEAD)
    except OSError:
        return
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") and b"\0" not in line else []
    if not words:
        return
    yield os.path.join(cwd, words[0])
    if os.path.basename(words[0]) == "env":
        for word in words[1:]:
            try:
                yield resolve(word, env=environment, cwd=cwd)
            except Fail:
                continue  # an option of `env`, or an argument


def _plain(path: str) -> str:
    """One spelling per file. `..` stays: after a link it leads elsewhere than the text says."""
    return path if ".." in path.split("/") else os.path.normpath(path)


def _digest(path: str) -> str | None:
    """The digest of a regular file; None if it does not exist. What is there and cannot be read is said, not left out."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except PermissionError:
        return UNREADABLE
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


Mark = tuple[tuple[int, ...], ...]


def marks(paths: Iterable[str]) -> dict[str, Mark]:
    """What no change of a file, or of a link that leads to it, leaves as it was: their ctime cannot be set. Taken before
    the file is read.
    """
    found: dict[str, Mark] = {}
    for path in paths:
        try:
            found[path] = _mark(os.stat(path)), *map(_mark, _links(path))
        except OSError:
            continue
    return found


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns


def _links(path: str) -> Iterator[os.stat_result]:
    """Every link on the way to a file. OSError if they lead to no file."""
    rest, at = list(reversed(path.split("/"))), "/"
    for _ in range(_MOST_STEPS):
        if not rest:
            return
        part = rest.pop()
        there = os.path.join(at, part)
        if part == "..":
            at = os.path.dirname(at)
        elif part not in ("", ".") and stat.S_ISLNK((status := os.lstat(there)).st_mode):
            yield status
            leads = os.readlink(there)
            at = "/" if leads.startswith("/") else at
            rest += reversed(leads.split("/"))
        elif part not in ("", "."):
            at = there
    raise OSError(errno.ELOOP, "too many links", path)


def is_program(path: str) -> bool:
    """Whether the file is there to be run; what a task reads it may also write."""
    try:
        with open(path, "rb") as file:
            return os.access(path, os.X_OK) or path.endswith(_SCRIPTS) or file.read(2) == b"#!"
    except OSError:
        return True  # it is gone, or was never readable
