"""The HTTP/1.1 grammar of the egress proxy, without I/O: heads, authorities and chunks, strictly by RFC 9112.

What two parsers could read in two ways is Malformed: a bare CR or LF, folded lines, control bytes, a second Host or length,
a length beside chunks, a chunk extension. So the server reads exactly the request that the rules judged. The head that the
server gets is rewritten by `RequestHead.encode`; only names and values that passed the grammar are in it.

h11 does not serve here: it accepts bare LF, folded lines, a length beside chunks and equal lengths twice, and joins what it
read. The tests use it as the second parser (docs/decisions/0023-own-grammar-in-the-egress-proxy.md).
"""

import re
from dataclasses import replace

from operable.kernel.data_class import dataclass
from operable.proc.sandbox.egress.rules import normal

Headers = tuple[tuple[bytes, bytes], ...]

# Servers accept about 100 (Apache, Node: 100 to 2000); each one costs memory here.
_HEADER_COUNT = 200
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Visible ASCII without `#`: RFC 9112 lets no fragment into a target.
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([\x21\x22\x24-\x7e]+) HTTP/1\.([01])")
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: (.*))?")
_NOT_IN_FIELDS = re.compile(rb"[^\t\x20-\x7e\x80-\xff]")
_LENGTH = re.compile(rb"[0-9]{1,15}")  # a petabyte; int() of thousands of digits raises
_ABSOLUTE = re.compile(rb"(?i:http)://([^/?]*)([/?].*)?")
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,254}))(?::([0-9]{1,5}))?")
_CHUNK_LINE = re.compile(rb"[0-9A-Fa-f]{1,8}")
# Between the client and the proxy only (RFC 9110, 7.6.1), or rewritten for the server.
_HOP_BY_HOP = frozenset(
    b"connection proxy-connection keep-alive te trailer transfer-encoding upgrade expect http2-settings".split()
)
_WEBSOCKET = b"websocket"


class MalformedHttp(ValueError):  # noqa: N818 - reads as a fact where it is caught
    """The peer does not speak strict HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Framing:
    """Where a body ends: after `length` bytes, after the last chunk, or (responses only) with the connection."""

    length: int | None = None
    chunked: bool = False

    @property
    def empty(self) -> bool:
        return self.length == 0 and not self.chunked


NO_BODY = Framing(length=0)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A request without its body."""

    method: bytes
    target: bytes
    headers: Headers
    framing: Framing = NO_BODY
    minor: int = 1  # of the version 1.x

    def get(self, name: bytes) -> bytes | None:
        """The first header of this name, which is given in lower case."""
        return next(iter(_all(self.headers, name)), None)

    @property
    def websocket(self) -> bool:
        """Whether the client asks to leave HTTP for WebSocket, the only protocol that it may leave for."""
        asked = [value.lower() for value in _all(self.headers, b"upgrade")]
        return (
            self.method == b"GET"
            and self.minor == 1
            and self.framing.empty
            and asked == [_WEBSOCKET]
            and b"upgrade" in _tokens(self.headers, b"connection")
        )

    def at(self, target: bytes) -> "RequestHead":
        return replace(self, target=target)

    def with_identity(self) -> "RequestHead":
        """The same, asking for an answer that is not compressed, in a WebSocket either."""
        compressing = (b"accept-encoding", b"sec-websocket-extensions")
        kept = tuple(item for item in self.headers if item[0].lower() not in compressing)
        return replace(self, headers=(*kept, (b"Accept-Encoding", b"identity")))

    def encode(self, authority: bytes, framing: Framing) -> bytes:
        """The head as the server gets it: one request on its own connection, for this authority, framed like this."""
        lines = [b"%s %s HTTP/1.1" % (self.method, self.target), b"Host: " + authority]
        lines += [b"%s: %s" % item for item in _end_to_end(self.headers) if item[0].lower() != b"host"]
        if self.websocket:
            lines += [b"Connection: Upgrade", b"Upgrade: websocket"]
        else:
            lines.append(b"Connection: close")
        if framing.chunked:
            lines.append(b"Transfer-Encoding: chunked")
        elif framing.length or self.method in (b"POST", b"PUT", b"PATCH"):
            lines.append(b"Content-Length: %d" % (framing.length or 0))
        return b"\r\n".join(lines) + b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """A response without its body."""

    status: int
    reason: bytes
    headers: Headers
    framing: Framing

    @property
    def switches(self) -> bool:
        """Whether the server has switched to WebSocket."""
        asked = [value.lower() for value in _all(self.headers, b"upgrade")]
        return (
            self.status == 101
            and asked == [_WEBSOCKET]
            and b"upgrade" in _tokens(self.headers, b"connection")
        )

    def encode(self, framing: Framing) -> bytes:
        """The head as the client gets it; without a length or chunks the body ends with the connection."""
        lines = [b"HTTP/1.1 %d %s" % (self.status, self.reason)]
        lines += [b"%s: %s" % item for item in _end_to_end(self.headers)]
        if self.status == 101:
            lines += [b"Connection: Upgrade", b"Upgrade: websocket"]
        elif self.status >= 200:
            lines.append(b"Connection: close")
        if framing.chunked:
            lines.append(b"Transfer-Encoding: chunked")
        elif framing.length is not None and framing == self.framing:
            # As the server said it: the response to HEAD and 304 give the length of a body that does not follow.
            lines += [b"Content-Length: " + value for value in _all(self.headers, b"content-length")[:1]]
        return b"\r\n".join(lines) + b"\r\n\r\n"


