"""The framework events of AOI-CLI section 8 and its recommended domain shapes, as types.

Theory of operation. Each type names the fields that the specification or our published schema
(`spec/schemas/aoi-events.schema.json`) knows; whatever else an event carries is kept in `extra`, so that `encode` gives
back all that was read. A field that was absent is `UNSET`, one that was null is `None`; both are false. The types forbid
unknown fields, which lets msgspec decode the common case in one step and refuse the rest; `shape` then builds the event
field by field from its plain JSON.

What counts as malformed: a value of the wrong type in a field that the specification defines (`DEFINED`), and a summary
without `ok`. Other fields are conventions; a value that does not suit one is kept in `extra`, for what the specification
does not define cannot be violated. Null is the same as absent, as in the specification's own `"next_cursor": null`.

Does not know about streams (`operable.wire.aoi`) nor about what is merely advisable (`operable.wire.notes`).
"""

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import FieldInfo, fields

if TYPE_CHECKING:
    Extra: TypeAlias = dict[str, Any]
else:

    class Extra(dict):
        """A plain dict to the reader of an event; a type of its own to msgspec, which therefore refuses to fill it.

        Thus an event with a field that is really called `extra` keeps it as `event.extra["extra"]`.
        """


Text: TypeAlias = str | UnsetType | None
Flag: TypeAlias = bool | UnsetType | None
Count: TypeAlias = int | UnsetType | None
Number: TypeAlias = int | float | UnsetType | None
"""Not `float`, which would turn the 384 of a peer into 384.0."""


class Open(
    Struct,
    tag_field="type",
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    repr_omit_defaults=True,
    forbid_unknown_fields=True,
    gc=False,  # JSON has no cycles
):
    """What all of them share: the optional part of the common envelope (section 8.1) and the unknown rest."""

    timestamp: Text = UNSET
    trace_id: Text = UNSET
    extra: Extra = field(default_factory=dict)


class Meta(Open, frozen=True, tag="aoi:meta"):
    """First event: which tool, command, schema and versions the following events belong to."""

    tool: Text = UNSET
    tool_version: Text = UNSET
    aoi_version: Text = UNSET
    schema_name: Text = UNSET
    schema_version: Text = UNSET
    command: Text = UNSET
    input_mode: Text = UNSET
    continue_on_error: Flag = UNSET
    input_fingerprint: Text = UNSET
    args_redacted: Flag = UNSET
    unbounded: Flag = UNSET
    heartbeat_interval: Number = UNSET
    dry_run: Flag = UNSET
    reduced: Flag = UNSET


class Summary(Open, frozen=True, tag="aoi:summary"):
    """Last event: how the operation ended."""

    ok: bool
    count: Count = UNSET
    warning_count: Count = UNSET
    error_count: Count = UNSET
    partial: Flag = UNSET
    truncated: Flag = UNSET
    next_cursor: Text = UNSET
    reason: Text = UNSET
    elapsed_ms: Number = UNSET
    replayed: Flag = UNSET
    dry_run: Flag = UNSET
    plan_digest: Text = UNSET
    ignored_count: Count = UNSET
    upstream_warning_count: Count = UNSET


class Warning(Open, frozen=True, tag="aoi:warning"):
    """A recoverable issue; the operation goes on."""

    code: Text = UNSET
    message: Text = UNSET
    target: Text = UNSET
    hint: Text = UNSET


class Error(Open, frozen=True, tag="aoi:error"):
    """A failure, of one item or of the whole run."""

    category: Text = UNSET
    code: Text = UNSET
    message: Text = UNSET
    retryable: Flag = UNSET
    target: Text = UNSET
    hint: Text = UNSET
    line_number: Count = UNSET
    retry_after: Number = UNSET


class Heartbeat(Open, frozen=True, tag="aoi:heartbeat"):
    """A quiet stream is alive."""


class Plan(Open, frozen=True, tag="aoi:plan"):
    """One intended side effect."""

    action: Text = UNSET
    target: Text = UNSET


class Check(Open, frozen=True, tag="aoi:check"):
    """The result of one readiness check."""

    name: Text = UNSET
    ok: Flag = UNSET
    severity: Text = UNSET
    detail: Text = UNSET
    hint: Text = UNSET


