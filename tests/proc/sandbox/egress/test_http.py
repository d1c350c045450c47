"""The strict grammar by itself, and against h11, which reads the same where both accept."""

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.http import (
    Framing,
    MalformedHttp,
    RequestHead,
    parse_authority,
    parse_chunk_size,
    parse_request,
    parse_response,
    split_absolute,
)


def head(*lines: bytes, start: bytes = b"POST /v1 HTTP/1.1") -> RequestHead:
    return parse_request(b"\r\n".join((start, b"Host: h", *lines)) + b"\r\n\r\n")


def test_the_server_gets_one_request_for_the_host_that_was_decided_on():
    sent = head(
        b"Connection: keep-alive, X-Mine",
        b"X-Mine: for the proxy",
        b"X-Other: for the server",
        b"Proxy-Authorization: Basic x",
        b"Proxy-Connection: keep-alive",
        b"Content-Length: 9",
        b"Expect: 100-continue",
        b"Upgrade: h2c",
    ).encode(b"real:8", Framing(length=3))

    assert sent == (
        b"POST /v1 HTTP/1.1\r\nHost: real:8\r\nX-Other: for the server\r\n"
        b"Connection: close\r\nContent-Length: 3\r\n\r\n"
    )


def test_only_a_websocket_may_leave_http():
    asked = head(b"Connection: Upgrade", b"Upgrade: websocket", start=b"GET / HTTP/1.1")
    assert asked.encode(b"h", Framing()).endswith(b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    for lines in (
        [b"Upgrade: websocket"],
        [b"Connection: Upgrade", b"Upgrade: h2c"],
        [b"Connection: Upgrade", b"Upgrade: websocket, h2c"],
        [b"Connection: Upgrade", b"Upgrade: websocket", b"Content-Length: 1"],
    ):
        sent = head(*lines, start=b"GET / HTTP/1.1").encode(b"h", Framing())
        assert b"pgrade" not in sent


@pytest.mark.parametrize(
    "lines",
    [
        [b"Content-Length: 1", b"Content-Length: 2"],
        [b"Content-Length: 1", b"Content-Length: 1"],
        [b"Content-Length: 1, 1"],
        [b"Content-Length: 1", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"],
        [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: chunked, identity"],
        [b"Transfer-Encoding: xchunked"],
        [b"Transfer-Encoding: \x0bchunked"],
        [b"Content-Length: +1"],
        [b"Content-Length: -1"],
        [b"Content-Length: 0x1"],
        [b"Content-Length: 1 1"],
        [b"Content-Length:"],
        [b"Content-Length: " + b"9" * 5000],
        [b"Content-Length : 1"],
        [b"Host: h"],
        [b"Host: other"],
        [b"Expect: a-miracle"],
        [b"X: a\nY: b"],
        [b"X: a\rY: b"],
        [b"X: a\0b"],
        [b"X: a\x7fb"],
        [b"X: a", b" folded"],
        [b"X: a", b"\tfolded"],
        [b" X: a"],
        [b"X\t: a"],
        [b"X(: a"],
        [b": a"],
        [b"no colon"],
        [b""],
        [b"X: %d" % number for number in range(300)],
    ],
)
def test_headers_that_two_readers_could_read_differently_are_refused(lines):
    with pytest.raises(MalformedHttp):
        head(*lines)


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"GET /",
        b"GET  / HTTP/1.1",
        b"GET / HTTP/1.1 ",
        b" GET / HTTP/1.1",
        b"GET\t/ HTTP/1.1",
        b"GET /\tx HTTP/1.1",
        b"GET /\tHTTP/1.1\nHost: evil\nX: HTTP/1.1",
        b"GET /a\nb HTTP/1.1",
        b"GET /a\rb HTTP/1.1",
        b"GET /\x00 HTTP/1.1",
        b"GET /\xc3\xbc HTTP/1.1",
        b"GET /#fragment HTTP/1.1",
        b"GET / HTTP/0.9",
        b"GET / HTTP/1.2",
        b"GET / HTTP/2",
        b"GET / HTTP/2.0",
        b"GET / http/1.1",
        b"GET / HTTP/1.1\nX: y",
        b"PRI * HTTP/2.0",
        b"G(T / HTTP/1.1",
    ],
)
def test_request_lines_outside_the_grammar_are_refused(start):
    with pytest.raises(MalformedHttp):
        head(start=start)


def test_a_host_is_required_since_http_1_1_and_chunks_exist_since_then():
    assert parse_request(b"GET / HTTP/1.0\r\n\r\n").get(b"host") is None
    for raw in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\nHost: h\n\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n",
    ):
        with pytest.raises(MalformedHttp):
            parse_request(raw)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b":80", b"h:", b"h:0", b"h:65536", b"h:99999999", b"h:-1", b"h:+80", b"h: 80", b"h:80:80", b"u@h", b"u:p@h:1"),
        *(b"h\t", b" h", b"h/x", b"h\\x", b"h?x", b"h%00", b"h..", b".h", b"a..b", b"*.h", b"*", b"h\xc3\xbc"),
        *(b"[::1", b"::1", b"[::1]x", b"[fe80::1%eth0]", b"[fe80::1%25eth0]", b"[1.2.3.4]", b"[h]", b"[]", b"[::]:"),
        *(b"127.1", b"0x7f.1", b"2130706433", b"0177.0.0.1", b"1.2.3.4.5", b"a.0x7f", b"127.0.0.1.."),
        *(b"a" * 64, b".".join([b"a" * 60] * 5), b"a" * 60_000),
    ],
)  # fmt: skip
def test_what_is_not_one_host_with_one_port_is_refused(text):
    with pytest.raises(MalformedHttp):
        parse_authority(text, 80)


