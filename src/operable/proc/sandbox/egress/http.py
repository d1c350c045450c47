"""What the egress proxy needs of HTTP/1.1, without I/O: the head of a request, and placeholders in it.

A placeholder is `$$SECRET[NAME]$$`. It is found in header values, in Basic credentials behind their base64, in the target
(also percent-encoded) and in the body (as it stands; escaped for JSON; percent-encoded for forms). Bodies that are
compressed are not looked into: a placeholder in one stays a placeholder.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

_NAME = rb"[A-Za-z0-9_.-]{1,80}"
_PLAIN = re.compile(rb"\$\$SECRET\[(" + _NAME + rb")\]\$\$")
_QUOTED = re.compile(rb"(?i:(?:\$|%24){2}SECRET(?:\[|%5B))(" + _NAME + rb")(?i:(?:\]|%5D)(?:\$|%24){2})")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Between the client and us; what they say about the connection is not for the server.
_HOP = frozenset((b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"trailer", b"expect"))
Value = Callable[[str], str]


class Malformed(ValueError):  # noqa: N818 - reads as a fact where it is caught
    """The client does not speak HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request without its body."""

    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]

    def get(self, name: bytes) -> bytes | None:
        """The value of a header; of several, the last."""
        return next((value for key, value in reversed(self.headers) if key.lower() == name), None)

    @property
    def chunked(self) -> bool:
        return (self.get(b"transfer-encoding") or b"").strip().lower() == b"chunked"

    @property
    def length(self) -> int:
        given = {value.strip() for key, value in self.headers if key.lower() == b"content-length"}
        if len(given) > 1 or (given and self.get(b"transfer-encoding") is not None):
            raise Malformed("two lengths")  # the server might believe the other one
        if not given:
            return 0
        (text,) = given
        if not text.isdigit():
            raise Malformed("a length that is none")
        return int(text)

    @property
    def upgrade(self) -> bool:
        return b"upgrade" in (self.get(b"connection") or b"").lower() and self.get(b"upgrade") is not None


def parse(head: bytes) -> Head:
    """The head up to and with its empty line."""
    lines = head.rstrip(b"\r\n").split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]) or not words[2].startswith(b"HTTP/1."):
        raise Malformed("not a request line")
    headers = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or b"\n" in value or b"\r" in value or b"\0" in value:
            raise Malformed("not a header")
        headers.append((name, value.strip(b" \t")))
    parsed = Head(words[0], words[1], tuple(headers))
    if parsed.get(b"transfer-encoding") is not None and not parsed.chunked:
        raise Malformed("a transfer encoding other than chunked")
    return parsed


def forward(head: Head, target: bytes, authority: bytes, length: int | None) -> bytes:
    """The head as the server gets it: one request on its own connection, for this authority, with this length."""
    lines = [b"%s %s HTTP/1.1" % (head.method, target), b"Host: " + authority]
    dropped = _HOP | {b"host", b"content-length", b"transfer-encoding"}
    if head.upgrade:
        lines += [b"%s: %s" % item for item in head.headers if item[0].lower() not in dropped]
    else:
        lines += [
            b"%s: %s" % item
            for item in head.headers
            if item[0].lower() not in dropped | {b"connection", b"upgrade"}
        ]
        lines.append(b"Connection: close")
    if length is not None:
        lines.append(b"Content-Length: %d" % length)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def placeholders(head: Head, body: bytes) -> set[str]:
    """The names of all secrets that the request asks for."""
    found = {name.decode() for name in _QUOTED.findall(head.target)}
    for name, value in head.headers:
        found |= {each.decode() for each in _PLAIN.findall(_basic(name, value)[0] or value)}
    return found | {name.decode() for name in _QUOTED.findall(body)}


def substitute(head: Head, body: bytes, value: Value) -> tuple[Head, bytes]:
    """The request with every placeholder replaced. Malformed when a value cannot stand where it is asked for."""

    def quoted(found: re.Match[bytes]) -> bytes:
        return quote(value(found[1].decode()), safe="").encode()

    def plain(found: re.Match[bytes]) -> bytes:
        text = value(found[1].decode())
        if any(character in text for character in "\r\n\0"):
            raise Malformed("a secret of several lines cannot stand in a header")
        return text.encode("utf-8")

    headers = []
    for name, given in head.headers:
        inside, prefix = _basic(name, given)
        if inside is None:
            headers.append((name, _PLAIN.sub(plain, given)))
        else:
            headers.append((name, prefix + base64.b64encode(_PLAIN.sub(plain, inside))))
    changed = Head(head.method, _QUOTED.sub(quoted, head.target), tuple(headers))
    kind = (head.get(b"content-type") or b"").lower()
    if b"urlencoded" in kind:
        return changed, _QUOTED.sub(quoted, body)
    if b"json" in kind:
        return changed, _PLAIN.sub(lambda found: json.dumps(value(found[1].decode()))[1:-1].encode(), body)
    return changed, _PLAIN.sub(lambda found: value(found[1].decode()).encode("utf-8"), body)


def _basic(name: bytes, value: bytes) -> tuple[bytes | None, bytes]:
    """(what is behind the base64, the word before it) of Basic credentials; (None, …) for everything else."""
    if name.lower() == b"authorization" and value[:6].lower() == b"basic ":
        try:
            return base64.b64decode(value[6:].strip(), validate=True), value[:6]
        except binascii.Error:
            return None, b""
    return None, b""
