"""The files that a task runs and reads, by digest: what an approval is for, besides the words of the manifest.

Bound are the program (as it is found on the task's PATH, links followed), and every regular file that the task names: in an
argument or a part of one (`--config=a.toml`, `@list`), in its declared variables, its input, its verification, the commands
that give it credentials, and in the contract's allowed paths. Shell lines are read as a shell reads them (`shell_words`):
quotes, `~`, every match of a pattern, the folders of `cd`, programs on the PATH. A file that appears after the approval
counts as a change. Words that only the running shell knows (`$X`, `$(…)`), or that this reader does not understand, are
`unbound`: they are reported to the approver and to the runner.

Bound as well are files that a word names without their endings (`python -m tool`, `node .`), and those that well-known
runners read in their folder unasked (the Makefile of `make`, the package.json of `npm run`).

Not bound, because it is not declared: folders, and what a program or script reads by itself (an import, a sourced script,
an interpreter named by `#!`).
"""

import glob
import hashlib
import itertools
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from operable.flow.approve import shell_words
from operable.flow.approve.shell_lines import CommandWords, Folders, inherited, is_shell, misunderstood
from operable.flow.approve.shell_words import Word
from operable.flow.manifest.inheritance import merged_contract, merged_verify
from operable.flow.manifest.selection import Selected, value_commands
from operable.flow.manifest.tools import tool_of
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.command import resolve

# What separates names of files in arguments and shell lines.
_BETWEEN = re.compile(r"[\s;&|()<>{}'\"`=,:@$]+")
_PARTS = re.compile(r"[@:=,]+")
_LONGEST_PATH = 4096
_LONGEST_TEXT = 1024 * 1024
_PROGRAM = re.compile(r"[A-Za-z0-9_][\w.+-]*")
_MOST_PROGRAMS = 256
_MOST_MATCHES = 10_000
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
UNREADABLE = "unreadable"
# Who finds code by a name without its ending, or by its folder; and the endings that they try.
_INTERPRETER = re.compile(r"(?:python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl)[0-9.]*")
_MODULE = re.compile(r"[\w./@-]{1,255}")
_ENDINGS = (
    *(".py", "/__main__.py", "/__init__.py", ".js", ".cjs", ".mjs", ".ts", ".json", ".rb", ".pm"),
    *("/index.js", "/index.cjs", "/index.mjs", "/package.json"),
)
_NEAR = 32  # words behind an interpreter that may be its options and its program
_NODE = (
    "package.json",
    ".npmrc",
    "pnpm-workspace.yaml",
    ".yarnrc.yml",
    ".pnp.cjs",
    "deno.json",
    "bunfig.toml",
)
_PYTHON = (
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "tox.ini",
    "pytest.ini",
    "conftest.py",
    "noxfile.py",
    "uv.toml",
)
_COMPOSE = ("Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
# By the name of a program: the files that decide what it runs, in the folder that it runs in.
_UNASKED = {
    **dict.fromkeys(("make", "gmake"), ("GNUmakefile", "makefile", "Makefile")),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "node"), _NODE),
    **dict.fromkeys(("pytest", "tox", "nox", "uv", "uvx", "poetry", "pdm", "hatch", "pip", "pip3", "mypy"), _PYTHON),
    **dict.fromkeys(("docker", "docker-compose", "podman"), _COMPOSE),
    **dict.fromkeys(("bundle", "rake", "rails"), ("Gemfile", "Gemfile.lock", "Rakefile")),
    **dict.fromkeys(("gradle", "gradlew"), ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config", ".cargo/config.toml", "rust-toolchain.toml"),
    "go": ("go.mod", "go.work"),
    "just": ("justfile", "Justfile", ".justfile"),
    "mvn": ("pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config", ".mvn/maven.config"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TaskContent:
    """`digests` of the files, by absolute path; `unbound` words, as they are written, whose files are not known."""

    digests: dict[str, str]
    unbound: list[str]


def task_content(selected: Selected, *, cwd: str, base: str, environment: Mapping[str, str]) -> TaskContent:
    """What the task runs and reads now. `cwd` and `environment` are the task's, `base` is the caller's folder."""
    reading = _Reading(cwd, environment)
    found = {}
    named = _paths(selected, reading, base)
    for path in dict.fromkeys(_plain(path) for path in named):
        digest = _digest(path)
        if digest is not None:
            found[path] = digest
    return TaskContent(found, list(dict.fromkeys(reading.unbound)))


def _paths(selected: Selected, reading: "_Reading", base: str) -> Iterator[str]:
    shell = selected.task.get("shell")
    contract = merged_contract(selected.workflow, selected.task)
    if shell is not None:
        tool = tool_of(selected.task)
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
        implied = dict.fromkeys(itertools.islice(self._implied(), _MOST_MATCHES + 1))
        if len(implied) > _MOST_MATCHES:
            self.unbound.append("…")
        for name in implied:
            yield from (os.path.join(place, name) for place in places)
        for text, is_line, words in self._texts:
            for name in _names(text, words):
                yield from (os.path.join(place, name) for place in places)
            if is_line:
                yield from self._matches(words, places)
                yield from self._programs(words)

    def _implied(self) -> Iterator[str]:
        """The files that no word names in full: modules behind an interpreter, and what runners read unasked."""
        near = 0
        for word in (*self._started, *(word.text for _, _, words in self._texts for word in words)):
            name = os.path.basename(word)
            yield from _UNASKED.get(name, ())
            if near and _MODULE.fullmatch(word):
                yield from (
                    f"{path}{ending}" for path in (word, word.replace(".", "/")) for ending in _ENDINGS
                )
            near = _NEAR if _INTERPRETER.fullmatch(name) else max(0, near - 1)

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

    def _programs(self, words: list[Word]) -> Iterator[str]:
        """The files that the words of a line find on the task's PATH."""
        names = list(dict.fromkeys(word.text for word in words if _PROGRAM.fullmatch(word.text)))
        if len(names) > _MOST_PROGRAMS:
            self.unbound.append(f"{names[_MOST_PROGRAMS]} …")
        path = self.environment.get("PATH", os.defpath)
        for name in names[:_MOST_PROGRAMS]:
            found = shutil.which(name, path=path)
            if found is not None:
                yield os.path.join(self.cwd, found)


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
    for name in dict.fromkeys((text, *whole, *parts, *_BETWEEN.split(text[:_LONGEST_TEXT]))):
        if name and len(name) <= _LONGEST_PATH and "\0" not in name:
            yield name


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


Mark = tuple[int, ...]


def marks(paths: Iterable[str]) -> dict[str, Mark]:
    """What no change of a file leaves as it was: its ctime cannot be set. Taken before the file is read."""
    found: dict[str, Mark] = {}
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            continue
        found[path] = status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns
    return found


def is_program(path: str) -> bool:
    """Whether the file is there to be run; what a task reads it may also write."""
    try:
        with open(path, "rb") as file:
            return os.access(path, os.X_OK) or path.endswith(_SCRIPTS) or file.read(2) == b"#!"
    except OSError:
        return True  # it is gone, or was never readable
