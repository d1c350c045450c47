"""One request and its response: what the server may do to the client, and what it may not give back."""

import asyncio
import ssl

import pytest

from operable.proc.sandbox.egress import proxy as proxy_module
from operable.proc.sandbox.egress.budget import Bounds
from operable.proc.sandbox.egress.placeholders import MOST
from operable.proc.sandbox.egress.tls import Authority
from tests.proc.sandbox.egress.world import SECRET, World, fetch, key_for, play, secure_world

ASK = b"GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
SOCKET = b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


def answer_of(tmp_path, request_: bytes, response: bytes, *, secret: bool = False) -> tuple[World, bytes]:
    answers: list[bytes] = []

    async def scene(world: World) -> None:
        await world.serve()
        world.response = response
        keys = key_for(world, "127.0.0.1:PORT") if secret else ()
        proxy = await world.open("127.0.0.1:PORT", substitutes=keys)
        answers.append(await world.say(request_))
        await proxy.aclose()

    return play(tmp_path, scene), answers[0]


def test_a_websocket_is_a_tunnel_once_the_server_has_switched(tmp_path):
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + SWITCHED + b"first")
        writer.write(b"got " + await reader.readexactly(4))
        writer.close()

    async def scene(world: World) -> None:
        service = await asyncio.start_server(serve, "127.0.0.1", 0)
        world.port = service.sockets[0].getsockname()[1]
        proxy = await world.open("127.0.0.1:PORT")
        assert await world.say(ASK + SOCKET + b"ping") == SWITCHED + b"firstgot ping"
        await proxy.aclose()
        service.close()

    play(tmp_path, scene)


def test_what_follows_an_upgrade_that_the_server_refuses_never_leaves(tmp_path):
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
        seen.append(await reader.read())
        writer.close()

    async def scene(world: World) -> None:
        service = await asyncio.start_server(serve, "127.0.0.1", 0)
        world.port = service.sockets[0].getsockname()[1]
        proxy = await world.open("127.0.0.1:PORT")
        answer = await world.say(ASK + SOCKET + b"GET /admin HTTP/1.1\r\nHost: internal\r\n\r\n")
        assert answer.endswith(b"\r\n\r\nno")
        await proxy.aclose()
        service.close()

    play(tmp_path, scene)
    assert seen[1:] == [b""]