def parse_request(raw: bytes) -> RequestHead:
    """Read a head up to and with its empty line; raises Malformed."""
    lines = _lines(raw)
    line = _REQUEST_LINE.fullmatch(lines[0])
    if line is None:
        raise MalformedHttp("not a request line")
    headers, minor = _fields(lines[1:]), int(line[3])
    hosts = _all(headers, b"host")
    if len(hosts) > 1 or (not hosts and minor == 1):
        raise MalformedHttp("not exactly one Host")
    framing = _framing(headers)
    if framing.chunked and minor == 0:
        raise MalformedHttp("chunks in HTTP/1.0")
    if any(value.lower() != b"100-continue" for value in _all(headers, b"expect")):
        raise MalformedHttp("an unknown expectation")
    return RequestHead(line[1], line[2], headers, framing if framing != Framing() else NO_BODY, minor)


def parse_response(raw: bytes, method: bytes) -> ResponseHead:
    """Read the head of the response to a request of this method; raises Malformed."""
    lines = _lines(raw)
    line = _STATUS_LINE.fullmatch(lines[0])
    if line is None or _NOT_IN_FIELDS.search(lines[0]):
        raise MalformedHttp("not a status line")
    headers, status = _fields(lines[1:]), int(line[1])
    framing = _framing(headers)
    if method == b"HEAD" or status < 200 or status in (204, 304):
        framing = NO_BODY
    return ResponseHead(status, line[2] or b"", headers, framing)


def split_absolute(target: bytes) -> tuple[bytes, bytes] | None:
    """(authority, path with query) of an `http:` target; None: another form or scheme."""
    match = _ABSOLUTE.fullmatch(target)
    if match is None:
        return None
    rest = match[2] or b"/"
    return match[1], rest if rest.startswith(b"/") else b"/" + rest


def parse_authority(text: bytes, standard: int | None) -> tuple[str, int]:
    """(host, port) of `host:port`; without a port, the standard one. Raises Malformed; user names are not accepted."""
    match = _AUTHORITY.fullmatch(text.decode("latin-1"))
    if match is None or (match[1] is not None and ":" not in match[1]):
        raise MalformedHttp("not a host with a port")
    host = normal(match[1] or match[2])
    port = standard if match[3] is None else int(match[3])
    if not host or port is None or not 0 < port < 65536:
        raise MalformedHttp("not a host with a port")
    return host, port


def parse_chunk_size(line: bytes) -> int:
    """The size of a chunk from its line without CRLF. Extensions are not accepted: no known client sends one."""
    if _CHUNK_LINE.fullmatch(line) is None:
        raise MalformedHttp("not the size of a chunk")
    return int(line, 16)


def encode_chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def _lines(raw: bytes) -> list[bytes]:
    if not raw.endswith(b"\r\n\r\n"):
        raise MalformedHttp("not a whole head")
    return raw[:-4].split(b"\r\n")


def _fields(lines: list[bytes]) -> Headers:
    if len(lines) > _HEADER_COUNT:
        raise MalformedHttp("too many headers")
    headers = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or _NOT_IN_FIELDS.search(value):
            raise MalformedHttp("not a header")
        headers.append((name, value.strip(b" \t")))
    return tuple(headers)


def _framing(headers: Headers) -> Framing:
    """What the headers say about the end of the body; Malformed if two readers could disagree."""
    lengths, encodings = _all(headers, b"content-length"), _all(headers, b"transfer-encoding")
    if len(lengths) + len(encodings) > 1:
        raise MalformedHttp("two statements of the length")
    if encodings:
        if encodings[0].lower() != b"chunked":
            raise MalformedHttp("a transfer encoding other than chunked")
        return Framing(chunked=True)
    if lengths:
        if _LENGTH.fullmatch(lengths[0]) is None:
            raise MalformedHttp("not a length")
        return Framing(length=int(lengths[0]))
    return Framing()


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _tokens(headers: Headers, name: bytes) -> set[bytes]:
    return {word.strip().lower() for value in _all(headers, name) for word in value.split(b",")}


def _end_to_end(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers that go on: not those of this connection, nor those that its Connection header names."""
    dropped = _HOP_BY_HOP | _tokens(headers, b"connection") | {b"content-length"}
    return [
        item
        for item in headers
        if (name := item[0].lower()) not in dropped and not name.startswith(b"proxy-")
    ]
