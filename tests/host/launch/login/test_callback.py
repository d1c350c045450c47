import http.client
import socket
import threading
from urllib.parse import urlsplit

import pytest

from operable.host.launch.login.callback import Receiver, origin
from operable.kernel.errors import Fail
from tests.requirement import requirement


def get(receiver, path=None, **headers):
    parts = urlsplit(receiver.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=200)
    try:
        connection.request("GET", path or f"{parts.path}?code=1&state=", headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers
    finally:
        connection.close()


@requirement("aip-substrate:4.4:callback")
def test_it_takes_one_answer_once():
    with Receiver() as receiver:
        assert get(receiver)[0] == 200
        assert get(receiver)[0] == 410
        assert receiver.wait(200) == {"code": "1", "state": ""}
        assert receiver.answer == f"{receiver.url}?code=1&state="


def test_the_page_shows_nothing_of_what_was_given():
    with Receiver() as receiver:
        _, page, headers = get(receiver, f"{urlsplit(receiver.url).path}?code=s3cret")
    assert "s3cret" not in page
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"


def test_it_is_reachable_from_this_machine_only_and_hard_to_guess():
    with Receiver() as one, Receiver() as other:
        assert urlsplit(one.url).hostname == "127.0.0.1"
        assert urlsplit(one.url).path != urlsplit(other.url).path
        assert len(urlsplit(one.url).path) > 40
        assert [get(one, path)[0] for path in ("/", "/callback/", "/callback/guess?code=1")] == [
            404,
            404,
            404,
        ]


def test_another_name_for_this_machine_is_refused():
    with Receiver() as receiver:
        assert get(receiver, Host="evil.example")[0] == 421
        assert get(receiver)[0] == 200


@requirement("aip-substrate:4.4:callback")
@pytest.mark.parametrize(
    "page, status", [("https://login.example", 200), ("https://evil.example", 403), ("null", 403)]
)
def test_a_page_of_another_origin_is_refused(page, status):
    with Receiver([origin("https://Login.example/authorize?x=1")]) as receiver:
        assert get(receiver, Origin=page)[0] == status


@pytest.mark.parametrize(
    "query, status",
    [("x=" + "y" * 20_000, 414), ("&".join(f"a{n}=1" for n in range(60)), 400), ("a=\x03", 400)],
)
def test_an_answer_that_is_none_does_not_use_it_up(query, status):
    with Receiver() as receiver:
        parts = urlsplit(receiver.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=200) as raw:
            raw.sendall(f"GET {parts.path}?{query} HTTP/1.0\r\nHost: {parts.netloc}\r\n\r\n".encode())
            assert f" {status} " in raw.recv(100).decode()
        assert get(receiver)[0] == 200


def test_a_silent_connection_holds_nobody():
    with Receiver() as receiver:
        parts = urlsplit(receiver.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=200):
            assert get(receiver)[0] == 200


@requirement("aip-substrate:4.4:callback")
def test_waiting_has_a_limit_after_which_nothing_is_taken():
    with Receiver() as receiver:
        with pytest.raises(Fail) as caught:
            receiver.wait(0.01)
        assert caught.value.code == "CALLBACK_TIMEOUT"
        assert get(receiver)[0] == 410


def test_waiting_can_be_stopped():
    stop = threading.Event()
    stop.set()
    with Receiver() as receiver, pytest.raises(Fail) as caught:
        receiver.wait(60, stop)
    assert caught.value.category == "cancelled"


def test_nothing_listens_afterwards():
    with Receiver() as receiver:
        pass
    with pytest.raises(OSError, match="refused"):
        get(receiver)
