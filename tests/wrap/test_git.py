"""The wrapped git against real repositories."""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.tool.drive import LIMIT
from tests.wrap.drive import wrap
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


@pytest.mark.parametrize("revision", ["HEAD:poem.txt", "HEAD^{tree}", "HEAD..HEAD", "^HEAD"])
def test_only_a_commit_can_be_shown(repo, revision):
    done = wrap("git", "show", revision, cwd=repo)

    assert (done.error["category"], done.error["code"]) == ("validation", "NOT_A_COMMIT")


def test_blame_names_the_commit_of_each_line(repo):
    log = wrap("git", "log", cwd=repo).results

    done = wrap("git", "blame", "poem.txt", cwd=repo)

    assert [event["text"] for event in done.results] == ["line 0", "line 1", "line 2"]
    assert [event["hash"] for event in done.results] == [event["id"] for event in reversed(log)]


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
        (404, "not_found", "GIT_FATAL"),
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


def test_git_asks_the_credential_helper_of_the_user(repo, remote):
    git("config", "credential.helper", "!f() { echo username=ada; echo password=pw; }; f", cwd=repo)
    address = f"http://127.0.0.1:{remote.server_address[1]}/status-401"

    done = wrap("git", "push", address, "main", "--dry-run", cwd=repo, env=ALONE)

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

    assert done.error["code"] == "GIT_FATAL"
    assert not (repo / "--output=stolen").exists()
    assert not (repo / "stolen").exists()


def test_outside_of_a_repository_git_says_so(tmp_path):
    done = wrap("git", "status", cwd=tmp_path, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})

    assert (done.error["category"], done.error["code"]) == ("not_found", "GIT_FATAL")
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
