"""Containers, images and events of a Docker engine, from what its client prints with `--format '{{json .}}'`."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_value
from operable.tool.framework import Change
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

_FORMAT = "--format={{json .}}"
_SECOND = 1_000_000_000
# The containers to change, under a name that no input has.
_CHOSEN = "containers of the plan"


def ps(upstream: Upstream) -> Iterator[Any]:
    names = {"id": "ID", "image": "Image", "command": "Command", "state": "State", "status": "Status"}
    for found in _objects(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        event: dict[str, Any] = {"type": "container"}
        event |= {name: str(found.pop(key, "")) for name, key in names.items()}
        event["created_at"] = found.pop("CreatedAt", "")
        event["names"] = [name for name in found.pop("Names", "").split(",") if name]  # they have no commas
        yield event | {"display": found}


def images(upstream: Upstream) -> Iterator[Any]:
    names = {
        "id": "ID",
        "repository": "Repository",
        "tag": "Tag",
        "digest": "Digest",
        "created_at": "CreatedAt",
    }
    for found in _objects(upstream):
        if isinstance(found, dict):
            event = {name: str(found.pop(key, "")) for name, key in names.items()}
            yield {"type": "image", **event, "display": found}
        else:
            yield found


def inspect(upstream: Upstream) -> Iterator[Any]:
    for found in _objects(upstream):
        if isinstance(found, dict):
            key = str(found.get("Id") or found.get("Name") or found.get("ID") or "")
            yield {"type": "object", "id": key, "object": redact_value(found)}
        else:
            yield found


def events(upstream: Upstream) -> Iterator[Any]:
    """What happens; a cursor is the time of the last event, in nanoseconds, and is not reported again."""
    after = upstream.after
    if after is not None:
        upstream.inputs["since"] = f"{after // _SECOND}.{after % _SECOND:09d}"
    for found in _objects(upstream):
        if not isinstance(found, dict):
            yield found
            continue
        actor = found.get("Actor") or {}
        event = {
            "type": "event",
            "kind": found.get("Type"),
            "action": found.get("Action"),
            "id": actor.get("ID") or found.get("id") or "",
            "attributes": actor.get("Attributes") or {},
            "scope": found.get("scope"),
            "time_ns": found.get("timeNano", 0),
        }
        if after is None or event["time_ns"] > after:
            yield event


def version(upstream: Upstream) -> Iterator[Any]:
    for found in _objects(upstream):
        if isinstance(found, dict):
            yield {"type": "version", "client": found.get("Client"), "server": found.get("Server")}
        else:
            yield found


def plan_containers(upstream: Upstream) -> Iterator[Change]:
    """Each container by its whole id, which is what the second phase names."""
    upstream.words()
    chosen: dict[str, dict[str, Any]] = {}
    for name in upstream.inputs["containers"]:
        found = _inspected(upstream, name)
        if found is None:
            raise Fail("not_found", "OBJECT_NOT_FOUND", f"there is no container {name}", target=name)
        chosen.setdefault(found["Id"], found)
    for key, found in chosen.items():
        state = found.get("State") or {}
        yield Change(
            upstream.command.name,
            str(found.get("Name", "")).removeprefix("/") or key,
            id=key,
            state=state.get("Status"),
            image=(found.get("Config") or {}).get("Image"),
        )
    upstream.inputs[_CHOSEN] = {
        key: str(found.get("Name", "")).removeprefix("/") for key, found in chosen.items()
    }


def change(upstream: Upstream) -> Iterator[Any]:
    """Do it, and report which of them docker says it has done."""
    chosen = upstream.inputs[_CHOSEN]
    upstream.inputs["containers"] = list(chosen)
    done = b"".join(upstream.chunks()).decode("utf-8", "replace").split()
    for key, name in chosen.items():
        if key not in done:
            continue  # docker says why on stderr, and its status is not a success
        found = _inspected(upstream, key)
        state = "removed" if found is None else (found.get("State") or {}).get("Status")
        yield {"type": "container_changed", "id": key, "name": name, "state": state}


def _inspected(upstream: Upstream, name: str) -> dict[str, Any] | None:
    """One container as the engine knows it; Returns None if it does not exist."""
    try:
        raw = upstream.ask(["inspect", "--type=container", _FORMAT, "--", name])
    except Fail as fail:
        if fail.code == "OBJECT_NOT_FOUND":
            return None
        raise
    try:
        found: dict[str, Any] = decode(raw.strip())
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", "docker inspect printed no JSON") from problem
    return found


def _objects(upstream: Upstream) -> Iterator[Any]:
    """The objects, one a line; a warning for any other line."""
    for block in upstream.blocks():
        lines = block.split(b"\n")
        for line in lines:
            if not line.strip():
                continue
            try:
                found = decode(line)
            except ValueError:
                found = None
            if isinstance(found, dict):
                yield found
                continue
            yield upstream.foreign_line(line)
            if line is lines[-1]:
                upstream.cut_off()
