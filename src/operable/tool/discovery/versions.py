"""Schema versions: which ones a tool speaks, and which one a caller gets."""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.declaration import Declaration

# As much of a wrong version as a person needs to recognise it.
_SHOWN = 80


def supported(tool: Declaration) -> list[str]:
    """Every version, oldest first."""
    return sorted({*tool.older, tool.schema_version}, key=_order)


def negotiate(
    tool: Declaration, options: dict[str, Any]
) -> tuple[str, Callable[[dict[str, Any]], dict[str, Any] | None] | None]:
    """The newest version that all the options allow, and what converts present events to it."""
    allowed = supported(tool)
    wanted, accepted = options.get("schema-version"), options.get("accept-schema")
    if wanted is None and accepted is None:
        allowed = [tool.schema_version]
    if wanted is not None:
        allowed = _matching(tool, wanted, wanted)
    if accepted is not None:
        name, _, major = accepted.rpartition("@")
        acceptable = _matching(tool, major if name == tool.schema_name else "", accepted)
        allowed = [version for version in allowed if version in acceptable]
    if not allowed:
        raise Fail(
            "usage",
            "CONFLICTING_OPTIONS",
            "--schema-version and --accept-schema ask for different versions",
            hint="give one of the two",
        )
    version = allowed[-1]
    return version, tool.older[version][1] if version in tool.older else None


def _matching(tool: Declaration, wanted: str, given: str) -> list[str]:
    """The versions that a wanted one (`2`, `2.1` or `2.1.0`) names."""
    parts = wanted.split(".")
    matching = [version for version in supported(tool) if version.split(".")[: len(parts)] == parts]
    if not matching:
        raise _unsupported(tool, given)
    return matching


def _order(version: str) -> list[int]:
    return [int(part) if part.isdecimal() else -1 for part in version.split(".")]


def _unsupported(tool: Declaration, wanted: str) -> Fail:
    known = supported(tool)
    return Fail(
        "usage",
        "UNSUPPORTED_SCHEMA_VERSION",
        f"{tool.name} has no schema {wanted[:_SHOWN]!r}; it supports {tool.schema_name} in {', '.join(known)}",
        hint=f"--schema-version {known[-1]}",
        supported=known,
    )
