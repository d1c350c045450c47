"""The secrets in files of credentials: logins of agents, keys of cloud accounts, tokens, private keys.

A variable such as GOOGLE_APPLICATION_CREDENTIALS holds the path of a secret, and agents keep their logins in files. Who
starts a program that can read such a file reads it first, so that nothing of it comes back in what the program prints.

JSON is walked; any other text is read as lines of `name = value` or `name: value`, as in INI, TOML, YAML, .env and netrc
files. A value counts under the name of a secret, by the shape of a token, or if it looks generated: the caller knows that
the file is one of credentials. A file of one word is a token; private keys count as a whole.
"""

import os
import re
import stat
from json import loads

from operable.kernel.redact.names import is_secret_name
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
            waiting += value.items()
        elif isinstance(value, list):
            waiting += ((name, item) for item in value)
        elif isinstance(value, str) and _counts(name, value):
            yield value


def _of_lines(text: str) -> "Iterator[str]":
    for line in text.splitlines():
        found = _PAIR.match(line.strip())
        if found is not None:
            value = found[2].split(" #")[0].strip().rstrip(",").strip("\"'")
            if _counts(found[1], value):
                yield value
        else:
            yield from _NETRC.findall(line)


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
