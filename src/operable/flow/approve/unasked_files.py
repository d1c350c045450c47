"""The files that a program reads although no word names them in full: modules behind interpreters, and what runners, git
and package managers read unasked, in their folder or in those above it.

Names only (those of programs are in `operable.state.program_files`): `task_content` looks which of them exist. What a
program finds while it runs is not here, and is reported as `unbound` (`shell_lines.found_by_running`).
"""

import json
import os
import re
from collections.abc import Iterator, Sequence

from operable.kernel.data_class import dataclass
from operable.state.program_files import ABOVE, IN_FOLDER

# Who finds code by a name without its ending, or by its folder; and the endings that they try.
_INTERPRETER = re.compile(r"(?:python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl)[0-9.]*")
_MODULE = re.compile(r"[\w./@:-]{1,255}")
_ENDINGS = (
    *(".py", "/__main__.py", "/__init__.py", ".js", ".cjs", ".mjs", ".ts", ".json", ".rb", ".pm"),
    *("/index.js", "/index.cjs", "/index.mjs", "/package.json"),
)
_NEAR = 32  # words behind an interpreter that may be its options and its program
_LONGEST_SETTINGS = 1024 * 1024


@dataclass(frozen=True, slots=True)
class UnaskedFile:
    """`name` in the folder of the task; `above`: in every folder above it."""

    name: str
    above: bool = False

    def paths(self, place: str) -> Iterator[str]:
        yield os.path.join(place, self.name)
        while self.above and place != (place := os.path.dirname(place)):
            yield os.path.join(place, self.name)


def unasked_files(words: Sequence[str]) -> Iterator[UnaskedFile]:
    """The files that these words make programs read."""
    near = 0
    for word in words:
        program = os.path.basename(word)
        yield from (UnaskedFile(name) for name in IN_FOLDER.get(program, ()))
        yield from (UnaskedFile(name, above=True) for name in ABOVE.get(program, ()))
        if near:
            yield from (UnaskedFile(name) for name in _module_files(word))
        near = _NEAR if _INTERPRETER.fullmatch(program) else max(0, near - 1)


def _module_files(word: str) -> Iterator[str]:
    """`tool`, `-mtool`, `--require=./tool`, `-MSome::Tool`, as files."""
    named = word[2:] if word.startswith(("-m", "-r", "-M")) else word.rpartition("=")[2]
    if not _MODULE.fullmatch(named):
        return
    path = named.replace("::", "/").replace(".", "/")
    yield from (f"{each}{ending}" for each in (named, path) for ending in _ENDINGS)
    yield from (f"{path[: dot.start()]}/__init__.py" for dot in re.finditer("/", path))


def entry_files(path: str) -> Iterator[str]:
    """The files that a package.json says its folder stands for (`node FOLDER`)."""
    if os.path.basename(path) != "package.json":
        return
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            value = json.loads(file.read(_LONGEST_SETTINGS))
    except (OSError, ValueError, RecursionError):
        return
    main = value.get("main") if isinstance(value, dict) else None
    if isinstance(main, str) and "\0" not in main:
        folder = os.path.join(os.path.dirname(path), main)
        yield from (f"{folder}{ending}" for ending in ("", *_ENDINGS))


def is_interpreter(name: str) -> bool:
    return _INTERPRETER.fullmatch(name) is not None
