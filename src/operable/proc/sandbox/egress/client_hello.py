"""The server name in the first messages of TLS (RFC 8446, 4.1.2; RFC 6066, 3), without I/O.

A tunnel is judged by the name in its CONNECT. At a provider that serves many names at one address, the name in TLS decides
who answers; so the proxy compares the two. A server may ask for a second hello (HelloRetryRequest), and OpenSSL then
believes the name in that one: it is compared as well. The proxy reads nothing else of TLS, and nothing that is encrypted.
"""

from operable.proc.sandbox.egress.http import MalformedHttp

HANDSHAKE = 0x16  # the first byte of every TLS connection
# Every kind of record. Go's servers skip an alert before the hello: only a hello may begin what looks like TLS.
RECORDS = frozenset((0x14, 0x15, HANDSHAKE, 0x17, 0x18))
# Post-quantum key shares make hellos of about 1.8 kB; a longer one than this is not an honest one.
LIMIT = 16 * 1024
_ALERT, _CLIENT_HELLO, _SERVER_HELLO = 0x15, 1, b"\x02"
_SERVER_NAME = 0
_HEADER = 5  # of a record
# The random of a server hello that asks for another client hello (RFC 8446, 4.1.3).
_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_BEFORE_RANDOM = 6  # type, length, version


def parse(data: bytes) -> tuple[int, str | None]:
    """(the size of the hello with its records, 0 until it is whole; the server name in it). Raises Malformed if it is not
    a hello, or if more handshake follows in its last record: no client sends that before the server has answered.
    """
    message, at = b"", 0
    while (record := _record(data, at)) is not None:
        message += record
        at += _HEADER + len(record)
        if message[0] != _CLIENT_HELLO:
            raise MalformedHttp("not a client hello")
        wanted = 4 + int.from_bytes(message[1:4])
        if 4 <= len(message) == wanted:
            return at, _server_name(_Fields(message[4:]))
        if len(message) > max(4, wanted):
            raise MalformedHttp("more than a client hello")
    if len(data) > LIMIT:
        raise MalformedHttp("a client hello without an end")
    return 0, None


def _record(data: bytes, at: int) -> bytes | None:
    """The content of the handshake record that begins there; None until it is whole."""
    if at + _HEADER > len(data):
        return None
    size = int.from_bytes(data[at + 3 : at + _HEADER])
    if data[at] != HANDSHAKE or data[at + 1] != 3 or not size:
        raise MalformedHttp("not a TLS handshake")
    end = at + _HEADER + size
    return data[at + _HEADER : end] if end <= len(data) else None


def asks_again(data: bytes) -> bool | None:
    """Whether the server's first words ask for a second hello; None until that is known."""
    message, at = b"", 0
    while at < len(data) and len(message) < _BEFORE_RANDOM + len(_RETRY):
        if data[at] not in (HANDSHAKE, _ALERT):
            return False
        size = int.from_bytes(data[at + 3 : at + _HEADER])
        if data[at] == HANDSHAKE:
            message += data[at + _HEADER : at + _HEADER + size]
        at += _HEADER + size
    random = message[_BEFORE_RANDOM : _BEFORE_RANDOM + len(_RETRY)]
    if len(random) == len(_RETRY) or message[:1] not in (b"", _SERVER_HELLO) or len(data) > LIMIT:
        return message[:1] == _SERVER_HELLO and random == _RETRY
    return None


def other_record(data: bytes) -> int:
    """The size of the record that the data begins with, 0 until it is whole; raises Malformed if it is not one."""
    if data and data[0] not in RECORDS:
        raise MalformedHttp("not a TLS record")
    size = _HEADER + int.from_bytes(data[3:_HEADER])
    return size if len(data) >= size else 0


def _server_name(hello: "_Fields") -> str | None:
    hello.take(2 + 32)  # version, random
    hello.vector(1)  # session id
    hello.vector(2)  # cipher suites
    hello.vector(1)  # compression
    if not hello.left:
        return None
    extensions = _Fields(hello.vector(2))
    name: str | None = None
    while extensions.left:
        kind = int.from_bytes(extensions.take(2))
        content = extensions.vector(2)
        if kind == _SERVER_NAME:
            if name is not None:
                raise MalformedHttp("two server names")
            name = _one_name(_Fields(_Fields(content).vector(2)))
    return name


def _one_name(names: "_Fields") -> str:
    names.take(1)  # the kind of name: host_name is the only one
    name = names.vector(2)
    if names.left or not name.isascii():
        raise MalformedHttp("not one server name")
    return name.decode("ascii")


class _Fields:
    """Bytes that are taken from the front."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def take(self, size: int) -> bytes:
        if len(self.left) < size:
            raise MalformedHttp("a client hello that ends early")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def vector(self, prefix: int) -> bytes:
        return self.take(int.from_bytes(self.take(prefix)))
