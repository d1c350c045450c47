"""Which folders may contain an application's data, and what may be in them: no code, because no approval sees it.

A folder of data is below `app/`, and no part of its path has a name that an import finds (`json`, `node_modules`) or that
ends as code does (`json.py`). It is a folder: a file without an ending is code to Node and to a shell. A file in it that
loaders or the kernel take for code, by its ending, its name or its executable bit, is reported, at the approval and at each
call; so is a link to a folder, which could lead to code. What approved code does with other files (`exec` of a text) is
its own decision, and is not seen here.
"""

import os
import re
import stat
import sys
from collections.abc import Iterator

# What is in a folder with such a name is code to the loaders of Python and Node.
_CODE_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "dist-packages"))
_CODE_ENDING = re.compile(
    r".+\.(py[cowdix]?|pyz|pth|egg|so(\.[0-9.]+)?|dylib|dll|[cm]?[jt]sx?|node|wasm|(ba|z|k|c|da|fi)?sh|command|rb|pl|pm|ph(p|ar)"
    r"|lua|jar|war|class|tcl|ps[dm]?1|bat|cmd|exe|awk|scm|el|elc|jl|r|exs?|beam|mk)",
    re.IGNORECASE,
)
# Node reads which file is a folder's code from the first; the others are settings that run code.
_CODE_FILES = frozenset(("package.json", ".npmrc", "makefile", "gnumakefile"))


def problem_of(path: str) -> str | None:
    """Why this path from the root, normalised, cannot be a folder of data; None: it can."""
    if not path.startswith("app/"):
        return "it is not below app/"
    for name in path.split("/")[1:]:
        if name in _CODE_FOLDERS or name in sys.stdlib_module_names:
            return f"an import finds {name}"
        if _is_code(name):
            return f"{name} is a name of code"
    return None


def code_in(folder: str) -> str | None:
    """The path of something in a folder of data that could run or be loaded; None: there is nothing, or no folder."""
    if not os.path.lexists(folder):
        return None
    return next(_code(folder), None) if os.path.isdir(folder) else folder


def _code(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder, onerror=_unreadable):
        for name in folders:
            path = os.path.join(place, name)
            if name in _CODE_FOLDERS or os.path.islink(path):
                yield path
        for name in files:
            path = os.path.join(place, name)
            if _is_code(name) or _runs(path):
                yield path


def _is_code(name: str) -> bool:
    return _CODE_ENDING.fullmatch(name) is not None or name.lower() in _CODE_FILES


def _runs(path: str) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False  # it went away, or is a link to nothing
    return stat.S_ISREG(status.st_mode) and status.st_mode & 0o111 != 0


def _unreadable(problem: OSError) -> None:
    if not isinstance(problem, FileNotFoundError):
        raise problem
