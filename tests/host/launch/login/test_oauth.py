import base64
import hashlib
import threading
import time
import urllib.request
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from operable.host.launch.login.oauth import Client, authorize
from operable.kernel.errors import Fail
from tests.host.launch.making import server


def reply(status, body):
    def answer(request):
        request.rfile.read(int(request.headers["Content-Length"]))
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def browser(answer):
    """Opens the address and comes back with what `answer` makes of the question."""

    def open_url(url):
        asked = {key: values[0] for key, values in parse_qs(urlsplit(url).query).items()}

        def go():
            urllib.request.urlopen(f"{asked['redirect_uri']}?{answer(asked)}", timeout=200).close()

        threading.Thread(target=go, daemon=True).start()

    return open_url


def asked(answers, answer):
    with server(answers) as url:
        return authorize(
            Client("https://login.example/a?x=1", f"{url}/token", "me"), browser(answer), timeout=200
        )


def test_the_verifier_proves_that_the_same_program_asks():
    seen: dict[str, Any] = {}

    def token(request):
        seen.update(parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode()))
        reply(200, b'{"access_token": "at"}')(_Read(request))

    def answer(question):
        seen["challenge"] = question["code_challenge"]
        assert question["code_challenge_method"] == "S256"
        return f"code=1&state={question['state']}"

    assert asked({"/token": token}, answer) == {"accessToken": "at", "refreshToken": None, "expiresAt": None}
    digest = hashlib.sha256(seen["code_verifier"][0].encode()).digest()
    assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == seen["challenge"]


class _Read:
    """A request whose body was read."""

    def __init__(self, request):
        self._request = request
        self.headers = {"Content-Length": "0"}

    def __getattr__(self, name):
        return getattr(self._request, name)


@pytest.mark.parametrize(
    "answer, word",
    [
        (lambda _: "code=1&state=another", "state"),
        (lambda _: "code=1", "state"),
        (lambda asked: f"error=access_denied&state={asked['state']}", "access_denied"),
    ],
)
def test_an_answer_to_another_question_is_refused(answer, word):
    with pytest.raises(Fail, match=word) as caught:
        asked({}, answer)
    assert (caught.value.category, caught.value.code) == ("authn", "OAUTH_REFUSED")


@pytest.mark.parametrize(
    "life",
    [
        "1e999",
        "-1e999",
        "NaN",
        "-5",
        "9" * 400,
        '"soon"',
        "true",
        "[1]",
        "{}",
        "1e15",
        '"' + "9" * 5000 + '"',
    ],
)
def test_a_life_that_is_not_a_number_of_seconds_is_refused(life):
    body = f'{{"access_token": "at", "expires_in": {life}}}'.encode()
    with pytest.raises(Fail, match="expires_in") as caught:
        asked({"/token": reply(200, body)}, lambda question: f"code=1&state={question['state']}")
    assert (caught.value.category, caught.value.code) == ("authn", "OAUTH_REFUSED")


@pytest.mark.parametrize("life", ["3600", "3600.5", '"3600"'])
def test_a_life_in_seconds_becomes_the_time_at_which_the_token_ends(life):
    body = f'{{"access_token": "at", "expires_in": {life}}}'.encode()
    before = int(time.time())
    token = asked({"/token": reply(200, body)}, lambda question: f"code=1&state={question['state']}")
    assert before + 3600 <= token["expiresAt"] <= int(time.time()) + 3601


@pytest.mark.parametrize(
    "status, body",
    [(200, b"[" * 100_000), (400, b"{}"), (200, b"no json"), (200, b"[]"), (200, b'{"access_token": 5}')],
)
def test_a_provider_that_gives_no_token_is_a_refusal(status, body):
    with pytest.raises(Fail) as caught:
        asked({"/token": reply(status, body)}, lambda asked: f"code=s3cret&state={asked['state']}")
    assert caught.value.code == "OAUTH_REFUSED"
    assert "s3cret" not in caught.value.message


def test_how_a_provider_is_asked_is_declared_with_the_secret():
    declared = {
        "authorization_url": "https://a.example",
        "token_url": "https://t.example",
        "client_id": "me",
        "scopes": ["x"],
    }
    assert Client.declared({"oauth": declared}) == Client(
        "https://a.example", "https://t.example", "me", ("x",)
    )
    assert Client.declared({}) is None


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": ""},
        {"token_url": "http://t.example"},
        {"authorization_url": "ftp://127.0.0.1"},
        {"scopes": "all"},
    ],
)
def test_a_declaration_that_is_not_safe_is_refused(change):
    declared = {"authorization_url": "https://a.example", "token_url": "https://t.example", "client_id": "me"}
    with pytest.raises(Fail) as caught:
        Client.declared({"oauth": {**declared, **change}})
    assert caught.value.code == "OAUTH_CLIENT_INVALID"
