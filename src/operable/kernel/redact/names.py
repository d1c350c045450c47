"""Which names announce a secret: flags, variables, keys, headers (AOI-CLI section 11).

A name is cut into words at punctuation and camelCase, and the words are looked at, not the letters: `--api-key`, `apiKey`
and `APIKEY` are secret, `--monkey`, `--keyboard` and `author` are not. Words that have no harmless use inside longer
ones (`password`, `secret`, `token`…) also count as the start or the end of a word, for `PGPASSWORD` and `authtoken`.

Imports nothing, so that the parameter tables of a tool may ask it on the cold-start path. Judges names only, never values.
"""

MASK = "[redacted]"

# The list of section 11 and its common abbreviations; singular, lower case.
_WORDS = frozenset(
    (
        "token secret password passwd passphrase passcode passkey pwd pass key credential cred cookie authorization auth"
        " bearer private jwt otp totp sas"
    ).split()
)
_STARTS = tuple("password passwd passphrase secret credential authorization bearer cookie token".split())
_ENDS = (*_STARTS, "key", "auth", "creds", "pwd", "pass", "jwt", "totp")
# Ordinary words that end or start like a secret.
_HARMLESS = frozenset(
    (
        "monkey donkey turkey hockey jockey whiskey lackey hotkey mickey malarkey flunkey latchkey smokey"
        " bypass compass encompass surpass trespass overpass underpass"
        " secretary secretarial secretariat"
    ).split()
)
_HARMLESS_STARTS = ("tokeniz", "tokenis", "secretar")
# A name that ends so names what went wrong with a secret, and never holds one: `KeyError`, `TokenExpiredException`.
_TROUBLE = frozenset("error errors exception warning failure fault failed".split())
# A number under such a name counts something (`max_tokens: 4096`, `keys: 3`), it is not a secret.
_COUNTING = frozenset(
    (
        "tokens keys cookies credentials secrets pass passes count counts max min limit total num number size length"
        " ttl expires expiry expiration timeout bytes budget used usage index version port age"
    ).split()
)
# Beside such a word a plural counts (`max_tokens`, `num_keys`): there is no secret under that name, whatever its value.
_MEASURING = frozenset("max min limit count total num number size length budget".split())
_PLURALS = frozenset("tokens keys cookies credentials secrets passwords passes".split())
# Every secret name contains one of these: the cheap test before any parsing.
HINTS = (
    "token",
    "secret",
    "pass",
    "pwd",
    "key",
    "cred",
    "cookie",
    "auth",
    "bearer",
    "private",
    "jwt",
    "otp",
    "sas",
)
# Headers whose values are known to be harmless; any other header is custom, and section 11 hides custom headers.
# Programs with a password behind an option of one letter: as a reason to look at a text.
PASSWORD_PROGRAMS = ("mysql", "mariadb", "sshpass", "redis-cli", "mongo", "ldap", "zip -", "7z", " login ")
SAFE_HEADERS = frozenset(
    (
        "accept accept-charset accept-encoding accept-language accept-ranges age allow cache-control connection"
        " content-disposition content-encoding content-language content-length content-range content-type date etag expect"
        " expires host if-match if-modified-since if-none-match if-range if-unmodified-since keep-alive last-modified"
        " max-forwards origin pragma range retry-after server te traceparent trailer transfer-encoding upgrade user-agent"
        " vary via x-request-id x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset ratelimit-limit"
        " ratelimit-remaining ratelimit-reset location referer content-location link"
    ).split()
)
# Soft hyphen, joiners, marks of direction, selectors of variants, tags: they have no width, and are in no usual name.
_INVISIBLE = (
    *((code, code) for code in (0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xE0000, 0xE007F)),
)
_WIDE_OFFSET = 0xFEE0  # from the wide forms of ASCII to ASCII
_seen: "dict[int, int | None]" = {}
_NAME_LIMIT = 256  # a longer "name" is text; looking at its end alone keeps the work bounded


def is_secret_name(name: str) -> bool:
    """Whether a value under this name must not be shown."""
    if not name.isascii():
        name = as_seen(name)
    lowered = name.lower()
    if not contains_any(lowered, HINTS):
        return False
    found = words(name)
    if found and found[-1] in _TROUBLE:
        return False
    secret = [word for word in found if _is_secret_word(word)]
    if secret and not _MEASURING.isdisjoint(found):
        return not _PLURALS.issuperset(secret)
    return bool(secret)


def as_seen(text: str) -> str:
    """The text as a reader sees it: without invisible characters (`pass\u200bword`), wide letters as the usual ones."""
    if text.isascii():
        return text
    if not _seen:
        _seen.update((code, None) for start, end in _INVISIBLE for code in range(start, end + 1))
        _seen.update((code, code - _WIDE_OFFSET) for code in range(0xFF01, 0xFF5F))
    return text.translate(_seen)


def contains_any(text: str, hints: tuple[str, ...]) -> bool:
    """Whether one of the hints is in the text; a plain loop, as `any` costs twice as much on short lines."""
    for hint in hints:  # noqa: SIM110
        if hint in text:
            return True
    return False


def is_counting_name(name: str) -> bool:
    """Whether a plain number under this (secret-looking) name is a quantity."""
    return any(word in _COUNTING for word in words(name))


def words(name: str) -> list[str]:
    """The words of a name in lower case: `X-ApiKey_v2` -> x, api, key, v2; `APIKey` -> api, key."""
    name = name[-_NAME_LIMIT:]
    found: list[str] = []
    start = -1
    for index, char in enumerate(name):
        if not char.isalnum():
            if start >= 0:
                found.append(name[start:index].lower())
            start = -1
        elif start < 0:
            start = index
        elif char.isupper() and _begins_word(name, index):
            found.append(name[start:index].lower())
            start = index
    if start >= 0:
        found.append(name[start:].lower())
    return found


def _begins_word(name: str, index: int) -> bool:
    """Whether the capital at `index` opens a word: after a small letter, or before one (`APIKey`)."""
    if not name[index - 1].isupper():
        return True
    return index + 1 < len(name) and name[index + 1].islower()


def _is_secret_word(word: str) -> bool:
    word = word.rstrip("0123456789")
    singular = word[:-1] if word.endswith("s") and word != "sas" else word
    if word in _WORDS or singular in _WORDS:
        return True
    if word in _HARMLESS or singular in _HARMLESS or word.startswith(_HARMLESS_STARTS):
        return False
    return word.endswith(_ENDS) or singular.endswith(_ENDS) or word.startswith(_STARTS)
