"""The wrapped gh, the real one, against a GitHub of its own: a server behind a socket of the file system.

gh takes such a socket from its configuration (`http_unix_socket`), so neither a name nor a certificate is needed.
"""

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from tests.tool.drive import LIMIT, Outcome
from tests.wrap.drive import wrap
from tests.wrap.wrappers.stand_in import stand_in

pytestmark = [pytest.mark.needs("gh"), pytest.mark.timeout(600)]
PATIENCE = 200.0
TOKEN = "ghp_verysecretverysecretverysecret000001"


def node(number: int, **fields: object) -> dict[str, object]:
    times = {"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-02T00:00:00Z"}
    shared = {
        "number": number,
        "title": f'é\n"{number}"',
        "state": "OPEN",
        "url": f"https://github.com/a/b/{number}",
    }
    people = {
        "author": {"login": "ada"},
        "labels": {"nodes": []},
        "assignees": {"nodes": []},
        "milestone": None,
    }
    return {**shared, **people, **times, "closedAt": None, "mergedAt": None, "body": "text", **fields}


def nodes(*found: dict[str, object]) -> dict[str, object]:
    return {"totalCount": len(found), "nodes": found, "pageInfo": {"hasNextPage": False, "endCursor": ""}}


REPOSITORY = {
    "nameWithOwner": "a/b", "description": None, "url": "https://github.com/a/b", "isPrivate": True, "isFork": False,
    "isArchived": False, "defaultBranchRef": {"name": "main"}, "primaryLanguage": None, "licenseInfo": None,
    "stargazerCount": 7, "forkCount": 0, "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
    "pushedAt": "2026-01-01T00:00:00Z",
}  # fmt: skip
QUERIES: dict[str, object] = {
    "query IssueList": {"hasIssuesEnabled": True, "issues": nodes(*map(node, (3, 2, 1)))},
    "query PullRequestList": {
        "pullRequests": nodes(node(4, isDraft=True, headRefName="x", baseRefName="main"))
    },
    "query RepositoryInfo": REPOSITORY,
}
RUN = {"id": 9, "name": "ci", "display_title": "it", "head_branch": "main", "head_sha": "0" * 40, "run_number": 1,
       "event": "push", "status": "completed", "conclusion": "failure", "workflow_id": 5, "html_url": "https://x/9",
       "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}  # fmt: skip
WORKFLOW = {"id": 5, "name": "ci", "path": ".github/workflows/ci.yml", "state": "active"}
SHA = "4" * 40
PULL = {"number": 4, "title": "é", "state": "open", "merged": False, "html_url": "https://github.com/a/b/pull/4",
        "head": {"ref": "x", "sha": SHA}, "base": {"ref": "main"}, "labels": [{"name": "bug"}], "user": {"login": "ada"},
        "mergeable": True, "mergeable_state": "clean", "body": "text"}  # fmt: skip
PATHS: dict[str, tuple[int, object]] = {
    "/repos/a/b/releases": (200, [{"id": 1, "name": "é"}, {"id": 2, "name": "\n"}]),
    "/repos/a/b/actions/runs": (200, {"total_count": 1, "workflow_runs": [RUN]}),
    "/repos/a/b/actions/workflows": (200, {"total_count": 1, "workflows": [WORKFLOW]}),
    "/repos/a/b/actions/workflows/5": (200, WORKFLOW),
    "/repos/a/b/issues": (201, {"number": 8}),
    "/repos/a/b/subscription": (204, None),
    "/repos/a/b": (200, {"default_branch": "main"}),
    "/repos/a/b/pulls": (201, {"number": 6, "html_url": "https://github.com/a/b/pull/6"}),
    "/repos/a/b/pulls/4": (200, PULL),
    "/repos/a/b/pulls/5": (200, PULL | {"number": 5, "state": "closed", "merged": True}),
    "/repos/a/b/pulls/7": (200, PULL | {"number": 7}),
    "/repos/a/b/pulls/4/merge": (200, {"merged": True, "sha": "f" * 40, "message": "merged"}),
    "/repos/a/b/pulls/7/merge": (409, {"message": "Head branch was modified"}),
    f"/repos/a/b/commits/{SHA}/check-runs": (
        200,
        {
            "check_runs": [
                {"name": "b", "status": "completed", "conclusion": "failure", "html_url": "https://x/2"},
                {"name": "a", "status": "completed", "conclusion": "success", "html_url": "https://x/1"},
                {"name": "c", "status": "queued", "conclusion": None, "html_url": "https://x/3"},
            ]
        },
    ),
    f"/repos/a/b/commits/{SHA}/status": (200, {"statuses": [{"context": "old", "state": "success"}]}),
    "/repos/a/b/actions/runs/9": (200, RUN),
    "/repos/a/b/actions/runs/9/jobs": (
        200,
        {
            "jobs": [
                {"id": 31, "name": "good", "status": "completed", "conclusion": "success", "steps": []},
                {"id": 32, "name": "bad", "status": "completed", "conclusion": "failure", "steps": []},
            ]
        },
    ),
    "/repos/a/b/actions/jobs/31/logs": (200, b"fine\n"),
    "/repos/a/b/actions/jobs/32/logs": (
        200,
        "\ufeff2026-01-01T00:00:00.1Z é one\r\n2026-01-01T00:00:00.2Z \ttwo\nlast".encode(),
    ),
    "/repos/a/b/actions/runs/8/jobs": (200, {"jobs": [{"id": 33, "name": "runs", "status": "in_progress"}]}),
    "/denied": (403, {"message": "Must have admin rights"}),
    "/expired": (401, {"message": "Bad credentials"}),
    "/broken": (502, {"message": "Server Error"}),
    "/refused": (422, {"message": "Validation Failed"}),
}
NOTHING = (404, {"message": "Not Found"})


class Github:
    """The server, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, bytes]] = []
        self.tokens: set[str] = set()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        self.asked.append((method, path, body))
        if path == "/graphql":
            query = json.loads(body)["query"]
            found = next((value for word, value in QUERIES.items() if word in query), None)
            return 200, {"data": {"repository": found}}
        return PATHS.get(path.partition("?")[0], NOTHING)


def handler(github: Github) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def _body(self) -> bytes:
            """What gh reads from stdin it sends in pieces."""
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _answer(self) -> None:
            body = self._body()
            github.tokens.add(self.headers.get("Authorization", ""))
            status, found = github.answer(self.command, self.path, body)
            content = (
                found if isinstance(found, bytes) else b"" if found is None else json.dumps(found).encode()
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            if found is not None:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing; the address of a peer behind a socket is no pair either."""

    return Handler


@pytest.fixture
def github() -> Iterator[tuple[Github, Callable[..., Outcome]]]:
    found = Github()
    # The path of a socket has to be short.
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadingUnixStreamServer(f"{folder}/socket", handler(found)) as server,
    ):
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        Path(folder, "config.yml").write_text(f"http_unix_socket: {folder}/socket\n")
        env = {"GH_CONFIG_DIR": folder, "GH_TOKEN": TOKEN, "GH_HOST": "", "GH_REPO": ""}

        def call(*words: str, **more: str) -> Outcome:
            name, *rest = words
            return wrap("gh", *name.split(), *rest, env=env | more, timeout=PATIENCE)

        yield found, call
        server.shutdown()
        thread.join(LIMIT)


