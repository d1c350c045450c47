"""What an attacker tries over HTTP: a page of another site, an agent with its own credential, a holder of a weak token."""

import json
import os
import socket
import stat
import threading

import pytest

from operable.serve.daemon import MOST_IN_PROGRESS
from tests.host.agents import calls
from tests.host.scene import steps
from tests.serve.daemon import Client, credential, descendants, serving, until, write_agent
from tests.tool.drive import LIMIT

ASK = {"call": "Bash", "args": {"command": "ls"}, "kind": "execute", "ask": True}
TOKEN = "OPERABLE_SESSION_TOKEN"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    write_agent(home)
    with serving(home) as started:
        yield started


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def start(daemon, work, **more):
    answer = daemon.admin("POST", "/sessions/agent", {"adapter": "scripted", "cwd": str(work), **more})
    assert answer.status == 201, answer
    return answer.json


def session_client(daemon):
    """The newest session's own credential, as its agent has it."""
    env = calls(daemon.home / "config" / "agents" / "scripted")[-1]["env"]
    return Client(daemon.url, env[TOKEN])


def question(daemon, session_id):
    found = daemon.admin.get("/approvals").json["approvals"]
    return next((each for each in found if each["sourceId"] == session_id), None)


def test_a_symbolic_link_below_a_workspace_is_no_way_out_of_it(daemon, tmp_path):
    shop, outside = tmp_path / "shop", tmp_path / "outside"
    shop.mkdir()
    outside.mkdir()
    (shop / "way").symlink_to(outside)
    (shop / "in").mkdir()
    daemon.admin("POST", "/workspaces", {"slug": "shop", "path": str(shop)})
    for below in ("way", "way/../way", "in/../way", "%77ay", "way/", "./way", "in//"):
        body = {"adapter": "scripted", "ground": f"ws://workspaces/@me/shop/{below}"}
        answer = daemon.admin("POST", "/sessions/agent", body)
        assert answer.status in (400, 403, 404), (below, answer)
    answer = daemon.admin(
        "POST", "/sessions/agent", {"adapter": "scripted", "ground": "ws://workspaces/@me/shop/way"}
    )
    assert (answer.status, answer.code) == (403, "cwd_outside_parent")
    inside = daemon.admin(
        "POST", "/sessions/agent", {"adapter": "scripted", "ground": "ws://workspaces/@me/shop/in"}
    )
    assert (inside.status, inside.json["cwd"]) == (201, str(shop / "in"))
    daemon.admin("DELETE", "/workspaces/shop")


def test_the_credential_of_a_session_starts_nothing_as_root(daemon, work):
    start(daemon, work)
    client = session_client(daemon)
    before = len(daemon.admin.get("/sessions").json["sessions"])
    for body in (
        {"adapter": "scripted"},
        {"adapter": "scripted", "cwd": str(work)},
        {"adapter": "scripted", "ground": "ws://workspaces/@me/any"},
        {"adapter": "scripted", "sandbox": "none", "policy": "/dev/null"},
        {"adapter": "scripted", "agent": "none", "parentSessionId": None},
    ):
        answer = client("POST", "/sessions/agent", body)
        assert answer.status in (400, 403), (body, answer)
    for headers in ({"X-Forwarded-For": "127.0.0.1"}, {"Cookie": f"operable={client.token}"}):
        answer = client("POST", "/sessions/agent", {"adapter": "scripted"}, headers=headers)
        assert answer.status in (400, 403), answer
    assert len(daemon.admin.get("/sessions").json["sessions"]) == before


def test_the_credential_of_a_session_answers_no_question_and_sees_no_other_session(daemon, work):
    asking = start(daemon, work, prompt=steps(ASK))["id"]
    client = session_client(daemon)
    asked = until(lambda: question(daemon, asking))
    path = f"/approvals/{asked['id']}/answer"
    assert client("POST", path, {"allowed": True, "digest": asked["digest"]}).status == 403
    other = start(daemon, work)["id"]
    for method, below in (
        ("GET", ""),
        ("GET", "/stream"),
        ("GET", "/events"),
        ("POST", "/kill"),
        ("DELETE", ""),
    ):
        assert client(method, f"/sessions/{other}{below}").status == 403
    for route in ("/events", "/approvals", "/tokens", "/policy", "/audit/workspaces", "/hooks", "/metrics"):
        assert client.get(route).status == 403, route
    assert question(daemon, asking) is not None
    daemon.admin("POST", f"/sessions/{asking}/kill")


