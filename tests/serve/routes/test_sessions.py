"""Sessions over HTTP, with a real agent process: start, prompt, ask, answer, interrupt, end."""

import json
import signal
import threading

import pytest

from operable.serve.http.route import all_routes
from tests.host.scene import steps
from tests.serve.daemon import Client, descendants, is_alive, serving, until, write_agent
from tests.tool.drive import LIMIT

ASK = {"call": "Bash", "args": {"command": "ls"}, "kind": "execute", "ask": True}


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
    return str(folder)


def start(daemon, work, **more):
    answer = daemon.admin("POST", "/sessions/agent", {"adapter": "scripted", "cwd": work, **more})
    assert answer.status == 201, answer
    return answer.json


def waiting(daemon, session_id):
    found = daemon.admin.get("/approvals").json["approvals"]
    return [each for each in found if each["sourceId"] == session_id]


def test_a_session_is_started_prompted_followed_and_ended(daemon, work):
    view = start(daemon, work, label="first")
    assert (view["status"], view["adapterSlug"], view["label"], view["owner"]) == (
        "running",
        "scripted",
        "first",
        "daemon",
    )
    path = f"/sessions/{view['id']}"
    with daemon.admin.stream(f"{path}/stream?typed=1") as stream:
        assert daemon.admin("POST", f"{path}/prompt", {"prompt": steps({"say": "Hello\nyou"})}).json["ok"]
        messages = stream.until("turn-end")
    assert "".join(each.data["text"] for each in messages if each.event == "text-delta") == "Hello\nyou"
    assert [int(each.id) for each in messages if each.id] == list(range(1, int(messages[-1].id) + 1))
    with daemon.admin.stream(f"{path}/stream") as lines:
        assert lines.message().event == "status"
        shown = [lines.message().data["line"] for _ in range(3)]
    assert shown == ["Hello", "you", "── turn-end (completed) ──"]
    assert daemon.admin("DELETE", path).code == "SESSION_RUNNING"
    assert daemon.admin("POST", f"{path}/kill").json == {"ok": True, "id": view["id"]}
    assert until(lambda: daemon.admin.get(path).json["state"] in ("ended", "failed"))
    again = daemon.admin("POST", f"{path}/kill")
    assert (again.status, again.json) == (200, {"ok": True, "id": view["id"]})  # as it was wanted
    assert daemon.admin("POST", f"{path}/prompt", {"prompt": "x"}).code == "SESSION_ENDED"
    assert daemon.admin("DELETE", path).status == 200
    assert daemon.admin.get(path).status == 404


def test_an_overlapping_prompt_is_refused_queued_or_interrupts(daemon, work):
    path = f"/sessions/{start(daemon, work, prompt=steps({'hang': True}))['id']}"
    until(lambda: daemon.admin.get(path).json["state"] == "working")
    refused = daemon.admin("POST", f"{path}/prompt", {"prompt": "x"})
    assert (refused.status, refused.code) == (409, "TURN_RUNNING")
    assert daemon.admin("POST", f"{path}/prompt", {"prompt": steps({"say": "queued"}), "queue": True}).json[
        "queued"
    ]
    assert daemon.admin("POST", f"{path}/interrupt").json["wasBusy"] is True
    until(lambda: daemon.admin.get(path).json["lastLine"] == "queued")
    assert daemon.admin("POST", f"{path}/interrupt").json["wasBusy"] is False


