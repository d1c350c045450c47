"""Whether one tool sandbox stays within another: a child may narrow what its bundle allows, never widen it.

Patterns are compared as text: one covers another when it is equal, or when it is a glob that takes in the other, wildcards
included. That is strict on purpose: what cannot be shown to be narrower is treated as wider.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem

# Allow-lists: every entry of the child must be covered by one of the bundle. Hosts and paths differ in what ends a `*`.
_LISTS = (
    (("network", "egress"), "."),
    (("network", "ingress"), "."),
    (("fs", "read"), "/"),
    (("fs", "write"), "/"),
    (("exec", "spawn"), "/"),
    (("env", "pass"), ""),
)

# Stand for wildcards of the narrower pattern; neither can be written in a manifest.
_ANY, _PIECE = "\x01", "\x02"


def widenings(child: ManifestPart, bundle: ManifestPart) -> Iterator[Problem]:
    """Every way in which the child's sandbox allows more than the bundle's."""
    if not isinstance(child.value, dict):
        return
    for path, separator in _LISTS:
        allowed = [text for _, text in bundle.at(*path).texts()]
        if path == ("fs", "read"):  # what may be written may be read
            allowed += [text for _, text in bundle.at("fs", "write").texts()]
        for part, text in child.at(*path).texts():
            if not any(covers(wide, text, separator) for wide in allowed):
                yield _wider(part, f"{'.'.join(path)}: {text[:80]!r}")
    if child.at("exec", "allow").value is True and bundle.at("exec", "allow").value is not True:
        yield _wider(child.at("exec", "allow"), "exec.allow")
    denied = {text for _, text in child.at("fs", "deny").texts()}
    if child.at("fs").present:
        for _, text in bundle.at("fs", "deny").texts():
            if not any(covers(mine, text, "/") for mine in denied):
                yield _wider(child.at("fs", "deny"), f"fs.deny without {text[:80]!r}", near=child.at("fs"))
    fixed = bundle.at("env", "set").value
    for name, part in child.at("env", "set").entries():
        if not isinstance(fixed, dict) or fixed.get(name) != part.value:
            yield _wider(part, f"env.set.{name}")


def covers(wide: str, narrow: str, separator: str) -> bool:
    """Whether everything that the narrow pattern matches is matched by the wide one.

    In paths `*` and `?` stop at a slash and `**` does not; in host names and variables `*` matches anything.
    """
    if wide == narrow:
        return True
    if ".." in narrow.split("/"):
        return False
    # Each wildcard of the narrow pattern becomes a character that only a wildcard of the wide one, and none that matches
    # less, can take in: then whatever it stands for is taken in too.
    crosses = separator != "/"
    reach = narrow.replace("**", _ANY).replace("*", _ANY if crosses else _PIECE).replace("?", _PIECE)
    return _expression(wide, crosses=crosses).fullmatch(reach) is not None


def _expression(pattern: str, *, crosses: bool) -> re.Pattern[str]:
    piece = "." if crosses else f"[^/{_ANY}]"
    words = {"**": ".*", "*": f"{piece}*", "?": f"[^/{_ANY}{_PIECE}]"}
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _wider(part: ManifestPart, what: str, near: ManifestPart | None = None) -> Problem:
    return part.problem(
        "SANDBOX_WIDENED",
        f"the sandbox of this command allows more than its bundle: {what}",
        "a command may narrow the sandbox of its CLI.md, never widen it",
        near=near if not part.present else None,
    )
