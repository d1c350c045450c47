"""The proxy with real sockets: what it lets through, what it stops, and what becomes of secrets on their way."""

import asyncio
import base64
import json
import os
import socket
import ssl
import stat

import pytest

from operable.kernel.errors import Fail
from operable.proc.run import aoutput
from operable.proc.sandbox.confinement import Tunnel
from operable.proc.sandbox.egress.budget import Attempt, Bounds
from operable.proc.sandbox.egress.proxy import Proxy, Service
from operable.proc.sandbox.egress.rules import Rules
from tests.proc.sandbox.egress.world import LIMIT, SECRET, World, fetch, key_for, play, secure_world
from tests.proc.sandboxes.confined import command_for


def test_a_listed_host_is_reached_through_a_tunnel_and_told(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT")
        answer = await world.say(
            b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        assert (
            answer
            == b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"
        )
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert world.attempts == [Attempt("127.0.0.1", world.port, True, "allowed")]


def test_a_plain_request_is_forwarded_for_the_host_that_was_decided_on(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("localhost:PORT")
        request = (
            b"POST http://localhost:PORT/a?b HTTP/1.1\r\nHost: LOCALHOST.:PORT\r\nContent-Length: 2\r\n\r\nhi"
        )
        assert (await world.say(request)).endswith(b"hello")
        await proxy.aclose()

    world = play(tmp_path, scene)
    (got,) = world.got
    assert got.startswith(b"POST /a?b HTTP/1.1\r\nHost: localhost:%d\r\n" % world.port)
    assert got.endswith(b"\r\n\r\nhi")


def test_chunks_are_passed_on_without_their_trailers_and_a_waiting_client_is_told_to_go_on(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT")
        request = (
            b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n"
        )
        assert (await world.say(request)).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
        await proxy.aclose()

    assert (
        play(tmp_path, scene)
        .got[0]
        .endswith(b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    )


@pytest.mark.parametrize(
    "request_, status, reason",
    [
        (b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", b"403", "not-listed"),
        (b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", b"403", "not-listed"),
        (b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n", b"403", "not-listed"),
        (
            b"CONNECT [::ffff:127.0.0.1]:1 HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:1\r\n\r\n",
            b"403",
            "not-listed",
        ),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"403", "not-listed"),
        (
            b"GET http://good.example@evil.example/ HTTP/1.1\r\nHost: good.example@evil.example\r\n\r\n",
            b"400",
            "",
        ),
        (b"GET https://good.example/ HTTP/1.1\r\n\r\n", b"400", ""),
        (b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", b"400", ""),
        (b"CONNECT good.example:443:1 HTTP/1.1\r\nHost: good.example:443:1\r\n\r\n", b"400", ""),
        (b"nonsense\r\n\r\n", b"400", ""),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 200_000, b"431", ""),
        (
            b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"400",
            "allowed",
        ),
        (
            b"CONNECT no-such-host.invalid:443 HTTP/1.1\r\nHost: no-such-host.invalid:443\r\n\r\n",
            b"502",
            "unresolvable",
        ),
    ],
)
def test_everything_else_is_refused_with_a_reason(tmp_path, request_, status, reason):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("good.example", "127.0.0.1:PORT", "no-such-host.invalid")
        answer = await world.say(request_)
        assert answer.startswith(b"HTTP/1.1 " + status)
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "EGRESS_DENIED"
        await proxy.aclose()

    assert play(tmp_path, scene).reasons() == ([reason] if reason else [])


def test_a_name_that_leads_into_the_private_network_is_refused(tmp_path, monkeypatch):
    def lead_inside(host, port, *options):
        return [(2, 1, 6, "", ("169.254.169.254", port))]

    monkeypatch.setattr(socket, "getaddrinfo", lead_inside)

    async def scene(world: World) -> None:
        proxy = await world.open("*")
        assert (
            await world.say(
                b"CONNECT metadata.evil.example:443 HTTP/1.1\r\nHost: metadata.evil.example:443\r\n\r\n"
            )
        ).startswith(b"HTTP/1.1 403")
        await proxy.aclose()

    assert play(tmp_path, scene).reasons() == ["private-address"]


def test_connections_beyond_the_limit_and_bytes_beyond_the_total_are_stopped(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT", bounds=Bounds(connections=0))
        assert (
            await world.say(b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
        ).startswith(b"HTTP/1.1 503")
        await proxy.aclose()
        world.path += "-2"
        proxy = await world.open("127.0.0.1:PORT", bounds=Bounds(total=10))
        answer = await world.say(
            b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET / HTTP/1.1\r\n\r\n"
        )
        assert b"hello" not in answer
        await proxy.aclose()

    play(tmp_path, scene)


def test_a_placeholder_becomes_the_secret_at_its_host_only(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open(
            "127.0.0.1:PORT", "localhost:PORT", substitutes=key_for(world, "127.0.0.1:PORT")
        )
        ask = (
            b"GET http://%s:PORT/ HTTP/1.1\r\nHost: %s:PORT\r\nAuthorization: Bearer $$SECRET[KEY]$$\r\n\r\n"
        )
        assert (await world.say(ask % (b"127.0.0.1", b"127.0.0.1"))).endswith(b"hello")
        assert (await world.say(ask % (b"localhost", b"localhost"))).startswith(b"HTTP/1.1 403")
        assert (await world.say((ask % (b"127.0.0.1", b"127.0.0.1")).replace(b"KEY", b"OTHER"))).startswith(
            b"HTTP/1.1 403"
        )
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert len(world.got) == 1
    assert b"Bearer " + SECRET.encode() in world.got[0]
    assert world.reasons() == ["allowed", "secret-not-for-host", "secret-not-for-host"]
    assert world.attempts[0].secrets == ("KEY",)
    assert SECRET not in repr(world.attempts)


def test_a_secret_that_may_not_be_revealed_stops_the_request(tmp_path):
    def deny() -> str:
        raise Fail("authz", "SECRET_DENIED", "no")

    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT", substitutes=key_for(world, "127.0.0.1:PORT", reveal=deny))
        answer = await world.say(
            b"GET http://127.0.0.1:PORT/$$SECRET[KEY]$$ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"
        )
        assert answer.startswith(b"HTTP/1.1 502")
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert (world.got, world.reasons()) == ([], ["secret-unavailable"])


def test_a_placeholder_inside_tls_becomes_the_secret_at_its_host(tmp_path):
    async def scene(world: World) -> None:
        ours, proxy_trusts, client_trusts = await secure_world(world)
        proxy = await world.open(
            "localhost:PORT", substitutes=key_for(world, "localhost:PORT"), authority=ours, trust=proxy_trusts
        )
        basic = b"Authorization: Basic " + base64.b64encode(b"u:$$SECRET[KEY]$$") + b"\r\n"
        answer = await fetch(world, client_trusts, b"Host: localhost:%d\r\n" % world.port + basic)
        assert answer.endswith(b"hello")
        refused = await fetch(world, client_trusts, b"Host: elsewhere.example\r\n" + basic)
        assert refused.startswith(b"HTTP/1.1 403")
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert base64.b64encode(b"u:" + SECRET.encode()) in world.got[0]
    assert world.reasons() == ["allowed", "host-mismatch"]
    assert [name for name in os.listdir(tmp_path) if name != "egress"] == []  # no key was left on disk


def test_a_client_that_does_not_believe_the_authority_gets_no_tunnel_instead(tmp_path):
    async def scene(world: World) -> None:
        ours, proxy_trusts, _ = await secure_world(world)
        proxy = await world.open(
            "localhost:PORT", substitutes=key_for(world, "localhost:PORT"), authority=ours, trust=proxy_trusts
        )
        with pytest.raises(ssl.SSLCertVerificationError):
            await fetch(world, ssl.create_default_context(), b"Host: localhost\r\n")
        await world.noted.wait()
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert (world.got, world.reasons()) == ([], ["client-refused-interception"])


def test_a_server_whose_certificate_is_not_trusted_gets_no_secret(tmp_path):
    async def scene(world: World) -> None:
        ours, _, client_trusts = await secure_world(world)
        proxy = await world.open(
            "localhost:PORT", substitutes=key_for(world, "localhost:PORT"), authority=ours
        )
        headers = b"Host: localhost:%d\r\nX: $$SECRET[KEY]$$\r\n" % world.port
        assert (await fetch(world, client_trusts, headers)).startswith(b"HTTP/1.1 502")
        await proxy.aclose()

    world = play(tmp_path, scene)
    assert (world.got, world.reasons()) == ([], ["unreachable"])


def test_without_an_authority_a_host_with_a_secret_is_refused_rather_than_tunnelled(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("localhost:PORT", substitutes=key_for(world, "localhost:PORT"))
        assert (
            await world.say(b"CONNECT localhost:PORT HTTP/1.1\r\nHost: localhost:PORT\r\n\r\n")
        ).startswith(b"HTTP/1.1 502")
        await proxy.aclose()

    assert play(tmp_path, scene).reasons() == ["interception-unavailable"]


def test_closing_ends_open_tunnels(tmp_path):
    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def scene(world: World) -> None:
        service = await asyncio.start_server(hold, "127.0.0.1", 0)
        world.port = service.sockets[0].getsockname()[1]
        proxy = await world.open("127.0.0.1:PORT")
        reader, writer = await asyncio.open_unix_connection(world.path)
        writer.write(
            b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (world.port, world.port)
        )
        await reader.readuntil(b"\r\n\r\n")
        await proxy.aclose()
        assert await reader.read() == b""
        writer.close()
        service.close()

    play(tmp_path, scene)


def test_a_socket_lies_in_a_folder_of_any_depth(tmp_path):
    deep = tmp_path / ("deep" * 40)
    deep.mkdir()
    service, proxy = Service(), Proxy(())
    service.start(proxy, str(deep / "egress"))
    try:
        assert (deep / "egress").is_socket()
        assert stat.S_IMODE((deep / "egress").stat().st_mode) == 0o600
    finally:
        service.stop(proxy)


def test_a_socket_that_cannot_be_made_is_a_failure(tmp_path):
    with pytest.raises(Fail) as caught:
        Service().start(Proxy(()), str(tmp_path / "no" / "such" / "folder"))
    assert caught.value.code == "EGRESS_UNAVAILABLE"


INSIDE = """
import os, socket, sys
def attempt(name, what):
    try: print(name, "GOT", repr(what())[:300])
    except BaseException as error: print(name, type(error).__name__)
def ask(port, request):
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(request); s.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := s.recv(4096): answer += chunk
        return answer
proxy, port = int(sys.argv[1]), int(sys.argv[2])
attempt("listed", lambda: ask(proxy, b"GET http://127.0.0.1:%d/ HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (port, port)))
attempt("by-its-own-number", lambda: ask(port, b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"))
attempt("denied-by-name", lambda: ask(proxy, b"CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example:443\\r\\n\\r\\n"))
attempt("denied-by-address", lambda: ask(proxy, b"CONNECT 1.1.1.1:443 HTTP/1.1\\r\\nHost: 1.1.1.1:443\\r\\n\\r\\n"))
attempt("directly", lambda: socket.create_connection(("1.1.1.1", 443), 5))
attempt("by-name", lambda: socket.create_connection(("example.com", 443), 5))
print("children", open("/proc/self/task/%d/children" % os.getpid()).read().split())
"""


@pytest.mark.needs("bwrap")
def test_from_inside_a_sandbox_only_the_proxy_leads_out_and_only_to_listed_hosts(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    told: list[str] = []

    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT")
        entries = Rules((f"127.0.0.1:{world.port}",))
        tunnel = Tunnel(world.path, 18080, entries.loopback(), entries.entries)
        with command_for(INSIDE, work, "18080", str(world.port), tunnel=tunnel) as (command, _):
            told.append((await aoutput(command, timeout=LIMIT)).stdout.decode())
        await proxy.aclose()

    world = play(tmp_path, scene)
    lines = dict(line.split(" ", 1) for line in told[0].splitlines())
    assert "hello" in lines["listed"]
    assert "hello" in lines["by-its-own-number"]
    assert "403 Forbidden" in lines["denied-by-name"]
    assert "403 Forbidden" in lines["denied-by-address"]
    assert "GOT" not in lines["directly"]
    assert "GOT" not in lines["by-name"]
    assert lines["children"] == "[]"
    refused = [(attempt.host, attempt.port) for attempt in world.attempts if not attempt.allowed]
    assert refused == [("evil.example", 443), ("1.1.1.1", 443)]
