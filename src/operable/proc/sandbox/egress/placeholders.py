"""Placeholders of secrets in a request, and values that a response gives back, without I/O.

A placeholder is `$$SECRET[NAME]$$`. It is found in header values, in Basic credentials behind their base64, in the target
(also percent-encoded) and in the body (plain; escaped for JSON; percent-encoded for forms). Compressed bodies are not
looked into: a placeholder in one stays a placeholder.

A server may give back what it got (an echo, a redirect, TRACE). `Mask` puts the placeholder back wherever a value is in
a form in which it was sent. It cannot know a form that the server computes itself.

`Substitutes` says which secrets a session's proxy may put into requests, and where.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from operable.kernel.data_class import dataclass
from operable.proc.sandbox.egress.http import MalformedHttp, RequestHead
from operable.proc.sandbox.egress.rules import Rules

_TLS_PORT = 443  # a declaration that names it does not mean plain HTTP
_NAME = rb"[A-Za-z0-9_.-]{1,80}"
_PLAIN = re.compile(rb"\$\$SECRET\[(" + _NAME + rb")\]\$\$")
_QUOTED = re.compile(rb"(?i:(?:\$|%24){2}SECRET(?:\[|%5B))(" + _NAME + rb")(?i:(?:\]|%5D)(?:\$|%24){2})")
# RFC 9110 allows these in a field value; a value with others could start a header of its own.
_NOT_IN_FIELDS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# Shorter values are in innocent text, and masking them would only damage it.
_SHORTEST = 8
Value = Callable[[str], str]
Placeholder = re.Match[bytes]
LONGEST = len(b"%24%24SECRET%5B%5D%24%24") + 80
_WINDOW = 64 * 1024  # of a body: about ten milliseconds
MOST = 256
"""Placeholders of one request. Each costs time and the size of its value: a body full of them took a host 7 GB."""


# Which secrets a session's proxy may put into requests, and where.
# A secret goes to the hosts that its declaration names, and only inside TLS: every machine on the way can read plain
# HTTP. A declaration that names the port as well (`localhost:8399`) asks for that very service, also without TLS.
@dataclass(frozen=True, slots=True)
class Substitute:
    """A placeholder, the hosts it is for, and how to get its value (asked at each use, in a thread; nothing is kept)."""

    name: str
    hosts: tuple[str, ...]
    reveal: Callable[[], str]


class Substitutes:
    """All substitutes of one session."""

    def __init__(self, given: tuple[Substitute, ...] = ()) -> None:
        self._given = {each.name: (each, Rules(each.hosts)) for each in given}

    def __bool__(self) -> bool:
        return bool(self._given)

    def cover(self, host: str, port: int) -> bool:
        """Whether any secret is for this host."""
        return any(rules.covers(host, port) for _, rules in self._given.values())

    def obstacle(self, name: str, host: str, port: int, *, secure: bool) -> str | None:
        """Why this secret may not go there; None: it may."""
        _, rules = self._given.get(name, (None, None))
        if rules is None or not rules.covers(host, port):
            return "secret-not-for-host"
        return None if secure or (port != _TLS_PORT and rules.names_port(host, port)) else "secret-needs-tls"

    def reveal(self, names: Collection[str]) -> dict[str, str]:
        """Fetch the values; blocks, and raises Fail."""
        return {name: self._given[name][0].reveal() for name in names}


def find_in_head(head: RequestHead) -> list[str]:
    """The name of each placeholder."""
    names = list(_QUOTED.findall(head.target))
    for name, value in head.headers:
        names += _PLAIN.findall(_basic(name, value)[0] or value)
    return [name.decode() for name in names]


def find_in_body(body: bytes) -> Iterator[list[Placeholder]]:
    """The placeholders, one window of the body after the other: a search of the whole would hold other sessions up."""
    at = 0
    while at < len(body):
        end = at + _WINDOW
        found = [
            match for match in _QUOTED.finditer(body, at, end + LONGEST) if match.start() < end
        ]  # of those that begin later, the next window has the whole
        at = max(end, found[-1].end()) if found else end
        yield found


class Substitution:
    """One request with its values put in; `sent` holds every form in which a value left, for the mask.

    `limit` is the size of the body with its values.
    """

    def __init__(self, value: Value, limit: int) -> None:
        self._value = value
        self._limit = limit
        self.sent: dict[bytes, bytes] = {}  # what was sent -> what the client had written

    def apply(
        self, head: RequestHead, body: bytes, found: Sequence[Placeholder]
    ) -> tuple[RequestHead, bytes]:
        """Replace every placeholder, those of the body as they were found; raises Malformed if a value cannot be there."""
        headers = tuple((name, self._header(name, given)) for name, given in head.headers)
        changed = replace(head, target=_QUOTED.sub(self._quoted, head.target), headers=headers)
        kind = (head.get(b"content-type") or b"").lower()
        if b"urlencoded" in kind:
            return changed, self._replaced(body, found, self._quoted)
        plain = [match for match in found if _PLAIN.fullmatch(match[0])]
        return changed, self._replaced(body, plain, self._escaped if b"json" in kind else self._plain)

    def _replaced(
        self, body: bytes, found: Sequence[Placeholder], value: Callable[[Placeholder], bytes]
    ) -> bytes:
        parts: list[bytes | memoryview] = []
        at, size = 0, len(body)
        for match in found:
            changed = value(match)
            parts += [memoryview(body)[at : match.start()], changed]
            at = match.end()
            size += len(changed) - len(match[0])
            if size > self._limit:
                raise MalformedHttp("a body that is too long with its secrets")
        return b"".join((*parts, memoryview(body)[at:])) if parts else body

    def _header(self, name: bytes, given: bytes) -> bytes:
        inside, prefix = _basic(name, given)
        if inside is None:
            return _PLAIN.sub(self._in_header, given)
        changed = _PLAIN.sub(self._in_header, inside)
        if changed == inside:
            return given
        encoded = base64.b64encode(changed)
        self.sent[encoded] = base64.b64encode(inside)
        return prefix + encoded

    def _in_header(self, match: Placeholder) -> bytes:
        if _NOT_IN_FIELDS.search(self._value(match[1].decode())):
            raise MalformedHttp("a secret with control characters cannot be in a header")
        return self._plain(match)

    def _plain(self, match: Placeholder) -> bytes:
        return self._note(match, self._value(match[1].decode()).encode())

    def _quoted(self, match: Placeholder) -> bytes:
        return self._note(match, quote(self._value(match[1].decode()), safe="").encode())

    def _escaped(self, match: Placeholder) -> bytes:
        return self._note(match, json.dumps(self._value(match[1].decode()))[1:-1].encode())

    def _note(self, match: Placeholder, sent: bytes) -> bytes:
        name = match[1].decode()
        plain, written = self._value(name), b"$$SECRET[%s]$$" % match[1]
        # A server echoes JSON as a form, or a form as JSON: every form of a value that left is known.
        for form in (plain, json.dumps(plain)[1:-1], quote(plain, safe="")):
            self.sent.setdefault(form.encode(), written)
        return sent


class Mask:
    """Puts placeholders back into a stream of bytes, however it is cut."""

    def __init__(self, sent: dict[bytes, bytes]) -> None:
        self._sent = {value: written for value, written in sent.items() if len(value) >= _SHORTEST}
        longest_first = sorted(self._sent, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(re.escape(value) for value in longest_first) or b"(?!)")
        self._held = b""

    def __bool__(self) -> bool:
        return bool(self._sent)

    def same_length(self) -> "Mask":
        """The same values, masked with as many stars: the frames of a WebSocket say their length."""
        return Mask({value: b"*" * len(value) for value in self._sent})

    def mask(self, data: bytes) -> bytes:
        return self._pattern.sub(lambda match: self._sent[match[0]], data)

    def feed(self, data: bytes) -> bytes:
        """What may go on; the start of a value at the end is held until more is known."""
        whole = self.mask(self._held + data)
        keep = max((_overlap(whole, value) for value in self._sent), default=0)
        self._held = whole[len(whole) - keep :]
        return whole[: len(whole) - keep]

    def end(self) -> bytes:
        held, self._held = self._held, b""
        return held


def _overlap(data: bytes, value: bytes) -> int:
    """The length of the longest end of the data that is a start of the value."""
    return next(
        (size for size in range(min(len(data), len(value) - 1), 0, -1) if data.endswith(value[:size])), 0
    )


def _basic(name: bytes, value: bytes) -> tuple[bytes | None, bytes]:
    """(what is behind the base64, the word before it) of Basic credentials; (None, …) for everything else."""
    if name.lower() == b"authorization" and value[:6].lower() == b"basic ":
        try:
            return base64.b64decode(value[6:].strip(), validate=True), value[:6]
        except binascii.Error:
            return None, b""
    return None, b""
