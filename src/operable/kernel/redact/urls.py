"""Addresses without their secrets: userinfo, query keys, signatures (SAS, AWS, Google), fragments, matrix parameters.

Cuts by hand instead of parsing, because what is in logs is often no valid URL and a redactor may not refuse it. Keys
and their order stay; only values go. Works with or without a scheme (`/cb?code=…` of an access log).
"""

import re

from operable.kernel.redact.names import MASK, is_counting_name, is_secret_name
from operable.kernel.redact.shapes import mask_shapes

# Query keys that carry authority although their name does not say so.
_QUERY_KEYS = frozenset(
    "sig signature code ticket assertion client_assertion samlresponse samlrequest sid jsessionid phpsessid hmac"
    " device_code user_code code_verifier policy".split()
)
# The parts of an Azure shared access signature; two letters are too common to hide unless `sig` is beside them.
_SAS_KEYS = frozenset(
    "sv ss srt sp se st spr sip sr si sdd ses skoid sktid skt ske sks skv saoid suoid scid".split()
)
_SIGNED_PREFIXES = ("x-amz-", "x-goog-", "x-oss-", "x-cos-", "x-ms-")

_SEPARATOR = re.compile(r"(&(?:amp;)?|;(?=[\w.%~\[\]-]{1,64}=))")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z0-9+.-]++:\\?/\\?/")  # `:\/\/` is how some JSON writers spell it


_USERINFO = re.compile(r"//[^/\s:@]*+:([^/\s@]++)@")
_QUERY_PAIR = re.compile(r"[?&;#]([^?&;#\s]++)")
_SHORTEST_PASSWORD = 8  # a shorter value in a query is a word or a number
# A pair of a query, or of JSON, in the value of another query: encoded once or more often.
_ENCODED_PAIR = re.compile(
    r"(?:%(?:25){0,2}(?:3F|26|23|3B)|(?<![\w%.-]))(?P<name>[\w.-]{1,64})%(?:25){0,2}3D"
    r"(?P<value>(?:(?!%(?:25){0,2}(?:26|23|22|7D))[^&\s\"'<>#])+)",
    re.IGNORECASE,
)
_ENCODED_MEMBER = re.compile(
    r"%(?:25){0,2}22(?P<name>[\w.-]{1,64})%(?:25){0,2}22(?:%(?:25){0,2}20|\+)?%(?:25){0,2}3A(?:%(?:25){0,2}20|\+)?%(?:25){0,2}22"
    r"(?P<value>(?:(?!%(?:25){0,2}22)[^&\s\"'<>#])+)",
    re.IGNORECASE,
)
_NESTING = 3  # addresses inside the query of addresses; deeper ones are hidden whole


def redact_url(url: str) -> str:
    """The address with every secret part masked; text that is not an address is returned unchanged."""
    return mask_shapes(_masked(url, _NESTING))


def _masked(url: str, nesting: int) -> str:
    found = _SCHEME.match(url)
    start = found.end() if found else 0
    scheme, rest = url[:start], url[start:]
    if found:
        rest = _without_userinfo(rest)
    rest, hash_mark, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    before_fragment = scheme + _mask_matrix(path, nesting) + question + _mask_pairs(query, nesting)
    return before_fragment + hash_mark + _mask_fragment(fragment, nesting)


def _without_userinfo(rest: str) -> str:
    end = len(rest)
    for mark in "/?#\\":
        at = rest.find(mark, 0, end)
        if at >= 0:
            end = at
    at = rest.rfind("@", 0, end)
    if at < 0 and "@" in rest and _has_password(rest[:end]):
        at = rest.rfind("@")  # a password with a raw slash: `postgres://u:p/w@host`
    return rest if at < 0 else MASK + rest[at:]


def _has_password(authority: str) -> bool:
    """Whether what looks like `host:port` has no port, so that it must be `user:password`."""
    if authority.startswith("["):
        return False
    _, colon, port = authority.rpartition(":")
    return bool(colon) and not port.isdigit() and port != ""


def _mask_matrix(path: str, nesting: int) -> str:
    head, semicolon, parameters = path.partition(";")
    return head + semicolon + _mask_pairs(parameters, nesting) if semicolon else path


def _mask_fragment(fragment: str, nesting: int) -> str:
    """OAuth answers (`#access_token=…`) and routes (`#/callback?code=…`); a plain anchor stays."""
    head, question, query = fragment.partition("?")
    return _mask_pairs(head, nesting) + question + _mask_pairs(query, nesting)


def _mask_pairs(query: str, nesting: int) -> str:
    if "=" not in query:
        return query
    pieces = _SEPARATOR.split(query)
    keys = [_plain_key(piece) for piece in pieces[::2]]
    signed = any(key.lower() == "sig" for key in keys)
    for index, key in enumerate(keys):
        name, equals, value = pieces[2 * index].partition("=")
        if value and is_secret_query_key(key, signed=signed):
            pieces[2 * index] = name + equals + MASK
        elif ":/" in value or ":\\/" in value:
            pieces[2 * index] = name + equals + (_masked(value, nesting - 1) if nesting else MASK)
    return "".join(pieces)


def _plain_key(piece: str) -> str:
    key = piece.partition("=")[0]
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), key) if "%" in key else key


def mask_encoded_pairs(text: str) -> str:
    """Values under secret names in what is percent-encoded: `?next=https%3A%2F%2Fh%2F%3Ftoken%3D…`."""
    for pair in (_ENCODED_PAIR, _ENCODED_MEMBER):
        text = pair.sub(_mask_encoded, text)
    return text


def _mask_encoded(found: re.Match[str]) -> str:
    if not is_secret_query_key(found["name"]) or (
        is_counting_name(found["name"]) and found["value"].isdigit()
    ):
        return found[0]
    return found[0][: found.start("value") - found.start()] + MASK


def passwords(text: str) -> list[str]:
    """The passwords in the addresses of a text, and what is in their queries under the names of secrets."""
    found: list[str] = _USERINFO.findall(text)
    for pair in _QUERY_PAIR.findall(text):
        value = pair.partition("=")[2]
        if len(value) >= _SHORTEST_PASSWORD and value not in redact_url(f"https://host/?{pair}"):
            found.append(value)
    return found


def is_secret_query_key(key: str, *, signed: bool = False) -> bool:
    """Whether the value of this query key is secret; `signed` when a SAS signature is in the same query."""
    lowered = key.lower()
    if lowered in _QUERY_KEYS or lowered.startswith(_SIGNED_PREFIXES) or (signed and lowered in _SAS_KEYS):
        return True
    return is_secret_name(key)
