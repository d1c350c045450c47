"""What a sandbox may take of its host: in numbers, with real connections, and once as the memory of a real process."""

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.budget import OTHERS, Attempt, AttemptLog, Bounds, Exhausted, Memory
from tests.proc.sandbox.egress.world import LIMIT, World, key_for, play


def test_memory_is_given_out_up_to_its_limit():
    memory = Memory(10)
    memory.take(6)
    with pytest.raises(Exhausted):
        memory.take(5)
    memory.release(6)
    memory.take(10)
    assert memory.held == 10


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=300))
def test_the_counts_of_all_records_add_up_to_all_attempts(tried):
    told: list[Attempt] = []
    log = AttemptLog(told.append, Bounds(places=8, singles=4))
    for number, allowed in tried:
        log.report(f"h{number}", 443, "allowed" if allowed else "not-listed")
    log.close()

    for allowed in (True, False):
        counted = sum(attempt.count for attempt in told if attempt.allowed is allowed)
        assert counted == sum(1 for _, each in tried if each is allowed)


def test_a_million_denied_attempts_leave_twenty_one_records_and_the_first_at_once():
    told: list[Attempt] = []
    log = AttemptLog(told.append, Bounds())
    log.report("evil.example", 443, "not-listed")
    assert told == [Attempt("evil.example", 443, False, "not-listed")]
    for _ in range(999_999):
        log.report("evil.example", 443, "not-listed")
    log.close()
    assert len(told) == 21
    assert sum(attempt.count for attempt in told) == 1_000_000


def test_beyond_the_bound_of_places_a_record_names_no_place():
    told: list[Attempt] = []
    log = AttemptLog(told.append, Bounds(places=3))
    for number in range(100):
        log.report(f"h{number}.example", 443, "not-listed")
    log.close()
    assert [attempt.host for attempt in told[:3]] == ["h0.example", "h1.example", "h2.example"]
    assert {attempt.host for attempt in told[3:]} == {OTHERS}
    assert len(told) < 12
    assert sum(attempt.count for attempt in told) == 100


def test_a_record_that_cannot_be_written_is_owed_and_does_not_stop_the_end():
    told: list[Attempt] = []
    full = True

    def write(attempt: Attempt) -> None:
        if full:
            raise OSError(28, "No space left on device")
        told.append(attempt)

    log = AttemptLog(write, Bounds())
    with pytest.raises(OSError, match="No space"):
        log.report("a.example", 443, "allowed")
    log.close()
    full = False
    log.report("a.example", 443, "allowed")
    assert told == [Attempt("a.example", 443, True, "allowed", count=2)]


def test_half_sent_bodies_take_no_more_than_the_session_s_memory_and_give_it_back(tmp_path):
    half = 100_000

    async def scene(world: World) -> None:
        await world.serve()
        bounds = Bounds(memory=3 * half + 1)
        proxy = await world.open(
            "127.0.0.1:PORT", substitutes=key_for(world, "127.0.0.1:PORT"), bounds=bounds
        )
        clients = []
        for _ in range(24):
            reader, writer = await asyncio.open_unix_connection(world.path)
            authority = b"127.0.0.1:%d" % world.port
            writer.write(b"POST http://%s/ HTTP/1.1\r\nHost: %s\r\n" % (authority, authority))
            writer.write(b"Content-Length: %d\r\n\r\n" % (2 * half) + b"x" * half)
            clients.append((reader, writer))
        refused = 0
        answers = {asyncio.ensure_future(reader.readuntil(b"\r\n\r\n")) for reader, _ in clients}
        while refused < 21:
            done, answers = await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
            assert all(b"503" in task.result() and b"memory-exhausted" in task.result() for task in done)
            refused += len(done)
            assert proxy.memory.held <= bounds.memory
        for task in answers:
            task.cancel()
        for _, writer in clients:
            writer.close()
        await proxy.aclose()
        assert proxy.memory.held == 0

    assert play(tmp_path, scene).got == []


