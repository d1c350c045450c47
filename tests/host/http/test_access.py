"""Where messages to an agent behind a web address may go. That it is on the list: tests/host/http/test_transport.py."""

import asyncio
from http.server import ThreadingHTTPServer
from typing import ClassVar

import msgspec
import pytest

from operable.gate.audit.chain import Audit
from operable.host import define_agent_cli
from operable.host.http.access import authorization, same_host
from operable.host.start.placement import Placing
from operable.kernel.errors import Fail
from tests.host.agents import manifest
from tests.host.mcp_server import McpServer, serving
from tests.requirement import requirement


def test_messages_are_never_posted_to_another_host():
    assert same_host("http://a:1/sse", "/messages?id=1") == "http://a:1/messages?id=1"
    with pytest.raises(ValueError, match="another host"):
        same_host("http://a:1/sse", "http://b:1/messages")


ENTRY = "  - {{slug: {slug}, name: A key, description: For the server.}}\n"


def loaded(tmp_path, url, slugs=("api-token",), **more):
    folder = tmp_path / "bundle"
    folder.mkdir(exist_ok=True)
    entries = "".join(ENTRY.format(slug=slug) for slug in slugs)
    (folder / "SECRETS.md").write_text(f"---\nsecrets:\n{entries}---\n")
    described = manifest(tmp_path)
    del described["adapter"]
    described |= {
        "protocol": "mcp",
        "mcp": {"transport": "http", "url": url},
        "sandbox": {"provider": "local", "config": {}, "network": {"egress": [url.split("/")[2]]}},
        "auth": {"ref": "./SECRETS.md", "state": {"env": ["API_TOKEN"]}},
        **more,
    }
    described = {key: value for key, value in described.items() if value is not None}
    lines = [f"{key}: {msgspec.json.encode(value).decode()}" for key, value in described.items()]
    (folder / "AGENT-CLI.md").write_text("---\n" + "\n".join(lines) + "\n---\n")
    return define_agent_cli(folder / "AGENT-CLI.md", strict=False, trusted=True)


def headers(tmp_path, agent, url):
    placing = Placing(str(tmp_path), Audit(str(tmp_path / "audit.jsonl"), actor="a"))
    return authorization(agent.loaded, placing, url)


def test_one_secret_is_a_bearer_token(tmp_path, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "t0ken")
    agent = loaded(tmp_path, "https://agents.example.com/mcp")

    placing = Placing(str(tmp_path), Audit(str(tmp_path / "audit.jsonl"), actor="a"))
    found = authorization(agent.loaded, placing, "https://agents.example.com/mcp")

    assert found.headers == {"Authorization": "Bearer t0ken"}
    assert "t0ken" in placing.known
    assert "t0ken" not in repr(found)


def test_the_manifest_may_say_which_header_has_what(tmp_path, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "t0ken")
    monkeypatch.setenv("OTHER_KEY", "0ther")
    wanted = {"X-Api-Key": "${secrets.other-key}", "Authorization": "Token token=${secrets.api-token}"}
    agent = loaded(
        tmp_path,
        "https://agents.example.com/mcp",
        ("api-token", "other-key"),
        metadata={"operable": {"http_headers": wanted}},
    )

    found = headers(tmp_path, agent, "https://agents.example.com/mcp")

    assert found.headers == {"X-Api-Key": "0ther", "Authorization": "Token token=t0ken"}
    assert "0ther" not in repr(found)


def test_several_secrets_and_no_word_about_headers_are_refused(tmp_path):
    agent = loaded(tmp_path, "https://agents.example.com/mcp", ("api-token", "other-key"))

    with pytest.raises(Fail) as caught:
        headers(tmp_path, agent, "https://agents.example.com/mcp")

    assert caught.value.code == "HTTP_HEADERS_UNKNOWN"


