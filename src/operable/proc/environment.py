"""The environment of a child is an allow-list: what is not named here or by the caller does not reach it.

A host's environment holds its owner's secrets (cloud keys, tokens of other tools, a debugger's settings). A tool needs a
search path, a home, a locale, a clock zone, a place for temporary files, and what its caller gives it knowingly.
"""

import os
from collections.abc import Iterable, Mapping

from operable.kernel.errors import Fail

# Enough for a program to find its own files and to format text and time; none of them carries a secret by convention.
DEFAULT_ALLOWED = ("PATH", "HOME", "LANG", "LC_*", "TZ", "TMPDIR", "TERM", "USER", "LOGNAME")


def environment(
    extra: Mapping[str, str] | None = None,
    *,
    inherit: Iterable[str] = (),
    source: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The variables a child gets: the default ones and those named in `inherit` from `source`, then `extra` over them.

    `inherit` takes names, or prefixes written `OUTLINE_*`. `source` is the host's own environment unless given.
    """
    ambient = os.environ if source is None else source
    exact: set[str] = set()
    prefixes: list[str] = []
    for name in (*DEFAULT_ALLOWED, *inherit):
        if name.endswith("*"):
            prefixes.append(name[:-1])
        else:
            exact.add(name)
    allowed_prefixes = tuple(prefixes)
    chosen = {
        name: value
        for name, value in ambient.items()
        if name in exact or (allowed_prefixes and name.startswith(allowed_prefixes))
    }
    for name, value in (extra or {}).items():
        if not name or "=" in name or "\0" in name or "\0" in value or not is_encodable(name + value):
            raise Fail(
                "usage",
                "ENVIRONMENT_INVALID",
                f"not a valid environment variable name or value: {name!r}",
                target=name,
            )
        chosen[name] = value
    return chosen


def is_encodable(text: str) -> bool:
    """Whether this can be handed to a program at all: a lone surrogate, as JSON can spell one, has no bytes."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