def test_a_body_beyond_its_bound_is_refused_before_it_is_read(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT", substitutes=key_for(world, "127.0.0.1:PORT"))
        ask = b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"
        assert (await world.say(ask + b"Content-Length: 99999999\r\n\r\n")).startswith(b"HTTP/1.1 413")
        chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
        answer = await world.say(ask + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 33)
        assert answer.startswith(b"HTTP/1.1 413")
        assert proxy.memory.held == 0
        await proxy.aclose()

    assert play(tmp_path, scene).got == []


@pytest.mark.parametrize(
    "bounds, request_, reason",
    [
        (Bounds(handshake=0.05), b"GET http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127", b"head-too-slow"),
        (
            Bounds(upload=0.05),
            b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\nabc",
            b"body-too-slow",
        ),
    ],
)
def test_a_client_that_sends_half_and_waits_is_answered_at_its_deadline(tmp_path, bounds, request_, reason):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open(
            "127.0.0.1:PORT", substitutes=key_for(world, "127.0.0.1:PORT"), bounds=bounds
        )
        answer = await world.say(request_)
        assert answer.startswith(b"HTTP/1.1 408")
        assert reason in answer
        assert proxy.memory.held == 0
        await proxy.aclose()

    play(tmp_path, scene)


def test_a_tunnel_in_which_nothing_moves_ends(tmp_path):
    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def scene(world: World) -> None:
        service = await asyncio.start_server(hold, "127.0.0.1", 0)
        world.port = service.sockets[0].getsockname()[1]
        proxy = await world.open("127.0.0.1:PORT", bounds=Bounds(idle=0.05))
        answer = await world.say(b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
        assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n"
        await proxy.aclose()
        service.close()

    play(tmp_path, scene)


def test_connections_far_beyond_the_bound_are_dropped_and_hold_nothing(tmp_path):
    async def scene(world: World) -> None:
        proxy = await world.open("127.0.0.1:1", bounds=Bounds(connections=2))
        clients = [await asyncio.open_unix_connection(world.path) for _ in range(60)]
        answers = [await reader.read(12) for reader, _ in clients[2:]]
        assert answers.count(b"HTTP/1.1 503") == 16
        assert answers.count(b"") == 42
        for _, writer in clients:
            writer.close()
        await proxy.aclose()

    play(tmp_path, scene)


def test_a_denied_name_of_any_length_leaves_no_long_record(tmp_path):
    async def scene(world: World) -> None:
        proxy = await world.open("good.example")
        for number in range(40):
            name = b"n%d." % number + b"a" * 60_000
            answer = await world.say(b"CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n" % (name, name))
            assert answer.startswith(b"HTTP/1.1 431")
            name = b"n%d." % number + b".".join([b"a" * 60] * 8)
            answer = await world.say(b"CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n" % (name, name))
            assert answer.startswith(b"HTTP/1.1 400")
        await proxy.aclose()

    assert play(tmp_path, scene).attempts == []


def test_no_record_no_request(tmp_path):
    async def scene(world: World) -> None:
        await world.serve()
        proxy = await world.open("127.0.0.1:PORT")
        proxy._log._on_attempt = _fail
        ask = b"POST http://127.0.0.1:PORT/ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 2\r\n\r\nhi"
        answer = await world.say(ask)
        assert answer.startswith(b"HTTP/1.1 500")
        assert b"internal-error" in answer
        await proxy.aclose()

    assert play(tmp_path, scene).got == []


def _fail(attempt: Attempt) -> None:
    raise RuntimeError("the audit cannot be written")


HOST = """
import asyncio, sys
from operable.proc.sandbox.egress.proxy import Proxy
from operable.proc.sandbox.egress.placeholders import Substitute

def memory():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines["VmHWM"].split()[0]) // 1024

async def main():
    proxy = Proxy(("127.0.0.1:9",), substitutes=(Substitute("K", ("127.0.0.1:9",), str),))
    await proxy.start(sys.argv[1])
    print(memory(), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(memory(), proxy.memory.held // 2**20, flush=True)

asyncio.run(main())
"""


def test_a_real_host_stays_small_under_twenty_four_half_sent_bodies(tmp_path):
    path = str(tmp_path / "egress")
    whole, half = 32 * 2**20, 31 * 2**20

    async def send(everybody: asyncio.Barrier) -> None:
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(
            b"POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\nContent-Length: %d\r\n\r\n" % whole
        )
        part = b"x" * 2**20
        with suppress(OSError):  # refused
            for _ in range(half // len(part)):
                writer.write(part)
                await writer.drain()
        await everybody.wait()  # none gives back what it holds before all have sent
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    async def attack() -> None:
        everybody = asyncio.Barrier(24)
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*(send(everybody) for _ in range(24)))

    with subprocess.Popen(
        [sys.executable, "-c", HOST, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as host:
        assert host.stdout is not None
        before = int(host.stdout.readline())
        asyncio.run(attack())
        out, _ = host.communicate(timeout=LIMIT)
    after, held = map(int, out.split())
    assert held <= 64
    # MiB, with the holes in the heap that 24 bodies at once leave (140 to 215 measured); 775 before there was a budget.
    assert after - before < 400
