"""What `entry.command` means: a list of arguments, split as a POSIX shell splits words, and run without a shell.

Quotes (single and double) and backslashes group words as in sh; nothing else is special: no variables, globs, pipes,
redirections, `~` or command substitution. A first word with a slash is a path from the package's root; one without is
looked up on PATH. A package that needs a shell says `metadata.operable.shell: true`, and the user has to approve that;
the words of a call are then quoted, so that they stay words. What approvals leave out (folders of state) or never see
(paths that lead out of the package) contains no program: an entry that names one is refused.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence

from operable.app import state_folder
from operable.app.packages import Package, inside
from operable.kernel.errors import Fail
from operable.proc.spawn import PreparedCommand, prepare

_STATE = "app/state"
# Beside a package, and no part of what is approved: what tools write there of which nothing is ever loaded.
APART = (".git", ".mypy_cache", ".pytest_cache", ".ruff_cache")
# At least two characters before a star: `*` would be everything.
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]+\*?\Z|[A-Za-z_]\Z")
# They make a program load or run what the user has not approved. They are inherited by their whole names only, which an
# approval shows, and not as a part of `NODE_*`.
_LOADERS = re.compile(
    r"LD_.*|DYLD_.*|PYTHON(PATH|HOME|STARTUP|USERBASE|INSPECT|BREAKPOINT|WARNINGS|PLATLIBDIR|PYCACHEPREFIX|EXECUTABLE)"
    r"|NODE_(PATH|OPTIONS|REPL_EXTERNAL_MODULE)|NPM_CONFIG_.*|npm_config_.*|BUN_(OPTIONS|INSPECT.*)|DENO_DIR"
    r"|RUBY(OPT|LIB)|GEM_(PATH|HOME)|BUNDLE_.*|PERL5(LIB|OPT|DB)|PERLLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH"
    r"|LUA_(PATH|CPATH|INIT).*|PHP_INI_SCAN_DIR|PHPRC|GCONV_PATH|BASH_ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|IFS|ZDOTDIR"
    r"|GIT_(CONFIG.*|EXEC_PATH|DIR|SSH.*|EXTERNAL_DIFF|PAGER|EDITOR|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR)"
)
# Compiled Python beside the sources would change the package that was approved, and could be forged there.
_ALWAYS = {"PYTHONDONTWRITEBYTECODE": "1"}


def wants_shell(package: Package) -> bool:
    return package.extension.get("shell") is True


def states(package: Package) -> list[str]:
    """The folders of the application's own data, from the root: `app/state` and what `metadata.operable.state` names.

    What cannot be one (`state_folder`) is not among them, and stays a part of what is approved.
    """
    return sorted(path for path in _declared(package) if state_folder.problem_of(path) is None)


def require_states(package: Package) -> None:
    """Fail for a declared folder of data that cannot be one, and for code that is in one now."""
    for path in sorted(_declared(package)):
        problem = state_folder.problem_of(path)
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
        found = [state_folder.code_in(os.path.join(package.root, path)) for path in states(package)]
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
    return argv


def left_out(package: Package) -> list[str]:
    """What an approval is not for, as paths from the root."""
    return [*states(package), *APART]


def _require_inside(package: Package, word: str) -> None:
    """Fail when a word is a path from the root to something that is there and is not part of what is approved."""
    real = os.path.realpath(os.path.join(package.root, word))
    if not os.path.lexists(os.path.join(package.root, word)) or real == package.root:
        return
    if not inside(real, package.root):
        raise Fail(
            "validation",
            "APP_ENTRY_OUTSIDE",
            f"entry.command names {word}, which is outside of the package and not part of what is approved",
            target=word,
            hint="put everything that an application needs into its package",
        )
    path = os.path.relpath(real, package.root)
    if any(path == place or inside(path, place) for place in left_out(package)):
        raise Fail(
            "validation",
            "APP_ENTRY_IN_STATE",
            f"entry.command runs {path}, which is data of the application and not part of what is approved",
            target=path,
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
    made = prepare(argv, env={**_ALWAYS, **(env or {})}, inherit=inherit, cwd=package.root)
    given = env or {}
    kept = {
        name: value
        for name, value in made.env.items()
        if name in given or name in inherit or not _LOADERS.fullmatch(name)
    }
    return made._replace(env=kept, tree=True)