def test_an_answer_is_not_replayed_onto_the_next_question_that_is_the_same(daemon, work):
    session_id = start(daemon, work, prompt=steps(ASK, ASK, {"say": "done"}))["id"]
    first = until(lambda: question(daemon, session_id))
    body = {"allowed": True, "digest": first["digest"]}
    path = f"/approvals/{first['id']}/answer"
    assert daemon.admin("POST", path, body).status == 200

    def another():
        found = question(daemon, session_id)
        return found if found and found["id"] != first["id"] else None

    second = until(another)
    replayed = daemon.admin("POST", path, body)
    assert (replayed.status, replayed.code) == (409, "ALREADY_ANSWERED")
    assert question(daemon, session_id)["id"] == second["id"]
    denied = {"allowed": False, "digest": second["digest"], "reason": "not again"}
    assert daemon.admin("POST", f"/approvals/{second['id']}/answer", denied).json["reason"] == "not again"
    daemon.admin("POST", f"/sessions/{session_id}/kill")


def test_an_answer_to_what_was_shown_before_does_not_count_for_what_is_asked_now(daemon, work):
    one, other = {**ASK, "args": {"command": "ls"}}, {**ASK, "args": {"command": "rm -rf x"}}
    session_id = start(daemon, work, prompt=steps(one, other))["id"]
    shown = until(lambda: question(daemon, session_id))
    daemon.admin("POST", f"/approvals/{shown['id']}/answer", {"allowed": False, "digest": shown["digest"]})

    def changed():
        found = question(daemon, session_id)
        return found if found and found["command"] == "rm -rf x" else None

    now = until(changed)
    stale = daemon.admin(
        "POST", f"/approvals/{now['id']}/answer", {"allowed": True, "digest": shown["digest"]}
    )
    assert (stale.status, stale.code) == (409, "ASK_CHANGED")
    assert question(daemon, session_id)["id"] == now["id"]
    daemon.admin("POST", f"/sessions/{session_id}/kill")


def test_two_people_who_answer_at_once_get_one_decision(daemon, work):
    session_id = start(daemon, work, prompt=steps(ASK, {"say": "done"}))["id"]
    asked = until(lambda: question(daemon, session_id))
    answers = []

    def decide(allowed):
        body = {"allowed": allowed, "digest": asked["digest"]}
        answers.append(daemon.admin("POST", f"/approvals/{asked['id']}/answer", body))

    racing = [threading.Thread(target=decide, args=(number % 2 == 0,)) for number in range(8)]
    for each in racing:
        each.start()
    for each in racing:
        each.join(LIMIT)
    won = [each for each in answers if each.status == 200]
    assert len(won) == 1
    assert {each.code for each in answers if each.status != 200} == {"ALREADY_ANSWERED"}
    kept = daemon.admin.get("/approvals?state=answered").json["approvals"]
    assert [each["allowed"] for each in kept if each["id"] == asked["id"]] == [won[0].json["allowed"]]
    daemon.admin("POST", f"/sessions/{session_id}/kill")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"X-Forwarded-Host": "127.0.0.1", "Host": "evil.example"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost.evil.example"},
    ],
)
def test_a_name_of_another_site_reaches_no_route(daemon, headers):
    for method, path in (("GET", "/sessions"), ("GET", "/events"), ("POST", "/logins"), ("GET", "/catalog")):
        answer = daemon.admin(method, path, headers=headers)
        assert answer.status == 403, (headers, path, answer)
        assert answer.code in ("HOST_NOT_OURS", "ORIGIN_NOT_OURS")


def test_a_cookie_alone_changes_nothing_and_a_simple_request_of_a_page_does_not_either(daemon):
    client, page = daemon.browser()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"Cookie": page["Cookie"], "Content-Type": kind}
        answer = client("POST", "/tokens", b'{"name": "x", "scopes": ["admin"]}', headers=headers)
        assert (answer.status, answer.code) == (403, "CSRF_MISSING")
    assert client.get("/logout", headers=page).status == 405


