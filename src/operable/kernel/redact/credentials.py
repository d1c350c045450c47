"""The secrets in files of credentials: logins of agents, keys of cloud accounts, tokens, private keys.

A variable such as GOOGLE_APPLICATION_CREDENTIALS holds the path of a secret, and agents keep their logins in files. A
caller that starts a program that can read such a file reads it first, so that nothing of it comes back in what the
program prints.

`credential_formats` gives names and values. A value counts under the name of a secret, by the shape of a token, in the
userinfo of an address, or if it looks generated: the caller knows that the file is one of credentials. A value that is
base64 of a text counts decoded also (`auth` of Docker, `_password` of npm, keys of Kubernetes); a value that is a file
itself is read as one. A file of one word is a token; private keys count as a whole.
"""

import codecs
import os
import re
import stat
from binascii import Error as Base64Error
from binascii import a2b_base64

from operable.kernel.redact.credential_formats import pairs, words_of
from operable.kernel.redact.names import is_counting_name, is_secret_name, words
from operable.kernel.redact.shapes import has_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = 256 * 1024  # of one file; logins have a few kilobytes. Of a larger one, the beginning is read.
_NESTING = 3  # files inside the values of files: a Secret of Kubernetes has whole configurations
_SHORTEST = 8  # a shorter value under a secret name is a word: `token_type: Bearer`
_SHORTEST_PASSWORD = 4  # `password: hunter2`; shorter ones would shred every text
_GENERATED = 20  # letters and digits, without blanks
_GENERATED_UNREAD = 12  # the same for a word of a line that no format explains
_ADDRESS = re.compile(r"://|^[~./]|@")
_USERINFO = re.compile(r"://([^/\s@\"']++)@")
_REFERENCE = re.compile(r"\$\{?\w+\}?|%\w+%|<[\w -]+>")  # `${NPM_TOKEN}`: the name of a variable
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----\n?|[\s\S]*)"
)
_ONE_WORD = re.compile(r"(?!.*://)[^=\"'<>(){}\[\],;]++=*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{6,}+={0,2}")
_SCHEMES = ("bearer", "basic", "token")
# The last word of a name whose value is the secret itself, whatever it looks like.
_PASSWORDS = frozenset("password passwd passphrase passcode pwd secret token".split())
# What a file has under such a name and is not one.
_SETTINGS = frozenset(
    "true false none null required optional prompt keyring keychain default enabled disabled bearer".split()
)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def read_credentials(path: str) -> list[str]:
    """The secrets in a file; none if it is missing, unreadable or not a regular file. Never waits."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return []
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        with open(fd, "rb", closefd=False) as file:
            data = file.read(_LIMIT)
    except OSError:
        return []
    finally:
        os.close(fd)
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    return secrets_of(data.decode(encoding, "replace"))


def secrets_of(text: str) -> list[str]:
    """Every value in it that must not be shown, each once; nothing if the text is not one of credentials."""
    return list(dict.fromkeys(_secrets(text.removeprefix("\ufeff"), _NESTING)))


def _secrets(text: str, nesting: int) -> "Iterator[str]":
    if text.lstrip()[:1] not in ("{", "["):
        if "-----BEGIN" in text and "PRIVATE KEY" in text:
            blocks = _KEY_BLOCK.findall(text)
            yield from blocks
            text = _KEY_BLOCK.sub("", text)
        alone = text.split()
        if len(alone) == 1 and len(alone[0]) >= _SHORTEST and _ONE_WORD.fullmatch(alone[0]):
            yield alone[0]
        # Comments also: an old token in a comment is a token.
        yield from (word for word in words_of(text) if has_shape(word) or _is_generated(word, _GENERATED))
    if "://" in text:
        yield from _of_addresses(text)
    for name, value in pairs(text):
        yield from _of_value(name, value, nesting)


def _of_value(name: str | None, value: str, nesting: int) -> "Iterator[str]":
    scheme, blank, rest = value.partition(" ")
    if blank and scheme.lower() in _SCHEMES:  # of a header
        value = rest
    value = value.strip()
    if _counts(name, value):
        yield value
        yield from _behind_base64(value, nesting)
    elif nesting and ("\n" in value or value[:1] in ("{", "[")):
        yield from _secrets(value, nesting - 1)


def _counts(name: str | None, value: str) -> bool:
    if name is None:
        return has_shape(value) or _is_generated(value, _GENERATED_UNREAD)
    if len(value) < _SHORTEST_PASSWORD or _REFERENCE.fullmatch(value):
        return False
    if has_shape(value):
        return True
    if is_secret_name(name):
        plain = value.isalpha() and value.islower()
        if words(name)[-1:] and words(name)[-1] in _PASSWORDS:
            return value.casefold() not in _SETTINGS and not (plain and len(value) < _SHORTEST)
        return len(value) >= _SHORTEST and not plain and not (value.isdigit() and is_counting_name(name))
    return _is_generated(value, _GENERATED)


def _is_generated(value: str, shortest: int) -> bool:
    return (
        len(value) >= shortest
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not any(map(str.isspace, value))
        and _ADDRESS.search(value) is None
        and _REFERENCE.fullmatch(value) is None
    )


def _of_addresses(text: str) -> "Iterator[str]":
    """The passwords of addresses as they are written and decoded; a user that looks like a token; queries."""
    from urllib.parse import unquote

    from operable.kernel.redact.urls import passwords

    yield from passwords(text)
    for userinfo in _USERINFO.findall(text):
        user, _, password = userinfo.partition(":")
        yield from (form for form in (password, unquote(password)) if len(form) >= _SHORTEST_PASSWORD)
        if has_shape(user) or _is_generated(user, _GENERATED_UNREAD):
            yield user


def _behind_base64(value: str, nesting: int) -> "Iterator[str]":
    """The text that a value is the base64 of, the password in `user:password`, and the secrets of a whole file."""
    if not nesting or not _BASE64.fullmatch(value):
        return
    try:
        data = a2b_base64(value.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(value) % 4))
        plain = data.decode("utf-8")
    except (Base64Error, UnicodeDecodeError, ValueError):
        return
    if len(plain) < _SHORTEST_PASSWORD or not all(char.isprintable() or char in "\r\n\t" for char in plain):
        return
    if "\n" in plain:
        yield from _secrets(plain, nesting - 1)
        return
    yield plain
    password = plain.partition(":")[2]
    if len(password) >= _SHORTEST_PASSWORD:
        yield password
