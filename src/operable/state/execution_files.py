"""Files of a workspace that become execution or instructions without a further decision of a person.

`TABLE` is the list, with what runs each entry and when. A file counts if a program runs it, or a model follows it, when a
person merely enters, opens, looks at, commits, pushes or installs the project. An edit of one of them is a way to run code
later, outside of the rules of this session, so that an allow for every edit does not cover it.

What a person starts by its name does not count: the sources, the tests, `Makefile`, `justfile`, `Dockerfile`, build scripts
that a build of the sources runs. The person has decided to run the project then, and its sources could do the same.

A path is judged twice: as it was written, and as the file that it really names. The comparison ignores case, because some
file systems do. Not covered: names that a program of the user configured outside of the workspace.
"""

import itertools
import os
import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class ExecutionFile(NamedTuple):
    """Why a file counts. `part` is the name in its path that makes it so; empty: this project has given it the meaning."""

    part: str
    reason: str


# Each entry of a row is the name of a file, `start*`, `*end`, `folder/name`, or `folder/` with everything below it.
TABLE: Final[tuple[tuple[str, str], ...]] = (
    (
        "git runs the hooks, filters and programs that it names",
        ".git/ git/config git/attributes .gitconfig .gitattributes .gitmodules .lfsconfig",
    ),
    # By their names: `src/hooks/` is also a usual folder for sources.
    (
        "git runs it as a hook, also of a bare repository in any folder",
        (
            "head .githooks/ hooks/applypatch-msg hooks/pre-applypatch hooks/post-applypatch hooks/pre-commit"
            " hooks/pre-merge-commit hooks/prepare-commit-msg hooks/commit-msg hooks/post-commit hooks/pre-rebase"
            " hooks/post-checkout hooks/post-merge hooks/pre-push hooks/pre-receive hooks/update hooks/proc-receive"
            " hooks/post-receive hooks/post-update hooks/reference-transaction hooks/push-to-checkout hooks/pre-auto-gc"
            " hooks/post-rewrite hooks/sendemail-validate hooks/fsmonitor-watchman hooks/post-index-change"
            " hooks/p4-changelist hooks/p4-prepare-changelist hooks/p4-post-changelist hooks/p4-pre-submit"
        ),
    ),
    ("another version control system runs what it names", ".hg/ .svn/ .jj/"),
    (
        "a hook of git runs what it names, at the next commit or push",
        (
            ".husky/ .huskyrc* .pre-commit-config.yaml .pre-commit-hooks.yaml lefthook* .lefthook* .overcommit.yml"
            " .lintstagedrc* lint-staged.config.* .simple-git-hooks* simple-git-hooks* .commitlintrc* commitlint.config.*"
        ),
    ),
    (
        "agents follow it as instructions",
        (
            "agents.md agents.*.md claude.md claude.*.md gemini.md qwen.md warp.md copilot-instructions.md .cursorrules"
            " .windsurfrules .clinerules .clinerules/ .goosehints .rules .cursor/ .windsurf/ .continue/ .roo/"
            " .kiro/ .kilocode/"
            " .junie/ .trae/ .augment/ .amazonq/ .agents/ skill.md"
        ),
    ),
    (
        "an agent runs the hooks, servers and commands that it names",
        (
            ".claude/ .codex/ .gemini/ .qwen/ .goose/ .opencode/ opencode.json opencode.jsonc .aider* .aider/"
            " .crush/ crush.json"
            " .crush.json .copilot/ .kimi/ .hermes/ .pi/ .amp/ .factory/"
        ),
    ),
    ("agents and editors start the servers that it names", ".mcp.json mcp.json"),
    (
        "operable runs the program that it declares",
        ".operable/ operable.toml agent-cli.md cli.md tool.md app.md acp.md runner.md sandbox.md secrets.md",
    ),
    (
        "an editor runs its tasks, settings or commands when it opens the project",
        (
            ".vscode/ .idea/ .zed/ .fleet/ *.code-workspace .editorconfig .dir-locals* .vimrc .nvimrc .nvim.lua"
            " .exrc .lvimrc"
            " .local.vimrc .ycm_extra_conf.py .luarc.json .luarc.jsonc .helix/ .project .settings/ .nova/ *.sublime-project"
        ),
    ),
    ("an editor builds and starts the container that it describes", ".devcontainer/ .devcontainer*"),
    (
        "an editor runs a linter, which loads the code that it names",
        (
            "eslint.config.* .eslintrc* prettier.config.* .prettierrc* stylelint.config.* .stylelintrc* pylintrc .pylintrc"
            " mypy.ini .mypy.ini .flake8 .rubocop.yml .luacheckrc .php-cs-fixer* .phpcs.xml* phpstan.neon* .markdownlint*"
            " .remarkrc* tslint.json biome.json* .oxlintrc* .golangci.*"
        ),
    ),
    ("ssh runs the commands that it names, and lets in the keys that it lists", ".ssh/"),
    (
        "a shell loads it when a person enters the folder or starts the shell",
        (
            ".envrc .env .direnv/ .profile .bashrc .bash_profile .bash_login .bash_logout .zshrc .zshenv .zprofile .inputrc"
            " .bash_aliases .zlogin .zlogout .cshrc .tcshrc .login .logout .kshrc .xprofile config.fish"
        ),
    ),
    (
        "a version manager runs its hooks and tasks, or picks the programs, when a person enters the folder",
        (
            "mise.* .mise* mise/ .mise/ .tool-versions rust-toolchain rust-toolchain.toml .nvmrc"
            " .node-version .python-version .ruby-version .java-version .sdkmanrc .asdfrc"
        ),
    ),
    (
        "continuous integration runs it, with the secrets of the project, at the next push",
        (
            ".github/ .gitlab/ .gitea/ .forgejo/ .circleci/ .buildkite/ .woodpecker/ .woodpecker* .drone*"
            " .semaphore/ .teamcity/"
            " .tekton/ .builds/ .build.yml .gitlab-ci* .travis.yml azure-pipelines* bitbucket-pipelines* jenkinsfile*"
            " netlify.toml vercel.json render.yaml .replit .releaserc* release.config.*"
            " appveyor.yml .appveyor.yml .cirrus* buildspec.yml cloudbuild.*"
        ),
    ),
    (
        "a package manager runs the program or code that it names, whatever the command",
        (
            ".npmrc .yarnrc .yarnrc.yml .yarn/ .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .cargo/ .mvn/ .bundle/ .bazelrc"
            " .bazeliskrc pnpm-workspace.yaml uv.toml poetry.toml pdm.toml pip.conf .condarc nuget.config"
            " .gemrc .sbtopts .jvmopts"
        ),
    ),
    (
        # `npm install` runs `prepare`, `uv run` builds the project: no user has started the project itself then.
        "installing the dependencies runs its scripts or its build, and editors load the linters that it names",
        "package.json pyproject.toml setup.py setup.cfg composer.json gemfile",
    ),
    (
        "a program loads it from the folder in which it starts",
        (
            ".curlrc .wgetrc .ripgreprc .sqliterc .psqlrc .pdbrc .gdbinit .lldbinit .irbrc .pryrc .rprofile .screenrc"
            " .tmux.conf .ghci .iex.exs .ocamlinit"
        ),
    ),
    ("every Python that has it on its path runs it at its start", "sitecustomize.py usercustomize.py *.pth"),
)
_ENTRIES: Final = [(entry, reason) for reason, entries in TABLE for entry in entries.split()]
_FOLDERS: Final = {entry[:-1]: reason for entry, reason in _ENTRIES if entry.endswith("/")}
_NAMES: Final = {entry: reason for entry, reason in _ENTRIES if "*" not in entry and not entry.endswith("/")}
_PATTERNS: Final = [
    (re.compile(re.escape(entry).replace(r"\*", ".*"), re.DOTALL), reason)
    for entry, reason in _ENTRIES
    if "*" in entry
]
GIT_FILES: Final = (
    *(".git", ".git/config", ".git/config.worktree", ".git/info/attributes"),
    *(f".git/{name}" for _, names in TABLE for name in names.split() if name.startswith("hooks/")),
)
"""What git obeys or runs in a folder, or in one above it."""
_CONFIG_LIMIT = 1 << 20
_CONFIG_DEPTH = 5  # of files that include files; git stops at 10
_CONFIG_VALUES = 2000  # of one project; each is looked up in the file system
_LINKS = 2000  # entries of a project that are looked at for links
_LINK_DEPTH = 3  # `.claude/skills/NAME/SKILL.md`
_STORES = frozenset({".git", ".hg", ".svn", ".jj", ".yarn", ".direnv", ".bundle"})
_CONTINUED = re.compile(rb"(?<!\\)((?:\\\\)*)\\\r?\n")
_SETTING = re.compile(
    rb"(?:^|\])[ \t]*+(?P<name>[a-z][a-z0-9-]*+)[ \t]*+=[ \t]*+(?P<value>(?:\"(?:[^\"\\\n]|\\.)*+\"?|\\.|[^\"\\;#\n])*+)",
    re.IGNORECASE | re.MULTILINE,
)
_CONFIG_WORD = re.compile(rb"[^\s!\"'`;|&()<>=]+")
_GITDIR = re.compile(rb"^gitdir:\s*(.+?)\s*$", re.MULTILINE)


