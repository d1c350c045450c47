"""The wrapped git where it moves branches, files and histories: against real repositories, each plan before the deed."""

from pathlib import Path

import pytest

from tests.wrap.drive import wrap
from tests.wrap.test_properties import git

pytestmark = pytest.mark.needs("git")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """`main` with two commits, and `topic` with one of its own on the first."""
    place = tmp_path / "repo"
    place.mkdir()
    git("init", "-q", "-b", "main", cwd=place)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git("config", name, value, cwd=place)
    write(place, "poem.txt", "one\n", "first")
    git("switch", "-q", "-c", "topic", cwd=place)
    write(place, "topic.txt", "topic\n", "topic")
    git("switch", "-q", "main", cwd=place)
    write(place, "poem.txt", "one\ntwo\n", "second")
    return place


def write(place: Path, name: str, text: str, message: str | None = None) -> None:
    (place / name).write_text(text)
    if message is not None:
        git("add", name, cwd=place)
        git("commit", "-q", "-m", message, cwd=place)


def head(place: Path, revision: str = "HEAD") -> str:
    return git("rev-parse", revision, cwd=place).decode().strip()


def branch(place: Path) -> str:
    return git("rev-parse", "--abbrev-ref", "HEAD", cwd=place).decode().strip()


@pytest.fixture
def conflicting(repo: Path) -> Path:
    git("switch", "-q", "topic", cwd=repo)
    write(repo, "poem.txt", "one\nthree\n", "third")
    git("switch", "-q", "main", cwd=repo)
    return repo


def planned(done) -> list[tuple[str, str]]:
    return [(event["action"], event["target"]) for event in done.of("aoi:plan")]


# -- work tree


def test_switch_plans_each_file_and_then_stands_on_the_branch(repo):
    plan = wrap("git", "switch", "topic", "--dry-run", cwd=repo)
    assert branch(repo) == "main"
    done = wrap("git", "switch", "topic", cwd=repo)

    assert planned(plan) == [("switch", "topic"), ("check_out", "poem.txt"), ("check_out", "topic.txt")]
    (event,) = done.results
    assert (event["branch"], event["from"], event["id"]) == ("topic", "main", head(repo, "topic"))
    assert branch(repo) == "topic"


def test_switch_makes_a_branch_only_where_it_is_asked_to(repo):
    missing = wrap("git", "switch", "new", cwd=repo)
    done = wrap("git", "switch", "-c", "new", "--start", "topic", cwd=repo)
    again = wrap("git", "switch", "topic", "--create", cwd=repo)

    assert (missing.error["category"], missing.error["code"]) == ("not_found", "REVISION_NOT_FOUND")
    assert "--create" in missing.error["hint"]
    assert (done.results[0]["branch"], head(repo)) == ("new", head(repo, "topic"))
    assert (again.error["category"], again.error["code"]) == ("conflict", "GIT_EXISTS")


def test_switch_without_a_branch_stands_on_a_commit(repo):
    done = wrap("git", "switch", "HEAD~1", "--detach", cwd=repo)

    assert (done.results[0]["branch"], done.results[0]["id"]) == (None, head(repo, "main~1"))


def test_local_changes_are_never_overwritten_and_the_plan_says_so(repo):
    (repo / "poem.txt").write_text("mine\n")

    plan = wrap("git", "switch", "topic", "--dry-run", cwd=repo)
    done = wrap("git", "switch", "topic", cwd=repo)

    assert [warning["code"] for warning in plan.of("aoi:warning")] == ["LOCAL_CHANGES"]
    assert (done.error["category"], done.error["code"]) == ("conflict", "LOCAL_CHANGES")
    assert ((repo / "poem.txt").read_text(), branch(repo)) == ("mine\n", "main")


def test_restore_needs_a_yes_because_what_it_discards_is_lost(repo):
    (repo / "poem.txt").write_text("mine\n")

    refused = wrap("git", "restore", "poem.txt", cwd=repo)
    assert (repo / "poem.txt").read_text() == "mine\n"
    done = wrap("git", "restore", "poem.txt", "--confirm", cwd=repo)
    older = wrap("git", "restore", "poem.txt", "--source", "HEAD~1", "--confirm", cwd=repo)

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [(event["path"], event["change"]) for event in done.results] == [("poem.txt", "modified")]
    assert older.summary["ok"]
    assert (repo / "poem.txt").read_text() == "one\n"