def test_script_in_what_an_agent_says_is_given_as_text(daemon, work):
    script = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    label = "<svg onload=alert(1)>"
    session_id = start(daemon, work, prompt=steps({"say": script}), label=label)["id"]
    until(lambda: daemon.admin.get(f"/sessions/{session_id}").json["state"] == "idle")
    for path in (f"/sessions/{session_id}", f"/sessions/{session_id}/events"):
        answer = daemon.admin.get(path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    _, page = daemon.browser()
    first = daemon.anonymous.get("/", headers={"Cookie": page["Cookie"]})
    assert first.headers["content-type"].startswith("text/html")
    assert b"<svg onload" not in first.data
    assert b"<script>alert" not in first.data


def test_paths_lead_to_no_file_of_the_machine(daemon, tmp_path):
    (tmp_path / "secret").write_text("TOP-SECRET")
    for path in (
        "/web/../../../../etc/passwd",
        "/web/%2e%2e/%2e%2e/daemon.py",
        "/web/..%2f..%2fdaemon.py",
        f"/web/{tmp_path}/secret",
        f"/web//{tmp_path}/secret",
        "/sessions/..%2f..%2f/events",
        "/sessions/%2e%2e/events",
        "/sessions/%00/stream",
        "/runs/..%2f..",
        "/flows/%2e%2e",
        "/catalog/wrap/..%2f..%2fetc",
        "/audit?workspace=..%2f..",
    ):
        answer = daemon.admin.get(path)
        assert answer.status in (400, 404), (path, answer)
        assert b"TOP-SECRET" not in answer.data
        assert b"root:" not in answer.data
        assert b"import" not in answer.data


def test_many_half_requests_leave_room_for_a_whole_one(daemon):
    slow = [
        socket.create_connection((daemon.admin.host, daemon.admin.port), timeout=LIMIT) for _ in range(300)
    ]
    try:
        for each in slow:
            each.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
        assert [daemon.admin.get("/health").status for _ in range(5)] == [200] * 5
    finally:
        for each in slow:
            each.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET http://evil.example/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=["smuggling", "two lengths", "two hosts", "absolute form", "tls", "http2"],
)
def test_a_request_that_can_be_read_in_two_ways_is_not_served(daemon, raw):
    with socket.create_connection((daemon.admin.host, daemon.admin.port), timeout=LIMIT) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    assert b" 200 " not in received.partition(b"\r\n")[0], received


def test_what_the_daemon_keeps_is_for_its_user_only(daemon):
    for root, folders, files in os.walk(daemon.home / "state" / "serve"):
        for name in (*folders, *files):
            mode = stat.S_IMODE(os.lstat(os.path.join(root, name)).st_mode)
            assert mode & 0o077 == 0, (name, oct(mode))


def test_no_answer_has_a_token_or_a_credential(daemon, work):
    session_id = start(daemon, work, prompt=steps({"say": "hello"}))["id"]
    own = session_client(daemon).token
    daemon.token("leak", "read")
    for path in (
        "/tokens",
        "/info",
        "/access",
        "/metrics",
        "/sessions",
        f"/sessions/{session_id}/events",
        "/openapi.json",
    ):
        data = daemon.admin.get(path).data.decode()
        assert own not in data
        assert daemon.admin.token not in data
    (row,) = [
        each for each in json.loads(daemon.admin.get("/tokens").data)["tokens"] if each["name"] == "leak"
    ]
    assert "text" not in row
    assert "hash" not in row


def test_a_session_gets_no_agent_past_the_delegation_gate(daemon, work):
    own = start(daemon, work)["id"]
    client = session_client(daemon)
    call = client("POST", "/catalog/agent/scripted/prompt/call", {"arguments": {"prompt": "x"}})
    assert (call.status, call.code) == (403, "delegation_denied")
    for method, below in (("POST", "/fork"), ("POST", "/resume"), ("DELETE", "")):
        answer = client(method, f"/sessions/{own}{below}")
        assert (answer.status, answer.code) == (403, "SESSION_REFUSED")
    assert "start" not in client.get("/catalog/agent/scripted").json or (
        client.get("/catalog/agent/scripted").json["start"] is None
    )


