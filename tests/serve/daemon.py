"""A real `operable serve` on loopback for tests, and a client that speaks plain HTTP to it. Every wait has a limit."""

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from operable.host.session.log import SessionLog
from operable.host.session.registry import EXITED, SessionMeta
from operable.wire.events import AnyEvent
from tests.cli.drive import running
from tests.host.agents import manifest
from tests.tool.drive import LIMIT


class Answer(NamedTuple):
    """What a request gave."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def code(self) -> str:
        """Of an error, whose form is checked."""
        error = self.json["error"]
        assert set(error) <= {"code", "category", "message", "retryable", "hint", "target"}, error
        return str(error["code"])


class Message(NamedTuple):
    """One server-sent event. A comment has no event."""

    event: str
    id: str
    data: Any


class Client:
    """Requests of one caller."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 0
        self.token = token

    def __call__(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None
    ) -> Answer:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=LIMIT)
        try:
            connection.request(method, path, data, given | (headers or {}))
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self("GET", path, **options)

    @contextmanager
    def stream(self, path: str, *, headers: dict[str, str] | None = None) -> Iterator["Stream"]:
        """A stream of events, which is left at the end of the block."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=LIMIT)
        try:
            connection.request(
                "GET", path, headers={"Authorization": f"Bearer {self.token}"} | (headers or {})
            )
            response = connection.getresponse()
            assert response.status == 200, (response.status, response.read())
            yield Stream(response)
        finally:
            connection.close()

    def raw(self, data: bytes) -> bytes:
        """What the server says to these bytes, until it closes."""
        with socket.create_connection((self.host, self.port), timeout=LIMIT) as connection:
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65_536):
                received += chunk
            return received


class Stream:
    """The messages of a response."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.response = response

    def message(self) -> Message:
        """The next one; waits for it. Comments are left out."""
        found: dict[str, str] = {}
        while True:
            line = self.response.readline().decode()
            assert line, "the stream ended"
            name, _, value = line.rstrip("\n").partition(": ")
            if line == "\n" and "event" in found:
                return Message(found["event"], found.get("id", ""), json.loads(found["data"]))
            if name:
                found[name] = value

    def until(self, event: str) -> list[Message]:
        """All messages up to one of this type."""
        messages = [self.message()]
        while messages[-1].event != event:
            messages.append(self.message())
        return messages

    def rest(self) -> bytes:
        return self.response.read()


class DaemonUnderTest:
    """A daemon, its home and its admin."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes], serving: dict[str, Any]) -> None:
        self.home = home
        self.process = process
        self.url = serving["url"]
        self.admin = Client(self.url, Path(serving["token_file"]).read_text().strip())
        self.anonymous = Client(self.url)

    @property
    def agents(self) -> Path:
        return self.home / "state" / "agents"

    def token(self, name: str, *scopes: str, workspace: str | None = None) -> Client:
        body = {"name": name, "scopes": scopes, **({"workspace": workspace} if workspace else {})}
        answer = self.admin("POST", "/tokens", body)
        assert answer.status == 201, answer
        return Client(self.url, answer.json["text"])

    def browser(self) -> tuple[Client, dict[str, str]]:
        """A browser that has logged in: a client without a token, and the headers that its page sends."""
        link = urlsplit(self.admin("POST", "/logins").json["url"])
        answer = self.anonymous.get(f"{link.path}?{link.query}")
        assert answer.status == 200, answer
        cookie = answer.headers["set-cookie"].partition(";")[0]
        client = Client(self.url)
        csrf = client.get("/access", headers={"Cookie": cookie}).json["csrf"]
        return client, {"Cookie": cookie, "Origin": self.url, "X-Operable-CSRF": csrf}


@contextmanager
def serving(home: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[DaemonUnderTest]:
    """A daemon of its own; it is killed at the end of the block if it still lives."""
    given = {"OPERABLE_HOME": str(home), **(env or {})}
    with running("serve", "--listen", "127.0.0.1:0", *words, env=given) as started:
        event = started.event("daemon_serving")
        yield DaemonUnderTest(home, started.process, event)


def write_session(
    daemon: DaemonUnderTest, session_id: str, events: list[AnyEvent], *, workspace: str = "work", **facts: Any
) -> str:
    """A session that another process ran to its end, with these events; its folder."""
    folder = daemon.agents / workspace / "sessions" / session_id
    folder.mkdir(parents=True)
    log = SessionLog(str(folder))
    log.append(events)
    log.close()
    fields = {"adapter_slug": "scripted", "cwd": "/work", "status": EXITED, **facts}
    meta = SessionMeta(id=session_id, workspace_slug=workspace, **fields)
    meta.started_at = meta.started_at or "2026-11-18T00:00:00.000Z"
    (folder / "meta.json").write_bytes(msgspec.json.encode(meta))
    return str(folder)


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and theirs."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, check=True).stdout.split()
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))
    found, wave = [], {pid}
    while wave:
        wave = {child for child, parent in parents.items() if parent in wave}
        found += sorted(wave)
    return found


def is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def credential(processes: Iterable[int]) -> str:
    """The credential that one of these was given."""
    for pid in processes:
        for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if variable.startswith(b"OPERABLE_SESSION_TOKEN="):
                return variable.partition(b"=")[2].decode()
    raise AssertionError("no process has a credential")


def write_agent(home: Path, script: dict[str, Any] | None = None, **more: Any) -> None:
    """An agent `scripted` of the user's own, which plays this script."""
    folder = home / "config" / "agents" / "scripted"
    folder.mkdir(parents=True)
    given = manifest(folder, script, **more)
    (folder / "AGENT-CLI.md").write_text(
        f"---\n{json.dumps(given, indent=1)}\n---\nPlays what a script says.\n"
    )


def until(what: Callable[[], Any]) -> Any:
    """What it gives as soon as it gives something."""
    ends = time.monotonic() + LIMIT
    while not (found := what()):
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0.05)
    return found
