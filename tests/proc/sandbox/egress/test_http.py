import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.http import Head, Malformed, forward, parse, placeholders, substitute

VALUE = {"KEY": 's3"cr&t', "LINES": "a\nb"}.__getitem__
REQUEST = b"POST /v1?key=%24%24SECRET%5BKEY%5D%24%24 HTTP/1.1\r\nHost: h\r\nX-Key: $$SECRET[KEY]$$\r\nProxy-Connection: x\r\n"


def head(*lines: bytes) -> Head:
    return parse(REQUEST + b"".join(line + b"\r\n" for line in lines) + b"\r\n")


def test_placeholders_are_found_wherever_a_client_puts_them():
    basic = b"Authorization: Basic " + base64.b64encode(b"me:$$SECRET[BASIC]$$")

    assert placeholders(head(basic), b'{"k": "$$SECRET[BODY]$$"}') == {"KEY", "BASIC", "BODY"}


def test_values_are_escaped_for_where_they_stand():
    basic = b"Authorization: Basic " + base64.b64encode(b"me:$$SECRET[KEY]$$")
    changed, body = substitute(
        head(basic, b"Content-Type: application/json"), b'{"k": "$$SECRET[KEY]$$"}', VALUE
    )

    assert changed.target == b"/v1?key=s3%22cr%26t"
    assert changed.get(b"x-key") == b's3"cr&t'
    assert base64.b64decode((changed.get(b"authorization") or b"")[6:]) == b'me:s3"cr&t'
    assert body == b'{"k": "s3\\"cr&t"}'
    form = substitute(
        head(b"Content-Type: application/x-www-form-urlencoded"), b"k=%24%24SECRET%5BKEY%5D%24%24", VALUE
    )
    assert form[1] == b"k=s3%22cr%26t"
    assert substitute(head(), b"<$$SECRET[KEY]$$>", VALUE)[1] == b'<s3"cr&t>'


def test_a_value_of_several_lines_cannot_make_headers():
    with pytest.raises(Malformed):
        substitute(parse(b"GET / HTTP/1.1\r\nX: $$SECRET[LINES]$$\r\n\r\n"), b"", VALUE)


def test_the_server_gets_one_request_for_the_host_that_was_decided_on():
    sent = forward(
        head(b"Connection: keep-alive", b"Content-Length: 9", b"Expect: 100-continue"), b"/x", b"real:8", 3
    )

    assert sent.startswith(b"POST /x HTTP/1.1\r\nHost: real:8\r\n")
    assert sent.count(b"Host:") == 1
    assert b"Connection: close\r\nContent-Length: 3\r\n\r\n" in sent
    assert b"Proxy-Connection" not in sent
    assert b"Expect" not in sent


def test_an_upgrade_stays_one():
    sent = forward(head(b"Connection: Upgrade", b"Upgrade: websocket"), b"/", b"h", None)

    assert b"Connection: Upgrade\r\nUpgrade: websocket" in sent


@pytest.mark.parametrize(
    "lines",
    [
        [b"Content-Length: 1", b"Content-Length: 2"],
        [b"Content-Length: 1", b"Transfer-Encoding: chunked"],
        [b"Content-Length: +1"],
        [b"Content-Length: x"],
    ],
)
def test_a_body_of_doubtful_length_is_refused(lines):
    with pytest.raises(Malformed):
        _ = head(*lines).length


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/2\r\n\r\n",
        b"G(T / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused(raw):
    with pytest.raises(Malformed):
        parse(raw)


@given(st.binary(max_size=200))
def test_random_bytes_are_a_request_or_malformed(raw):
    try:
        found = parse(raw + b"\r\n\r\n")
        placeholders(found, raw)
        _ = found.length
    except Malformed:
        return