@pytest.mark.parametrize(
    "text, expected",
    [
        (b"Example.COM", ("example.com", 80)),
        (b"example.com.:8080", ("example.com", 8080)),
        (b"127.0.0.1:1", ("127.0.0.1", 1)),
        (b"[::FFFF:127.0.0.1]:1", ("127.0.0.1", 1)),
        (b"[0:0::1]", ("::1", 80)),
        (b"a_b.example", ("a_b.example", 80)),
        (b"xn--bcher-kva.example", ("xn--bcher-kva.example", 80)),
    ],
)
def test_one_place_has_one_spelling(text, expected):
    assert parse_authority(text, 80) == expected


def test_an_absolute_target_is_split_at_its_path_or_its_query():
    assert split_absolute(b"HTTP://h:1/a?b") == (b"h:1", b"/a?b")
    assert split_absolute(b"http://h?b/c") == (b"h", b"/?b/c")
    assert split_absolute(b"http://h") == (b"h", b"/")
    assert split_absolute(b"https://h/") is None
    assert split_absolute(b"/http://h/") is None


@pytest.mark.parametrize(
    "line", [b"", b"g", b"1;a=b", b" 1", b"1 ", b"-1", b"+1", b"0x1", b"1_0", b"1" * 9, b"1\n"]
)
def test_the_size_of_a_chunk_is_a_short_hexadecimal_number_and_nothing_else(line):
    with pytest.raises(MalformedHttp):
        parse_chunk_size(line)
    assert parse_chunk_size(b"00aF") == 175


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 600 x\r\n\r\n",
        b"HTTP/1.1 200 a\nb\r\n\r\n",
        b"HTTP/1.1 200\tOK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\nSet-Cookie: b\r\n\r\n",
    ],
)
def test_a_response_outside_the_grammar_is_refused(raw):
    with pytest.raises(MalformedHttp):
        parse_response(raw, b"GET")


def test_a_response_is_framed_by_its_status_and_the_method_it_answers():
    raw = b"HTTP/1.1 %d OK\r\nContent-Length: 5\r\nKeep-Alive: x\r\nConnection: keep-alive\r\n\r\n"
    assert parse_response(raw % 200, b"GET").framing == Framing(length=5)
    for status, method in ((200, b"HEAD"), (204, b"GET"), (304, b"GET"), (103, b"GET")):
        assert parse_response(raw % status, method).framing.empty
    unmodified = parse_response(raw % 304, b"GET")
    assert unmodified.encode(unmodified.framing) == (
        b"HTTP/1.1 304 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n"
    )
    closed = parse_response(b"HTTP/1.1 200\r\n\r\n", b"GET")
    assert closed.framing == Framing()
    assert closed.encode(Framing()) == b"HTTP/1.1 200 \r\nConnection: close\r\n\r\n"


# Pieces of requests, and what breaks parsers, in any order.
_PIECE = st.sampled_from(
    [
        *(b"GET", b"POST", b"CONNECT", b" ", b"/", b"/a?b", b"http://h/", b"HTTP/1.1", b"HTTP/1.0", b"\r\n", b"\n", b"\r"),
        *(b"Host: h", b"Host: evil", b"Content-Length: 3", b"Content-Length: 0", b"Transfer-Encoding: chunked", b"X: y"),
        *(b"abc", b"0\r\n\r\n", b"3\r\nabc\r\n", b"\t", b"\x00", b"\x0b", b"\x7f", b"\xff", b":", b";", b","),
    ]
)  # fmt: skip
_HEADS = st.one_of(
    st.lists(_PIECE, max_size=14).map(b"".join),
    st.binary(max_size=60),
    st.lists(_PIECE, max_size=5).map(lambda pieces: b"GET / HTTP/1.1\r\nHost: h\r\n" + b"".join(pieces)),
)


@given(_HEADS)
def test_what_is_accepted_is_read_by_a_second_parser_in_the_same_way_before_and_after(raw):
    whole = raw + b"\r\n\r\n"
    try:
        parsed = parse_request(whole[: whole.index(b"\r\n\r\n") + 4])
    except MalformedHttp:
        return
    second = _read(whole[: whole.index(b"\r\n\r\n") + 4])
    assert (second.method, second.target) == (parsed.method, parsed.target)
    assert list(second.headers) == [(name.lower(), value) for name, value in parsed.headers]
    written = _read(parsed.encode(b"h", parsed.framing))
    assert (written.method, written.target) == (parsed.method, parsed.target)
    assert [value for name, value in written.headers if name == b"host"] == [b"h"]


def _read(raw: bytes) -> h11.Request:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    connection.receive_data(raw)
    event = connection.next_event()
    assert isinstance(event, h11.Request)
    return event
