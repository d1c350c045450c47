"""The spellings in which a known secret travels.

As it is; escaped for JSON (once and twice), for Python, for a shell, for XML; percent-encoded; in hex; in base64.
Base64 has three spellings for the same bytes, by where they are in the stream; the part that depends on the secret alone
is listed for each, so that `Basic base64("user:" + secret)` is found also.

A secret of several lines is also known by each long line, since streams are masked line by line; a secret that is a JSON
object also by its texts, since a program uses those; the base64 of a long secret by each line, as `base64` wraps it. What
escapes single characters is for `encodings`. Not known: base64 that is wrapped elsewhere, compression, encryption, spellings
that a program makes up (reversed, spaced out).
"""

from binascii import b2a_base64
from json import dumps, loads
from urllib.parse import quote_from_bytes

from operable.kernel.redact.names import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHORTEST = 4  # of the secret itself
_SHORTEST_DERIVED = 8  # of an encoded part: 6 bytes in base64
_SHORTEST_PART = 12  # of one line, or of one text of an object: shorter ones are words
_COLUMNS = (76, 64)  # where `base64` and `openssl base64` wrap their lines
_XML = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"))


def plain_forms(secrets: "Iterable[str]") -> set[str]:
    """The spellings that can be behind another encoding: as it is, in hex, in base64."""
    found: set[str] = set()
    for value in _values(secrets):
        found.add(value)
        found.update(_derived(value.encode("utf-8", "surrogatepass")))
    return {form for form in found if form not in MASK}


def forms(secrets: "Iterable[str]") -> list[str]:
    """Every spelling to look for, longest first, so that a part never spoils the whole."""
    found: set[str] = set()
    for value in _values(secrets):
        found.update(_spellings(value))
    return sorted((form for form in found if form not in MASK), key=lambda form: (-len(form), form))


def _values(secrets: "Iterable[str]") -> "Iterator[str]":
    for secret in secrets:
        for value in {secret, secret.strip(), *_parts(secret)}:
            if len(value) >= _SHORTEST:
                yield value


def _parts(secret: str) -> "Iterator[str]":
    if "\n" in secret:
        yield secret.replace("\n", "\r\n")
        for line in secret.splitlines():
            if len(line.strip()) >= _SHORTEST_PART and not line.startswith("-----"):
                yield line.strip()
    if secret.lstrip()[:1] == "{":
        try:
            members = loads(secret)
        except (ValueError, RecursionError):
            return
        for item in members.values():
            if isinstance(item, str) and len(item) >= _SHORTEST_PART:
                yield item


def _spellings(secret: str) -> "Iterator[str]":
    raw = secret.encode("utf-8", "surrogatepass")
    escaped = dumps(secret)[1:-1]
    yield secret
    yield escaped
    yield escaped.replace("/", "\\/")
    yield dumps(secret, ensure_ascii=False)[1:-1]
    yield dumps(escaped)[1:-1]  # JSON inside JSON
    yield repr(secret)[1:-1]
    yield secret.replace("'", "'\\''")  # inside the single quotes of a shell
    yield secret.replace("'", "'\"'\"'")  # the same as Python writes it
    yield from _xml(secret)
    for safe in ("", "/", "!'()*"):
        encoded = quote_from_bytes(raw, safe=safe)
        for form in (encoded, encoded.replace("%20", "+")):
            yield form
            yield _lower_escapes(form)
    yield from _derived(raw)


def _derived(raw: bytes) -> "Iterator[str]":
    for derived in (raw.hex(), raw.hex().upper(), *_base64_spellings(raw)):
        if len(derived) >= _SHORTEST_DERIVED:
            yield derived


def _xml(secret: str) -> "Iterator[str]":
    for plain, entity in _XML:
        secret = secret.replace(plain, entity)
    yield secret
    yield secret.replace("'", "&#39;")
    yield secret.replace("'", "&#x27;")
    yield secret.replace("'", "&apos;")


def _base64_spellings(raw: bytes) -> "Iterator[str]":
    whole = b2a_base64(raw, newline=False).decode("ascii").rstrip("=")
    yield whole
    yield whole.translate(_URL_SAFE)
    for columns in _COLUMNS:
        if len(whole) > columns:
            yield from (whole[at : at + columns] for at in range(0, len(whole), columns))
    for skipped in range(3):
        part = raw[skipped:]
        face = b2a_base64(part[: len(part) // 3 * 3], newline=False).decode("ascii")
        yield face
        yield face.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _lower_escapes(encoded: str) -> str:
    pieces = encoded.split("%")
    return "%".join([pieces[0], *(piece[:2].lower() + piece[2:] for piece in pieces[1:])])