def test_restoring_what_git_does_not_know_is_an_error(repo):
    done = wrap("git", "restore", "nowhere.txt", "--dry-run", cwd=repo)

    assert (done.error["category"], done.summary["ok"]) == ("not_found", False)


def test_unstage_keeps_the_file(repo):
    (repo / "poem.txt").write_text("mine\n")
    git("add", "poem.txt", cwd=repo)

    plan = wrap("git", "unstage", "poem.txt", "--dry-run", cwd=repo)
    done = wrap("git", "unstage", "poem.txt", cwd=repo)

    assert planned(plan) == [("unstage", "poem.txt")]
    assert [event["path"] for event in done.results] == ["poem.txt"]
    assert git("diff", "--cached", "--name-only", cwd=repo) == b""
    assert (repo / "poem.txt").read_text() == "mine\n"


def test_the_old_spellings_say_what_to_write(repo):
    assert "git unstage" in wrap("git", "reset", "HEAD", "poem.txt", cwd=repo).error["hint"]
    assert "git switch" in wrap("git", "checkout", "topic", cwd=repo).error["hint"]
    assert "git unstage" in wrap("git", "restore", "--staged", "poem.txt", cwd=repo).error["hint"]


# -- stash


def test_the_stash_takes_and_gives_back(repo):
    (repo / "poem.txt").write_text("mine\n")
    (repo / "new.txt").write_text("new\n")

    plan = wrap("git", "stash", "push", "-u", "--dry-run", cwd=repo)
    done = wrap("git", "stash", "push", "-u", "-m", "half done", cwd=repo)
    assert ((repo / "poem.txt").read_text(), (repo / "new.txt").exists()) == ("one\ntwo\n", False)
    listed = wrap("git", "stash", "list", cwd=repo)
    back = wrap("git", "stash", "pop", cwd=repo)

    assert planned(plan) == [("stash", "poem.txt"), ("stash", "new.txt")]
    assert [(event["name"], event["message"]) for event in done.results] == [
        ("stash@{0}", "On main: half done")
    ]
    assert [event["hash"] for event in listed.results] == [done.results[0]["id"]]
    assert [(event["id"], event["dropped"]) for event in back.results] == [(done.results[0]["id"], True)]
    assert ((repo / "poem.txt").read_text(), (repo / "new.txt").read_text()) == ("mine\n", "new\n")


