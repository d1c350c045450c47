"""A command and a webhook learn of questions: signed, without secrets, a bounded number of times."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from operable.kernel.errors import Fail
from operable.serve import hooks
from operable.serve.approvals import ApprovalView
from operable.serve.hooks import Hook, Hooks, load_hooks, read_key, sign
from tests.cli.drive import operable
from tests.host.scene import steps
from tests.serve.daemon import serving, until, write_agent
from tests.serve.session.scene import run
from tests.serve.session.scene import until as soon
from tests.tool.drive import LIMIT

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "notify-a-phone.md"
SECRET = "sk-ant-api03-" + "s3cr3t" * 8
ASK = {
    "call": "Bash",
    "args": {"command": f"curl -H 'x-api-key: {SECRET}' x"},
    "kind": "execute",
    "ask": True,
}
VIEW = ApprovalView(
    id="ask_1",
    source="session",
    source_id="ses_1",
    ask_id="1",
    kind="permission",
    agent="scripted",
    tool="Bash",
    command=f"use {SECRET}",
    text=f"May it use {SECRET}?",
)


class Receiver:
    """A web server on loopback that answers as it is told, and keeps what it gets."""

    def __init__(self, *statuses):
        self.requests: list[tuple[dict[str, str], bytes]] = []
        answers = list(statuses)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(handler):  # noqa: N805 - `self` is the receiver
                body = handler.rfile.read(int(handler.headers["content-length"]))
                self.requests.append((dict(handler.headers.items()), body))
                status = answers.pop(0) if answers else 204
                handler.send_response(status)
                if status == 302:
                    handler.send_header("location", f"{self.url}/elsewhere")
                handler.send_header("content-length", "0")
                handler.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


async def tell(hook, folder, *views, ready):
    made = Hooks([hook], str(folder), "http://127.0.0.1:8722")
    made.start()
    try:
        for view in views:
            made.notify(view)
        await soon(lambda: ready(made.views()[0]))
        return made.views()[0]
    finally:
        await made.aclose()


def test_a_question_reaches_the_receiver_of_the_guide_and_a_command(tmp_path):
    home, work, rung = tmp_path / "home", tmp_path / "work", tmp_path / "rung"
    work.mkdir()
    write_agent(home)
    ring = tmp_path / "ring"
    ring.write_text(f"#!/bin/sh\ncat > {rung}.tmp; env >> {rung}.tmp; mv {rung}.tmp {rung}\n")
    ring.chmod(0o755)
    (tmp_path / "receiver.py").write_text(
        re.search(r"```python file=receiver.py\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]  # type: ignore[index]
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("--hook", f"http://127.0.0.1:{port}/in", "--hook", str(ring))
    with serving(home, *words, env={"A_SECRET_TOKEN": SECRET}) as daemon:
        key = home / "state" / "serve" / "hook.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        receiver = subprocess.Popen(
            [sys.executable, tmp_path / "receiver.py", key, str(port)], stdout=subprocess.PIPE, text=True
        )
        try:
            until(lambda: answers(port))
            body = {"adapter": "scripted", "cwd": str(work), "prompt": steps(ASK, {"say": "done"})}
            session = daemon.admin("POST", "/sessions/agent", body).json["id"]
            assert receiver.stdout is not None
            text = receiver.stdout.readline()
            (question,) = daemon.admin.get("/approvals").json["approvals"]
            said = json.loads(text)
            assert (said["type"], said["data"]["id"]) == ("approval.waiting", question["id"])
            assert said["data"]["url"] == f"{daemon.url}/#/inbox"
            shown = until(lambda: rung.exists() and rung.read_text())
            assert json.loads(shown[: shown.index("}}") + 2])["data"] == said["data"]
            assert SECRET not in text + shown
            assert "curl" not in text + shown
            assert "OPERABLE_HOOK_TYPE=approval.waiting" in shown
            # Counted once its answer is read: a moment after the receiver shows it.
            views = until(lambda: settled(daemon.admin.get("/hooks").json["hooks"]))
            for each in views:
                assert (each["delivered"], each["failed"], each["problem"]) == (1, 0, None)
            tested = daemon.admin("POST", "/hooks/hook-1/test").json
            assert (tested["kind"], tested["target"], tested["delivered"]) == ("webhook", "127.0.0.1", 2)
            assert json.loads(receiver.stdout.readline())["type"] == "hook.test"
            assert daemon.admin("POST", "/hooks/none/test").code == "NO_SUCH_HOOK"
            assert daemon.token("reader", "read", "approve").get("/hooks").code == "SCOPE_MISSING"
            daemon.admin("POST", f"/sessions/{session}/kill")
        finally:
            receiver.kill()
            receiver.communicate()


def settled(views):
    return views if all(each["delivered"] + each["failed"] for each in views) else None


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_receiver_of_the_guide_refuses_what_is_not_genuine(tmp_path, monkeypatch):
    text = re.search(r"```python file=receiver.py\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]  # type: ignore[index]
    path = tmp_path / "key"
    key = read_key(str(path), make=True)
    monkeypatch.setattr(sys, "argv", ["receiver.py", str(path), "0"])
    names: dict[str, object] = {"__name__": "receiver"}
    exec(text, names)
    genuine = names["is_genuine"]
    assert callable(genuine)
    now = int(time.time())
    good = sign(key, "msg_1", now, b"{}")
    assert genuine(good, b"{}")
    assert not genuine(good, b"{ }")
    assert not genuine({**good, "webhook-id": "msg_2"}, b"{}")
    assert not genuine({**good, "webhook-timestamp": str(now + 1)}, b"{}")
    assert not genuine(sign(key, "msg_1", now - 400, b"{}"), b"{}")
    assert not genuine(sign(b"x" * 32, "msg_1", now, b"{}"), b"{}")
    assert not genuine({}, b"{}")


def test_a_signature_is_that_of_standard_webhooks():
    # The example of the specification: https://github.com/standard-webhooks/standard-webhooks
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    headers = sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert hmac.new(key, digestmod=hashlib.sha256).digest_size == 32


def test_a_failed_delivery_is_tried_again_with_the_same_id_and_then_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "RETRIES", (0.0, 0.0))
    with Receiver(500, 503) as receiver:
        seen = run(tell(Hook("a", url=receiver.url), tmp_path, VIEW, ready=lambda view: view.delivered))
        assert (seen.delivered, seen.failed, seen.problem) == (1, 0, None)
        assert len(receiver.requests) == 3
        assert {headers["webhook-id"] for headers, _ in receiver.requests} == {"msg_1_waiting"}
    with Receiver(500, 500, 500, 204) as receiver:
        seen = run(tell(Hook("a", url=receiver.url), tmp_path, VIEW, ready=lambda view: view.failed))
        assert (seen.delivered, len(receiver.requests)) == (0, 3)
        assert seen.problem == "the receiver answered HTTP 500"


@pytest.mark.parametrize("status", [302, 401, 410])
def test_a_refusal_is_not_tried_again_and_a_redirect_not_followed(tmp_path, monkeypatch, status):
    monkeypatch.setattr(hooks, "RETRIES", ())
    with Receiver(status) as receiver:
        seen = run(tell(Hook("a", url=receiver.url), tmp_path, VIEW, ready=lambda view: view.failed))
        assert seen.problem == f"the receiver answered HTTP {status}"
        assert len(receiver.requests) == 1


def test_a_question_that_was_answered_meanwhile_is_not_told_again(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "RETRIES", (3600.0,))

    async def scene(receiver):
        made = Hooks([Hook("a", url=receiver.url, on=("waiting", "answered"))], str(tmp_path), "http://x")
        monkeypatch.setattr(asyncio, "sleep", lambda _seconds: answered_meanwhile(made))
        made.start()
        made.notify(VIEW)
        await soon_without_sleep(lambda: len(receiver.requests) == 2)
        await made.aclose()

    async def answered_meanwhile(made):
        made.notify(
            ApprovalView(**{**{name: getattr(VIEW, name) for name in VIEW.__struct_fields__}, **ANSWERED})
        )

    async def soon_without_sleep(condition):
        event = asyncio.Event()
        ends = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < ends
            try:
                async with asyncio.timeout(0.01):
                    await event.wait()
            except TimeoutError:
                continue

    with Receiver(500) as receiver:
        run(scene(receiver))
        kinds = [json.loads(body)["type"] for _, body in receiver.requests]
    assert kinds == ["approval.waiting", "approval.answered"]


ANSWERED = {"state": "answered", "allowed": True, "answered_by": "ada"}


def test_details_are_masked_and_cut(tmp_path):
    long = ApprovalView(
        **{
            **{name: getattr(VIEW, name) for name in VIEW.__struct_fields__},
            "command": f"TOKEN={SECRET};rm -rf . " + "x" * 5000,
        }
    )
    with Receiver() as receiver:
        run(
            tell(Hook("a", url=receiver.url, details=True), tmp_path, long, ready=lambda view: view.delivered)
        )
        body = receiver.requests[0][1]
    assert SECRET.encode() not in body
    text = json.loads(body)["data"]["text"]
    assert len(text) == 500
    assert text.startswith("TOKEN=[redacted];rm -rf . x")  # what it runs is not hidden with the secret


def test_a_command_that_never_ends_is_ended_with_what_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(hooks, "RETRIES", ())
    monkeypatch.setattr(hooks, "_TIMEOUT", 0.2)
    script = tmp_path / "slow"
    script.write_text(f"#!/bin/sh\nsleep 1000 &\necho $! > {tmp_path}/pid\nwait\n")
    script.chmod(0o755)
    seen = run(tell(Hook("a", command=(str(script),)), tmp_path, VIEW, ready=lambda view: view.failed))
    assert seen.problem is not None
    if (tmp_path / "pid").exists():
        pid = int((tmp_path / "pid").read_text())
        until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_a_queue_without_room_drops_the_oldest(tmp_path):
    made = Hooks([Hook("a", command=("/bin/true",))], str(tmp_path), "http://x")
    for number in range(hooks.QUEUE + 5):
        made.notify(
            ApprovalView(**{**{n: getattr(VIEW, n) for n in VIEW.__struct_fields__}, "id": f"ask_{number}"})
        )
    (view,) = made.views()
    assert (view.waiting, view.failed) == (hooks.QUEUE, 5)


@pytest.mark.parametrize(
    "text, why",
    [
        ("[[hook]]\nname = 'a'\n", "a url or a command"),
        ("[[hook]]\nname = 'a'\nurl = 'http://example.org'\n", "https"),
        ("[[hook]]\nname = 'a'\nurl = 'https://me:pw@example.org'\n", "https"),
        ("[[hook]]\nname = 'a'\ncommand = ['ring']\n", "absolute path"),
        ("[[hook]]\nname = 'a'\nurl = 'https://x.org'\nsurplus = 1\n", "surplus"),
        ("[[hook]]\nname = 'a'\ncommand = ['/x']\nkey_file = '/k'\n", "key_file"),
        (
            "[[hook]]\nname = 'a'\ncommand = ['/x']\n[[hook]]\nname = 'a'\ncommand = ['/y']\n",
            "name of its own",
        ),
        ("[[hook", "hooks cannot be used"),
    ],
)
def test_a_file_of_hooks_that_is_not_valid_is_refused(tmp_path, text, why):
    path = tmp_path / "hooks.toml"
    path.write_text(text)
    with pytest.raises(Fail) as refused:
        load_hooks(str(path))
    assert refused.value.code == "HOOKS_INVALID"
    assert why in refused.value.message


def test_a_daemon_does_not_start_with_hooks_or_keys_that_it_cannot_use(tmp_path):
    env = {"OPERABLE_HOME": str(tmp_path)}
    done = operable("serve", "--hook", "http://example.org", env=env)
    assert done.error["code"] == "HOOKS_INVALID"
    assert "no such file" in operable("serve", "--hooks", "/nowhere", env=env).error["message"]
    with pytest.raises(Fail, match="no such file"):
        load_hooks("/nowhere")
    key = tmp_path / "hook.key"
    for text, mode in (("whsec_AAAA", 0o600), (base64.b64encode(b"x" * 32).decode(), 0o644), ("?", 0o600)):
        key.write_text(text)
        key.chmod(mode)
        with pytest.raises(Fail) as refused:
            Hooks([Hook("a", url="https://example.org")], str(tmp_path), "http://x")
        assert refused.value.code == "HOOK_KEY_UNUSABLE"
