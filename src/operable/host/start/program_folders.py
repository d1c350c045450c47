"""The folders that a sandbox must show, read-only, so that a program can run: its own, its interpreter's, its packages'.

A program is often a chain: a launcher in a `bin` folder, a script among `node_modules` or in a virtual environment, an
interpreter in a third place. The chain is followed by what the files themselves say (links, the first line of a script,
absolute paths in a short shell launcher). Whatever is in the system's folders is there anyway. A folder that would show a
home or a place that is private inside is never shown; then only the file is shown.
"""

import glob
import os
import re
from collections.abc import Iterator

from operable.host.launch.places import Places
from operable.host.start.confinement_paths import too_wide
from operable.proc.executable import interpreter

_STEPS = 16  # of a chain; real ones have two or three, and an editable installation a few more
_LAUNCHER = 4096  # bytes; what is longer is a program and not a launcher
_FINDER = 64 * 1024  # bytes; the map is at the beginning of a finder
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")
_MODULES = f"{os.sep}node_modules{os.sep}"
_QUOTED = re.compile(r"""["']?(/[^\s"'$`;|&<>()]+)["']?""")


def program_folders(binary: str) -> tuple[str, ...]:
    """Folders and single files of the host, each to be shown under its own path."""
    folders: dict[str, None] = {}
    waiting, seen = [os.path.abspath(binary)], set[str]()
    while waiting and len(seen) < _STEPS:
        path = waiting.pop(0)
        if path in seen or path.startswith(_SYSTEM):
            continue
        seen.add(path)
        folders[_shown(path)] = None
        real = os.path.realpath(path)
        waiting += [real, *_named(real)]
        if os.path.basename(path).startswith(
            "python"
        ):  # it is an interpreter itself, of an environment perhaps
            waiting += _base(path)
    return tuple(folders)


def _shown(path: str) -> str:
    """What has to be there for this file: a private installation whole, else the folder around it."""
    if os.path.isdir(path):
        return path
    for folder in (_installation(path), _packages(path), _virtual_environment(path), os.path.dirname(path)):
        if folder is not None and not too_wide(folder):
            return folder
    return path


def _installation(path: str) -> str | None:
    installs = os.path.join(Places.default().state, "installs")
    below = os.path.relpath(path, installs).split(os.sep)
    return os.path.join(installs, *below[:2]) if below[0] != os.pardir and len(below) > 2 else None


def _packages(path: str) -> str | None:
    """The outermost node_modules: packages are beside each other in it."""
    before, separator, _ = path.partition(_MODULES)
    return f"{before}{separator}".rstrip(os.sep) if separator else None


def _virtual_environment(path: str) -> str | None:
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(os.path.join(folder, "pyvenv.cfg")) else None


def _named(path: str) -> Iterator[str]:
    """Other programs that a script cannot run without."""
    try:
        with open(path, "rb") as file:
            text = file.read(_LAUNCHER + 1)
    except OSError:
        return
    if not text.startswith(b"#!"):
        return
    program = interpreter(path)
    if program is None:
        return
    yield program
    yield from _base(program)
    if len(text) <= _LAUNCHER and os.path.basename(program) in ("sh", "bash", "dash"):
        rest = text.decode("utf-8", "replace").partition("\n")[2]
        yield from (named for named in _QUOTED.findall(rest) if os.path.isfile(named))


def _editable(environment: str) -> Iterator[str]:
    """The absolute paths that an environment imports from: lines of .pth files, and the map in a finder of setuptools."""
    packages = f"{glob.escape(environment)}/lib/python3*/site-packages"
    for pattern in ("*.pth", "__editable__*_finder.py"):
        for path in glob.glob(f"{packages}/{pattern}"):
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read(_FINDER)
            named = text.splitlines() if path.endswith(".pth") else _QUOTED.findall(text)
            yield from filter(os.path.isabs, named)


def _base(interpreter: str) -> Iterator[str]:
    """The Python that a virtual environment was made from, and the folders of packages that are installed editable."""
    folder = _virtual_environment(interpreter)
    if folder is None:
        return
    yield from (path for path in _editable(folder) if os.path.isdir(path) and not too_wide(path))
    real = os.path.realpath(interpreter)
    prefix = os.path.dirname(os.path.dirname(real))
    if not real.startswith(_SYSTEM) and not too_wide(prefix):
        yield prefix