def test_prompts_that_wait_are_listed_and_can_be_taken_back(daemon, work):
    session_id = start(daemon, work, prompt=steps({"hang": True}))["id"]
    path = f"/sessions/{session_id}"
    until(lambda: daemon.admin.get(path).json["state"] == "working")
    ids = [
        daemon.admin("POST", f"{path}/prompt", {"prompt": steps({"say": word}), "queue": True}).json["queued"]
        for word in ("first", "second")
    ]
    listed = daemon.admin.get(f"{path}/queue").json["prompts"]
    assert [(each["id"], each["text"]) for each in listed] == [
        (ids[0], steps({"say": "first"})),
        (ids[1], steps({"say": "second"})),
    ]
    reader = daemon.token("queue-reader", "read")
    assert reader.get(f"{path}/queue").status == 200
    assert reader("DELETE", f"{path}/queue/{ids[1]}").status == 403

    assert daemon.admin("DELETE", f"{path}/queue/{ids[1]}").json["id"] == ids[1]
    assert daemon.admin("DELETE", f"{path}/queue/{ids[1]}").code == "NO_SUCH_PROMPT"
    daemon.admin("POST", f"{path}/interrupt")
    until(lambda: daemon.admin.get(path).json["lastLine"] == "first")
    assert daemon.admin.get(f"{path}/queue").json == {"prompts": []}
    daemon.admin("POST", f"{path}/kill")
    until(lambda: daemon.admin.get(path).json["state"] in ("ended", "failed"))
    assert daemon.admin("DELETE", f"{path}/queue/{ids[0]}").code == "SESSION_ENDED"


def test_a_stream_says_each_change_of_state_when_it_comes(daemon, work):
    session_id = start(daemon, work)["id"]
    path = f"/sessions/{session_id}"
    with daemon.admin.stream(f"{path}/stream?typed=1") as stream:

        def state():
            return stream.until("status")[-1].data

        assert state() == {"status": "running", "state": "idle"}
        daemon.admin("POST", f"{path}/prompt", {"prompt": steps(ASK, {"say": "done"})})
        assert state()["state"] == "working"
        assert state()["state"] == "needs_you"
        (question,) = until(lambda: waiting(daemon, session_id))
        answer = {"allowed": False, "digest": question["digest"]}
        assert daemon.admin("POST", f"/approvals/{question['id']}/answer", answer).status == 200
        assert state()["state"] == "working"
        assert state()["state"] == "idle"
        daemon.admin("POST", f"{path}/kill")
        last = state()
        while last["status"] == "running":
            last = state()
        assert last == {"status": "killed", "state": "ended"}
        assert b"event:" not in stream.rest()


