"""A secret written into the manifest.

Manifests are stored, compiled, applied and shown; a secret in one is a secret no more. Found by look (issued tokens,
private keys, passwords in addresses) and by place (variables, options and members whose name says that their value is
secret). What was found is never repeated.
"""

import re
from collections.abc import Iterator
from typing import Any

from operable.flow.manifest.lint import Lint, Sighting
from operable.kernel.redact import redact_argv, redact_url
from operable.kernel.redact.shapes import has_shape

_NAMES = re.compile(
    r"(?:secret|passw(?:or)?d|passphrase|token|api_?key|private_?key|access_?key|credentials?|bearer)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$|\{\{|<[a-z]|env:|file:|https?://", re.IGNORECASE)  # says where the value is
_HINT = 'name where it is kept, for example {"value_from": {"env": "NAME"}} in an identity profile'
_DEPTH = 200


def _look(manifest: Any) -> Iterator[Sighting]:
    yield from _in_value(manifest, "$", "", 0)


def _in_value(value: Any, path: str, name: str, depth: int) -> Iterator[Sighting]:
    if depth > _DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            inner = name if key in ("value_from", "literal") else str(key)
            yield from _in_value(item, f"{path}.{str(key)[:60]}", inner, depth + 1)
    elif isinstance(value, list):
        if name == "args":
            yield from _in_arguments(value, path)
            return
        for index, item in enumerate(value):
            yield from _in_value(item, f"{path}[{index}]", name, depth + 1)
    elif isinstance(value, str):
        what = _looks_secret(value) or (
            _named_secret(name, value) and "is named like a secret and has a value"
        )
        if what:
            yield Sighting(path, what, _HINT)


def _looks_secret(value: str) -> str | None:
    if has_shape(value):
        return "looks like an issued token or a private key"
    if "://" in value and any(redact_url(word) != word for word in value.split() if "@" in word):
        return "is an address with a password in it"
    return None


def _named_secret(name: str, value: str) -> bool:
    bare = name.replace("-", "_")
    return bool(value.strip()) and _NAMES.search(bare) is not None and not _REFERENCE.match(value)


def _in_arguments(arguments: list[Any], path: str) -> Iterator[Sighting]:
    words = [word if isinstance(word, str) else "" for word in arguments]
    masked = redact_argv(["", *words])[1:]
    for index, (word, shown) in enumerate(zip(words, masked, strict=True)):
        what = _looks_secret(word)
        if what is None and word != shown:
            option, equals, value = word.partition("=")
            announced = option if equals else words[index - 1] if index else ""
            header = word.lower().startswith(("authorization:", "cookie:", "x-api-key:"))
            if header or _named_secret(announced, value if equals else word):
                what = "is the value of an option or header that carries a secret"
        if what is not None:
            yield Sighting(f"{path}[{index}]", what, _HINT)


LINT = Lint("error", "no secret is written down", _look)