def test_a_secret_does_not_go_to_another_machine_in_the_clear(tmp_path, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "t0ken")
    agent = loaded(tmp_path, "http://agents.example.com/mcp")

    with pytest.raises(Fail) as caught:
        headers(tmp_path, agent, "http://agents.example.com/mcp")

    assert caught.value.code == "AUTH_IN_THE_CLEAR"


@pytest.mark.parametrize("value", ["two\r\nX-Injected: yes", "tökén"])
def test_a_value_that_is_no_header_is_refused_without_showing_it(tmp_path, monkeypatch, value):
    monkeypatch.setenv("API_TOKEN", value)
    agent = loaded(tmp_path, "https://agents.example.com/mcp")

    with pytest.raises(Fail) as caught:
        headers(tmp_path, agent, "https://agents.example.com/mcp")

    assert caught.value.code == "HTTP_HEADER_INVALID"
    assert value not in caught.value.message


def test_without_auth_nothing_is_sent(tmp_path):
    agent = loaded(tmp_path, "https://agents.example.com/mcp", auth=None)

    assert headers(tmp_path, agent, "https://agents.example.com/mcp").headers == {}


class Guarded(McpServer):
    """A server that wants a token with every request."""

    seen: ClassVar[list[str]] = []

    def take(self, asked):
        self.seen.append(self.headers.get("authorization", ""))
        if self.headers.get("authorization") != "Bearer t0ken-for-the-server":
            self.answer(401, f"not with {self.headers.get('authorization')}".encode())
        else:
            super().take(asked)

    def call(self, asked, word):
        self.say(asked, "You are known.")


@pytest.fixture
def server():
    Guarded.seen.clear()
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Guarded)) as running:
        yield f"http://127.0.0.1:{running.server_port}/mcp", Guarded.seen


def talk(agent, tmp_path):
    async def scene():
        async with await agent.start(workspace=str(tmp_path), state=str(tmp_path / "state")) as session:
            return await session.send("hello").result()

    return asyncio.run(asyncio.wait_for(scene(), 200))


@requirement("aip45:auth:resolved-from-secrets", "aip45:auth:never-argv-never-logs")
def test_every_request_to_a_server_has_the_secret_and_nothing_that_is_kept_does(
    tmp_path, server, monkeypatch
):
    url, seen = server
    monkeypatch.setenv("API_TOKEN", "t0ken-for-the-server")

    turn = talk(loaded(tmp_path, url), tmp_path)

    assert turn.text == "You are known."
    assert set(seen) == {"Bearer t0ken-for-the-server"}
    kept = "".join(path.read_text() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert "t0ken-for-the-server" not in kept


def test_a_server_that_echoes_a_wrong_secret_does_not_bring_it_into_the_error(tmp_path, server, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "wr0ng-token-here")

    with pytest.raises(Fail) as caught:
        talk(loaded(tmp_path, server[0]), tmp_path)

    assert "401" in str(caught.value.details) + caught.value.message
    assert "wr0ng-token-here" not in str(caught.value.details) + caught.value.message


class Elsewhere(McpServer):
    """A server that sends everybody to another one."""

    place: ClassVar[str] = ""

    def take(self, asked):
        self.answer(307, b"", location=self.place)


def test_the_secret_does_not_follow_a_redirection_and_the_redirection_is_told_at_once(
    tmp_path, server, monkeypatch
):
    monkeypatch.setenv("API_TOKEN", "t0ken-for-the-server")
    Elsewhere.place = server[0]
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)) as running, pytest.raises(Fail) as caught:
        talk(loaded(tmp_path, f"http://127.0.0.1:{running.server_port}/mcp"), tmp_path)

    assert caught.value.code == "AGENT_EXITED"
    assert f"it redirects to {server[0]}" in str(caught.value.details)
    assert server[1] == []


def test_what_is_meant_for_this_machine_goes_through_no_proxy(tmp_path, server, monkeypatch):
    monkeypatch.setenv("API_TOKEN", "t0ken-for-the-server")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody is there
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)

    assert talk(loaded(tmp_path, server[0]), tmp_path).text == "You are known."
