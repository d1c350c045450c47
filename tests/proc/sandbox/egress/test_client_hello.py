import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operable.proc.sandbox.egress.client_hello import LIMIT, parse
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
    assert parse(hello("www.example.com")) == (True, "www.example.com")
    assert parse(hello(None)) == (True, None)


def test_a_part_of_a_hello_is_not_judged_yet():
    whole = hello("www.example.com")
    assert all(parse(whole[:size]) == (False, None) for size in range(len(whole)))


def test_a_hello_in_many_records_is_read_as_one():
    message = hello("www.example.com")[5:]
    records = b"".join(
        b"\x16\x03\x01" + len(part).to_bytes(2) + part
        for part in (message[at : at + 7] for at in range(0, len(message), 7))
    )
    assert parse(records) == (True, "www.example.com")


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
