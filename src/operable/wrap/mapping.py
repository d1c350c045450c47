"""From an object that a program printed to an event, by rules that are data (`metadata.operable.parse` of a TOOL.md).

    type: reason                     # the native field that distinguishes objects
    events:
      compiler-message:              # a native type
        event: diagnostic            # becomes this event
        fields: {level: message.level, text: message.message}   # event field <- path into the object
      build-script-executed: null    # known, and not wanted
    end: {type: build-finished, ok: success}    # the program's own end marker, and where it says how it went
    error: {at: error, message: summary, code: code}  # an object with this field is the program's error

With `as: value`, every value, whatever it is, becomes the one event of the command with the value in this field. Without
`as` and `events`, every object becomes the one event of the command with all of its fields. A native field called `type`
is then `native_type`: `type` distinguishes events. An object without any field says nothing and becomes no event: `ip`
prints one in place of each interface that was not asked for.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from operable.wrap.upstream import Upstream

_NONE = object()
# Each unknown type is reported once; further types are not reported.
_UNKNOWN = 100


def mapper(upstream: Upstream, rules: Mapping[str, Any]) -> Callable[[Any], Iterator[Any]]:
    """A function that makes events (none, one, or a warning) of a value that the program printed."""
    field, events = rules.get("type"), rules.get("events")
    end, error = rules.get("end"), rules.get("error")
    whole = rules.get("as")
    only = upstream.command.events[0]["properties"]["type"]["const"]
    unknown: set[str] = set()

    def mapped(value: Any) -> Iterator[Any]:
        if whole is not None:
            yield {"type": only, whole: value}
            return
        if value.__class__ is not dict:
            yield {"type": only, "value": value}
            return
        if error is not None and at(value, error["at"]) not in (_NONE, None):
            upstream.failure = _error(upstream, value, error)
            return
        kind = value.get(field) if field is not None else None
        if end is not None and kind == end["type"]:
            reported = at(value, end["ok"]) if "ok" in end else True
            upstream.complete = reported is True
        if events is None:
            if value:
                yield _whole(only, value)
        elif kind in events:
            if events[kind] is not None:
                yield _chosen(events[kind], value)
        elif (end is None or kind != end["type"]) and str(kind) not in unknown and len(unknown) < _UNKNOWN:
            unknown.add(str(kind))
            from operable.tool.framework import Warn

            message = f"{upstream.plan.bin} printed a {str(kind)[:80]!r}, which is not known"
            yield Warn("UPSTREAM_UNKNOWN_TYPE", message)

    return mapped


def _whole(kind: str, value: dict[str, Any]) -> dict[str, Any]:
    if "type" not in value:
        return {"type": kind, **value}
    event = {"type": kind, "native_type": value["type"], **value}
    event["type"] = kind
    return event


def _chosen(rule: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    fields = rule.get("fields")
    if fields is None:
        return _whole(rule["event"], value)
    event: dict[str, Any] = {"type": rule["event"]}
    for name, path in fields.items():
        found = at(value, path)
        if found is not _NONE:
            event[name] = found
            raw = at(value, f"{path}_b64")
            if raw is not _NONE:
                event[f"{name}_b64"] = raw  # the bytes of a text that is not UTF-8 (`values.decode`)
    return event


def _error(upstream: Upstream, value: Any, rule: Mapping[str, Any]) -> Fail:
    from operable.wrap.endings import known_secrets, shown

    inner = at(value, rule["at"])
    message = inner if isinstance(inner, str) else at(inner, rule.get("message", "message"))
    code = at(inner, rule.get("code", "code"))
    text = (
        shown(message, known_secrets(upstream)) if isinstance(message, str) else "an error without a message"
    )
    details = {} if code is _NONE else {"upstream_code": code}
    program = upstream.plan.bin
    return Fail(
        rule.get("category", "internal"), "UPSTREAM_ERROR", f"{program}: {text}", target=program, **details
    )


def at(value: Any, path: str) -> Any:
    """What is at a path of names and positions (`a.b.0.c`); _NONE where there is nothing."""
    for step in path.split("."):
        if value.__class__ is dict and step in value:
            value = value[step]
        elif value.__class__ is list and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _NONE
    return value
