"""What `package.json` says, for the wrappers of programs that run its scripts."""

from __future__ import annotations

import json

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_LARGEST = 4 * 1024 * 1024


def package(path: str) -> dict[str, Any]:
    """The document; Fail if it cannot be read."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(_LARGEST))
    except FileNotFoundError:
        hint = "go to the folder of the project"
        raise Fail(
            "not_found", "NO_PACKAGE_JSON", "there is no package.json here", hint=hint, target=path
        ) from None
    except (OSError, ValueError) as problem:
        message = f"package.json cannot be read: {problem}"
        raise Fail("validation", "PACKAGE_JSON_INVALID", message, target=path) from None
    if not isinstance(found, dict):
        raise Fail("validation", "PACKAGE_JSON_INVALID", "package.json is not an object", target=path)
    return found


def script_words(upstream: Upstream) -> Iterator[tuple[str, str]]:
    """Each script that would run with its command, those that are named pre and post too; Fail if it does not exist."""
    name = upstream.inputs.get("script", "test")
    scripts = package("package.json").get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    if name not in scripts:
        known = ", ".join(sorted(map(str, scripts))[:10]) or "none"
        message = f"package.json has no script {name[:100]}"
        raise Fail("not_found", "SCRIPT_NOT_FOUND", message, hint=f"there are: {known}", target=name[:100])
    for each in (f"pre{name}", name, f"post{name}"):
        if each in scripts:
            yield each, str(scripts[each])
