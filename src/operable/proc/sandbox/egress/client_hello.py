"""The server name in the first message of TLS (RFC 8446, 4.1.2; RFC 6066, 3), without I/O.

A tunnel is judged by the name in its CONNECT. At a provider that serves many names at one address, the name in TLS decides
who answers; so the proxy compares the two. It reads nothing else of TLS.
"""

from operable.proc.sandbox.egress.http import MalformedHttp

HANDSHAKE = 0x16  # the first byte of every TLS connection
# Post-quantum key shares make hellos of about 1.8 kB; a longer one than this is not an honest one.
LIMIT = 16 * 1024
_CLIENT_HELLO = 1
_SERVER_NAME = 0


def parse(data: bytes) -> tuple[bool, str | None]:
    """(whether the hello is whole, the server name in it); raises Malformed if it is not a hello."""
    message = b""
    at = 0
    while at + 5 <= len(data):
        size = int.from_bytes(data[at + 3 : at + 5])
        if data[at] != HANDSHAKE or data[at + 1] != 3 or not size:
            raise MalformedHttp("not a TLS handshake")
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
    if message and message[0] != _CLIENT_HELLO:
        raise MalformedHttp("not a client hello")
    if len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4]):
        if len(data) > LIMIT:
            raise MalformedHttp("a client hello without an end")
        return False, None
    return True, _server_name(_Fields(message[4 : 4 + int.from_bytes(message[1:4])]))


def _server_name(hello: "_Fields") -> str | None:
    hello.take(2 + 32)  # version, random
    hello.vector(1)  # session id
    hello.vector(2)  # cipher suites
    hello.vector(1)  # compression
    if not hello.left:
        return None
    extensions = _Fields(hello.vector(2))
    while extensions.left:
        kind = int.from_bytes(extensions.take(2))
        content = extensions.vector(2)
        if kind == _SERVER_NAME:
            names = _Fields(_Fields(content).vector(2))
            names.take(1)  # the kind of name: host_name is the only one
            name = names.vector(2)
            if names.left or not name.isascii():
                raise MalformedHttp("not one server name")
            return name.decode("ascii")
    return None


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
