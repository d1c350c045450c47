"""What `entry.command` means: a list of arguments, split as a POSIX shell splits words, and run without a shell.

Quotes (single and double) and backslashes group words as in sh; nothing else is special: no variables, globs, pipes,
redirections, `~` or command substitution. A first word with a slash is a path from the package's root; one without is
looked up on PATH. A package that needs a shell says `metadata.operable.shell: true`, and the user has to approve that;
the words of a call are then quoted, so that they stay words. Folders of state, which approvals leave out, hold no
program: an entry that names one is refused.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from operable.app.packages import Package
from operable.kernel.errors import Fail
from operable.proc.spawn import Command, prepare

_STATE = "app/state"
_FROM_ROOT = re.compile(r"-[A-Za-z]*[mc]")
_MODULES = (".py", ".pyc", ".so")
# Compiled Python beside the sources would change the package that was approved, and could be forged there.
_ALWAYS = {"PYTHONDONTWRITEBYTECODE": "1"}


def wants_shell(package: Package) -> bool:
    return package.extension.get("shell") is True


def states(package: Package) -> list[str]:
    """The folders of the application's own data, from the root: `app/state` and what `metadata.operable.state` names.

    Only what lies below `app/` can be one: anything else is not said to be state by saying so.
    """
    declared = package.extension.get("state")
    named = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    paths = {os.path.normpath(name) for name in (_STATE, *(name for name in named if isinstance(name, str)))}
    return sorted(path for path in paths if path.startswith("app/"))


def words(package: Package) -> list[str]:
    """`entry.command` as a list of arguments; Fail when it is none, or lies in a folder of state."""
    app = package.require()
    try:
        argv = shlex.split(app.entry.command)
    except ValueError as problem:
        raise Fail("validation", "APP_ENTRY_INVALID", f"entry.command: {problem}") from problem
    if not argv or not argv[0]:
        raise Fail("validation", "APP_ENTRY_INVALID", "entry.command names no program")
    for path in files(package, argv):
        if any(path == state or path.startswith(f"{state}/") for state in states(package)):
            raise Fail(
                "validation",
                "APP_ENTRY_IN_STATE",
                f"entry.command runs {path}, which is data of the application and not part of what is approved",
                target=path,
            )
    return argv


def files(package: Package, argv: Sequence[str]) -> list[str]:
    """The files of the package that these words name, as paths from the root."""
    found = []
    for word in argv:
        real = os.path.realpath(os.path.join(package.root, word))
        if os.path.isfile(real) and real.startswith(package.root.rstrip("/") + "/"):
            found.append(os.path.relpath(real, package.root))
    return found


def importable(package: Package, argv: Sequence[str]) -> list[str]:
    """What Python would import from the root, as paths from there, where `-m` or `-c` puts the root on its search path.

    A `json.py` that is laid beside `app/` would run in place of Python's own.
    """
    if not any(_FROM_ROOT.match(word) for word in argv[1:]):
        return []
    return [
        name for name in sorted(os.listdir(package.root)) if _is_importable(os.path.join(package.root, name))
    ]


def _is_importable(path: str) -> bool:
    if not os.path.isdir(path):
        return path.endswith(_MODULES)
    try:
        return any(name.startswith("__init__.") for name in os.listdir(path))
    except OSError:
        return True  # whoever looks into it finds out why it cannot be read


def command_line(
    package: Package,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    inherit: Sequence[str] = (),
) -> Command:
    """The whole command, from the package's root. All that it starts ends with it, also what leaves its group."""
    argv = words(package)
    if wants_shell(package):
        line = " ".join([package.require().entry.command, *map(shlex.quote, arguments)])
        argv = ["/bin/sh", "-c", line]
    else:
        if os.sep in argv[0]:
            argv[0] = os.path.join(package.root, argv[0])
        argv += arguments
    made = prepare(argv, env={**_ALWAYS, **(env or {})}, inherit=inherit, cwd=package.root)
    return replace(made, tree=True)
