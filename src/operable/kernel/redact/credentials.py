"""The secrets in files of credentials: logins of agents, keys of cloud accounts, tokens, private keys.

A variable such as GOOGLE_APPLICATION_CREDENTIALS holds the path of a secret, and agents keep their logins in files. A
caller that starts a program that can read such a file reads it first, so that nothing of it comes back in what the
program prints.

JSON is walked; any other text is read as lines of `name = value` or `name: value`, as in INI, TOML, YAML, .env and netrc
files. A value counts under the name of a secret, by the shape of a token, or if it looks generated: the caller knows that
the file is one of credentials. A file of one word is a token; private keys count as a whole.
"""

import os
import re
import stat
from json import loads

from operable.kernel.redact.names import is_secret_name, words
from operable.kernel.redact.shapes import has_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LIMIT = 256 * 1024  # of one file; logins have a few kilobytes
_SHORTEST = 8  # a shorter value under a secret name is a word: `token_type: Bearer`
_GENERATED = 20  # letters and digits, without blanks
_ADDRESS = re.compile(r"://|^[~./]|@")
_PAIR = re.compile(r"(?:export\s+)?[\"']?([\w.-]+)[\"']?\s*[:=]\s*(.*)")
# What a list below it contains, under whatever name: not `claudeAiOauth`, which also has scopes.
_HOLDERS = frozenset("key keys token tokens secret secrets password passwords".split())
_QUOTES = "\"'"
_NETRC = re.compile(r"\b(?:password|account)\s+(\S+)")


def read_credentials(path: str) -> list[str]:
    """The secrets in a file; none if it is missing, unreadable, too large or not a regular file. Never waits."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return []
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        with open(fd, "rb", closefd=False) as file:
            data = file.read(_LIMIT + 1)
    except OSError:
        return []
    finally:
        os.close(fd)
    return secrets_of(data.decode("utf-8", "replace")) if len(data) <= _LIMIT else []


def secrets_of(text: str) -> list[str]:
    """Every value in it that must not be shown; nothing if the text is not one of credentials."""
    if "PRIVATE KEY" in text and "-----BEGIN" in text and text.lstrip()[:1] != "{":
        return [text]
    if text.lstrip()[:1] in ("{", "["):
        try:
            return list(_of_data(loads(text)))
        except (ValueError, RecursionError):
            pass
    words = text.split()
    if len(words) == 1 and "=" not in text.strip().rstrip("="):
        return words if len(words[0]) >= _SHORTEST else []
    return list(_of_lines(text))


def _of_data(data: "Any") -> "Iterator[str]":
    waiting: list[tuple[str, Any]] = [("", data)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            named = value.get("name", value.get("key"))
            pair = isinstance(named, str) and is_secret_name(named)  # {"name": "API_KEY", "value": "…"}
            for key, item in value.items():
                # {"apiKeys": {"approved": ["…"]}}: a list below the name of a secret.
                below = isinstance(item, list) and not (
                    is_secret_name(key) or _HOLDERS.isdisjoint(words(name))
                )
                waiting.append((str(named) if pair and key == "value" else name if below else key, item))
        elif isinstance(value, list):
            waiting += ((name, item) for item in value)
        elif isinstance(value, str) and _counts(name, value):
            yield value


def _of_lines(text: str) -> "Iterator[str]":
    name, inside = "", False  # of the list that the lines may be items of
    for each in text.splitlines():
        line = each.split(" #")[0].strip()
        if line[:1] == "{" and line[-1:] == "}":  # one object a line
            try:
                yield from _of_data(loads(line))
            except (ValueError, RecursionError):
                pass
            else:
                continue
        item = line.removeprefix("-").lstrip()
        found = _PAIR.match(item)
        if found is not None:
            name, item = found[1], found[2]
            # Its value is on the lines below: `tokens:` in YAML, `tokens = [` in TOML and in JSON with comments.
            inside = not item or (item[0] in "[{" and item[-1] not in "]}")
        elif not (inside and (item is not line or line[:1] in _QUOTES or line[-1:] in ",]}")):
            inside = False
            yield from _NETRC.findall(line)
            continue
        yield from (value for own, value in _items(item) if _counts(own or name, value))


def _items(text: str) -> "Iterator[tuple[str, str]]":
    """The values of a list, or of a table with their names, in one line; or the one value that it is."""
    if not text.startswith(("[", "{")):
        yield "", text.rstrip(",]}").rstrip().strip(_QUOTES)
        return
    for piece in text.strip("[]{}, ").split(","):
        found = _PAIR.match(piece.strip())
        own, value = ("", piece) if found is None else found.groups()
        yield own, value.strip(f"{_QUOTES} []{{}}")


def _counts(name: str, value: str) -> bool:
    if len(value) < _SHORTEST:
        return False
    if is_secret_name(name) or has_shape(value):
        return not (value.isalpha() and value.islower())
    return (
        len(value) >= _GENERATED
        and any(map(str.isdigit, value))
        and any(map(str.isalpha, value))
        and not any(map(str.isspace, value))
        and _ADDRESS.search(value) is None
    )
