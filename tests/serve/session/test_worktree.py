"""A worktree per session: made from a repository that may be hostile, and removed only when nothing is lost."""

import os
import subprocess
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.serve.session.worktree import (
    is_clean,
    list_worktrees,
    make_worktree,
    remove_worktree,
    undo_worktree,
)

pytestmark = pytest.mark.needs("git")


def git(folder, *words):
    env = {
        **os.environ,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(
        ["git", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=100, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repo"
    (folder / "api").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "api" / "a.txt").write_text("a\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_a_session_gets_a_branch_and_the_same_folder_below_it(tmp_path, repository):
    tree = make_worktree(str(repository / "api"), str(tmp_path / "trees"), "ses_1", True)
    assert (tree.branch, tree.cwd) == ("operable/ses_1", os.path.join(tree.path, "api"))
    assert Path(tree.cwd, "a.txt").read_text() == "a\n"
    assert list_worktrees(str(repository), str(tmp_path / "trees")) == [(tree.path, "operable/ses_1")]
    assert is_clean(tree.path)


def test_a_worktree_with_changes_stays_until_its_user_discards_it(tmp_path, repository):
    tree = make_worktree(str(repository), str(tmp_path / "trees"), "ses_1", "feature/x")
    with open(os.path.join(tree.path, "new.txt"), "w") as file:
        file.write("mine")
    with pytest.raises(Fail) as refused:
        remove_worktree(tree.path)
    assert refused.value.code == "WORKTREE_CHANGED"
    assert os.path.exists(os.path.join(tree.path, "new.txt"))
    remove_worktree(tree.path, discard=True)
    assert not os.path.exists(tree.path)
    assert list_worktrees(str(repository), str(tmp_path / "trees")) == []
    assert "feature/x" in git(repository, "branch")  # what was committed stays
    remove_worktree(tree.path)  # any number of times


def test_nothing_that_a_hostile_repository_configures_is_run(tmp_path, repository):
    ran = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(script.read_text())
        (hooks / name).chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    for setting, value in (
        ("filter.evil.smudge", script),
        ("filter.evil.clean", script),
        ("filter.evil.required", "true"),
        ("core.fsmonitor", script),
    ):
        git(repository, "config", setting, str(value))
    ran.unlink(missing_ok=True)

    tree = make_worktree(str(repository), str(tmp_path / "trees"), "ses_1", True)
    assert is_clean(tree.path)
    remove_worktree(tree.path)
    assert not ran.exists()
    assert tree.filters == ("evil",)


def test_nothing_that_a_submodule_configures_is_run(tmp_path, repository):
    ran = tmp_path / "ran"
    tree = make_worktree(str(repository), str(tmp_path / "trees"), "ses_1", True)
    inside = Path(tree.path, "inside")
    inside.mkdir()
    git(inside, "init", "-q")
    (inside / "a").write_text("one\n")
    git(inside, "add", ".")
    git(inside, "commit", "-q", "-m", "first")
    git(Path(tree.path), "add", "inside")
    git(Path(tree.path), "commit", "-q", "-m", "a submodule")
    # All of it is what the agent of the session may write.
    git(inside, "config", "filter.evil.clean", f"touch {ran}; cat")
    git(inside, "config", "core.fsmonitor", f"touch {ran}")
    (inside / ".gitattributes").write_text("* filter=evil\n")
    (inside / "a").write_text("two\n")
    ran.unlink(missing_ok=True)

    assert not is_clean(tree.path)
    assert not ran.exists()


@pytest.mark.parametrize("branch", ["-f", "a..b", "a.lock", "", "a b", "x/", "--upload-pack=x", "a\0"])
def test_a_word_that_is_not_a_branch_is_refused_before_git_reads_it(tmp_path, repository, branch):
    with pytest.raises(Fail) as refused:
        make_worktree(str(repository), str(tmp_path / "trees"), "ses_1", branch)
    assert refused.value.code == "BRANCH_INVALID"


def test_a_folder_without_a_repository_says_so(tmp_path):
    with pytest.raises(Fail) as refused:
        make_worktree(str(tmp_path), str(tmp_path / "trees"), "ses_1", True)
    assert refused.value.code == "NOT_A_REPOSITORY"


def test_what_was_made_for_a_session_that_did_not_start_is_taken_back(tmp_path, repository):
    tree = make_worktree(str(repository), str(tmp_path / "trees"), "ses_1", "feature")
    undo_worktree(tree, str(repository))
    assert not os.path.exists(tree.path)
    assert "feature" not in git(repository, "branch")

    tree = make_worktree(str(repository), str(tmp_path / "trees"), "ses_2", "feature")
    Path(tree.path, "new.txt").write_text("of the agent")
    undo_worktree(tree, str(repository))
    assert Path(tree.path, "new.txt").exists()


def test_a_link_in_the_commit_is_no_way_out_of_the_worktree(tmp_path, repository):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repository / "api" / "a.txt").unlink()
    (repository / "api").rmdir()
    (repository / "api").symlink_to(outside)
    git(repository, "add", "--all")
    git(repository, "commit", "-q", "-m", "a link")
    (repository / "api").unlink()
    (repository / "api").mkdir()
    with pytest.raises(Fail) as refused:
        make_worktree(str(repository / "api"), str(tmp_path / "trees"), "ses_1", True)
    assert refused.value.code == "CWD_OUTSIDE_PARENT"
    assert os.listdir(tmp_path / "trees") == []
    assert git(repository, "branch", "--list", "operable/*") == ""
