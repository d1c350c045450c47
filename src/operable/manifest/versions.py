"""Versions of installed programs: find one in what a program prints, and judge it by an npm range.

`parse` is an ECMAScript expression, so an ECMAScript engine runs it (regress). An expression that could take exponential
time (a repetition inside a repetition, both without end) is refused, because a manifest is foreign input.
"""

from __future__ import annotations

import re
from typing import Any

# A version is at the beginning of what a program prints; a match is not sought in megabytes.
_SEARCHED = 16_384
_EXPRESSION = 500
# One piece of an expression: an escape, a class of characters, the beginning of a group, or any other character.
_PIECE = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(?P<group>\((?:\?<(?![=!])|(?!\?)))|.", re.DOTALL)


def expression(pattern: str) -> Any:
    """The compiled `parse` of a version_check (a regress.Regex); ValueError says why it cannot be used."""
    import regress

    if len(pattern) > _EXPRESSION:
        raise ValueError(f"the expression is longer than {_EXPRESSION} characters")
    try:
        compiled = regress.Regex(pattern)
    except regress.RegressError as error:
        raise ValueError(f"the expression cannot be read: {error}") from error
    if not _groups(pattern):
        raise ValueError("the expression has no group for the version")
    if _explodes(_tree(pattern), inside=False):
        raise ValueError("the expression repeats a repetition and could run forever")
    return compiled


def find_version(pattern: str, stdout: str, stderr: str = "") -> str | None:
    """The first group that matches in stdout, else in stderr."""
    compiled = expression(pattern)
    for text in (stdout, stderr):
        searched = text[:_SEARCHED].encode("utf-8", "replace")
        found = compiled.find(searched.decode("utf-8"))
        if found is not None:
            # Positions are those of the UTF-8 text.
            groups = (found.group(number) for number in range(1, _groups(pattern) + 1))
            return next(
                (searched[group].decode("utf-8", "replace") for group in groups if group is not None), None
            )
    return None


def check_range(text: str) -> None:
    """ValueError unless the text is an npm range."""
    _npm(text)


def satisfies(version: str, text: str) -> bool:
    """Whether a version, however many numbers it has (`2.43`, `v1.2.3-rc.1`), is in an npm range."""
    import semantic_version  # type: ignore[import-untyped]

    try:
        found = semantic_version.Version.coerce(version.strip().removeprefix("v"))
    except ValueError:
        return False
    return bool(_npm(text).match(found))


def _npm(text: str) -> Any:
    import semantic_version

    # npm also writes a space after the operator (`>= 1.2`), and nothing for "any".
    tidy = re.sub(r"([<>=~^])\s+", r"\1", text.strip()) or "*"
    try:
        return semantic_version.NpmSpec(tidy)
    except ValueError as error:
        raise ValueError(f"{text[:80]!r} is not an npm range such as '>=1.2.0 <2'") from error


def _groups(pattern: str) -> int:
    """How many groups capture."""
    return sum(found["group"] is not None for found in _PIECE.finditer(pattern))


def _tree(pattern: str) -> Any:
    """The expression as Python's `re` reads it: nearly the same language, and the tree can be walked."""
    from re import _parser  # type: ignore[attr-defined, unused-ignore]

    try:
        return _parser.parse(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the expression cannot be examined: {error}") from error


def _explodes(node: Any, *, inside: bool) -> bool:
    """Whether an endless repetition is inside another."""
    from re import _constants  # type: ignore[attr-defined, unused-ignore]

    node = getattr(node, "data", node)
    if not isinstance(node, list | tuple):
        return False
    if (
        isinstance(node, tuple)
        and len(node) == 2
        and node[0] in (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
    ):
        _, most, body = node[1]
        endless = most >= 1000
        return (endless and inside) or _explodes(body, inside=inside or endless)
    return any(_explodes(part, inside=inside) for part in node)