def test_a_stash_of_nothing_is_a_failure(repo):
    done = wrap("git", "stash", "push", cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("conflict", "NOTHING_TO_STASH")


def test_an_entry_that_conflicts_is_kept_and_every_file_is_named(repo):
    (repo / "poem.txt").write_text("mine\n")
    git("stash", "push", "-q", cwd=repo)
    write(repo, "poem.txt", "theirs\n", "other")

    done = wrap("git", "stash", "pop", "0", cwd=repo)

    assert [event["path"] for event in done.of("conflict")] == ["poem.txt"]
    assert (done.error["category"], done.error["code"], done.summary["ok"]) == (
        "conflict",
        "GIT_CONFLICT",
        False,
    )
    assert len(wrap("git", "stash", "list", cwd=repo).results) == 1


def test_dropping_an_entry_needs_a_yes(repo):
    (repo / "poem.txt").write_text("mine\n")
    git("stash", "push", "-q", cwd=repo)

    refused = wrap("git", "stash", "drop", cwd=repo)
    gone = wrap("git", "stash", "drop", "stash@{3}", "--dry-run", cwd=repo)
    done = wrap("git", "stash", "drop", "--confirm", cwd=repo)

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert (gone.error["category"], gone.error["code"]) == ("not_found", "STASH_NOT_FOUND")
    assert [event["name"] for event in done.results] == ["stash@{0}"]


# -- merge and rebase


def test_a_merge_is_tried_before_it_is_made(repo):
    before = sorted(path for path in (repo / ".git").rglob("*") if path.is_file())
    plan = wrap("git", "merge", "topic", "--dry-run", cwd=repo)
    assert sorted(path for path in (repo / ".git").rglob("*") if path.is_file()) == before
    done = wrap("git", "merge", "topic", "-m", "both", cwd=repo)
    again = wrap("git", "merge", "topic", cwd=repo)

    (change,) = plan.of("aoi:plan")
    assert (change["commits"], change["fast_forward"], change["conflicts"]) == (1, False, [])
    (event,) = done.results
    assert (event["action"], event["branch"], event["commits"]) == ("merge", "main", 2)
    assert git("log", "-1", "--format=%B", cwd=repo).strip() == b"both"
    assert (again.summary["ok"], again.of("aoi:plan")) == (True, [])


def test_a_merge_that_conflicts_says_so_before_and_afterwards_and_can_be_given_up(conflicting):
    plan = wrap("git", "merge", "topic", "--dry-run", cwd=conflicting)
    done = wrap("git", "merge", "topic", cwd=conflicting)
    given_up = wrap("git", "merge-abort", "--confirm", cwd=conflicting)
    nothing = wrap("git", "merge-abort", "--confirm", cwd=conflicting)

    assert plan.of("aoi:plan")[0]["conflicts"] == ["poem.txt"]
    assert [event["path"] for event in done.of("conflict")] == ["poem.txt"]
    assert (done.exit_code, done.error["code"]) == (
        75 if done.exit_code == 75 else done.exit_code,
        "GIT_CONFLICT",
    )
    assert "merge-abort" in done.error["hint"]
    assert given_up.results[0]["id"] == head(conflicting)
    assert (conflicting / "poem.txt").read_text() == "one\ntwo\n"
    assert nothing.error["code"] == "NOTHING_TO_ABORT"


def test_only_forward_is_refused_where_both_have_commits(repo):
    for words in (["--dry-run"], []):
        done = wrap("git", "merge", "topic", "--ff-only", *words, cwd=repo)
        assert (done.error["category"], done.error["code"]) == ("conflict", "NOT_FAST_FORWARD")


def test_a_rebase_makes_each_planned_commit_anew(repo):
    git("switch", "-q", "topic", cwd=repo)

    plan = wrap("git", "rebase", "main", "--dry-run", cwd=repo)
    done = wrap("git", "rebase", "main", cwd=repo)

    assert [action for action, _ in planned(plan)] == ["move", "rebase"]
    assert plan.of("aoi:plan")[1]["subject"] == "topic"
    assert (done.results[0]["action"], done.results[0]["branch"]) == ("rebase", "topic")
    assert head(repo, "HEAD~1") == head(repo, "main")


def test_a_rebase_that_stops_goes_on_after_the_conflict(conflicting):
    git("switch", "-q", "topic", cwd=conflicting)

    stopped = wrap("git", "rebase", "main", cwd=conflicting)
    (conflicting / "poem.txt").write_text("one\ntwo\nthree\n")
    early = wrap("git", "rebase", "--continue", cwd=conflicting)
    wrap("git", "add", "poem.txt", cwd=conflicting)
    done = wrap("git", "rebase", "--continue", cwd=conflicting)
    nothing = wrap("git", "rebase", "--continue", "--dry-run", cwd=conflicting)

    assert (stopped.error["code"], [event["path"] for event in stopped.of("conflict")]) == (
        "GIT_CONFLICT",
        ["poem.txt"],
    )
    assert early.error["category"] == "conflict"
    assert (done.summary["ok"], done.results[0]["branch"], branch(conflicting)) == (True, "topic", "topic")
    assert nothing.error["code"] == "NO_REBASE"


def test_a_rebase_that_stops_can_be_given_up(conflicting):
    git("switch", "-q", "topic", cwd=conflicting)
    before = head(conflicting)
    wrap("git", "rebase", "main", cwd=conflicting)

    refused = wrap("git", "rebase-abort", cwd=conflicting)
    done = wrap("git", "rebase-abort", "--confirm", cwd=conflicting)

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert (done.results[0]["id"], done.results[0]["branch"]) == (before, "topic")


@pytest.mark.parametrize("operation", ["merge", "rebase"])
def test_a_stop_can_be_forgotten_with_the_files_as_they_are(conflicting, operation):
    wrap("git", operation, "topic", cwd=conflicting)
    before = (conflicting / "poem.txt").read_text()
    assert "<<<<" in before

    plan = wrap("git", f"{operation}-abort", "--keep", "--dry-run", cwd=conflicting)
    done = wrap("git", f"{operation}-abort", "--keep", "--confirm", cwd=conflicting)
    nothing = wrap("git", f"{operation}-abort", "--keep", "--confirm", cwd=conflicting)

    assert plan.of("aoi:plan")[0]["files"] == "kept"
    assert (done.summary["ok"], done.results[0]["operation"]) == (True, operation)
    assert (conflicting / "poem.txt").read_text() == before
    assert nothing.error["code"] == "NOTHING_TO_ABORT"


# -- remotes


@pytest.fixture
def near(repo: Path, tmp_path: Path) -> Path:
    """A clone of `repo`, made before two more things happened there."""
    done = wrap("git", "clone", str(repo), "near", cwd=tmp_path)
    assert done.summary["ok"], done.error
    place = tmp_path / "near"
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git("config", name, value, cwd=place)
    write(repo, "poem.txt", "one\ntwo\nthree\n", "third")
    git("tag", "v1", cwd=repo)
    return place


def test_clone_says_what_it_made_and_refuses_a_folder_that_is_there(repo, tmp_path):
    plan = wrap("git", "clone", "./repo", "copy", "--dry-run", cwd=tmp_path)
    assert not (tmp_path / "copy").exists()
    done = wrap("git", "clone", "./repo", "copy", cwd=tmp_path)
    again = wrap("git", "clone", "./repo", "copy", cwd=tmp_path)
    bare = wrap("git", "clone", "./repo", "--bare", cwd=tmp_path)
    missing = wrap("git", "clone", "./nowhere", cwd=tmp_path)

    assert planned(plan) == [("clone", "copy")]
    assert (done.results[0]["branch"], done.results[0]["commit"]) == ("main", head(repo))
    assert (again.error["category"], again.error["code"]) == ("conflict", "GIT_EXISTS")
    assert bare.results[0]["path"] == str(tmp_path / "repo.git")
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "REMOTE_NOT_FOUND")


