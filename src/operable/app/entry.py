"""What `entry.command` means: a list of arguments, split as a POSIX shell splits words, and run without a shell.

Quotes (single and double) and backslashes group words as in sh; nothing else is special: no variables, globs, pipes,
redirections, `~` or command substitution. A first word with a slash is a path from the package's root; one without is
looked up on PATH. A package that needs a shell says `metadata.operable.shell: true`, and the user has to approve that;
the words of a call are then quoted, so that they stay words. What approvals leave out (folders of state) or never see
(paths that lead out of the package) contains no program: an entry that names one is refused, also within a word
(`-f../x.mk`, `PYTHONPATH=../lib`, a script behind `-c`). A file elsewhere that it names by its whole path is approved with
what it contains, unless it belongs to the system.
"""

import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence

from operable.app.packages import Package, inside
from operable.kernel.errors import Fail
from operable.proc.command import PreparedCommand
from operable.proc.environment import loads_code
from operable.proc.spawn import prepare
from operable.state.program_files import ABOVE, NODE_FILES

_STATE = "app/state"
# Beside a package, and no part of what is approved: what tools write there of which nothing is ever loaded.
APART = (".git", ".mypy_cache", ".pytest_cache", ".ruff_cache")
# At least two characters before a star: `*` would be everything.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]+\*?\Z|[A-Za-z_]\Z")
# Compiled Python beside the sources would change the package that was approved, and could be forged there.
_ALWAYS = {"PYTHONDONTWRITEBYTECODE": "1"}


# What is in a folder with such a name is code to the loaders of Python and Node.
_CODE_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "dist-packages"))
_CODE_ENDING = re.compile(
    r".+\.(py[cowdix]?|pyz|pth|egg|so(\.[0-9.]+)?|dylib|dll|[cm]?[jt]sx?|node|wasm|(ba|z|k|c|da|fi)?sh|command|rb|pl|pm|ph(p|ar)"
    r"|lua|jar|war|class|tcl|ps[dm]?1|bat|cmd|exe|awk|scm|el|elc|jl|r|exs?|beam|mk)",
    re.IGNORECASE,
)
# Node reads which file is a folder's code from the first; the others are settings that run code.
_CODE_FILES = frozenset(("package.json", ".npmrc", "makefile", "gnumakefile"))
# What separates names of files within a word; what may be in front of one.
_BETWEEN = re.compile(r"[\s;&|()<>{}\[\]'\"`=,:@$]+")
_OPTION = re.compile(r"-{1,2}[A-Za-z]")
# Of the machine, like what is found on PATH.
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/", "/snap/", "/dev/", "/proc/", "/sys/")


NODE = re.compile(rb"\b(?:node|nodejs|npm|npx|pnpm|yarn|corepack|bun|bunx|deno|tsx|ts-node)\b")
_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".node")
_MODULES = "node_modules"
_NODE_HOMES = ("~/.node_modules", "~/.node_libraries")


def wants_shell(package: Package) -> bool:
    return package.extension.get("shell") is True


def states(package: Package) -> list[str]:
    """The folders of the application's own data, from the root: `app/state` and what `metadata.operable.state` names.

    What cannot be one (`state_folder`) is not among them, and stays a part of what is approved.
    """
    return sorted(path for path in _declared(package) if problem_of(path) is None)


def require_states(package: Package) -> None:
    """Fail for a declared folder of data that cannot be one, and for code that is in one now."""
    for path in sorted(_declared(package)):
        problem = problem_of(path)
        if problem is not None:
            raise Fail(
                "validation",
                "APP_STATE_INVALID",
                f"metadata.operable.state of {package.slug} names {path}, which cannot contain data: {problem}",
                target=path,
                hint="name a folder that contains only data, such as app/data",
            )
    found = code_in_state(package)
    if found is not None:
        raise Fail(
            "validation",
            "APP_CODE_IN_STATE",
            f"{found} of {package.slug} could run as code, and is in a folder that an approval treats as data",
            target=found,
            hint="move it out of the folders of data, or remove it",
        )


def code_in_state(package: Package) -> str | None:
    """What is in a folder of data and could run, as a path from the root; None: nothing."""
    try:
        found = [code_in(os.path.join(package.root, path)) for path in states(package)]
    except OSError as problem:
        raise Fail(
            "io", "APP_UNREADABLE", f"{problem.filename} cannot be read: {problem.strerror}"
        ) from problem
    return next((os.path.relpath(path, package.root) for path in found if path is not None), None)


def _declared(package: Package) -> set[str]:
    declared = package.extension.get("state")
    named = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    return {os.path.normpath(name) for name in (_STATE, *(name for name in named if isinstance(name, str)))}


def variables(package: Package) -> list[str]:
    """The variables that the package asks for: `metadata.operable.env`, names or prefixes with `*`. Raises Fail if it is
    not a list of them.

    It gets these and no others: a package chooses its own slug, so nothing is given to it for that.
    """
    declared = package.extension.get("env")
    named = [declared] if isinstance(declared, str) else [] if declared is None else declared
    if not isinstance(named, list) or not all(
        isinstance(name, str) and _VARIABLE.match(name) for name in named
    ):
        raise Fail(
            "validation",
            "APP_ENV_INVALID",
            f"metadata.operable.env of {package.slug} must list names of variables, such as NOTES_TOKEN or NOTES_*",
            target=package.slug,
        )
    return sorted(set(named))


