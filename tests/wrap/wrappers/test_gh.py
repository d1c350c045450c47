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
PATHS: dict[str, tuple[int, object]] = {
    "/repos/a/b/releases": (200, [{"id": 1, "name": "é"}, {"id": 2, "name": "\n"}]),
    "/repos/a/b/actions/runs": (200, {"total_count": 1, "workflow_runs": [RUN]}),
    "/repos/a/b/actions/workflows": (200, {"total_count": 1, "workflows": [WORKFLOW]}),
    "/repos/a/b/actions/workflows/5": (200, WORKFLOW),
    "/repos/a/b/issues": (201, {"number": 8}),
    "/repos/a/b/subscription": (204, None),
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
            content = b"" if found is None else json.dumps(found).encode()
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