def test_fetch_plans_what_would_move_and_then_says_what_did(repo, near):
    git("branch", "-q", "-D", "topic", cwd=repo)

    plan = wrap("git", "fetch", "--prune", "--tags", "--dry-run", cwd=near)
    before = git("for-each-ref", cwd=near)
    done = wrap("git", "fetch", "--prune", "--tags", cwd=near)

    assert before != git("for-each-ref", cwd=near)
    wanted = {"refs/remotes/origin/main", "refs/remotes/origin/topic", "refs/tags/v1"}
    assert {target for _, target in planned(plan)} == wanted
    assert {event["ref"]: event["state"] for event in done.results} == {
        "refs/remotes/origin/main": "updated",
        "refs/remotes/origin/topic": "deleted",
        "refs/tags/v1": "new",
    }
    assert head(near, "main") != head(repo, "main")


def test_history_that_was_made_anew_is_called_forced(repo, near):
    git("commit", "-q", "--amend", "-m", "other", cwd=repo)
    wrap("git", "fetch", cwd=near)
    git("commit", "-q", "--amend", "-m", "another", cwd=repo)

    done = wrap("git", "fetch", cwd=near)

    assert [event["state"] for event in done.results] == ["forced"]


def test_fetching_what_the_remote_has_not_is_an_error(near):
    for words in (["--dry-run"], []):
        done = wrap("git", "fetch", "origin", "nowhere", *words, cwd=near)
        assert (done.error["category"], done.error["code"]) == ("not_found", "REVISION_NOT_FOUND")


