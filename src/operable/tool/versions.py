"""Schema versions: which ones a tool speaks, and which one a caller gets."""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from operable.tool.declare import Tool


def supported(tool: Tool) -> list[str]:
    """Every version, oldest first."""
    return sorted({*tool.older, tool.schema_version}, key=_order)


def choose(tool: Tool, wanted: str) -> str:
    """The newest version that a wanted one (`2`, `2.1` or `2.1.0`) names."""
    parts = wanted.split(".")
    matching = [version for version in supported(tool) if version.split(".")[: len(parts)] == parts]
    if not matching:
        raise _unsupported(tool, wanted)
    return matching[-1]


def negotiate(
    tool: Tool, options: dict[str, Any]
) -> tuple[str, Callable[[dict[str, Any]], dict[str, Any] | None] | None]:
    """The version that the options ask for, and what converts present events to it."""
    wanted = options.get("schema-version")
    accepted = options.get("accept-schema")
    if accepted is not None:
        name, at, major = accepted.partition("@")
        if name != tool.schema_name or not at or not major:
            raise _unsupported(tool, accepted)
        if wanted is not None and choose(tool, wanted) != choose(tool, major):
            raise Fail(
                "usage",
                "CONFLICTING_OPTIONS",
                "--schema-version and --accept-schema ask for different versions",
            )
        wanted = major
    version = choose(tool, str(wanted))
    return version, tool.older[version][1] if version in tool.older else None


def _order(version: str) -> list[int]:
    return [int(part) if part.isdigit() else -1 for part in version.split(".")]


def _unsupported(tool: Tool, wanted: str) -> Fail:
    known = supported(tool)
    return Fail(
        "usage",
        "UNSUPPORTED_SCHEMA_VERSION",
        f"{tool.name} has no schema {wanted!r}; it supports {tool.schema_name} in {', '.join(known)}",
        hint=f"--schema-version {known[-1]}",
        supported=known,
    )