def words(package: Package) -> list[str]:
    """`entry.command` as a list of arguments; Raises Fail if it is not one, or is in a folder of state."""
    app = package.require()
    try:
        argv = shlex.split(app.entry.command)
    except ValueError as problem:
        raise Fail("validation", "APP_ENTRY_INVALID", f"entry.command: {problem}") from problem
    if not argv or not argv[0]:
        raise Fail("validation", "APP_ENTRY_INVALID", "entry.command names no program")
    for word in argv:
        if not os.path.isabs(word):
            _require_inside(package, word)
    for name, path in _named(package.root, argv):
        if not inside(path, package.root) and (not name.startswith(("/", "~")) or os.path.isdir(path)):
            raise _outside(name)
    return argv


def outside_files(package: Package, argv: Sequence[str]) -> list[str]:
    """The files elsewhere that these words of the entry name by their whole paths."""
    found = dict.fromkeys(path for name, path in _named(package.root, argv) if name.startswith(("/", "~")))
    return [path for path in found if not inside(path, package.root) and os.path.isfile(path)]


def _named(root: str, argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(name, real path) of everything that exists and that the words, or parts of them, name; not what is the system's."""
    parts = [part for word in argv for part in (word, *_BETWEEN.split(word))]
    bare = [part[match.end() :] for part in parts if (match := _OPTION.match(part))]
    for name in dict.fromkeys((*parts, *bare)):
        if "/" not in name and name != ".." and not name.startswith("~"):
            continue  # a name in the package
        path = os.path.join(root, os.path.expanduser(name))
        real = os.path.realpath(path)
        if os.path.lexists(path) and real not in ("/", root) and not f"{real}/".startswith(_SYSTEM):
            yield name, real


def left_out(package: Package) -> list[str]:
    """What an approval is not for, as paths from the root."""
    return [*states(package), *APART]


def _require_inside(package: Package, word: str) -> None:
    """Fail when a word is a path from the root to something that is there and is not part of what is approved."""
    real = os.path.realpath(os.path.join(package.root, word))
    if not os.path.lexists(os.path.join(package.root, word)) or real == package.root:
        return
    if not inside(real, package.root):
        raise _outside(word)
    path = os.path.relpath(real, package.root)
    if any(path == place or inside(path, place) for place in left_out(package)):
        raise Fail(
            "validation",
            "APP_ENTRY_IN_STATE",
            f"entry.command runs {path}, which is data of the application and not part of what is approved",
            target=path,
        )


def _outside(name: str) -> Fail:
    return Fail(
        "validation",
        "APP_ENTRY_OUTSIDE",
        f"entry.command names {name}, which is outside of the package and not part of what is approved",
        target=name,
        hint="put everything that an application needs into its package",
    )


def command_line(
    package: Package,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    inherit: Sequence[str] = (),
) -> PreparedCommand:
    """The whole command, from the package's root. All that it starts ends with it, also what leaves its group."""
    argv = words(package)
    if wants_shell(package):
        line = " ".join([package.require().entry.command, *map(shlex.quote, arguments)])
        argv = ["/bin/sh", "-c", line]
    else:
        if os.sep in argv[0]:
            argv[0] = os.path.join(package.root, argv[0])
        argv += arguments
    # Variables that load code are inherited by their whole names only, which an approval shows, and not as `NODE_*`.
    made = prepare(argv, env={**_ALWAYS, **(env or {})}, inherit=inherit, cwd=package.root)
    given = env or {}
    kept = {
        name: value
        for name, value in made.env.items()
        if name in given or name in inherit or not loads_code(name)
    }
    return made._replace(env=kept, tree=True)


# Which folders may contain an application's data, and what may be in them: no code, because no approval sees it.
#
# A folder of data is below `app/`, and no part of its path has a name that an import finds (`json`, `node_modules`)
# or that ends as code does (`json.py`). It is a folder: a file without an ending is code to Node and to a shell. A
# file in it that loaders or the kernel take for code, by its ending, its name or its executable bit, is reported, at
# the approval and at each call; so is a link to a folder, which could lead to code. What approved code does with
# other files (`exec` of a text) is its own decision, and is not seen here.


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


# What is above a package and decides what its programs load: it is part of the approval, like the package itself.
#
# Node looks for a module in `node_modules` of every folder up to the root, and for `package.json`, `.npmrc` or
# `.pnp.cjs` on the way; cargo, uv, bundler and others look upward for their settings. Whether a package uses Node is
# decided generously: a file of JavaScript, or the name of a program of that family anywhere in its files. What
# appears there after the approval changes the content as well. Programs and modules of the machine (PATH,
# site-packages) are not looked at.


def is_script(name: str) -> bool:
    """Whether a file of the package is for Node by its name."""
    return name.endswith(_SCRIPTS) or os.path.basename(name) == "package.json"


def paths(root: str, words: Sequence[str], *, node: bool) -> Iterator[str]:
    """Every file above the root that decides what the entry loads."""
    names = {name for word in words for name in ABOVE.get(os.path.basename(word), ())}
    seen: set[str] = set()
    folder = root
    while (above := os.path.dirname(folder)) != folder:
        folder = above
        for name in sorted(names | set(NODE_FILES if node else ())):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path
        if node:
            yield from _below(os.path.join(folder, _MODULES), root, seen)
    for home in _NODE_HOMES if node else ():
        yield from _below(os.path.expanduser(home), root, seen)


def _below(place: str, root: str, seen: set[str]) -> Iterator[str]:
    """Every file, also behind links to folders: workspaces are linked into `node_modules`. The package itself is not
    reported twice.
    """
    for folder, folders, files in os.walk(place, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen or real == root or real.startswith(root + os.sep):
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (path for name in sorted(files) if os.path.isfile(path := os.path.join(folder, name)))