def is_execution_file(workspace: str, written: str, real: str) -> bool:
    """Whether a change of this file is a change of what runs by itself. `written` is absolute and not resolved."""
    return find_execution(workspace, written, real) is not None


def find_execution(workspace: str, written: str, real: str) -> ExecutionFile | None:
    """Why a file becomes execution; None: it does not. `written` is absolute and not resolved."""
    for path in (_relative(written, workspace), _relative(real, workspace)):
        if (named := _named(path)) is not None:
            return named
    for place in _configured(workspace):
        if real == place or real.startswith(f"{place}/"):
            return ExecutionFile("", "this project uses it for git or as instructions for agents")
    folder, name = os.path.split(real)
    if name.casefold() == "config" and os.path.lexists(os.path.join(folder, "HEAD")):
        return ExecutionFile(name, "git runs the programs that it names, in this bare repository")
    return None


def _relative(path: str, workspace: str) -> str:
    """Only what is below the workspace counts: a workspace inside a folder called `hooks` is not special."""
    path = os.path.normpath(path)
    return path[len(workspace.rstrip("/")) :] if path.startswith(f"{workspace.rstrip('/')}/") else path


def _named(path: str) -> ExecutionFile | None:
    # Trailing dots and spaces name the same file on some systems.
    parts = [part.casefold().rstrip(". ") or part for part in path.split("/") if part]
    for part in parts[:-1]:
        if (reason := _FOLDERS.get(part)) is not None:
            return ExecutionFile(part, reason)
    if not parts:
        return None
    name = parts[-1]
    reason = _NAMES.get(name) or _NAMES.get("/".join(parts[-2:])) or _FOLDERS.get(name)
    reason = reason or next((why for pattern, why in _PATTERNS if pattern.fullmatch(name)), None)
    return None if reason is None else ExecutionFile(name, reason)


