import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.client_hello import LIMIT, asks_again, other_record, parse
from operable.proc.sandbox.egress.http import MalformedHttp


def hello(name: str | None) -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    sent = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        session.do_handshake()
    return sent.read()


def test_the_name_is_read_from_a_hello_of_openssl():
    named, nameless = hello("www.example.com"), hello(None)
    assert parse(named) == (len(named), "www.example.com")
    assert parse(nameless + named) == (len(nameless), None)


def test_a_part_of_a_hello_is_not_judged_yet():
    whole = hello("www.example.com")
    assert all(parse(whole[:size]) == (0, None) for size in range(len(whole)))


def test_a_hello_in_many_records_is_read_as_one():
    message = hello("www.example.com")[5:]
    records = b"".join(
        b"\x16\x03\x01" + len(part).to_bytes(2) + part
        for part in (message[at : at + 7] for at in range(0, len(message), 7))
    )
    assert parse(records) == (len(records), "www.example.com")


def extended(*extensions: bytes) -> bytes:
    """A hello of our own with these extensions."""
    inside = b"".join(extensions)
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + len(inside).to_bytes(2) + inside
    message = b"\x01" + len(body).to_bytes(3) + body
    return b"\x16\x03\x01" + len(message).to_bytes(2) + message


def server_name(name: bytes) -> bytes:
    entry = b"\0" + len(name).to_bytes(2) + name
    return b"\0\0" + (len(entry) + 2).to_bytes(2) + len(entry).to_bytes(2) + entry


def test_two_names_or_more_handshake_in_the_record_of_a_hello_are_refused():
    once = extended(server_name(b"a.example"))
    assert parse(once) == (len(once), "a.example")
    more = bytearray(once + b"\x14\0\0\0")
    more[3:5] = (len(more) - 5).to_bytes(2)
    for data in (extended(server_name(b"a.example"), server_name(b"b.example")), bytes(more)):
        with pytest.raises(MalformedHttp):
            parse(data)


RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
CHANGE = bytes.fromhex("140303000101")
ALERT = bytes.fromhex("15030300020170")  # unrecognized_name, a warning


def test_a_server_that_asks_for_another_hello_is_recognised_however_its_words_are_cut():
    for random, expected in ((RETRY, True), (bytes(32), False)):
        message = b"\x02\0\0\x48\x03\x03" + random + bytes(38)
        whole = b"\x16\x03\x03" + len(message).to_bytes(2) + message
        cut = b"".join(b"\x16\x03\x03\0\x01" + message[at : at + 1] for at in range(len(message)))
        assert [asks_again(words) for words in (whole, ALERT + whole, cut, whole + CHANGE)] == [expected] * 4
        assert {asks_again(whole[:size]) for size in range(5 + 6 + 32)} == {None}
    assert asks_again(b"SSH-2.0-x") is False
    assert asks_again(b"\x16\x03\x03\0\x04\x0b\0\0\0") is False


def test_a_record_before_a_second_hello_is_taken_whole_or_not_yet():
    assert [other_record(ALERT[:size]) for size in range(len(ALERT) + 1)] == [*[0] * len(ALERT), len(ALERT)]
    with pytest.raises(MalformedHttp):
        other_record(b"G")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x00\x00",
        b"\x16\x02\x01\x00\x05aaaaa",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01a",
        b"\x16\x03\x01\xff\xff\x01\xff\xff\xff" + b"a" * LIMIT,
    ],
)
def test_what_only_starts_like_tls_is_refused(data):
    with pytest.raises(MalformedHttp):
        parse(data)


@given(st.binary(max_size=300).map(lambda rest: b"\x16\x03\x01" + rest))
def test_random_bytes_are_a_hello_or_malformed(data):
    try:
        parse(data)
    except MalformedHttp:
        return
