"""The files that a task runs and reads, by digest: what an approval is for, besides the words of the manifest.

Bound are the program (as it is found on the task's PATH, links followed), and every regular file that the task names: in an
argument or a part of one (`--config=a.toml`, `@list`), in its declared variables, its input, its verification, and in the
contract's allowed paths. Shell lines are read as a shell reads them (`shell_words`): quotes, `~`, every match of a pattern,
the folders of `cd`. A file that appears after the approval counts as a change. Words that only the running shell knows
(`$X`, `$(…)`) are `unbound`: they are reported to the approver and to the runner.

Not bound, because it is not declared: folders, what a program or script reads by itself (a Makefile, an import, an
interpreter named by `#!`), and programs that a shell line finds on the PATH.
"""

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from operable.flow.approve import shell_words
from operable.flow.manifest.inheritance import merged_contract, merged_verify
from operable.flow.manifest.selection import Selected
from operable.kernel.errors import Fail
from operable.proc.executable import resolve

# What separates names of files in arguments and shell lines.
_BETWEEN = re.compile(r"[\s;&|()<>{}'\"`=,:@$]+")
_PARTS = re.compile(r"[@:=,]+")
_LONGEST_PATH = 4096
_LONGEST_TEXT = 1024 * 1024
_SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua")
UNREADABLE = "unreadable"


def content_digests(
    selected: Selected, *, cwd: str, base: str, environment: Mapping[str, str]
) -> dict[str, str]:
    """By absolute path: the digest of each file. `cwd` and `environment` are the task's, `base` is the caller's folder."""
    shell = selected.task.get("shell")
    if shell is None:
        return {}
    found = {}
    named = _paths(selected, shell, cwd=cwd, base=base, environment=environment)
    for path in dict.fromkeys(_plain(path) for path in named):
        digest = _digest(path)
        if digest is not None:
            found[path] = digest
    return found


def _paths(
    selected: Selected, shell: Mapping[str, Any], *, cwd: str, base: str, environment: Mapping[str, str]
) -> Iterator[str]:
    try:
        yield resolve(shell["program"], env=environment, cwd=cwd)
    except Fail:
        pass  # it cannot be started either; a file that appears later is a change
    texts = _texts(selected, shell)
    named = [(text, is_line, _words(text, environment)) for text, is_line in texts]
    row = [text for text, _ in texts]
    places = _folders([row, *([word.text for word in words] for _, _, words in named)], cwd)
    for text, is_line, words in named:
        for name in _names(text, words):
            yield from (os.path.join(place, name) for place in places)
        if is_line:
            yield from _matches(words, places)
    for path in merged_contract(selected.workflow, selected.task).get("allowed_paths") or []:
        yield os.path.join(os.path.realpath(base), str(path))


def unbound(selected: Selected, environment: Mapping[str, str]) -> list[str]:
    """The words of the task's shell lines that only the running shell knows, as they are written."""
    shell = selected.task.get("shell")
    lines = [text for text, is_line in _texts(selected, shell) if is_line] if shell is not None else []
    return list(
        dict.fromkeys(word.shown for line in lines for word in _words(line, environment) if word.open)
    )


def _texts(selected: Selected, shell: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """What may name files, and whether a shell reads it."""
    argv = [str(word) for word in (shell["program"], *(shell.get("args") or []))]
    texts = [(word, shell_words.is_line(argv, at)) for at, word in enumerate(argv)][1:]
    texts += [(str(value), False) for value in (shell.get("env") or {}).values()]
    texts.append((str(shell.get("stdin") or ""), shell_words.is_shell(argv)))
    verify = merged_verify(selected.workflow, selected.task)
    return texts if verify is None else [*texts, (str(verify["shell"]), True)]


def _words(text: str, environment: Mapping[str, str]) -> list[shell_words.Word]:
    """Of the whole, and of each line by itself: an apostrophe in a here-document would hide the words after it."""
    kept = text[:_LONGEST_TEXT]
    lines = kept.splitlines()
    return [
        word
        for part in (kept, *(lines if len(lines) > 1 else ()))
        for word in shell_words.words(part, environment)
    ]


def _folders(rows: list[list[str]], cwd: str) -> list[str]:
    return list(dict.fromkeys(place for row in rows for place in shell_words.folders(row, cwd)))


def _matches(words: list[shell_words.Word], places: list[str]) -> Iterator[str]:
    """The files that patterns match now."""
    for pattern in dict.fromkeys(word.pattern for word in words if word.pattern is not None):
        for place in places:
            yield from glob.iglob(os.path.join(glob.escape(place), pattern))


def _names(text: str, words: list[shell_words.Word]) -> Iterator[str]:
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