def test_issues_come_page_by_page_with_every_letter_of_their_titles(github):
    _, gh = github

    first = gh("issue list", "--repo", "a/b", "--limit", "2")
    rest = gh("issue list", "--repo", "a/b", "--cursor", first.summary["next_cursor"])
    long = gh("issue list", "--repo", "a/b", "--body")

    assert [(event["number"], event["title"]) for event in first.results] == [(3, 'é\n"3"'), (2, 'é\n"2"')]
    assert [event["number"] for event in rest.results] == [1]
    assert [event["body"] for event in long.results] == ["text"] * 3
    assert first.results[0]["created_at"] == "2026-01-01T00:00:00Z"
    assert "body" not in first.results[0]


def test_pull_requests_runs_and_repositories_are_told(github):
    _, gh = github

    (pull,) = gh("pr list", "--repo", "a/b").results
    (run,) = gh("run list", "--repo", "a/b").results
    (repo,) = gh("repo view", "a/b").results

    assert (pull["number"], pull["is_draft"], pull["head_ref_name"]) == (4, True, "x")
    assert (run["database_id"], run["conclusion"]) == (9, "failure")
    assert (repo["name_with_owner"], repo["is_private"], repo["stargazer_count"]) == ("a/b", True, 7)


def test_api_gives_the_elements_of_a_list(github):
    server, gh = github

    done = gh("api", "repos/a/b/releases", "--field", "page=2")

    assert [event["value"] for event in done.results] == [{"id": 1, "name": "é"}, {"id": 2, "name": "\n"}]
    assert [(method, path) for method, path, _ in server.asked] == [("GET", "/repos/a/b/releases?page=2")]


