"""A git worktree of its own for a session: made, listed, and removed only when it is clean or its user says so.

Nothing that a repository configures is run: no hooks, no filters, no file system monitor, no fetch of missing objects. A
file that a filter would change (Git LFS) is therefore as it is stored, which `Worktree.filters` says. What a person does
with git in the worktree is as usual. A sandbox that shows the worktree alone does not show the repository that it belongs
to: commands of git fail inside.
"""

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from operable.kernel.errors import Fail
from operable.proc.run import CommandOutput, output
from operable.proc.spawn import prepare
from operable.state.paths import make_private
from operable.wrap.wrappers.git.settings import idle_filters

if TYPE_CHECKING:
    from operable.wrap.upstream import Upstream

_TIMEOUT = 300.0  # seconds: the checkout of a large repository on a slow disk
_SAFE = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "core.quotePath=false"),
)
# No transport: a partial clone would fetch what it lacks, with programs that the repository names.
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


class Worktree(NamedTuple):
    """One worktree of a session. `filters` are those of the configuration that were not run."""

    path: str
    branch: str
    cwd: str  # the same folder below the worktree as the ground is below the repository
    filters: tuple[str, ...] = ()


class _Git:
    """Git in one folder, with the filters of its configuration taken away."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.env: dict[str, str] = {}  # set by `idle_filters`
        self.filters = tuple(idle_filters(cast("Upstream", self)))

    def ask(self, words: list[str], *, fine: Any = (0,)) -> bytes:
        done = self.run(words)
        if done.status not in fine:
            raise _failed(words[0], done, self._folder)
        return done.stdout

    def run(self, words: list[str]) -> CommandOutput:
        command = prepare(["git", *_SAFE, *words], env={**_VARIABLES, **self.env}, cwd=self._folder)
        return output(command, timeout=_TIMEOUT)


def make_worktree(folder: str, root: str, session_id: str, branch: bool | str) -> Worktree:
    """A new branch from the commit that the folder is at, in a folder below the state. Fail says why it cannot be."""
    name = branch if isinstance(branch, str) else f"operable/{session_id}"
    if not _BRANCH.fullmatch(name) or ".." in name or name.endswith((".", "/", ".lock")):
        raise Fail("usage", "BRANCH_INVALID", "this is not the name of a branch", target=name[:100])
    git = _Git(folder)
    inside = git.run(["rev-parse", "--show-toplevel", "--show-prefix"])
    if inside.status != 0:
        message = f"{folder} is not in a git repository"
        raise Fail("usage", "NOT_A_REPOSITORY", message, target=folder, hint=inside.said(300))
    prefix = inside.text.splitlines()[1:]
    path = os.path.join(make_private(root), session_id)
    git.ask(["worktree", "add", "-b", name, "--", path, "HEAD"])
    cwd = os.path.realpath(os.path.join(path, prefix[0].strip("/") if prefix else ""))
    real = os.path.realpath(path)
    tree = Worktree(path, name, cwd, git.filters)
    if os.path.commonpath([cwd, real]) != real or not os.path.isdir(cwd):
        undo_worktree(tree, folder)
        message = f"{folder} is not a folder of the commit that the worktree begins with"
        raise Fail("authz", "CWD_OUTSIDE_PARENT", message, target=folder, aip_code="cwd_outside_parent")
    return tree


def undo_worktree(tree: Worktree, folder: str) -> None:
    """Take back what was made for a session that did not start. What its agent has changed or committed there stays."""
    with contextlib.suppress(Fail):  # the caller reports why the session did not start
        remove_worktree(tree.path)
        _Git(folder).ask(["branch", "--delete", "--", tree.branch])


def is_clean(path: str) -> bool:
    """Whether it has neither changes nor files that git does not know; commits are on its branch, and stay.

    A submodule that was checked out counts as a change. To look into it git would start itself there, with the
    configuration of that repository, which the agent of the session may have written.
    """
    git = _Git(path)
    entries = git.ask(["ls-files", "--stage", "--full-name", "-z"]).split(b"\0")
    repositories = (entry.partition(b"\t")[2] for entry in entries if entry.startswith(b"160000 "))
    if any(os.path.lexists(os.path.join(os.fsencode(path), name, b".git")) for name in repositories):
        return False
    return not git.ask(["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty"])


def remove_worktree(path: str, *, discard: bool = False) -> None:
    """Remove the folder; the branch stays. Fail conflict/WORKTREE_CHANGED unless it is clean or `discard` says so."""
    if not os.path.isdir(path):
        return
    if not discard and not is_clean(path):
        raise Fail(
            "conflict",
            "WORKTREE_CHANGED",
            f"the worktree {path} has changes that are not committed",
            target=path,
            hint="commit them, or say that they are to be discarded",
        )
    common = _Git(path).ask(["rev-parse", "--path-format=absolute", "--git-common-dir"]).decode().strip()
    _Git(common).ask(["worktree", "remove", "--force", "--", path])


def list_worktrees(folder: str, root: str) -> list[tuple[str, str]]:
    """Path and branch of those that sessions got, of the repository of a folder."""
    text = _Git(folder).ask(["worktree", "list", "--porcelain"]).decode("utf-8", "replace")
    found: list[tuple[str, str]] = []
    above = os.path.realpath(root) + os.sep
    for block in text.split("\n\n"):
        facts = dict(line.partition(" ")[::2] for line in block.splitlines())
        path = facts.get("worktree", "")
        if os.path.realpath(path).startswith(above):
            found.append((path, facts.get("branch", "").removeprefix("refs/heads/")))
    return found


def _failed(word: str, done: CommandOutput, folder: str) -> Fail:
    return Fail("io", "WORKTREE_FAILED", f"git {word} failed: {done.said(500)}", target=folder)
