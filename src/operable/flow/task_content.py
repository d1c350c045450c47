"""The files that a task runs and reads, by digest: what an approval is for, besides the words of the manifest.

Bound are the program (as it is found on the task's PATH, links followed), and every regular file that the task names: in an
argument or a part of one (`--config=a.toml`, `@list`, the words of a shell line), in its declared variables, its input, its
verification, and in the contract's allowed paths. A file that appears after the approval counts as a change.

Not bound, because nobody declares it: folders, what a program or script reads by itself (a Makefile, an import, an
interpreter named by `#!`), and programs that a shell line finds on the PATH.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from operable.flow.merge import merged_contract, merged_verify
from operable.flow.selection import Selected
from operable.kernel.errors import Fail
from operable.proc.executable import resolve

# What separates names of files in arguments and shell lines.
_BETWEEN = re.compile(r"[\s;&|()<>{}'\"`=,:@$]+")
_LONGEST_PATH = 4096
_LONGEST_TEXT = 1024 * 1024
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
    texts = [*(shell.get("args") or []), *(shell.get("env") or {}).values(), shell.get("stdin") or ""]
    verify = merged_verify(selected.workflow, selected.task)
    if verify is not None:
        texts.append(verify["shell"])
    for text in texts:
        for name in _names(str(text)):
            yield os.path.join(cwd, name)
    for path in merged_contract(selected.workflow, selected.task).get("allowed_paths") or []:
        yield os.path.join(os.path.realpath(base), str(path))


def _names(text: str) -> Iterator[str]:
    """What could be the name of a file: the text, and its words."""
    for name in (text, *_BETWEEN.split(text[:_LONGEST_TEXT])):
        if name and len(name) <= _LONGEST_PATH and "\0" not in name:
            yield name


def _plain(path: str) -> str:
    """One spelling per file. `..` stays: after a link it leads elsewhere than the text says."""
    return path if ".." in path.split("/") else os.path.normpath(path)


def _digest(path: str) -> str | None:
    """The digest of a regular file; None if there is none. What is there and cannot be read is said, not left out."""
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
