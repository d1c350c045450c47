"""The token of the HTTP server, and what is refused before its library reads it."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from operable.kernel.errors import Fail
from operable.serve import mcp_transports
from operable.serve.mcp_transports import token_of


def test_servers_that_begin_at_once_have_one_token(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        found = set(pool.map(token_of, [str(tmp_path)] * 200))
    assert len(found) == 1
    assert os.listdir(tmp_path) == ["mcp-token"]


@pytest.mark.parametrize(
    "content, mode", [("", 0o600), ("short", 0o600), ("\xe9" * 40, 0o600), ("x" * 40, 0o640)]
)
def test_a_token_that_is_none_or_that_others_may_know_is_refused(tmp_path, content, mode):
    path = tmp_path / "mcp-token"
    path.write_text(content, encoding="latin-1")
    path.chmod(mode)
    with pytest.raises(Fail) as caught:
        token_of(str(tmp_path))
    assert (caught.value.code, caught.value.target) == ("TOKEN_INVALID", str(path))
    assert "x" * 40 not in caught.value.message


def test_a_folder_in_place_of_the_token_is_refused(tmp_path):
    (tmp_path / "mcp-token").mkdir()
    with pytest.raises(Fail, match="cannot be used"):
        token_of(str(tmp_path))


OWN = {"host": "127.0.0.1:8765", "authorization": "Bearer t"}
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def answered(*messages, **headers):
    """The status of the answer to a request, or what the application got of it; None: neither."""
    found = []
    waiting = list(messages)

    async def receive():
        return waiting.pop(0) if waiting else await asyncio.Event().wait()

    async def send(message):
        found.extend([message["status"]] if "status" in message else [])

    async def app(_scope, receive, _send):
        found.append((await receive())["body"])

    scope = {
        "type": "http",
        "method": "POST",
        "headers": [(name.encode(), value.encode()) for name, value in (OWN | headers).items()],
    }
    guarded = mcp_transports._guarded(app, "t")
    asyncio.run(asyncio.wait_for(guarded(scope, receive, send), 60))
    return found[0] if found else None


def part(body, *, more=False):
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_request_in_parts_reaches_the_application_as_a_whole():
    assert answered(part(PING[:9], more=True), part(PING[9:])) == PING


def test_a_request_that_does_not_end_in_time_is_refused(monkeypatch):
    monkeypatch.setattr(mcp_transports, "BODY_TIMEOUT", 0.05)
    assert answered(part(PING[:9], more=True)) == 408


def test_a_client_that_goes_before_the_end_of_its_request_is_not_an_error():
    assert answered(part(PING[:9], more=True), {"type": "http.disconnect"}) is None


@pytest.mark.parametrize("request_id", ["NaN", "1.5", "{}", "[1]", "true"])
def test_a_request_whose_id_is_not_valid_is_refused_and_not_taken_for_a_notification(request_id):
    assert answered(part(PING.replace(b"1,", request_id.encode() + b","))) == 400


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"host": "127.0.0.1:evil.example"}, 421),
        ({"host": "127.0.0.1:8765.evil.example"}, 421),
        ({"origin": "http://127.0.0.1:8765.evil.example"}, 403),
        ({"origin": "http://localhost:1@evil.example:80"}, 403),
        ({"authorization": "Bearer x"}, 401),
    ],
)
def test_names_that_only_begin_like_ours_are_refused(headers, status):
    assert answered(part(PING), **headers) == status
