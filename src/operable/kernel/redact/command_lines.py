"""A command line without its secrets, in which everything that it runs stays visible.

Text with a secret is masked to the end of its line, because a passphrase has spaces. In a shell line that would hide what
else runs: `API_TOKEN=x rm -rf .` would be `API_TOKEN=[redacted]`, for the person who approves it and in the audit. Here a
secret ends where the shell ends its word: at a blank, at an operator, at the end of its quotes, or at a substitution, which
is a command and never a secret. Of a private key block only the words that can be a key are masked.

What is a secret is for the caller to say (`operable.kernel.redact.structure.redact_prose`).
"""

import re

from operable.kernel.redact.names import MASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDS = 50  # secrets in one line; behind that many, the rest is masked as text
_STOPS = re.compile(r"[\s;&|<>()`]|\$\(")
_SCHEME = re.compile(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate)[ \t]+", re.IGNORECASE)
_BLOCK = "-----BEGIN "
_KEY_WORD = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=]{16,}")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def redact_command_line(line: str, mask: "Callable[[str], str]") -> str:
    """The line with its secrets masked, each up to the end of its word. `mask` says what is a secret in a text."""
    done: list[str] = []
    for _ in range(_ROUNDS):
        masked = mask(line)
        if masked == line:
            return "".join((*done, line))
        start = _first_difference(line, masked)
        if line.startswith(_BLOCK, start):
            found = _BLOCK_END.search(line, start)
            end = len(line) if found is None else found.end()
            done += [line[:start], _KEY_WORD.sub(MASK, line[start:end])]
        else:
            end = min(_end_of_secret(line, start), _end_as_text(line, masked, start))
            done += [line[:start], MASK if end > start else ""]
        if end == start:
            # A substitution or an empty value: what is behind it is read without the name before it.
            end = min(len(line), start + 1)
            done.append(line[start:end])
        line = line[end:]
    return "".join((*done, mask(line)))


def _first_difference(line: str, masked: str) -> int:
    """Where the first secret begins."""
    at = masked.find(MASK)
    while at != -1 and line.startswith(MASK, at) and masked[:at] == line[:at]:
        at = masked.find(MASK, at + 1)  # it was masked before
    limit = min(len(line), len(masked)) if at == -1 else at
    same = next((place for place in range(limit) if line[place] != masked[place]), limit)
    return min(same, len(line))


def _end_of_secret(line: str, start: int) -> int:
    """Where a secret that begins here ends for a shell."""
    if line[start : start + 1] in ("'", '"'):
        return _end_of_quotes(line, start + 1, line[start])
    quote = _open_quote(line, start)
    is_assigned = line[:start].rstrip("'\"").endswith("=")
    if is_assigned and line[start - 1 : start] in ("'", '"'):
        return _end_of_quotes(line, start, line[start - 1])
    if quote and not is_assigned:
        return _end_of_quotes(line, start, quote)
    scheme = None if is_assigned else _SCHEME.match(line, start)
    found = re.compile(rf"{_STOPS.pattern}|{re.escape(quote)}" if quote else _STOPS.pattern).search(
        line, start if scheme is None else scheme.end()
    )
    return len(line) if found is None else found.start()


def _end_as_text(line: str, masked: str, start: int) -> int:
    """Where the rules for text end the secret: in an address, before its host."""
    kept = masked[start + len(MASK) :].partition(MASK)[0] if masked.startswith(MASK, start) else ""
    found = line.find(kept, start) if kept else -1
    return len(line) if found == -1 else found


def _end_of_quotes(line: str, start: int, quote: str) -> int:
    """Before the closing quote; in double quotes, also before a substitution."""
    stop = re.compile(r"'" if quote == "'" else r'(?<!\\)"|`|\$\(').search(line, start)
    return len(line) if stop is None else stop.start()


def _open_quote(line: str, end: int) -> str:
    """The quote that is open at this place; empty: none is."""
    quote, at = "", 0
    while at < end:
        char = line[at]
        if char == "\\" and quote != "'":
            at += 1
        elif not quote and char in "'\"":
            quote = char
        elif char == quote:
            quote = ""
        at += 1
    return quote
