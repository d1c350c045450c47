"""The formats of credential files: each text becomes pairs of a name and a value. What a value means is for `credentials`.

JSON (also with comments and trailing commas), TOML and YAML go through their parsers. Everything else is read line by
line, as in INI, properties, .env and .npmrc files; netrc and .pgpass have a grammar of their own. Nothing here raises: a
text that its parser refuses is read as lines, and a line that is not understood yields its words under the name `None`.

Not read: XML, binary formats, encrypted files. Their words are what remains of them.
"""

import re
from json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Pair = tuple[str | None, str]

_YAML_LINES = 500  # the parser needs some milliseconds for a line; a login has a few dozen
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*[\]}])')
_PAIR = re.compile(r"(?:export\s+|set\s+)?(?://\S*:)?[\"']?([\w./-]+)[\"']?\s*[:=]\s*(.*)")
# `name = """…"""` over several lines, in whatever format.
_IN_QUOTES = re.compile(
    r"(?<![\w.-])([\w.-]++)[\"']?[ \t]*+[:=][ \t]*+(\"{3}|'{3}|\"|')((?:\\[\s\S]|(?!\2)[^\\])*+)\2"
)
_YAML_NAME = re.compile(r"^[ \t]*+(?:- +)*+[\"']?[\w./ -]+[\"']?:(?:\s|$)", re.MULTILINE)
# A line that `_of_lines` reads as a parser of YAML does: a comment, a name, a plain value, an item of a list.
_SIMPLE = re.compile(
    r"\s*+(?:#.*|---|(?:- +)*+(?:[\w./-]+:(?:\s++[\w+/.$=(-][^:#]*+)?|[\w+/.$=(-][^:#]*+))?\s*+"
)
_NETRC_START = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:machine|default|macdef)\s")
_NETRC_WORD = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"|(\S+)")
_PGPASS = re.compile(r"(?:(?:\\.|[^:\\\s])*+:){4}(?P<password>(?:\\.|[^:\\])+)")
_PGPASS_PORT = re.compile(r"(?:\\.|[^:\\])*+:(?:\d+|\*):")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"|'([^']*+)'")
_WORD = re.compile(r"[^\s\"'`<>(){}\[\],;|]+")
_QUOTES = "\"'"


def pairs(text: str) -> "Iterator[Pair]":
    """Every named value of a text, and the words of what has no name."""
    data = _json(text) if text.lstrip()[:1] in ("{", "[") else None
    if data is not None and _has_repeated_names(text):
        # Readers differ in which of the values they take, so each counts.
        yield from ((match[1], match[3]) for match in _IN_QUOTES.finditer(text))
    if data is None:
        data = _toml(text) or _yaml(text)
    if data:
        yield from _of_data(data)
    elif _NETRC_START.match(text):
        yield from _of_netrc(text)
    else:
        yield from ((match[1], match[3]) for match in _IN_QUOTES.finditer(text) if "\n" in match[3])
        yield from _of_lines(text)


def _json(text: str) -> "Any":
    for each in (text, _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else "", text)):
        try:
            return loads(each)
        except (ValueError, RecursionError):
            continue
    return None


def _has_repeated_names(text: str) -> bool:
    from operable.kernel.json import repeated_names

    try:
        return bool(repeated_names(text))
    except (ValueError, RecursionError):
        return True


def _toml(text: str) -> "Any":
    if "=" not in text:
        return None
    from operable.kernel.toml import parse_toml

    try:
        return parse_toml(text.replace("\r\n", "\n"))
    except ValueError:
        return None


def _yaml(text: str) -> "Any":
    """The data of a text in YAML; None also for one whose lines say the same, or if there is no parser."""
    lines = text.splitlines()
    if len(lines) > _YAML_LINES or not _YAML_NAME.search(text) or all(map(_SIMPLE.fullmatch, lines)):
        return None
    try:
        from ruamel.yaml import YAML
    except ImportError:
        return None
    try:
        # Every scalar stays as it is written: a password of digits is not a number.
        data = list(YAML(typ="base", pure=True).load_all(text))
    except Exception:  # noqa: BLE001 - the scanner raises more than its own errors on hostile input
        return None
    return data if any(isinstance(each, dict | list) for each in data) else None


