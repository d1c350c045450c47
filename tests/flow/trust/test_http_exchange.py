"""One bounded HTTP exchange."""

import contextlib
import socket
import ssl
import threading

import pytest

from operable.flow.contracts import Surroundings
from operable.flow.errors import NotAllowed
from operable.flow.trust.http_exchange import ExchangeFailed, exchange, form
from tests.flow.loopback import loopback

CANARY = "canary-4f1c9d-do-not-show"


def within(seconds):
    return Surroundings("/", network=True, timeout=seconds)


def test_nobody_is_asked_without_the_network():
    with loopback(lambda asked: (200, {}, b"{}")) as server:
        with pytest.raises(NotAllowed) as caught:
            exchange("POST", f"{server.url}/{CANARY}", around=Surroundings("/", timeout=200))

        assert server.asked == []
    assert (caught.value.flow_code, caught.value.details) == (
        "network_not_allowed",
        {"allow": "allowNetwork"},
    )
    assert CANARY not in str(caught.value)


def test_an_answer_of_any_status_is_an_answer():
    with loopback(lambda asked: (503, {"x-a": "b"}, b'{"a":1}')) as server:
        answer = exchange(
            "POST", f"{server.url}/p?q=1", body=form({"a": "b c", "n": None}), around=within(200)
        )

    assert (answer.status, answer.ok, answer.headers["x-a"], answer.json()) == (503, False, "b", {"a": 1})
    assert server.asked[0].path == "/p?q=1"
    assert server.asked[0].body == b"a=b+c"


def test_a_redirect_is_not_followed():
    with (
        loopback(lambda asked: (200, {}, b"{}")) as other,
        loopback(lambda asked: (307, {"location": other.url}, b"")) as server,
    ):
        assert (
            exchange("POST", server.url, headers={"authorization": CANARY}, around=within(200)).status == 307
        )

    assert other.asked == []


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with loopback(lambda asked: (200, {}, b"{}")) as proxy, loopback(lambda asked: (204, {}, b"")) as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert exchange("GET", server.url, around=within(200)).status == 204

    assert proxy.asked == []


def test_an_answer_beyond_the_limit_is_refused():
    with (
        loopback(lambda asked: (200, {}, b"x" * 100)) as server,
        pytest.raises(ExchangeFailed, match="larger"),
    ):
        exchange("GET", server.url, around=within(200), limit=99)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/", "https://u:p@example.com/", "ftp://127.0.0.1/", "file:///etc/passwd", "nonsense",
        "http://169.254.169.254.example.com/", "http://u@169.254.169.254/",
    ],
)  # fmt: skip
def test_only_safe_addresses_are_asked(url):
    with pytest.raises(ExchangeFailed, match="must be https"):
        exchange("GET", url, around=within(1))


def test_what_is_no_json_is_said_without_repeating_it():
    with loopback(lambda asked: (200, {}, CANARY.encode())) as server:
        answer = exchange("GET", server.url, around=within(200))

    with pytest.raises(ExchangeFailed) as caught:
        answer.json()
    assert CANARY not in str(caught.value)
    assert CANARY not in repr(answer)


@pytest.fixture
def silent_server():
    """Accepts, sends a byte of a header now and then, and never ends it."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection:
            while not done.wait(0.05):
                try:
                    connection.sendall(b"H")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    done.set()
    thread.join(10)
    listener.close()


def test_a_server_that_drips_for_ever_meets_the_deadline(silent_server):
    with pytest.raises(ExchangeFailed, match="no answer"):
        exchange("GET", silent_server, around=within(0.5))


@pytest.mark.parametrize(
    "url", ["http://[x/", "https://[", "http://127.0.0.1:99999/", "https://\ud800/", "", "\0"]
)
def test_what_is_no_address_is_a_failure_like_any_other(url):
    with pytest.raises(ExchangeFailed):
        exchange("GET", url, around=within(20))


def test_a_closed_port_is_a_failure_with_its_reason():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(ExchangeFailed, match="connection failed"):
        exchange("GET", f"http://127.0.0.1:{port}/", around=within(200))


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path):
    from tests.flow.certificates import Authority

    authority = Authority("somebody")
    leaf = authority.issue("127.0.0.1")
    (tmp_path / "chain").write_bytes(leaf.key_pem + leaf.certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "chain")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            context.wrap_socket(connection, server_side=True)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with pytest.raises(ExchangeFailed, match="not trusted"):
        exchange("GET", f"https://127.0.0.1:{listener.getsockname()[1]}/", around=within(200))
    thread.join(20)
    listener.close()