def _configured(workspace: str) -> Iterator[str]:
    """Places that this project itself has given such a meaning: targets of links, the folder of git, of its hooks."""
    yield from _linked(workspace, [_LINKS])
    git = os.path.join(workspace, ".git")
    if os.path.isfile(git) and (match := _GITDIR.search(_head_of(git))):
        git = os.path.realpath(os.path.join(workspace, os.fsdecode(match[1])))
        yield git
    common = os.path.join(git, os.fsdecode(_head_of(os.path.join(git, "commondir")).strip()) or ".")
    for folder, name in ((git, "config"), (git, "config.worktree"), (common, "config")):
        for config in _with_includes(os.path.realpath(os.path.join(folder, name)), _CONFIG_DEPTH):
            yield config
            yield from _named_by_config(config, workspace)


def _linked(folder: str, left: list[int], above: str = "") -> Iterator[str]:
    """Where links with a name of the table lead to, at the top of the project and in the folders of the table.

    `left[0]` is the number of entries that may still be looked at. A project that has more gives no further meaning.
    """
    try:
        entries = os.scandir(folder)
    except OSError:
        return
    with entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0:
                return
            name = f"{above}{entry.name}"
            if entry.is_symlink():
                if _named(name) is not None:
                    yield os.path.realpath(entry.path)
            elif name.casefold() in (".git", ".git/hooks") or (
                entry.is_dir(follow_symlinks=False) and _is_small_folder(name)
            ):
                yield from _linked(entry.path, left, f"{name}/")


def _is_small_folder(name: str) -> bool:
    """A folder of the table, or below one: not those in which programs keep thousands of files of their own."""
    top = name.casefold().partition("/")[0]
    return top in _FOLDERS and top not in _STORES and name.count("/") < _LINK_DEPTH


def _with_includes(config: str, depth: int) -> Iterator[str]:
    """A configuration of git and the files that it includes. A condition is not judged: it may be true later."""
    yield config
    for name, value in _settings(config):
        if depth and name == b"path":
            place = os.path.join(os.path.dirname(config), os.path.expanduser(os.fsdecode(value)))
            yield from _with_includes(os.path.realpath(place), depth - 1)


def _named_by_config(config: str, workspace: str) -> Iterator[str]:
    """The folder of hooks, and every file of the project that is a word of a value: git may run it."""
    for name, value in _settings(config):
        if name == b"hookspath":
            yield os.path.realpath(os.path.join(workspace, os.path.expanduser(os.fsdecode(value))))
        for word in _CONFIG_WORD.findall(value):
            place = os.path.join(workspace, os.path.expanduser(os.fsdecode(word)))
            # `sshCommand = ./x` counts also before there is a file; `remote = origin` only if there is one.
            if os.path.isfile(place) or (b"/" in word and not os.path.isdir(place)):
                yield os.path.realpath(place)


def _settings(config: str) -> Iterator[tuple[bytes, bytes]]:
    """The names, in lower case, and values of a configuration of git, as git reads its lines, quotes and comments."""
    text = _CONTINUED.sub(rb"\1", _head_of(config))
    for match in itertools.islice(_SETTING.finditer(text), _CONFIG_VALUES):
        value = re.sub(rb"\\(.)|\"", rb"\1", match["value"]).strip()
        if b"\0" not in value:
            yield match["name"].lower(), value


def _head_of(path: str) -> bytes:
    """The beginning of a regular file; nothing if the file does not exist or cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(_CONFIG_LIMIT)
    except OSError:
        return b""