def test_one_token_does_not_take_all_streams(daemon):
    greedy, modest = daemon.token("greedy", "read"), daemon.token("modest", "read")
    head = f"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {greedy.token}\r\n\r\n"
    held = []
    try:
        for _ in range(MOST_IN_PROGRESS):
            connection = socket.create_connection((greedy.host, greedy.port), timeout=LIMIT)
            connection.sendall(head.encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
            held.append(connection)
        refused = greedy.get("/events")
        assert (refused.status, refused.code) == (429, "TOO_MANY_READERS")
        with modest.stream("/events") as stream:
            assert stream.message().event == "hello"
    finally:
        for each in held:
            each.close()

    def is_free():
        with socket.create_connection((greedy.host, greedy.port), timeout=LIMIT) as connection:
            connection.sendall(head.encode())
            return connection.recv(12) == b"HTTP/1.1 200"

    assert until(is_free)


def test_a_name_of_a_session_has_a_length(daemon, work):
    body = {"adapter": "scripted", "cwd": str(work), "label": "x" * 201}
    assert daemon.admin("POST", "/sessions/agent", body).code == "BODY_INVALID"
    session_id = start(daemon, work, label="x" * 200)["id"]
    assert daemon.admin("PATCH", f"/sessions/{session_id}", {"label": "x" * 201}).code == "BODY_INVALID"


def of_call(client, kind, name, action, **arguments):
    return client("POST", f"/catalog/{kind}/{name}/{action}/call", {"arguments": arguments})


def test_a_session_gets_no_call_past_the_rules_that_it_was_started_with(daemon, work, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text('deny = ["execute:find *"]\ndefault = "allow"')
    start(daemon, work, policy=str(rules))
    denied = of_call(session_client(daemon), "wrap", "find", "files", limit=1)
    assert (denied.status, denied.code) == (403, "CALL_DENIED")
    assert "session:deny execute:find *" in denied.json["error"]["message"]

    rules.write_text('allow = ["kind:think"]')  # what no rule allows is denied
    start(daemon, work, policy=str(rules))
    assert of_call(session_client(daemon), "wrap", "find", "files", limit=1).code == "CALL_DENIED"

    start(daemon, work)
    assert of_call(session_client(daemon), "wrap", "find", "files", limit=1).json["ok"] is True


@pytest.mark.needs("bwrap")
def test_a_session_in_a_sandbox_does_not_leave_it_through_the_catalog_without_a_yes(daemon, work):
    before = set(descendants(daemon.process.pid))
    start(daemon, work, sandbox="bubblewrap")
    client = Client(daemon.url, credential(set(descendants(daemon.process.pid)) - before))
    answers = []
    calling = threading.Thread(
        target=lambda: answers.append(of_call(client, "wrap", "find", "files", limit=1))
    )
    calling.start()
    asked = until(lambda: next(iter(daemon.admin.get("/approvals").json["approvals"]), None))
    assert (asked["tool"], asked["why"]) == (
        "wrap/find/files",
        "it would run outside of the sandbox of its session",
    )
    given = {"allowed": False, "digest": asked["digest"]}
    assert daemon.admin("POST", f"/approvals/{asked['id']}/answer", given).status == 200
    calling.join(LIMIT)
    assert [each.code for each in answers] == ["CALL_DENIED"]


def test_a_token_that_was_taken_back_reads_no_more(daemon, work):
    session = start(daemon, work)["id"]
    reader = daemon.token("taken-back", "read")
    with reader.stream("/events") as events, reader.stream(f"/sessions/{session}/stream") as lines:
        assert (events.message().event, lines.message().event) == ("hello", "status")
        assert daemon.admin("DELETE", "/tokens/taken-back").status == 200
        daemon.admin("POST", f"/sessions/{session}/prompt", {"prompt": "a secret"})
        for stream in (events, lines):
            assert b"a secret" not in stream.rest()
    assert reader.get("/sessions").status == 401


def test_a_session_learns_nothing_of_others_from_its_list(daemon, work):
    """Neither their ids from a cursor, nor their words from whether there is one."""
    others = [start(daemon, work, label="hidden words")["id"] for _ in range(2)]
    own = start(daemon, work)["id"]
    client = session_client(daemon)
    for query in ("limit=1", "limit=1&q=hidden", "limit=1&q=hidden&status=running"):
        answer = client.get(f"/sessions?{query}")
        assert {each["id"] for each in answer.json["sessions"]} <= {own}
        assert "next_cursor" not in answer.json
        assert not any(each in answer.data.decode() for each in others)


def test_bodies_that_no_route_takes_hold_no_place(daemon):
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{daemon.admin.port}\r\nContent-Length: 10\r\n\r\n"
    held = []
    try:
        for _ in range(MOST_IN_PROGRESS + 1):
            connection = socket.create_connection((daemon.admin.host, daemon.admin.port), timeout=LIMIT)
            connection.sendall(head.encode())
            held.append(connection)
        answers = [connection.recv(12) for connection in held]
        assert daemon.anonymous.get("/").status == 401  # how to log in
    finally:
        for each in held:
            each.close()
    assert set(answers) == {b"HTTP/1.1 200"}


MCP = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def mcp_session(client):
    """The headers of a session of the protocol."""
    client_info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client_info}
    opened = client("POST", "/mcp", hello, headers=MCP)
    session = {
        **MCP,
        "Mcp-Session-Id": opened.headers["mcp-session-id"],
        "Mcp-Protocol-Version": "2025-06-18",
    }
    said = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert client("POST", "/mcp", said, headers=session).status == 202
    return session


def mcp_call(client, session, number):
    """A connection on which a call waits for a person."""
    wanted = {"name": "agent_kill", "arguments": {"sessionId": "ses_none"}}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": wanted})
    headers = {**session, "Authorization": f"Bearer {client.token}", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in {"Host": f"127.0.0.1:{client.port}", **headers}.items()]
    connection = socket.create_connection((client.host, client.port), timeout=LIMIT)
    connection.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", body]).encode())
    return connection


def waiting(daemon, caller):
    found = daemon.admin.get("/approvals").json["approvals"]
    return [each for each in found if each["agent"] == caller]


def test_calls_over_mcp_have_the_limit_of_their_token_and_end_with_their_session(daemon, work):
    """Also when the client hangs up: its calls go on, and their questions would wait for a person."""
    session_id = start(daemon, work)["id"]
    client = session_client(daemon)
    protocol = mcp_session(client)
    held = [mcp_call(client, protocol, number) for number in range(MOST_IN_PROGRESS + 20)]
    try:
        asked = until(
            lambda: len(found := waiting(daemon, f"session:{session_id}")) == MOST_IN_PROGRESS and found
        )
        refused = client.get("/catalog")
        assert (refused.status, refused.code) == (429, "TOO_MANY_REQUESTS")
    finally:
        for each in held:
            each.close()
    assert daemon.admin("POST", f"/sessions/{session_id}/kill").status == 200
    assert until(lambda: not waiting(daemon, f"session:{session_id}"))
    late = daemon.admin(
        "POST", f"/approvals/{asked[0]['id']}/answer", {"allowed": True, "digest": asked[0]["digest"]}
    )
    assert late.status in (404, 409)


@pytest.mark.parametrize("stream", [0, 1])
def test_what_a_token_asked_for_ends_when_it_is_taken_back(daemon, stream):
    client = daemon.token(f"caller-{stream}", "read", "prompt")
    answers = []

    def call():
        path = f"/catalog/agent/scripted/prompt/call?stream={stream}"
        answers.append(client("POST", path, {"arguments": {"prompt": "x"}}))

    calling = threading.Thread(target=call)
    calling.start()
    until(lambda: waiting(daemon, f"http:caller-{stream}"))
    protocol = mcp_session(client)
    with client.stream("/mcp", headers=protocol) as following:
        assert daemon.admin("DELETE", f"/tokens/caller-{stream}").status == 200
        assert following.rest() == b""
    calling.join(LIMIT)
    (answer,) = answers
    assert b"CALLER_ENDED" in answer.data
    assert answer.status == (200 if stream else 401)
    assert not waiting(daemon, f"http:caller-{stream}")


def test_a_session_that_ends_itself_ends_those_that_it_started(daemon, work):
    """Its request ends with it, and its children must not go on because of that."""
    for slug, to in (("lead", ["worker"]), ("worker", [])):
        folder = daemon.home / "config" / "agents" / slug
        folder.mkdir(parents=True)
        data = {"name": slug, "id": slug, "description": "x", "version": "1.0.0", "adapter": "scripted"}
        (folder / "AGENT.md").write_text(f"---\n{json.dumps({**data, 'delegates_to': to})}\n---\n")
    lead = start(daemon, work, agent="lead")["id"]
    client = session_client(daemon)
    child = client("POST", "/sessions/agent", {"agent": "worker"}).json["id"]
    client("POST", f"/sessions/{lead}/kill")
    states = [f"/sessions/{each}" for each in (lead, child)]
    assert until(lambda: all(daemon.admin.get(each).json["status"] == "killed" for each in states))


def test_one_token_does_not_take_all_sessions_of_mcp(daemon, work):
    """Nor does one that is used end: the least recently used one of the same token does."""
    other = daemon.token("patient", "read")
    kept = mcp_session(other)
    start(daemon, work)
    client = session_client(daemon)
    first = mcp_session(client)
    second = mcp_session(client)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for _ in range(20):
        mcp_session(client)
        assert client("POST", "/mcp", ping, headers=first).status == 200
    assert until(lambda: client("POST", "/mcp", ping, headers=second).status == 404)
    assert client("POST", "/mcp", ping, headers=first).status == 200
    assert other("POST", "/mcp", ping, headers=kept).status == 200
