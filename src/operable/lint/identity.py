"""What an event calls the resource that it is about: its id, path or address."""

from __future__ import annotations

from typing import Any

_NAMES = ("id", "path", "url", "uri", "key", "slug", "uuid", "ref", "sha", "digest", "address", "file", "dir")


def identity(event: dict[str, Any]) -> str | None:
    """What an event calls the resource: by its id, if it has one."""
    names = identities(event)
    return names.get("id") or next(iter(names.values()), None)


def identities(event: dict[str, Any]) -> dict[str, str]:
    """Everything in an event that may name the resource."""
    return {
        name: str(value)
        for name, value in event.items()
        # A number that is called so is a user of Unix; Kubernetes and calendars name their objects by texts.
        if (
            name in _NAMES
            or name == event.get("type")  # {"type": "unit", "unit": "doze.service"}
            or name.endswith(("_id", "_path", "_url", "_key", "_ref"))
            or (name, type(value)) == ("uid", str)
        )
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and value != ""
    }