def test_a_question_is_answered_once_for_what_was_shown(daemon, work):
    session_id = start(daemon, work, prompt=steps(ASK, {"say": "done"}))["id"]
    (question,) = until(lambda: waiting(daemon, session_id))
    assert question["command"] == "ls"
    assert (
        question["expiresAt"] - question["askedAt"] > 86_000_000
    )  # milliseconds: a person may come back tomorrow
    assert daemon.admin.get(f"/sessions/{session_id}").json["state"] == "needs_you"
    path = f"/approvals/{question['id']}/answer"
    reader = daemon.token(f"reader-{session_id}", "read")
    assert reader("POST", path, {"allowed": True, "digest": question["digest"]}).code == "SCOPE_MISSING"
    assert daemon.admin("POST", path, {"allowed": True}).code == "BODY_INVALID"
    assert daemon.admin("POST", path, {"allowed": True, "digest": "0" * 64}).code == "ASK_CHANGED"
    answers = []
    racing = [
        threading.Thread(
            target=lambda: answers.append(
                daemon.admin("POST", path, {"allowed": True, "digest": question["digest"]})
            )
        )
        for _ in range(4)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join(LIMIT)
    assert sorted(each.status for each in answers) == [200, 409, 409, 409]
    assert {each.code for each in answers if each.status == 409} == {"ALREADY_ANSWERED"}
    assert (
        daemon.admin("POST", path, {"allowed": True, "digest": question["digest"]}).code == "ALREADY_ANSWERED"
    )
    until(lambda: daemon.admin.get(f"/sessions/{session_id}").json["lastLine"] == "done")
    assert question["id"] in [
        each["id"] for each in daemon.admin.get("/approvals?state=answered").json["approvals"]
    ]


def test_what_needs_attention_comes_in_one_stream(daemon, work):
    with daemon.admin.stream("/events") as stream:
        hello = stream.message()
        assert hello.event == "hello"
        session_id = start(daemon, work, prompt=steps(ASK))["id"]
        approval = next(
            each
            for each in iter(stream.message, None)
            if each.event == "approval" and each.data["sourceId"] == session_id
        )
    with daemon.admin.stream("/events", headers={"Last-Event-ID": str(int(approval.id) - 1)}) as again:
        again.message()
        assert again.message() == approval


def test_a_session_acts_as_itself_and_never_as_root(daemon, work):
    view = start(daemon, work)
    calls = (daemon.home / "config" / "agents" / "scripted" / "calls").read_text().splitlines()
    token = json.loads(calls[-1])["env"]["OPERABLE_SESSION_TOKEN"]
    session = Client(daemon.url, token)
    other = start(daemon, work)
    assert [each["id"] for each in session.get("/sessions").json["sessions"]] == [view["id"]]
    assert session.get(f"/sessions/{other['id']}").status == 403
    for body in (
        {"adapter": "scripted", "cwd": work},
        {"agent": "scripted"},
        {"agent": "../x", "ground": "/"},
    ):
        assert 400 <= session("POST", "/sessions/agent", body).status < 500
    assert len(daemon.admin.get(f"/sessions/{view['id']}/tree").json["children"]) == 0
    assert session.get("/approvals").code == "SESSION_REFUSED"
    assert session("POST", "/tokens", {"name": "x", "scopes": ["admin"]}).code == "SCOPE_MISSING"
    daemon.admin("POST", f"/sessions/{view['id']}/kill")
    until(lambda: session.get("/sessions").status == 401)


def test_an_agent_that_is_not_installed_is_501_with_the_code_of_the_standard(daemon, work):
    refused = daemon.admin("POST", "/sessions/agent", {"adapter": "goose", "cwd": work})
    documented = next(route for route in all_routes() if route.operation_id == "spawnSession").errors
    assert (refused.status, (refused.code,)) == (501, documented[501])


@pytest.mark.parametrize(
    "ground", ["../../etc", "ws://workspaces/@me/../../etc", "ws://workspaces/@me/none", "/nowhere-at-all"]
)
def test_a_ground_that_is_none_starts_nothing(daemon, ground):
    answer = daemon.admin("POST", "/sessions/agent", {"adapter": "scripted", "ground": ground})
    assert answer.status in (400, 404), answer


def test_a_traversal_in_a_slug_is_refused(daemon, tmp_path):
    for slug in ("../x", "a/b", "..", "owners", ""):
        assert daemon.admin("POST", "/workspaces", {"slug": slug, "path": str(tmp_path)}).status == 400
        assert daemon.admin.get(f"/audit?workspace={slug}").status == 404


def test_after_kill_9_no_process_survives_and_nothing_acknowledged_is_lost(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    write_agent(home)
    with serving(home) as daemon:
        view = start(daemon, str(work), prompt=steps({"say": "kept"}, {"grandchild": True}, {"hang": True}))
        path = f"/sessions/{view['id']}"
        until(
            lambda: (
                daemon.admin.get(path).json["lastLine"] == "kept" and len(descendants(daemon.process.pid)) > 1
            )
        )
        before = daemon.admin.get(f"{path}/events?limit=1000").json["events"]
        processes = descendants(daemon.process.pid)
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait(LIMIT)
    until(lambda: not any(map(is_alive, processes)))
    with serving(home) as again:
        found = again.admin.get(path).json
        assert (found["status"], found["state"], found["error"]) == ("error", "failed", "interrupted")
        assert again.admin.get(f"{path}/events?limit=1000").json["events"][: len(before)] == before


def test_sigterm_ends_every_session_with_its_processes(tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    write_agent(home)
    with serving(home) as daemon:
        view = start(daemon, str(work), prompt=steps({"grandchild": True}, {"hang": True}))
        until(lambda: len(descendants(daemon.process.pid)) > 1)
        processes = descendants(daemon.process.pid)
        with daemon.admin.stream(f"/sessions/{view['id']}/stream?typed=1") as stream:
            daemon.process.terminate()
            stream.rest()
        daemon.process.wait(LIMIT)
        until(lambda: not any(map(is_alive, processes)))