@pytest.mark.parametrize(
    "path, category, code",
    [
        ("nowhere", "not_found", "NOT_ON_GITHUB"),
        ("expired", "authn", "AUTH_FAILED"),
        ("denied", "authz", "FORBIDDEN"),
        ("broken", "temporary", "GITHUB_UNREACHABLE"),
        ("refused", "validation", "REFUSED_BY_GITHUB"),
    ],
)
def test_what_github_says_of_an_error_is_no_answer(github, path, category, code):
    _, gh = github

    done = gh("api", path)

    assert (done.results, done.error["category"], done.error["code"]) == ([], category, code)
    assert done.summary["ok"] is False


def test_nothing_is_sent_without_confirmation_and_once_for_a_key(github):
    server, gh = github
    words = ["send", "repos/a/b/issues", "--body", '{"title":"é"}']

    plan = gh(*words, "--dry-run")
    refused = gh(*words)
    assert server.asked == []
    done = gh(*words, "--confirm", plan.summary["plan_digest"], "--idempotency-key", "gh-1")
    again = gh(*words, "--confirm", plan.summary["plan_digest"], "--idempotency-key", "gh-1")

    assert [(event["target"], event["method"]) for event in plan.of("aoi:plan")] == [
        ("repos/a/b/issues", "POST")
    ]
    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert done.results == again.results
    assert done.results[0]["value"] == {"number": 8}
    assert server.asked == [("POST", "/repos/a/b/issues", '{"title":"é"}'.encode())]


def test_an_answer_without_a_body_and_an_error_to_a_request(github):
    _, gh = github

    empty = gh("send", "repos/a/b/subscription", "--method", "DELETE", "--confirm")
    refused = gh("send", "refused", "--confirm")

    assert [(event["path"], event["value"]) for event in empty.results] == [("repos/a/b/subscription", None)]
    assert (refused.results, refused.error["code"]) == ([], "REFUSED_BY_GITHUB")


def test_a_body_that_is_no_json_is_refused_before_anything_is_sent(github):
    server, gh = github

    assert gh("send", "repos/a/b/issues", "--body", "{", "--confirm").error["code"] == "BODY_INVALID"
    assert server.asked == []


def test_the_token_reaches_the_server_and_nobody_else(github):
    server, gh = github

    outcomes = [gh("api", "repos/a/b/releases"), gh("api", "expired"), gh("issue list", "--repo", "a/b")]

    assert {token.split()[-1] for token in server.tokens} == {TOKEN}
    assert all(TOKEN not in done.stdout.decode() + done.stderr for done in outcomes)


def test_without_a_token_somebody_has_to_log_in(github):
    _, gh = github

    done = gh("issue list", "--repo", "a/b", GH_TOKEN="", GITHUB_TOKEN="")

    assert (done.error["category"], done.error["code"]) == ("authn", "AUTH_REQUIRED")
    assert done.summary["upstream"]["meaning"] == "auth_required"


@pytest.mark.parametrize("words", [["api", "--", "--method=DELETE"], ["repo view", "--", "--web"]])
def test_what_would_be_an_option_is_refused(github, words: list[str]):
    _, gh = github

    assert gh(*words).error["code"] == "INVALID_VALUE"


@pytest.mark.parametrize("prints", ["", "no JSON\n", '[{"number": 1'])
def test_without_a_whole_document_nothing_is_an_answer(tmp_path, prints):
    done = wrap("gh", "issue", "list", env=stand_in(tmp_path, "gh", prints=prints))

    assert (done.results, done.error["code"], done.summary["ok"]) == ([], "UPSTREAM_INCOMPLETE", False)


