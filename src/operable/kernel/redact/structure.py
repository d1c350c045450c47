"""Structured things without their secrets: JSON data, argument vectors, environments, headers.

Structure stays (keys, flags, order, number of words), values go. Redacting twice is redacting once. Nothing here raises on
any input. A boolean or null under a secret name stays: `supports_idempotency_key: true` is not a key.
"""

from operable.kernel.redact.names import HINTS as NAME_HINTS
from operable.kernel.redact.names import (
    MASK,
    PASSWORD_PROGRAMS,
    SAFE_HEADERS,
    as_seen,
    contains_any,
    is_counting_name,
    is_secret_name,
)
from operable.kernel.redact.shapes import HINTS as SHAPE_HINTS
from operable.kernel.redact.urls import redact_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

# Variables that say how a program runs, not what it may do; the value still passes `redact_text`.
_SAFE_VARIABLES = frozenset(
    (
        "PATH HOME USER LOGNAME SHELL PWD OLDPWD LANG LANGUAGE TERM COLORTERM TZ TMPDIR NO_COLOR FORCE_COLOR COLUMNS LINES"
        " EDITOR PAGER CI XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR"
        " PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE VIRTUAL_ENV"
    ).split()
)
_HEADER_FLAGS = ("-H", "--header", "--proxy-header")
_USER_FLAGS = ("-u", "--user", "-U", "--proxy-user")
# `-pSECRET`, `-p SECRET`
_PASSWORD_SWITCH = {
    **dict.fromkeys(("mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "7z", "7za", "7zr"), "-p"),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport"), "-p"),
    **dict.fromkeys(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami"), "-w"),
    **dict.fromkeys(("zip", "unzip"), "-P"),
    "redis-cli": "-a",
}
DEPTH = 100
"""Nesting of JSON values; what is deeper is hidden whole."""


_LINES = frozenset(("command", "commands", "cmd", "command_line", "commandLine", "script", "shell_command"))
_PLACES = ("://", "?", "\\/")  # with a slash: addresses, and paths with a query
_OPTIONS = ("-H", "-u", "--header", *PASSWORD_PROGRAMS)


def redact_env(env: "Mapping[str, str]") -> dict[str, str]:
    """Names stay. Values are masked, except for the few variables that cannot be secret."""
    return {
        name: redact_prose(value) if name in _SAFE_VARIABLES or name.startswith("LC_") else MASK
        for name, value in env.items()
    }


def redact_headers(headers: "Mapping[str, str]") -> dict[str, str]:
    """Names stay. Values are masked, except for the headers that are known to be harmless."""
    return {name: redact_header(name, value) for name, value in headers.items()}


def redact_header(name: str, value: str) -> str:
    return redact_url(redact_prose(value)) if name.strip().lower() in SAFE_HEADERS else MASK


def mask_members(value: "Any", text: "Callable[[str], str]", depth: int = DEPTH) -> "Any":
    """A copy of JSON data: strings under secret names masked, all other strings passed through `text`; keys stay."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, (list, tuple)):
        return [mask_members(item, text, depth - 1) for item in value] if depth else MASK
    if not isinstance(value, dict):
        return value
    if not depth:
        return MASK
    named = value.get("name", value.get("key"))
    secret_pair = isinstance(named, str) and "value" in value and is_secret_name(named)
    return {
        key: _hidden(item, str(key), depth - 1)
        if is_secret_name(str(key)) or (secret_pair and key == "value")
        else _member(str(key), item, text, depth - 1)
        for key, item in value.items()
    }


def _hidden(value: "Any", name: str, depth: int) -> "Any":
    """The same shape with nothing in it."""
    if isinstance(value, dict):
        return {key: _hidden(item, "", depth - 1) for key, item in value.items()} if depth > 0 else MASK
    if isinstance(value, (list, tuple)):
        return [_hidden(item, "", depth - 1) for item in value] if depth > 0 else MASK
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, (int, float)) and is_counting_name(name):
        return value
    if isinstance(value, str) and _is_plain(value, name):
        return value  # `"key": "name"`
    return MASK


def _is_plain(value: str, name: str) -> bool:
    from operable.kernel.redact.plain import is_key_file, is_plain, is_weak

    return is_key_file(value, name) or (is_weak(name, "") and is_plain(value, name, weak=True))


def _member(name: str, value: "Any", text: "Callable[[str], str]", depth: int) -> "Any":
    """A member whose name says what it contains: headers, environment, argument vector."""
    if isinstance(value, dict) and value and all(isinstance(item, str) for item in value.values()):
        if name in ("headers", "request_headers", "response_headers"):
            return redact_headers(value)
        if name in ("env", "environ", "environment"):
            return redact_env(value)
    words = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if words and name in ("argv", "args", "command_line"):
        return [text(word) for word in redact_argv(value)]
    if name in _LINES and (words or isinstance(value, str)):
        from operable.kernel.redact.command_lines import redact_command_line

        masked = [redact_command_line(line, text) for line in ([value] if isinstance(value, str) else value)]
        return masked[0] if isinstance(value, str) else masked
    return mask_members(value, text, depth)


def redact_argv(argv: "Sequence[str]") -> list[str]:
    """The same number of words: flags and variable names stay, what they carry goes."""
    result: list[str] = []
    announced = ""  # the flag whose value is the next word
    program = argv[0].rpartition("/")[2] if argv else ""
    for word in argv:
        if announced and not _is_flag(word):
            result.append(_option_value(announced, word))
            announced = ""
            continue
        masked, announced = _word(word, program)
        result.append(masked)
    return result


def _is_flag(word: str) -> bool:
    """Whether the word after a secret flag is the next flag rather than a secret that begins with a dash."""
    if len(word) == 2 and word[0] == "-" and word[1].isalpha():
        return True
    body = word[2:].partition("=")[0]
    return word == "--" or (
        word.startswith("--") and body.replace("-", "").isalpha() and body.islower() and len(body) < 40
    )


def _word(word: str, program: str) -> tuple[str, str]:
    """The word masked by itself, and the flag it announces a value for ("" when none)."""
    name, equals, value = word.partition("=")
    if word.startswith("-") and len(word) > 1:
        if equals and not any(char.isspace() for char in name):
            return f"{name}={_option_value(name, value)}", ""
        if word in _HEADER_FLAGS or word in _USER_FLAGS:
            return word, word
        if word[:2] in ("-H", "-u", "-U") and not word.startswith("--"):
            return word[:2] + _option_value(word[:2], word[2:]), ""
        if program in _PASSWORD_SWITCH and word.startswith(_PASSWORD_SWITCH[program]):
            return (word[:2] + MASK, "") if len(word) > 2 else (word, "--password")
        return redact_prose(word), word if is_secret_name(word) else ""
    if equals and value and name.replace(".", "_").replace("-", "_").isidentifier() and is_secret_name(name):
        return f"{name}={MASK}", ""
    return redact_url(redact_prose(word)), ""


def _option_value(flag: str, value: str) -> str:
    if not value:
        return value
    if flag in _HEADER_FLAGS:
        name, colon, rest = value.partition(":")
        return f"{name}: {redact_header(name, rest.strip())}" if colon else redact_prose(value)
    if flag in _USER_FLAGS:
        user, colon, _ = value.partition(":")
        return f"{user}:{MASK}" if colon else redact_prose(value)
    if is_secret_name(flag):
        from operable.kernel.redact.plain import is_key_file

        return value if is_key_file(value, flag.lstrip("-")) else MASK
    return _word(value, "")[0]


# Free text without its secrets: messages, logs, config files, shell lines, JSON, YAML, INI and XML as text.
#
# Text with nothing to hide costs a few substring tests, and does not load the rules (`prose_rules`), whose patterns
# take eight milliseconds to compile. The tests here are those in front of the rules: a rule that gets another test
# gets it here as well (a property test compares both).


def redact_prose(text: str) -> str:
    """The text with whatever looks like a secret masked; applying it again changes nothing.

    Invisible characters in a name hide it from the rules, not from a reader: then the text is masked without them.
    """
    masked = _masked_prose(text)
    if text.isascii() or (seen := as_seen(masked)) == masked:
        return masked
    seen_masked = _masked_prose(seen)
    return masked if seen_masked == seen else seen_masked


def _masked_prose(text: str) -> str:
    if not _is_suspect(text):
        return text
    from operable.kernel.redact.prose_rules import mask_prose

    return mask_prose(text)


def _is_suspect(text: str) -> bool:
    lowered = text.lower()
    return (
        contains_any(lowered, NAME_HINTS)
        or contains_any(text, SHAPE_HINTS)
        or ("/" in text and contains_any(text, _PLACES))
        or contains_any(text, _OPTIONS)
        or "basic" in lowered
    )