class Progress(Open, frozen=True, tag="aoi:progress"):
    """How far a long operation is. Never needed for correctness."""

    done: Number = UNSET
    total: Number = UNSET
    message: Text = UNSET
    unit: Text = UNSET


class Entry(Open, frozen=True, tag="entry"):
    """One resource of a listing."""

    id: Text = UNSET
    path: Text = UNSET
    url: Text = UNSET
    title: Text = UNSET


class Hit(Open, frozen=True, tag="hit"):
    """One search result."""

    rank: Count = UNSET
    score: Number = UNSET
    id: Text = UNSET
    path: Text = UNSET
    url: Text = UNSET
    source: Text = UNSET
    title: Text = UNSET
    snippet: Text = UNSET
    text: Text = UNSET


class Match(Open, frozen=True, tag="match"):
    """One exact match inside a source."""

    path: Text = UNSET
    line_number: Count = UNSET
    column: Count = UNSET
    text: Text = UNSET
    submatches: list[Any] | UnsetType | None = UNSET


FrameworkEvent: TypeAlias = Meta | Summary | Warning | Error | Heartbeat | Plan | Check | Progress
Event: TypeAlias = Struct | dict[str, Any]
"""A framework event, one of the caller's types, or the plain JSON of any other event, whose `type` is a string."""

FRAMEWORK: dict[str, type[FrameworkEvent]] = {
    "aoi:meta": Meta,
    "aoi:summary": Summary,
    "aoi:warning": Warning,
    "aoi:error": Error,
    "aoi:heartbeat": Heartbeat,
    "aoi:plan": Plan,
    "aoi:check": Check,
    "aoi:progress": Progress,
}

_ENVELOPE = frozenset({"timestamp", "trace_id"})
DEFINED: dict[type[Struct], frozenset[str]] = {
    Meta: _ENVELOPE
    | {"tool", "tool_version", "aoi_version", "schema_name", "schema_version", "command"}
    | {"input_mode", "continue_on_error", "input_fingerprint", "args_redacted"},
    Summary: _ENVELOPE
    | {"ok", "count", "warning_count", "error_count", "partial", "truncated"}
    | {"next_cursor", "reason", "elapsed_ms"},
    Error: _ENVELOPE | {"category", "code", "message", "retryable", "target", "hint", "line_number"},
    Check: _ENVELOPE | {"name", "ok", "severity", "detail"},
}
"""The fields whose types the specification shows (sections 1.3, 5, 7 to 9, 11, 15 and 19). No other field can be wrong."""


_Event = TypeVar("_Event", bound=Open)


class Malformed(ValueError):  # noqa: N818 - says what is wrong, like the built-in exceptions of its kind
    """The peer's fault: an event does not have the shape that its type demands."""


def shape(kind: type[_Event], values: dict[str, Any]) -> _Event:
    """Build the event of this type from its plain JSON; raises `Malformed`."""
    defined = DEFINED.get(kind, frozenset())
    known = _known_fields(kind)
    suited: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            extra[name] = value
            continue
        try:
            suited[name] = msgspec.convert(value, known[name].type)
        except msgspec.ValidationError as error:
            if name in defined or known[name].required:
                raise Malformed(f"`{name}`: {error}") from error
            extra[name] = value
    missing = [name for name, info in known.items() if info.required and name not in suited]
    if missing:
        raise Malformed(f"`{missing[0]}` is missing")
    extra.pop("type")
    return kind(**suited, extra=extra)


@cache
def _known_fields(kind: type[Open]) -> dict[str, FieldInfo]:
    return {info.name: info for info in fields(kind) if info.name != "extra"}


def plain(event: Event) -> dict[str, Any]:
    """The event as JSON values, as it was sent: `type`, its known fields, then the unknown ones."""
    if isinstance(event, dict):
        return event
    sent: dict[str, Any] = msgspec.to_builtins(event)
    if isinstance(event, Open):
        sent.pop("extra", None)
        for name, value in event.extra.items():
            sent.setdefault(name, value)
    return sent


def encode(event: Event) -> bytes:
    """The JSON of an event on one line, without LF."""
    return msgspec.json.encode(plain(event) if isinstance(event, Open) and event.extra else event)
