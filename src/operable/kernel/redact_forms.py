"""The disguises in which a known secret travels: as it is, escaped for JSON, percent-encoded, in base64, in hex.

Base64 has three faces for the same bytes, by where they stand in the stream; the part that depends on the secret alone is
listed for each, so that `Basic base64("user:" + secret)` is caught too. Short forms are left out: a secret of three letters
would shred every text, and hides nothing from a guesser anyway.
"""

from binascii import b2a_base64
from json import dumps
from urllib.parse import quote_from_bytes

from operable.kernel.redact_names import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHORTEST = 4  # of the secret itself
_SHORTEST_DERIVED = 8  # of an encoded part: 6 bytes in base64


def forms(secrets: "Iterable[str]") -> list[str]:
    """Every spelling to look for, longest first, so that a part never spoils the whole."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) >= _SHORTEST:
            found.update(_spellings(secret))
    return sorted((form for form in found if form not in MASK), key=lambda form: (-len(form), form))


def _spellings(secret: str) -> "Iterator[str]":
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield dumps(secret)[1:-1]
    yield dumps(secret, ensure_ascii=False)[1:-1]
    yield dumps(dumps(secret)[1:-1])[1:-1]  # JSON inside JSON
    yield secret.replace("'", "'\\''")  # inside the single quotes of a shell
    for safe in ("", "/", "!'()*"):
        encoded = quote_from_bytes(raw, safe=safe)
        for form in (encoded, encoded.replace("%20", "+")):
            yield form
            yield _lower_escapes(form)
    for derived in (raw.hex(), raw.hex().upper(), *_base64_faces(raw)):
        if len(derived) >= _SHORTEST_DERIVED:
            yield derived


def _base64_faces(raw: bytes) -> "Iterator[str]":
    whole = b2a_base64(raw, newline=False).decode("ascii").rstrip("=")
    yield whole
    yield whole.translate(_URL_SAFE)
    for skipped in range(3):
        part = raw[skipped:]
        face = b2a_base64(part[: len(part) // 3 * 3], newline=False).decode("ascii")
        yield face
        yield face.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _lower_escapes(encoded: str) -> str:
    pieces = encoded.split("%")
    return "%".join([pieces[0], *(piece[:2].lower() + piece[2:] for piece in pieces[1:])])
