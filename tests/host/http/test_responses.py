"""What a server may send, and what of it is taken: through the real client, from a real socket."""

import asyncio

import httpx2
import pytest

from operable.host.http import responses
from operable.host.http.responses import StreamPosition, body, events, refusal
from operable.wire.lines import LineTooLong

PATIENCE = 200


def answered(pieces, read, *, head=b"HTTP/1.1 200 OK\r\n"):
    """What `read` makes of a response that comes in these pieces."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        try:
            writer.write(head + b"connection: close\r\n\r\n")
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        except ConnectionError:
            pass  # the client has read enough
        finally:
            writer.close()

    async def scene():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = httpx2.AsyncClient(trust_env=False)
        async with server, client, client.stream("GET", f"http://127.0.0.1:{port}/") as response:
            return await read(response)

    return asyncio.run(asyncio.wait_for(scene(), PATIENCE))


async def all_events(response):
    return [event async for event in events(response)]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_only_the_line_ends_of_the_standard_end_a_line(inside):
    data = f'{{"text":"a{inside}b"}}'.encode()

    assert answered([b"event: message\ndata: " + data + b"\n\n"], all_events) == [("message", data)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_with_each_of_the_three_ends_wherever_the_stream_is_cut(end):
    stream = end.join([b": hello", b"event: endpoint", b"data: a", b"data: b", b"", b"data: c", b"", b""])
    whole = [("endpoint", b"a\nb"), ("message", b"c")]

    for size in (1, 2, 3, len(stream)):
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert answered(pieces, all_events) == whole


@pytest.mark.parametrize("read", [all_events, body])
@pytest.mark.parametrize("piece", [b"data: " + b"x" * 500, b"data: x\n" * 60])
def test_what_has_no_end_is_not_read_to_its_end(monkeypatch, read, piece):
    monkeypatch.setattr(responses, "MESSAGE_LIMIT", 4000)

    with pytest.raises(LineTooLong):
        answered([piece] * 2000, read)


def test_a_redirection_is_told_with_where_it_leads_and_without_what_is_secret_there():
    head = b"HTTP/1.1 307 Moved\r\nlocation: https://user:s3cr3t@other.example/mcp\r\n"

    told = answered([], refusal, head=head)

    assert told.startswith("HTTP 307: it redirects to ")
    assert "other.example" in told
    assert "s3cr3t" not in told


def test_an_error_is_shown_in_part_and_never_with_half_of_a_word():
    words = b"Bearer t0ken-for-the-server "

    told = answered([words * 100_000], refusal, head=b"HTTP/1.1 401 No\r\n")

    assert told.startswith("HTTP 401: Bearer t0ken")
    assert len(told) < 1100
    assert set(told.removeprefix("HTTP 401: ").removesuffix(" [...]").split()) == {
        "Bearer",
        "t0ken-for-the-server",
    }


def test_a_stream_says_where_it_is_and_when_to_come_back():
    place = StreamPosition(silent=3)

    async def read(response):
        return [event async for event in events(response, place)]

    stream = [b"id: a\nretry: 1500\ndata:\n\n", b"id: \xc3\xa9\ndata: x\n\n", b"retry: soon\n\n"]

    assert answered(stream, read) == [("message", b"x")]
    assert place.headers() == {"last-event-id": b"\xc3\xa9"}
    assert place.delay() == 1.5


@pytest.mark.parametrize("cut", [b"id: 2\n", b"id: 2\ndata: y\n"])
def test_an_event_that_broke_off_in_the_middle_is_asked_for_again(cut):
    place = StreamPosition()

    async def read(response):
        return [event async for event in events(response, place)]

    assert answered([b"id: 1\ndata: x\n\n", cut], read) == [("message", b"x")]
    assert place.headers() == {"last-event-id": b"1"}


@pytest.mark.parametrize("told", [b"", b"a\0b", b"\x1b[2J", b"x" * 3000])
def test_a_number_that_no_header_can_carry_is_none(told):
    place = StreamPosition(b"before")
    place.note(b"id: " + told)

    assert place.headers() == {}


def test_who_gets_nothing_asks_ever_less_often_and_never_sooner_than_the_server_said():
    alone = [StreamPosition(silent=times).delay() for times in (0, 1, 2, 3, 8, 100)]
    told = [StreamPosition(retry=3.0, silent=times).delay() for times in (0, 1, 2, 5)]

    assert alone == [0.5, 0.5, 1.0, 2.0, 60.0, 60.0]
    assert told == [3.0, 3.0, 3.0, 8.0]
    assert StreamPosition(retry=0.0, silent=4).delay() == 4.0
    assert StreamPosition().silent == 0