def test_pull_moves_forward_and_refuses_what_only_looks_like_it(repo, near):
    plan = wrap("git", "pull", "--dry-run", cwd=near)
    done = wrap("git", "pull", cwd=near)
    again = wrap("git", "pull", cwd=near)
    write(near, "mine.txt", "mine\n", "mine")
    write(repo, "theirs.txt", "theirs\n", "theirs")
    refused = wrap("git", "pull", cwd=near)
    rebased = wrap("git", "pull", "--rebase", cwd=near)

    (change,) = plan.of("aoi:plan")
    assert (change["action"], change["target"], change["remote"], change["new"]) == (
        "pull",
        "main",
        "origin",
        head(repo, "main~1"),
    )
    assert [event["commits"] for event in done.of("head_moved")] == [1]
    assert [event["ref"] for event in done.of("ref_updated")] == ["refs/remotes/origin/main", "refs/tags/v1"]
    assert again.summary["ok"]
    assert again.of("aoi:plan") == []
    assert (refused.error["category"], refused.error["code"]) == ("conflict", "NOT_FAST_FORWARD")
    assert rebased.summary["ok"]
    assert head(near, "HEAD~1") == head(repo, "main")


def test_a_pull_that_conflicts_names_the_files(repo, near):
    write(near, "poem.txt", "mine\n", "mine")

    done = wrap("git", "pull", "--how", "merge", cwd=near)

    assert [event["path"] for event in done.of("conflict")] == ["poem.txt"]
    assert (done.error["code"], done.summary["ok"]) == ("GIT_CONFLICT", False)
    assert "merge-abort" in done.error["hint"]


def test_a_branch_that_follows_none_says_what_to_write(repo):
    done = wrap("git", "pull", cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("config", "NO_UPSTREAM")


# -- work trees, and files of commits


def test_a_work_tree_is_made_listed_and_removed(repo):
    plan = wrap("git", "worktree", "add", "../side", "-b", "side", "--dry-run", cwd=repo)
    made = wrap("git", "worktree", "add", "../side", "-b", "side", cwd=repo)
    listed = wrap("git", "worktree", "list", cwd=repo)
    (repo.parent / "side" / "new.txt").write_text("new\n")
    dirty = wrap("git", "worktree", "remove", "../side", "--confirm", cwd=repo)
    (repo.parent / "side" / "new.txt").unlink()
    done = wrap("git", "worktree", "remove", "../side", "--confirm", cwd=repo)
    missing = wrap("git", "worktree", "remove", "../side", "--dry-run", cwd=repo)

    assert planned(plan) == [("add", "../side")]
    assert (made.results[0]["branch"], made.results[0]["commit"]) == ("side", head(repo))
    assert [event["branch"] for event in listed.results] == ["main", "side"]
    assert (dirty.error["category"], done.summary["ok"]) == ("conflict", True)
    assert not (repo.parent / "side").exists()
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "WORKTREE_NOT_FOUND")


def test_a_file_is_shown_as_it_was_and_in_the_range_that_is_asked_for(repo):
    write(repo, "poem.txt", "one\ntwo\nthree", "no end")

    done = wrap("git", "show", "HEAD~1:poem.txt", cwd=repo)
    part = wrap("git", "show", "HEAD:poem.txt", "--first", "2", "--last", "2", cwd=repo)
    (repo / "poem.txt").write_bytes(b"a\xff\n")
    git("add", "poem.txt", cwd=repo)
    staged = wrap("git", "show", ":poem.txt", cwd=repo)

    (blob,) = done.of("blob")
    assert (blob["path"], blob["size"]) == ("poem.txt", 8)
    assert [(line["line_number"], line["text"]) for line in done.of("blob_line")] == [(1, "one"), (2, "two")]
    assert [line["text"] for line in part.of("blob_line")] == ["two"]
    assert staged.of("blob_line")[0]["text_b64"] == "Yf8="


def test_a_folder_of_a_commit_is_listed_and_what_is_not_there_is_an_error(repo):
    (repo / "src").mkdir()
    write(repo, "src/a.txt", "a\n", "src")

    done = wrap("git", "show", "HEAD:src", cwd=repo)
    missing = wrap("git", "show", "HEAD:nowhere.txt", cwd=repo)
    empty = wrap("git", "show", "HEAD:src/a.txt", "--first", "9", cwd=repo)

    assert [(event["path"], event["kind"], event["size"]) for event in done.results] == [
        ("src/a.txt", "blob", 2)
    ]
    assert (missing.error["category"], missing.summary["ok"]) == ("not_found", False)
    assert empty.of("blob_line") == []
