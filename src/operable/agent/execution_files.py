"""Files of a workspace that become execution or instructions without a person starting them.

Ordinary source runs when a person runs it. The files named here take effect when a person or a program merely enters,
opens or looks at the project: git runs hooks, filters and programs of its configuration, editors run tasks, shells load
environments, agents follow instructions, hosts start servers, continuous integration runs workflows. An edit of one of
them is a way to run code later, outside the rules of this session, so `auto_edit` and remembered permissions do not
cover it.

A path is judged twice: as the model wrote it, and as the file that it really names. The comparison ignores case, because
some file systems do. Not covered: names that a program of the user configured outside the workspace.
"""

import os
import re
from collections.abc import Iterator

# Every file below a folder of one of these names. `hooks` and `HEAD` also stand for a bare repository in any folder.
_FOLDERS = frozenset(
    ".git .hg .svn .jj hooks .githooks .husky .vscode .idea .zed .fleet .devcontainer .claude .codex .gemini .qwen .goose "
    ".opencode .cursor .windsurf .aider .continue .clinerules .roo .kiro .operable .github .gitlab .circleci .buildkite "
    ".cargo .direnv".split()
)
_NAMES = frozenset(
    "head .gitconfig .gitattributes .gitmodules .lfsconfig "
    "agents.md claude.md gemini.md qwen.md copilot-instructions.md .cursorrules .windsurfrules .clinerules .goosehints "
    "skill.md agent-cli.md cli.md tool.md app.md acp.md runner.md sandbox.md secrets.md .mcp.json mcp.json opencode.json "
    ".envrc .env .profile .bashrc .bash_profile .bash_login .zshrc .zshenv .zprofile .vimrc .nvimrc .exrc .dir-locals.el "
    ".editorconfig .pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml lefthook.yaml .lefthook.yml .gitlab-ci.yml "
    ".travis.yml azure-pipelines.yml jenkinsfile .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .curlrc .ripgreprc .sqliterc "
    "sitecustomize.py usercustomize.py .pdbrc .gdbinit .lldbinit mise.toml .mise.toml .tool-versions".split()
)
_ENDINGS = (".pth", ".code-workspace")
_CONFIG_LIMIT = 1 << 20
_HOOKS_PATH = re.compile(rb"^\s*hookspath\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)
_GITDIR = re.compile(rb"^gitdir:\s*(.+?)\s*$", re.MULTILINE)


def is_execution_file(workspace: str, written: str, real: str) -> bool:
    """Whether a change of this file is a change of what runs by itself. `written` is absolute and not resolved."""
    if any(_is_named(path) for path in (_relative(written, workspace), _relative(real, workspace))):
        return True
    return any(real == place or real.startswith(f"{place}/") for place in _configured(workspace))


def _relative(path: str, workspace: str) -> str:
    """Only what is below the workspace counts: a workspace inside a folder called `hooks` is not special."""
    path = os.path.normpath(path)
    return path[len(workspace.rstrip("/")) :] if path.startswith(f"{workspace.rstrip('/')}/") else path


def _is_named(path: str) -> bool:
    # Trailing dots and spaces name the same file on some systems.
    parts = [part.casefold().rstrip(". ") or part for part in path.split("/") if part]
    if not parts:
        return False
    name = parts[-1]
    return (
        name in _NAMES or name in _FOLDERS or name.endswith(_ENDINGS) or not _FOLDERS.isdisjoint(parts[:-1])
    )


def _configured(workspace: str) -> Iterator[str]:
    """Places that this project itself has given such a meaning: targets of links, the folder of git, of its hooks."""
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".git"):
        path = os.path.join(workspace, name)
        if os.path.islink(path):
            yield os.path.realpath(path)
    git = os.path.join(workspace, ".git")
    if os.path.isfile(git) and (match := _GITDIR.search(_head_of(git))):
        git = os.path.realpath(os.path.join(workspace, os.fsdecode(match[1])))
        yield git
    for match in _HOOKS_PATH.finditer(_head_of(os.path.join(git, "config"))):
        yield os.path.realpath(os.path.join(workspace, os.path.expanduser(os.fsdecode(match[1]))))


def _head_of(path: str) -> bytes:
    """The beginning of a regular file; nothing if the file does not exist or cannot be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(_CONFIG_LIMIT)
    except OSError:
        return b""
