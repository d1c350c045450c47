"""The wrapped git against real repositories."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.tool.drive import LIMIT
from tests.wrap.drive import raw, wrap
from tests.wrap.test_properties import git

pytestmark = pytest.mark.needs("git")
NAMES = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@b.c",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@b.c",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    place.mkdir()
    git("init", "-q", "-b", "main", cwd=place)
    for number in range(3):
        (place / "poem.txt").write_text("".join(f"line {line}\n" for line in range(number + 1)))
        git("add", "poem.txt", cwd=place)
        git("commit", "-q", "-m", f"commit {number}", cwd=place)
    return place


def test_log_goes_on_where_the_page_before_ended(repo):
    first = wrap("git", "log", "--limit", "2", cwd=repo)
    second = wrap("git", "log", "--limit", "2", "--cursor", first.summary["next_cursor"], cwd=repo)

    assert [event["message"] for event in first.results] == ["commit 2\n", "commit 1\n"]
    assert [event["message"] for event in second.results] == ["commit 0\n"]
    assert (first.summary["truncated"], second.summary["truncated"]) == (True, False)


def test_a_cursor_whose_commit_is_gone_is_a_conflict(repo):
    first = wrap("git", "log", "--limit", "1", cwd=repo)
    git("reset", "-q", "--hard", "HEAD~1", cwd=repo)

    done = wrap("git", "log", "--limit", "1", "--cursor", first.summary["next_cursor"], cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("conflict", "CURSOR_STALE")


def test_show_and_diff_tell_what_changed_and_how(repo):
    git("mv", "poem.txt", "verse.txt", cwd=repo)
    git("commit", "-q", "-m", "rename", cwd=repo)

    shown = wrap("git", "show", cwd=repo)
    patched = wrap("git", "diff", "HEAD~2", "HEAD~1", "--patch", cwd=repo)

    (change,) = shown.of("file_change")
    assert (change["change"], change["original_path"], change["path"]) == ("renamed", "poem.txt", "verse.txt")
    assert shown.of("commit")[0]["message"] == "rename\n"
    (change,) = patched.of("file_change")
    assert "+line 2\n" in change["patch"]


@pytest.mark.parametrize("revision", ["HEAD^{tree}", "HEAD..HEAD", "^HEAD"])
def test_only_a_commit_can_be_shown(repo, revision):
    done = wrap("git", "show", revision, cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("validation", "NOT_A_COMMIT")


def test_blame_names_the_commit_of_each_line(repo):
    log = wrap("git", "log", cwd=repo).results

    done = wrap("git", "blame", "poem.txt", cwd=repo)

    assert [event["text"] for event in done.results] == ["line 0", "line 1", "line 2"]
    assert [event["hash"] for event in done.results] == [event["id"] for event in reversed(log)]


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--all",)])
def test_a_commit_of_nothing_is_a_failure_and_makes_none(repo, more):
    before = git("rev-parse", "HEAD", cwd=repo)

    done = wrap("git", "commit", "again", *more, cwd=repo, env=NAMES)

    assert (done.error["category"], done.error["code"]) == ("conflict", "NOTHING_TO_COMMIT")
    assert git("rev-parse", "HEAD", cwd=repo) == before


def test_a_commit_that_is_not_there_afterwards_is_a_failure(repo):
    hook = repo / ".git/hooks/post-commit"
    hook.write_text("#!/bin/sh\ngit reset --soft HEAD~1\n")
    hook.chmod(0o755)
    (repo / "new.txt").write_text("x")
    git("add", "new.txt", cwd=repo)

    done = wrap("git", "commit", "-m", "new", cwd=repo, env=NAMES)

    assert (done.error["code"], done.summary["ok"]) == ("NOTHING_TO_COMMIT", False)


def test_commit_plans_first_and_then_commits_exactly_once_for_a_key(repo):
    (repo / "new.txt").write_text("x")
    git("add", "new.txt", cwd=repo)
    message = " odd\n\n# no comment\n"

    plan = wrap("git", "commit", message, "--dry-run", cwd=repo, env=NAMES)
    before = git("rev-parse", "HEAD", cwd=repo)
    done = wrap("git", "commit", message, "--idempotency-key", "k1", cwd=repo, env=NAMES)
    again = wrap("git", "commit", message, "--idempotency-key", "k1", cwd=repo, env=NAMES)

    assert [event["target"] for event in plan.of("aoi:plan")] == ["new.txt"]
    assert before.decode().strip() == done.results[0]["parents"][0]
    assert done.results[0]["message"] == message
    assert again.results == done.results
    assert git("rev-list", "--count", "HEAD", cwd=repo).strip() == b"4"


def test_a_plan_writes_nothing_at_all(repo):
    (repo / "poem.txt").write_text("changed\n")
    before = {path: path.stat().st_mtime_ns for path in sorted((repo / ".git").rglob("*"))}

    for words in (["commit", "m", "--all"], ["add", "poem.txt"], ["tag-create", "v1"]):
        assert wrap("git", *words, "--dry-run", cwd=repo, env=NAMES).of("aoi:plan"), words

    assert {path: path.stat().st_mtime_ns for path in sorted((repo / ".git").rglob("*"))} == before


def test_nothing_is_pushed_without_confirmation(repo, tmp_path):
    git("init", "-q", "--bare", str(tmp_path / "remote.git"), cwd=tmp_path)
    git("remote", "add", "origin", str(tmp_path / "remote.git"), cwd=repo)

    plan = wrap("git", "push", "origin", "main", "--dry-run", cwd=repo)
    refused = wrap("git", "push", "origin", "main", cwd=repo)
    empty = git("for-each-ref", cwd=tmp_path / "remote.git")
    done = wrap("git", "push", "origin", "main", "--confirm", plan.summary["plan_digest"], cwd=repo)

    assert [(event["action"], event["target"]) for event in plan.of("aoi:plan")] == [
        ("push", "refs/heads/main")
    ]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert empty == b""
    assert [(event["remote_ref"], event["state"]) for event in done.results] == [("refs/heads/main", "new")]
    assert b"refs/heads/main" in git("for-each-ref", cwd=tmp_path / "remote.git")


class Remote(BaseHTTPRequestHandler):
    """A server, or a proxy, that answers each question with the status that stands in its path."""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))  # type: ignore[attr-defined]
        self.send_response(int(self.path.rpartition("status-")[2][:3]))
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def remote() -> Iterator[HTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Remote) as server:
        server.asked = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(LIMIT)


ALONE = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "GIT_CONFIG_GLOBAL": os.devnull}


@pytest.mark.parametrize(
    "status, category, code",
    [
        (401, "authn", "GIT_LOGIN_NEEDED"),
        (403, "authz", "GIT_FORBIDDEN"),
        (404, "not_found", "REMOTE_NOT_FOUND"),
        (503, "temporary", "GIT_UNREACHABLE"),
    ],
)
def test_a_remote_that_refuses_is_told_by_the_words_of_git(repo, remote, status, category, code):
    address = f"http://127.0.0.1:{remote.server_address[1]}/status-{status}"

    done = wrap("git", "push", address, "main", "--dry-run", cwd=repo, env=ALONE)

    assert (done.error["category"], done.error["code"]) == (category, code)


def test_a_remote_that_is_not_there_may_be_tried_again(repo):
    done = wrap("git", "push", "http://127.0.0.1:1/x", "main", "--dry-run", cwd=repo, env=ALONE)

    assert (done.error["code"], done.error["retryable"]) == ("GIT_UNREACHABLE", True)


def test_git_goes_through_the_proxy_of_the_user(repo, remote):
    proxy = {"http_proxy": f"http://127.0.0.1:{remote.server_address[1]}", "NO_PROXY": "", "no_proxy": ""}

    wrap("git", "push", "http://git.invalid/status-404", "main", "--dry-run", cwd=repo, env=ALONE | proxy)

    assert remote.asked[0][0].startswith("http://git.invalid/status-404")


def test_git_asks_the_credential_helper_of_the_user(repo, remote, tmp_path):
    own = tmp_path / "gitconfig"
    helper = "!f() { echo username=ada; echo password=pw; }; f"
    git("config", "--file", str(own), "credential.helper", helper, cwd=repo)
    address = f"http://127.0.0.1:{remote.server_address[1]}/status-401"

    env = ALONE | {"GIT_CONFIG_GLOBAL": str(own)}
    done = wrap("git", "push", address, "main", "--dry-run", cwd=repo, env=env)

    assert [login for _, login in remote.asked if login] == ["Basic YWRhOnB3"]
    assert done.error["code"] == "GIT_LOGIN_NEEDED"


def test_a_hook_that_refuses_stops_the_commit_and_is_shown(repo):
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    (repo / "poem.txt").write_text("other\n")

    done = wrap("git", "commit", "m", "--all", cwd=repo, env=NAMES)

    assert done.error["upstream_stderr"] == "not today"
    assert git("rev-list", "--count", "HEAD", cwd=repo) == b"3\n"


def test_an_index_that_another_git_holds_is_a_conflict_that_may_pass(repo):
    (repo / ".git" / "index.lock").touch()
    (repo / "poem.txt").write_text("other\n")

    done = wrap("git", "add", "poem.txt", cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("conflict", "GIT_LOCKED")
    assert done.error["retryable"] is True


def test_a_revision_that_is_an_option_reaches_git_as_a_revision(repo):
    done = wrap("git", "log", "--", "--output=stolen", cwd=repo)

    assert done.error["code"] == "REVISION_NOT_FOUND"
    assert not (repo / "--output=stolen").exists()
    assert not (repo / "stolen").exists()


def test_outside_of_a_repository_git_says_so(tmp_path):
    done = wrap("git", "status", cwd=tmp_path, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    assert (done.error["category"], done.error["code"]) == ("not_found", "GIT_NO_REPOSITORY")
    assert done.summary["upstream"]["meaning"] == "fatal"


def test_a_path_that_is_no_text_can_be_given_as_base64(repo):
    name = b"caf\xe9 \n.txt"
    with open(os.fsencode(repo) + b"/" + name, "wb") as file:
        file.write(b"one\n")
    git("add", "--all", cwd=repo)
    git("commit", "-q", "-m", "odd", cwd=repo)
    listed = [event for event in wrap("git", "ls-files", cwd=repo).results if "path_b64" in event]

    done = wrap("git", "blame", "--file-b64", listed[0]["path_b64"], cwd=repo)

    assert [(event["text"], event["path_b64"]) for event in done.results] == [("one", listed[0]["path_b64"])]


def test_people_get_a_table(repo):
    done = wrap("git", "log", cwd=repo, output=None)

    assert done.exit_code == 0
    assert b"commit 2" in done.stdout
    with pytest.raises(json.JSONDecodeError):
        json.loads(done.stdout)


def test_a_patch_is_the_same_from_every_folder_of_the_work_tree(repo):
    (repo / "sub").mkdir()
    (repo / "sub" / "inner.txt").write_text("one\n")
    git("add", ".", cwd=repo)
    git("commit", "-q", "-m", "inner", cwd=repo)
    (repo / "sub" / "inner.txt").write_text("two\n")
    (repo / "poem.txt").write_text("other\n")

    for command in ("diff", "show"):
        above = wrap("git", command, "--patch", cwd=repo).results
        below = wrap("git", command, "--patch", cwd=repo / "sub").results
        changed = [event for event in above if event["type"] == "file_change"]
        assert changed
        assert all("@@" in event["patch"] for event in changed)
        assert below == above


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("diff.relative", "true"),
        ("diff.renames", "false"),
        ("status.renames", "false"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.context", "0"),
        ("diff.suppressBlankEmpty", "true"),
        ("color.diff", "always"),
        ("status.aheadBehind", "false"),
        ("status.showStash", "true"),
        ("status.relativePaths", "true"),
        ("log.date", "relative"),
        ("log.follow", "true"),
        ("log.showSignature", "true"),
        ("grep.patternType", "fixed"),
        ("blame.coloring", "highlightRecent"),
    ],
)
def test_the_configuration_of_a_user_changes_nothing_that_is_told(repo, name, value):
    (repo / "sub").mkdir()
    (repo / "long.txt").write_text("".join(f"line {line}\n\n" for line in range(9)))
    git("add", ".", cwd=repo)
    git("mv", "poem.txt", "verse.txt", cwd=repo)
    git("commit", "-q", "-m", "verse", cwd=repo)
    git("mv", "verse.txt", "song.txt", cwd=repo)
    (repo / "long.txt").write_text("".join(f"line {line}\n\n" for line in range(9) if line != 4))
    (repo / "sub" / "new.txt").write_text("new\n")
    calls = (
        ("status",),
        ("diff", "HEAD", "--patch"),
        ("show", "--patch"),
        ("log", "--grep", "comm.t"),
        ("log", "HEAD", "long.txt"),
        ("blame", "../long.txt"),
    )

    before = [wrap("git", *words, cwd=repo / "sub").results for words in calls]
    git("config", name, value, cwd=repo)
    after = [wrap("git", *words, cwd=repo / "sub").results for words in calls]

    assert all(before[index] for index in (0, 1, 2, 3, 5))
    assert after == before


def test_no_commit_is_passed_over_because_a_file_of_the_user_says_so(repo):
    last = git("rev-parse", "HEAD", cwd=repo).decode().strip()
    (repo / ".ignored").write_text(f"{last}\n")
    before = wrap("git", "blame", "poem.txt", cwd=repo).results
    git("config", "blame.ignoreRevsFile", ".ignored", cwd=repo)

    assert wrap("git", "blame", "poem.txt", cwd=repo).results == before


def test_a_changed_submodule_is_told_whatever_is_configured(repo, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    git("init", "-q", cwd=inner)
    (inner / "a").write_text("a")
    git("add", "a", cwd=inner)
    git("commit", "-q", "-m", "inner", cwd=inner)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "mod", cwd=repo)
    git("config", "-f", ".gitmodules", "submodule.mod.ignore", "all", cwd=repo)
    git("add", ".", cwd=repo)
    git("commit", "-q", "-m", "mod", cwd=repo)
    (repo / "mod" / "a").write_text("b")
    git("config", "diff.ignoreSubmodules", "all", cwd=repo)

    status, diff = wrap("git", "status", cwd=repo), wrap("git", "diff", cwd=repo)

    assert [(event["path"], event["submodule"]) for event in status.results[1:]] == [("mod", "S.M.")]
    assert [event["path"] for event in diff.results] == ["mod"]


def test_a_branch_may_be_called_detached_and_is_none_when_it_is(repo):
    git("checkout", "-q", "-b", "(detached)", cwd=repo)
    (named,) = wrap("git", "status", cwd=repo).results
    git("checkout", "-q", "--detach", cwd=repo)
    (detached,) = wrap("git", "status", cwd=repo).results

    assert (named["head"], named["detached"]) == ("(detached)", False)
    assert (detached["head"], detached["detached"]) == (None, True)


def test_names_of_branches_keep_their_bytes_wherever_they_are_told(repo, tmp_path):
    far = tmp_path / "far.git"
    git("init", "-q", "--bare", str(far), cwd=repo)
    git("remote", "add", "origin", str(far), cwd=repo)
    name = b"caf\xe9"
    git("checkout", "-q", "-b", os.fsdecode(name), cwd=repo)

    planned = wrap("git", "push", "--dry-run", "origin", "HEAD", cwd=repo)
    (pushed,) = wrap("git", "push", "--confirm", "origin", "HEAD", cwd=repo).results
    git("branch", "-q", "--set-upstream-to", os.fsdecode(b"origin/" + name), cwd=repo)
    (status,) = wrap("git", "status", cwd=repo).results
    (branch,) = [event for event in wrap("git", "branch", cwd=repo).results if event["current"]]

    assert raw(pushed, "remote_ref") == b"refs/heads/" + name
    assert planned.of("aoi:plan")[0]["local"] == "HEAD"
    assert (raw(status, "head"), raw(status, "upstream")) == (name, b"origin/" + name)
    assert raw(branch, "upstream") == b"refs/remotes/origin/" + name


def test_blame_ends_at_the_last_line_that_was_asked_for(repo):
    lines = wrap("git", "blame", "poem.txt", "--last", "2", cwd=repo).results

    assert [event["line_number"] for event in lines] == [1, 2]


def test_a_difference_that_is_too_long_is_left_out_with_a_warning(repo):
    (repo / "poem.txt").write_text("x" * 79 + "\n")
    (repo / "long.txt").write_text("")
    git("add", ".", cwd=repo)
    (repo / "long.txt").write_text(("y" * 79 + "\n") * 60_000)

    done = wrap("git", "diff", "HEAD", "--patch", cwd=repo)

    assert done.exit_code == 0
    assert {event["path"]: "patch" in event for event in done.results} == {
        "long.txt": False,
        "poem.txt": True,
    }
    assert [(warning["code"], warning["target"]) for warning in done.of("aoi:warning")] == [
        ("PATCH_LEFT_OUT", "long.txt")
    ]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("log", "nowhere"), "REVISION_NOT_FOUND"),
        (("show", "nowhere"), "REVISION_NOT_FOUND"),
        (("diff", "nowhere"), "REVISION_NOT_FOUND"),
        (("blame", "nowhere.txt"), "PATH_NOT_FOUND"),
        (("status", "../.."), "PATH_OUTSIDE"),
        (("push", "--dry-run", "nowhere"), "REMOTE_NOT_FOUND"),
    ],
)
def test_git_says_what_it_is_that_it_does_not_find(repo, words, code):
    assert wrap("git", *words, cwd=repo).error["code"] == code


def test_a_repository_without_commits_and_a_folder_without_a_repository_are_told_apart(tmp_path):
    (tmp_path / "empty").mkdir()
    nowhere = wrap("git", "log", cwd=tmp_path, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    git("init", "-q", cwd=tmp_path / "empty")
    empty = wrap("git", "log", cwd=tmp_path / "empty")

    assert [(done.error["category"], done.error["code"]) for done in (nowhere, empty)] == [
        ("not_found", "GIT_NO_REPOSITORY"),
        ("not_found", "GIT_NO_COMMITS"),
    ]


def test_nothing_is_pushed_beside_what_was_named_and_a_plan_runs_no_hook(repo, tmp_path):
    far, traces = tmp_path / "far.git", tmp_path / "traces"
    git("init", "-q", "--bare", str(far), cwd=repo)
    git("remote", "add", "origin", str(far), cwd=repo)
    git("push", "-q", "origin", "main", "main:other", cwd=repo)
    git("branch", "-q", "other", cwd=repo)
    git("commit", "-q", "--allow-empty", "-m", "new", cwd=repo)
    git("tag", "-a", "-m", "tag", "v1", cwd=repo)
    git("checkout", "-q", "other", cwd=repo)
    git("merge", "-q", "main", cwd=repo)
    git("checkout", "-q", "main", cwd=repo)
    git("config", "push.default", "matching", cwd=repo)
    git("config", "push.followTags", "true", cwd=repo)
    hook = repo / ".git" / "hooks" / "pre-push"
    hook.write_text(f"#!/bin/sh\necho ran >> '{traces}'\n")
    hook.chmod(0o755)

    planned = wrap("git", "push", "--dry-run", cwd=repo)
    assert not traces.exists()
    pushed = wrap("git", "push", "--confirm", cwd=repo)

    assert [event["target"] for event in planned.of("aoi:plan")] == ["refs/heads/main"]
    assert [event["remote_ref"] for event in pushed.results] == ["refs/heads/main"]
    assert traces.read_text() == "ran\n"
    assert b"v1" not in git("ls-remote", "origin", cwd=repo)


def test_adding_what_is_ignored_or_not_there_is_refused_and_nothing_is_staged(repo):
    (repo / ".gitignore").write_text("*.log\n")
    (repo / "a.log").write_text("a")

    ignored = wrap("git", "add", "a.log", ".gitignore", cwd=repo)
    missing = wrap("git", "add", "nowhere.txt", "--dry-run", cwd=repo)

    assert (ignored.error["category"], ignored.error["code"]) == ("conflict", "PATH_IGNORED")
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "PATH_NOT_FOUND")
    assert git("diff", "--cached", "--name-only", cwd=repo) == b""


def test_a_shallow_clone_says_that_its_history_is_cut_off(repo, tmp_path):
    git("clone", "-q", "--depth", "1", f"file://{repo}", str(tmp_path / "shallow"), cwd=repo)

    for words in (("log",), ("show",), ("blame", "poem.txt")):
        whole = wrap("git", *words, cwd=repo)
        shallow = wrap("git", *words, cwd=tmp_path / "shallow")
        assert whole.of("aoi:warning") == []
        assert [warning["code"] for warning in shallow.of("aoi:warning")] == ["HISTORY_CUT_OFF"]
        assert shallow.exit_code == 0
