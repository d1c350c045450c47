"""Entries of the journal: `journalctl --output=json`, one object a line.

A value is a text; a list of numbers (the bytes of what is not printable text); a list of these when the entry has the field
several times; or null when it was left out as too long, which `--all` prevents and which is reported if it happens.
"""

from __future__ import annotations

import os

from operable.wrap.fields import base64, put
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# Journal field -> field of the event, for what nearly every reader looks at.
_TEXTS = {
    "_BOOT_ID": "boot_id",
    "_HOSTNAME": "hostname",
    "_SYSTEMD_UNIT": "unit",
    "SYSLOG_IDENTIFIER": "identifier",
    "MESSAGE": "message",
}
_NUMBERS = {
    "__REALTIME_TIMESTAMP": "realtime_us",
    "__MONOTONIC_TIMESTAMP": "monotonic_us",
    "PRIORITY": "priority",
    "_PID": "pid",
}


def entries(upstream: Upstream) -> Iterator[Any]:
    if upstream.after is not None:
        upstream.inputs["after_cursor"] = upstream.after
    yield from _read(upstream)
    end = upstream.end
    if upstream.inputs.get("grep") and end is not None and end.status == 1 and not end.stderr.text().strip():
        # It found nothing, which it reports as an error without a message.
        exits = {**upstream.command.exits, 1: {"ok": True, "word": "no_match"}}
        upstream.command = upstream.command.replace(exits=exits)


def follow(upstream: Upstream) -> Iterator[Any]:
    if upstream.after is not None:
        upstream.inputs["after_cursor"] = upstream.after
    if upstream.inputs.get("after_cursor") is not None:
        upstream.inputs["lines"] = "all"  # everything that came since, whatever their number
    # A name without a folder it does not follow: it prints nothing, and calls that a success.
    upstream.inputs["file"] = [os.path.abspath(path) for path in upstream.inputs["file"]]
    yield from _read(upstream)


def _read(upstream: Upstream) -> Iterator[Any]:
    for block in upstream.blocks():
        rows: list[dict[str, Any]] = []
        for line in block.split(b"\n"):
            if not line:
                continue
            try:
                rows.append(_entry(decode(line)))
            except (ValueError, TypeError, AttributeError, KeyError):
                yield from _given(rows)
                rows = []
                yield upstream.foreign_line(line)
                if not block.endswith(b"\n"):
                    upstream.cut_off()
        yield from _given(rows)


def _given(rows: list[dict[str, Any]]) -> Iterator[Any]:
    if rows:
        yield rows


def _entry(native: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "entry", "cursor": native.pop("__CURSOR")}
    for name, field in _NUMBERS.items():
        value = native.get(name)
        if isinstance(value, str) and value.isdecimal() and value.isascii():
            event[field] = int(native.pop(name))
    for name, field in _TEXTS.items():
        value = native.get(name)
        if isinstance(value, str):
            event[field] = native.pop(name)
        elif _is_bytes(value):
            put(event, field, bytes(native.pop(name)))
    event["fields"] = _fields(native, event)
    return event


def _fields(native: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """Everything else, under the journal's own names."""
    fields: dict[str, Any] = {}
    for name in sorted(native):
        value = native[name]
        if isinstance(value, str):
            fields[name] = value
        elif value is None:
            event.setdefault("omitted", []).append(name)
        elif _is_bytes(value):
            put(fields, name, bytes(value))
        else:
            raws = [bytes(item) if isinstance(item, list) else item.encode("utf-8") for item in value]
            fields[name] = [raw.decode("utf-8", "replace") for raw in raws]
            if any(text.encode("utf-8") != raw for text, raw in zip(fields[name], raws, strict=True)):
                fields[f"{name}_b64"] = [base64(raw) for raw in raws]
    return fields


def _is_bytes(value: Any) -> bool:
    """A list of numbers is one value that is not text; a list of anything else is several values."""
    return isinstance(value, list) and all(isinstance(item, int) for item in value)