def test_a_pull_request_and_its_checks_are_told(github):
    _, gh = github

    (pull,) = gh("pr view", "4", "--repo", "a/b").results
    checks = gh("pr checks", "4", "-R", "a/b")
    missing = gh("pr view", "99", "--repo", "a/b")

    assert (pull["title"], pull["state"], pull["head_sha"], pull["labels"]) == ("é", "open", SHA, ["bug"])
    found = [(event["name"], event["kind"], event["result"]) for event in checks.results]
    assert found == [
        ("a", "check_run", "passed"),
        ("b", "check_run", "failed"),
        ("c", "check_run", "pending"),
        ("old", "status", "passed"),
    ]
    assert (checks.summary["ok"], checks.summary["head_sha"]) == (True, SHA)
    assert checks.summary["checks"] == {"passed": 2, "failed": 1, "pending": 1}
    assert (missing.error["category"], missing.error["code"]) == ("not_found", "NOT_ON_GITHUB")


def test_a_pull_request_is_created_once_and_its_text_is_on_no_command_line(github):
    server, gh = github
    words = ["pr create", "--title", "@it", "--body", "@é\n", "--head", "x", "--draft", "--repo", "a/b"]

    plan = gh(*words, "--dry-run")
    refused = gh(*words)
    assert server.asked == []
    done = gh(*words, "--confirm", plan.summary["plan_digest"])

    assert refused.error["code"] == "CONFIRMATION_REQUIRED"
    assert [(event["number"], event["url"]) for event in done.results] == [
        (6, "https://github.com/a/b/pull/6")
    ]
    (sent,) = [json.loads(body) for method, _, body in server.asked if method == "POST"]
    assert sent == {"title": "@it", "body": "@é\n", "head": "x", "base": "main", "draft": True}


def test_what_is_merged_is_the_commit_of_the_plan(github):
    server, gh = github

    plan = gh("pr merge", "4", "-s", "-R", "a/b", "--dry-run")
    done = gh("pr merge", "4", "-s", "-R", "a/b", "--confirm", plan.summary["plan_digest"])
    closed = gh("pr merge", "5", "-R", "a/b", "--confirm")
    moved = gh("pr merge", "7", "-R", "a/b", "--confirm")

    (change,) = plan.of("aoi:plan")
    assert (change["method"], change["sha"], change["base"]) == ("squash", SHA, "main")
    assert [(event["number"], event["sha"]) for event in done.results] == [(4, "f" * 40)]
    sent = [json.loads(body) for method, path, body in server.asked if method == "PUT" and "/4/" in path]
    assert sent == [{"sha": SHA, "merge_method": "squash"}]
    assert closed.error["code"] == "PR_NOT_OPEN"
    assert (moved.results, moved.error["code"], moved.summary["ok"]) == ([], "CONFLICT", False)


def test_a_run_its_jobs_and_the_end_of_their_logs(github):
    _, gh = github

    run, good, bad = gh("run view", "9", "--repo", "a/b").results
    failed = gh("run log", "9", "--failed", "--repo", "a/b")
    tail = gh("run log", "9", "--tail", "1", "--repo", "a/b")

    assert (run["conclusion"], good["name"], bad["conclusion"]) == ("failure", "good", "failure")
    assert [(event["line_number"], event["time"], event["text"]) for event in failed.results] == [
        (1, "2026-01-01T00:00:00.1Z", "é one"),
        (2, "2026-01-01T00:00:00.2Z", "\ttwo"),
        (3, None, "last"),
    ]
    assert [(event["job_id"], event["text"]) for event in tail.results] == [(31, "fine"), (32, "last")]


def test_a_log_that_is_not_there_is_no_empty_log(github):
    _, gh = github

    running = gh("run log", "8", "--repo", "a/b")
    unknown = gh("run log", "9", "--job", "77", "--repo", "a/b")

    assert (running.results, running.summary["ok"], running.error["category"]) == ([], False, "not_found")
    assert unknown.error["code"] == "JOB_NOT_FOUND"
