"""The files of a workspace before and after each turn, so that the edits of a turn can be undone.

They are in a git repository of our own, in the user's cache, that lives as long as the chat: nothing is written to the
user's repository, and its configuration, hooks and filters are not read. What `.gitignore` leaves out is not kept, nor are
other repositories inside. A workspace that takes too long to look at has no checkpoints, and `/undo` says so.

Git must not start itself in a repository inside: the agent may have written its configuration, whose filters would then
run with the user's rights. So such repositories leave the index after each look, and this git finds no program to start.

What was changed after a turn, by the person or another program, is not undone with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.run import output
from operable.proc.spawn import prepare
from operable.state.lock import create_locked, is_locked
from operable.state.paths import cache_path, make_private

_LOOK = 5.0  # seconds for one look at all files
_WAIT = 3.0  # seconds that a turn waits for the first one
_TURNS = 20
_NAMES = 64 * 1024 * 1024  # bytes of a list of all files
_REPOSITORY = b"160000 "  # how the entry of a repository inside begins
_OLD = 3600.0  # seconds after which a folder without an owner is removed
# Made by programs, and large.
_LEFT_OUT = "node_modules/\n.venv/\nvenv/\n__pycache__/\n"
# Bytes come back as they were, whatever the attributes of the workspace say.
_EXACT = "* -text -ident -filter -working-tree-encoding\n"


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """What an undo has done. `kept`: paths that were changed since, and stay as they are."""

    restored: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class WorkspaceCheckpoints:
    """The checkpoints of one chat. `why`: the reason for which none are kept; empty: they are."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace
        self._folder = ""
        self._lock = -1
        self._before = ""
        self._turns: list[tuple[str, str]] = []
        self._using = threading.Lock()
        self._program = shutil.which("git")
        self.why = "" if self._program else "git is not installed"
        self._first = threading.Thread(target=self._prepare, daemon=True, name="checkpoint")
        self._first.start()

    def begin(self) -> None:
        """Before a turn."""
        self._first.join(_WAIT)
        if self._first.is_alive():
            self.why = "the workspace has too many files to keep checkpoints of it"
        self._before = self._look()

    def end(self) -> None:
        """After a turn."""
        after = self._look()
        if self._before and after and after != self._before:
            self._turns = [*self._turns, (self._before, after)][-_TURNS:]

    def undo(self) -> UndoneTurn:
        """Take the last turn back that changed anything. Raises Fail where that is not possible."""
        if self.why:
            raise Fail("config", "NO_CHECKPOINT", f"There is nothing to undo: {self.why}")
        if not self._turns:
            raise Fail("not_found", "NO_CHECKPOINT", "No turn of this chat has changed a file that is kept")
        before, after = self._turns[-1]
        now = self._look()
        if not now:
            raise Fail("io", "NO_CHECKPOINT", f"The files cannot be looked at: {self.why}")
        changed, since = self._changed(before, after), set(self._changed(after, now))
        restored = [path for path in changed if path not in since]
        self._restore(before, {path: changed[path] for path in restored})
        self._turns.pop()
        return UndoneTurn(tuple(restored), tuple(path for path in changed if path in since))

    def close(self) -> None:
        self._first.join(_LOOK)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.close(self._lock)
            self._folder = ""

    # --- git

    def _prepare(self) -> None:
        root = cache_path("checkpoints")
        if self.why or root is None:
            self.why = self.why or "there is no place for a cache"
            return
        try:
            _remove_old(make_private(root))
            self._folder = tempfile.mkdtemp(dir=root)
            self._lock = create_locked(os.path.join(self._folder, "owner"))
            self._git("init", "--quiet", "--template=")
            info = os.path.join(self._folder, "git", "info")
            os.makedirs(info, exist_ok=True)
            for name, text in (("exclude", _LEFT_OUT), ("attributes", _EXACT)):
                with open(os.path.join(info, name), "w", encoding="utf-8") as file:
                    file.write(text)
        except (Fail, OSError) as error:
            self.why = f"checkpoints cannot be kept: {error}"
            return
        self._look()

    def _look(self) -> str:
        """The tree of all files as they are; empty: they cannot be kept."""
        with self._using:
            if self.why or not self._folder:
                return ""
            try:
                self._git("add", "--all", "--ignore-errors", "--no-warn-embedded-repo", ".", accept=(0, 1))
                self._drop_repositories()
                return self._git("write-tree").decode("ascii").strip()
            except Fail as problem:
                late = problem.code == "DEADLINE_EXCEEDED"
                self.why = "it takes too long to look at all files" if late else problem.message
                return ""

    def _drop_repositories(self) -> None:
        """Git would look into those that are in its index."""
        entries = self._git("ls-files", "--stage", "-z").split(b"\0")
        named = [entry.partition(b"\t")[2] for entry in entries if entry.startswith(_REPOSITORY)]
        if named:
            self._git("update-index", "--force-remove", "-z", "--stdin", stdin=b"\0".join(named) + b"\0")

    def _changed(self, before: str, after: str) -> dict[str, str]:
        """Path -> A, M, D or T."""
        words = self._git("diff-tree", "-r", "-z", "--no-renames", "--name-status", before, after)
        parts = os.fsdecode(words).split("\0")
        return dict(zip(parts[1::2], parts[0:-1:2], strict=False))

    def _restore(self, before: str, changed: dict[str, str]) -> None:
        for path in (path for path, how in changed.items() if how == "A"):
            self._remove(path)
        back = [path for path, how in changed.items() if how != "A"]
        if back:
            named = b"\0".join(os.fsencode(path) for path in back) + b"\0"
            self._git("checkout", before, "--pathspec-from-file=-", "--pathspec-file-nul", stdin=named)

    def _remove(self, path: str) -> None:
        place = os.path.join(self._workspace, path)
        folder = os.path.dirname(place)
        if os.path.realpath(folder) != folder:
            return  # the tree was compared a moment ago: another program has made a link
        with suppress(OSError):
            os.unlink(place)
            while folder != self._workspace and not os.listdir(folder):
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    def _git(self, *words: str, stdin: bytes | None = None, accept: tuple[int, ...] = (0,)) -> bytes:
        env = {
            # A folder without programs.
            "PATH": self._folder,
            "GIT_EXEC_PATH": self._folder,
            "GIT_DIR": os.path.join(self._folder, "git"),
            "GIT_WORK_TREE": self._workspace,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        settings = ("-c", "core.fsmonitor=false", "-c", "core.autocrlf=false", "-c", "gc.auto=0")
        command = prepare([str(self._program), *settings, *words], cwd=self._workspace, env=env)
        try:
            done = output(command, stdin=stdin, timeout=_LOOK, limit=_NAMES)
        except Fail:
            with suppress(OSError):  # of a git that was ended
                os.unlink(os.path.join(self._folder, "git", "index.lock"))
            raise
        if done.status is None or done.status not in accept:
            raise Fail("io", "CHECKPOINT_FAILED", f"git {words[0]}: {done.said(200)}")
        return done.stdout


def _remove_old(root: str) -> None:
    """Folders of chats that were killed."""
    for entry in os.scandir(root):
        if time.time() - entry.stat(follow_symlinks=False).st_mtime > _OLD and not _is_owned(entry.path):
            shutil.rmtree(entry.path, ignore_errors=True)


def _is_owned(folder: str) -> bool:
    try:
        return is_locked(os.path.join(folder, "owner"))
    except FileNotFoundError:
        return False