@pytest.mark.parametrize(
    "asked, response",
    [
        (b"\r\n", SWITCHED),
        (SOCKET, SWITCHED.replace(b"websocket", b"h2c")),
        (SOCKET, b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        (b"\r\n", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        (b"\r\n", b"SSH-2.0-OpenSSH\r\n\r\n"),
        (b"\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000),
        (b"\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"),
        (b"\r\n", b"HTTP/1.1 200 OK\r\n"),
    ],
)
def test_a_response_that_is_not_one_is_not_passed_on(tmp_path, asked, response):
    _, answer = answer_of(tmp_path, ASK + asked, response)
    assert answer.startswith(b"HTTP/1.1 502")


def test_a_body_that_breaks_off_or_goes_on_stays_within_its_response(tmp_path):
    head = b"HTTP/1.1 200 OK\r\n"
    _, broken = answer_of(
        tmp_path, ASK + b"\r\n", head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"
    )
    assert broken == head + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    (tmp_path / "2").mkdir()
    two = head + b"Content-Length: 2\r\n\r\nok" + head + b"Content-Length: 4\r\n\r\nevil"
    _, single = answer_of(tmp_path / "2", ASK + b"\r\n", two)
    assert single == head + b"Connection: close\r\nContent-Length: 2\r\n\r\nok"


def test_a_client_of_http_1_0_gets_no_chunks(tmp_path):
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    _, answer = answer_of(tmp_path, b"GET http://127.0.0.1:PORT/ HTTP/1.0\r\n\r\n", response)
    assert answer == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/?k=KEY\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n<<KEY>>",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nsk-live-0\r\n9\r\n123456789\r\n0\r\n\r\n",
        b"HTTP/1.1 200 KEY\r\n\r\nKEY",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: KEY\r\n\r\n",
    ],
)
def test_a_secret_that_the_server_gives_back_is_a_placeholder_again(tmp_path, response):
    world, answer = answer_of(
        tmp_path,
        ASK + b"Accept-Encoding: gzip\r\nAuthorization: Bearer $$SECRET[KEY]$$\r\n\r\n",
        response.replace(b"KEY", SECRET.encode()),
        secret=True,
    )
    assert SECRET.encode() in world.got[0]
    assert b"Accept-Encoding: identity" in world.got[0]
    assert b"gzip" not in world.got[0]
    assert b"$$SECRET[KEY]$$" in answer
    assert SECRET.encode() not in answer
    assert b"Content-Length: 22" not in answer


def test_a_secret_that_comes_back_in_a_websocket_is_masked_at_its_length(tmp_path):
    world, answer = answer_of(
        tmp_path,
        ASK + b"Sec-WebSocket-Extensions: permessage-deflate\r\nX: $$SECRET[KEY]$$\r\n" + SOCKET,
        SWITCHED + b"\x81\x12" + SECRET.encode() + b"\x81\x02ok",
        secret=True,
    )
    assert SECRET.encode() in world.got[0]
    assert b"permessage-deflate" not in world.got[0]
    assert answer == SWITCHED + b"\x81\x12" + b"*" * 18 + b"\x81\x02ok"


def test_a_method_that_echoes_is_refused(tmp_path):
    world, answer = answer_of(tmp_path, ASK.replace(b"GET", b"TRACE") + b"\r\n", b"")
    assert answer.startswith(b"HTTP/1.1 405")
    assert (world.got, world.reasons()) == ([], ["method-refused"])


def test_a_secret_travels_in_plain_http_only_to_a_port_that_its_declaration_names(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        ask = ASK + b"X: $$SECRET[KEY]$$\r\n\r\n"
        proxy = await world.open("127.0.0.1:PORT", substitutes=key_for(world, "127.0.0.1:*"))
        answer = await world.say(ask)
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"secret-needs-tls" in answer
        await proxy.aclose()
        assert world.got == []
        world.path += "-2"
        proxy = await world.open("127.0.0.1:*", substitutes=key_for(world, "127.0.0.1:PORT"))
        assert (await world.say(ask)).startswith(b"HTTP/1.1 200")
        await proxy.aclose()

    assert play(tmp_path, scene).reasons() == ["secret-needs-tls", "allowed"]


async def greet(world: World, name: str) -> None:
    """A tunnel whose TLS asks for this name."""
    reader, writer = await asyncio.open_unix_connection(world.path)
    writer.write(b"CONNECT localhost:%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % world.port)
    await reader.readuntil(b"\r\n\r\n")
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    try:
        await writer.start_tls(trust, server_hostname=name)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert (await reader.read()).endswith(b"hello")
    finally:
        writer.close()


def test_a_tunnel_whose_tls_names_another_host_ends(tmp_path):
    async def scene(world: World) -> None:
        await secure_world(world)
        proxy = await world.open("localhost:PORT")
        await greet(world, "LOCALHOST")
        for name in ("front.example", "localhost.evil.example"):
            with pytest.raises(OSError):  # noqa: PT011 - reset or end, whichever the client sees first
                await greet(world, name)
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert world.reasons().count("sni-mismatch") == 2
    assert len(world.got) == 1


CHANGE, ALERT = bytes.fromhex("140303000101"), bytes.fromhex("1503010002015a")  # user_canceled, a warning


def hello(name: bytes, share: bytes = b"") -> bytes:
    """A hello for TLS 1.3. Without a share of a key every server asks for a second one."""
    entry = b"\0" + len(name).to_bytes(2) + name
    shares = share and b"\0\x1d\0\x20" + share
    fields = {
        0: len(entry).to_bytes(2) + entry,
        10: b"\0\x02\0\x1d",
        13: bytes.fromhex("00080403080404010805"),
        43: b"\x02\x03\x04",
        51: len(shares).to_bytes(2) + shares,
    }
    inside = b"".join(kind.to_bytes(2) + len(each).to_bytes(2) + each for kind, each in fields.items())
    body = b"\x03\x03" + bytes(range(32)) + b"\x20" + bytes(range(32)) + b"\0\x02\x13\x01\x01\0"
    body += len(inside).to_bytes(2) + inside
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


SHARE = b"\x09" + bytes(31)


@pytest.mark.parametrize(
    ("said", "names", "reason"),
    [
        ([hello(b"localhost"), CHANGE + hello(b"localhost", SHARE)], ["localhost"] * 2, None),
        ([hello(b"localhost"), CHANGE + hello(b"front.example", SHARE)], ["localhost"], "sni-mismatch"),
        ([hello(b"localhost") + CHANGE + hello(b"front.example", SHARE)], ["localhost"], "sni-mismatch"),
        ([ALERT + hello(b"front.example", SHARE)], [], "malformed-tls"),
        ([CHANGE + hello(b"front.example", SHARE)], [], "malformed-tls"),
        ([hello(b"localhost"), CHANGE[:3], CHANGE[3:] + b"x"], ["localhost"], "malformed-tls"),
    ],
)
def test_the_name_of_a_second_hello_is_compared_and_nothing_hides_the_first(tmp_path, said, names, reason):
    seen: list[str | None] = []

    async def scene(world: World) -> None:
        context = Authority(str(tmp_path)).context("localhost")
        context.sni_callback = lambda _, name, __: seen.append(name)
        await world.serve(context)
        proxy = await world.open("localhost:PORT")
        reader, writer = await asyncio.open_unix_connection(world.path)
        writer.write(b"CONNECT localhost:%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % world.port)
        await reader.readuntil(b"\r\n\r\n")
        for number, words in enumerate(said):
            writer.write(words)
            if number == 0 and len(said) > 1:
                await reader.readexactly(99)  # the server asks for another hello
        answer = await reader.read(2000) + (b"" if reason is None else await reader.read())
        assert bool(answer) or reason is not None
        writer.close()
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert (seen, world.reasons()) == (names, ["allowed", *([reason] if reason else [])])


def test_the_port_of_tls_is_tls_where_the_list_leaves_it_to_the_web(tmp_path, monkeypatch):
    async def scene(world: World) -> None:
        await world.serve()
        monkeypatch.setattr(proxy_module, "_TLS_PORT", world.port)
        ask = b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        for entry, passes in (("127.0.0.1:*", False), ("127.0.0.1:PORT", True)):
            proxy = await world.open(entry)
            assert (await world.say(ask)).endswith(b"hello") is passes
            await proxy.aclose()
            world.path += "-2"

    world = play(tmp_path, scene)
    assert len(world.got) == 1
    assert world.reasons() == ["allowed", "malformed-tls", "allowed"]


def test_a_host_with_a_secret_is_not_impersonated_under_another_name(tmp_path):
    async def scene(world: World) -> None:
        ours, proxy_trusts, client_trusts = await secure_world(world)
        keys = key_for(world, "localhost:PORT")
        proxy = await world.open("localhost:PORT", substitutes=keys, authority=ours, trust=proxy_trusts)
        with pytest.raises(OSError):  # noqa: PT011 - the alert or the reset, whichever comes first
            await greet(world, "front.example")
        assert (await fetch(world, client_trusts, b"Host: localhost\r\n")).endswith(b"hello")
        await proxy.aclose()

    assert play(tmp_path, scene).reasons() == ["client-refused-interception", "allowed"]


def test_http_inside_connect_is_read_like_any_request_where_the_list_leaves_the_port_to_the_web(
    tmp_path, monkeypatch
):
    async def scene(world: World) -> None:
        await world.serve()
        monkeypatch.setattr(proxy_module, "_HTTP_PORT", world.port)
        connect = b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"
        proxy = await world.open("127.0.0.1:*")
        answer = await world.say(connect + b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
        assert answer.endswith(b"hello")
        for inner in (
            b"GET / HTTP/1.1\r\nHost: fronted.example\r\n\r\n",
            b"GET http://fronted.example/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
            b"GET / HTTP/1.0\r\n\r\n",
        ):
            assert b"HTTP/1.1 403" in await world.say(connect + inner)
        inner = b"CONNECT /x HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"
        assert b"HTTP/1.1 405" in await world.say(connect + inner)
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert len(world.got) == 1
    assert sorted(world.reasons()) == ["allowed", *["host-mismatch"] * 3, "method-refused"]


def test_a_request_full_of_placeholders_is_refused_and_holds_nothing_up(tmp_path):
    """4 MiB of them made 900 MB of the host, for a value of one kilobyte, and stopped every session for 12 s."""
    value = "v" * 1024
    ask = b"POST http://localhost:PORT/ HTTP/1.1\r\nHost: localhost:PORT\r\nContent-Length: %d\r\n\r\n%s"

    async def scene(world: World) -> None:
        await world.serve()
        bounds = Bounds(body=MOST * 1024, memory=MOST * 1024 + 10_000)
        key = key_for(world, "localhost:PORT", reveal=lambda: value)
        proxy = await world.open("localhost:PORT", substitutes=key, bounds=bounds)
        for count, status in ((MOST, b"200"), (MOST + 1, b"413"), (10 * MOST, b"413")):
            body = b"$$SECRET[KEY]$$" * count
            assert (await world.say(ask % (len(body), body))).startswith(b"HTTP/1.1 " + status)
            assert proxy.memory.held == 0
        await proxy.aclose()
        # What the values add is memory also.
        world.path += "-2"
        proxy = await world.open("localhost:PORT", substitutes=key, bounds=Bounds(memory=100_000))
        body = b"$$SECRET[KEY]$$" * MOST
        assert (await world.say(ask % (len(body), body))).startswith(b"HTTP/1.1 503")
        assert proxy.memory.held == 0
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert world.reasons() == ["allowed", "too-many-placeholders", "too-many-placeholders"]
    assert [attempt.count for attempt in world.attempts] == [1, 1, 1]
    (got,) = world.got
    assert got.endswith(b"\r\n\r\n" + value.encode() * MOST)


def test_heads_count_as_bytes_that_moved(tmp_path):
    """A program that sends everything in headers had no limit."""
    ask = b"GET http://localhost:PORT/ HTTP/1.1\r\nHost: localhost:PORT\r\nX: " + b"x" * 4000 + b"\r\n\r\n"

    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("localhost:PORT", bounds=Bounds(total=10_000))
        answers = [(await world.say(ask))[:12] for _ in range(3)]
        assert answers == [b"HTTP/1.1 200", b"HTTP/1.1 200", b""]
        await proxy.aclose()

    assert len(play(tmp_path, scene).got) == 2
