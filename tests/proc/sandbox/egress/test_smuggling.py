"""Whatever a client sends, the servers see the requests that the rules judged, and nothing else."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from operable.proc.sandbox.egress.budget import Attempt
from operable.proc.sandbox.egress.placeholders import Substitute
from operable.proc.sandbox.egress.proxy import Proxy
from tests.proc.sandbox.egress.world import SECRET, Recorder

TRUSTED, OTHER = b"127.0.0.1", b"localhost"


class Place:
    """A proxy, a server that may get the secret, and one that may not, on a loop in a thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.trusted, self.other = Recorder(), Recorder()
        self.attempts: list[Attempt] = []
        self.problems: list[object] = []
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _, context: self.problems.append(context))
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self._do(self._start())

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _start(self) -> None:
        self.servers = [
            await asyncio.start_server(each.serve, "127.0.0.1", 0) for each in (self.trusted, self.other)
        ]
        self.ports = [server.sockets[0].getsockname()[1] for server in self.servers]
        hosts = (f"127.0.0.1:{self.ports[0]}", f"localhost:{self.ports[1]}")
        key = Substitute("KEY", hosts[:1], lambda: SECRET)
        self.proxy = Proxy(hosts, substitutes=(key,), on_attempt=self.attempts.append)
        await self.proxy.start(self.path)

    async def _stop(self) -> None:
        await self.proxy.aclose()
        for server in self.servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    def stop(self) -> None:
        self._do(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(60)
        self.loop.close()

    def say(self, data: bytes) -> bytes:
        data = data.replace(b"TRUSTED", b"127.0.0.1:%d" % self.ports[0])
        data = data.replace(b"OTHER", b"localhost:%d" % self.ports[1])
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(60)
            client.connect(self.path)
            with suppress(OSError):  # it has answered, and does not read the rest
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            answer = b""
            with suppress(ConnectionResetError):
                while part := client.recv(65536):
                    answer += part
            return answer

    def check(self) -> None:
        """Every request of a server is one that was judged, for this server, and is the only one of its connection."""
        assert self.problems == []
        judged = {f"{attempt.host}:{attempt.port}": 0 for attempt in self.attempts}
        for attempt in self.attempts:
            judged[f"{attempt.host}:{attempt.port}"] += attempt.count if attempt.allowed else 0
        for server, authority in (
            (self.trusted, f"127.0.0.1:{self.ports[0]}"),
            (self.other, f"localhost:{self.ports[1]}"),
        ):
            assert server.errors == []
            assert not any(server.excess)
            assert len(server.requests) <= judged.get(authority, 0)
            for request, _ in server.requests:
                hosts = [value for name, value in request.headers if name == b"host"]
                assert hosts == [authority.encode()]
                assert not request.target.startswith(b"http:")
        assert SECRET.encode() not in b"".join(self.other.raw)


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    made = Place(str(folder / "egress"))
    try:
        yield made
    finally:
        made.stop()


ASK = b"GET http://TRUSTED/ HTTP/1.1\r\nHost: TRUSTED\r\n"
SMUGGLED = b"GET http://OTHER/ HTTP/1.1\r\nHost: OTHER\r\nX: $$SECRET[KEY]$$\r\n\r\n"
SEEN = [
    # The case of the issue: a server that ends lines at LF saw another Host beside the secret.
    b"GET http://TRUSTED/\tHTTP/1.1\nHost:\tOTHER\nX: HTTP/1.1\r\nHost: TRUSTED\r\nK: $$SECRET[KEY]$$\r\n\r\n",
    ASK + b"\r\n" + SMUGGLED,
    ASK + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    ASK + b"Content-Length: 3\r\nContent-Length: 0\r\n\r\nabc" + SMUGGLED,
    ASK + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    ASK + b"Transfer-Encoding: chunked\r\n\r\n1;\nxx\r\n0\r\n\r\n" + SMUGGLED,
    ASK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nHost: OTHER\r\n\r\n" + SMUGGLED,
    ASK + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + SMUGGLED,
    ASK
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    + SMUGGLED,
    ASK + b"Connection: Host, Content-Length\r\nContent-Length: 3\r\n\r\nabc" + SMUGGLED,
    b"GET http://TRUSTED@OTHER/ HTTP/1.1\r\nHost: OTHER\r\nX: $$SECRET[KEY]$$\r\n\r\n",
    b"GET http://OTHER/ HTTP/1.1\r\nHost: TRUSTED\r\nX: $$SECRET[KEY]$$\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET http://TRUSTED/\r\n" + SMUGGLED,
]
_PIECES = st.sampled_from(
    [
        *(b"GET ", b"POST ", b"http://TRUSTED/", b"http://OTHER/", b"/", b" HTTP/1.1", b" HTTP/1.0", b"\r\n", b"\r\n\r\n"),
        *(b"\n", b"\r", b"\t", b" ", b"\x00", b"\x0b", b":", b"Host: TRUSTED", b"Host: OTHER", b"X: $$SECRET[KEY]$$"),
        *(b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n", b"abc", b"3\r\nabc\r\n"),
        *(b"0\r\n\r\n", b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Expect: 100-continue\r\n", SMUGGLED, ASK),
    ]
)  # fmt: skip
_REQUESTS = st.one_of(
    st.lists(_PIECES, max_size=12).map(b"".join),
    st.lists(_PIECES, max_size=8).map(lambda pieces: ASK + b"".join(pieces) + b"\r\n\r\n"),
    st.tuples(st.sampled_from(SEEN), st.integers(0, 400), st.binary(min_size=1, max_size=3)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
)


def test_the_servers_see_what_was_judged_whatever_the_client_sends(tmp_path):
    with place(tmp_path) as world:

        @settings(
            max_examples=150,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(_REQUESTS)
        @example(SEEN[0])
        def check(data: bytes) -> None:
            world.say(data)
            world.check()

        check()
        for data in SEEN:
            world.say(data)
        world.check()
        # The proxy works all the same: otherwise nothing was shown.
        assert world.say(ASK + b"K: $$SECRET[KEY]$$\r\n\r\n").startswith(b"HTTP/1.1 200 OK")
        assert SECRET.encode() in b"".join(world.trusted.raw)


@pytest.mark.parametrize(
    "data",
    [
        ASK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        ASK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 200_000,
        ASK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 200_000 + b"\r\n",
        ASK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 1000,
        ASK + b"X: " + b"y" * 200_000,
        b"CONNECT h:70000 HTTP/1.1\r\nHost: h:70000\r\n\r\n",
        b"CONNECT h:" + b"9" * 5000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"CONNECT " + b"a" * 60_000 + b":443 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"CONNECT " + b"a." * 400 + b":443 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://[::1%25lo]/ HTTP/1.1\r\nHost: [::1%25lo]\r\n\r\n",
        b"\x16\x03\x01\x00\xff\x01\r\n\r\n",
        b"\xff" * 100_000,
    ],
)
def test_what_broke_parsers_gets_a_structured_answer_and_no_traceback(tmp_path, data, capfd, caplog):
    with place(tmp_path) as world:
        answer = world.say(data)
        world.check()

    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413", b"HTTP/1.1 431"))
    assert b'{"error": {"code": "EGRESS_DENIED", "reason": "' in answer
    assert world.attempts == []
    assert (capfd.readouterr().err, caplog.records) == ("", [])