def _of_data(data: "Any") -> "Iterator[Pair]":
    """The leaves of data under the names that say what they are. Shared parts, as aliases make them, are seen once."""
    waiting: list[tuple[str, Any]] = [("", data)]
    seen: set[tuple[str, int]] = set()
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list):
            if (name, id(value)) in seen:
                continue
            seen.add((name, id(value)))
        if isinstance(value, dict):
            waiting += _named_items(name, value)
        elif isinstance(value, list):
            waiting += ((name, item) for item in value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, str(value)


def _named_items(above: str, members: "dict[Any, Any]") -> "Iterator[tuple[str, Any]]":
    from operable.kernel.redact.names import is_secret_name, words

    named = members.get("name", members.get("key"))
    pair = isinstance(named, str) and is_secret_name(named)  # {"name": "API_KEY", "value": "…"}
    holder = not HOLDERS.isdisjoint(words(above))
    for key, item in members.items():
        own = str(key)
        # {"apiKeys": {"approved": ["…"]}}: a list below the name of a secret.
        below = isinstance(item, list) and holder and not is_secret_name(own)
        yield (str(named) if pair and own == "value" else above if below else own), item
        yield "", own  # a token may also be the name of a member


# What a list below it contains, under whatever name: not `claudeAiOauth`, which also has scopes.
HOLDERS = frozenset("key keys token tokens secret secrets password passwords".split())


def _of_netrc(text: str) -> "Iterator[Pair]":
    """Words, in whatever lines; a value with blanks is in quotes. A comment may contain an old password: it counts."""
    name = ""
    for match in _NETRC_WORD.finditer(text):
        word = match[2] if match[1] is None else re.sub(r"\\(.)", r"\1", match[1])
        if name in ("password", "account"):
            yield "password", word
            name = ""
        else:
            name = word.lstrip("#")
            yield None, word


def _of_lines(text: str) -> "Iterator[Pair]":
    name, inside = "", False  # of the list that the lines may be items of
    for each in text.splitlines():
        line = each.strip()
        if line[:1] == "{" and line[-1:] == "}" and (data := _json(line)) is not None:  # one object a line
            yield from _of_data(data)
            continue
        if _PGPASS_PORT.match(line) and (entry := _PGPASS.fullmatch(line)) is not None:
            password = entry["password"]
            yield from (("password", form) for form in (password, re.sub(r"\\(.)", r"\1", password)))
            continue
        item = line.removeprefix("-").lstrip()
        found = _PAIR.match(item)
        if found is not None and "://" not in item[: found.start(2) + 2]:
            name, item = found[1].rpartition("/")[2], found[2]
            # Its value is on the lines below: `tokens:` in YAML, `tokens = [` in TOML and in JSON with comments.
            bare = item.split(" #")[0].rstrip()
            inside = not bare or (bare[0] in "[{" and bare[-1] not in "]}")
        elif not (inside and (item is not line or line[:1] in _QUOTES or line[-1:] in ",]}")):
            inside = False
            yield from ((None, word) for word in words_of(line))
            continue
        yield from ((own or name, value) for own, value in _items(item))


def _items(text: str) -> "Iterator[tuple[str, str]]":
    """The values of a list, or of a table with their names, in one line; or the one value that it is."""
    quoted = _QUOTED.match(text)
    if quoted is not None:
        yield "", quoted[quoted.lastindex or 1]
        if "\\" in quoted[0] and text[0] == '"' and isinstance(plain := _json(f"[{quoted[0]}]"), list):
            yield "", plain[0]
        return
    text = text.split(" #", maxsplit=1)[0].rstrip()
    if not text.startswith(("[", "{")):
        yield "", text.rstrip(",]}").rstrip().strip(_QUOTES)
        return
    for piece in text.strip("[]{}, ").split(","):
        found = _PAIR.match(piece.strip())
        own, value = ("", piece) if found is None else found.groups()
        yield own, value.strip(f"{_QUOTES} []{{}}")


def words_of(text: str) -> "list[str]":
    """The words of a text between blanks, quotes and brackets; of `name=word` and `name:word` the last part."""
    return [word if "://" in word else _last_part(word) for word in _WORD.findall(text)]


def _last_part(word: str) -> str:
    end = word.rstrip("=")  # padding of base64 belongs to it
    return end[max(end.rfind("="), end.rfind(":")) + 1 :] + word[len(end) :]
