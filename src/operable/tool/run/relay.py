"""For commands that pass on the events of other tools; given to one that has a parameter `relay: Relay`.

Theory of operation. A relay's own meta event waits until the other tool has introduced itself (`introduce`), so that one
event says whose results follow; it goes out before anything else does, whatever that is. Events are passed on as the
lines that came (`lines`): what is not encoded again cannot change, and costs next to nothing. For people they are shown
one by one (`event`). Warnings, errors and results are counted, so that the one summary at the end speaks for them all.

Or the command releases the stream (`take_stdout`), because what it has to write is a whole stream already.
"""

from __future__ import annotations

from operable.kernel.errors import CATEGORIES, Fail
from operable.tool.run.context import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.declare.records import Event
    from operable.tool.emit.outflow import Outflow
    from operable.tool.run.state import RunState


class Relay(Context):
    """A context that can also speak for others. For plain functions: what passes here, a generator does not yield."""

    def __init__(self, run: RunState, outflow: Outflow) -> None:
        super().__init__(run)
        self._outflow = outflow
        self.limit = run.limit()  # how many results may be passed on; None: all
        self.max_bytes: int | None = run.call.options.get("max-bytes")

    def introduce(self, **fields: Any) -> None:
        """Add to our own meta event, which has not been written yet, what the other tool says of itself."""
        self._run.amend_meta(fields)

    def lines(self, data: bytes, *, results: int, warnings: int = 0, errors: int = 0) -> None:
        """Pass on whole lines as they are; machine mode only."""
        emitter = self._run.sink.emitter
        if emitter is None:
            msg = "lines are for machines; show people the events"
            raise TypeError(msg)
        self._run.count += results
        self._run.warnings += warnings
        self._run.errors += errors
        emitter.block(data, results)

    def event(self, event: dict[str, Any], *, source: str, result: bool = True) -> None:
        """Show people one event of `source`, whatever its type and whatever is in it. `result`: it counts."""
        kind = event["type"]
        if kind == "aoi:error":
            self._run.errors += 1
            self._run.sink.error(foreign_error(event, source))
        elif not kind.startswith("aoi:"):
            self._run.count += 1
            self._outflow.repeat({"content": None, **event} if kind == "discovery_document" else event)
        elif (notice := _notice(kind, event)) is not None:
            self._run.count += result and kind == "aoi:plan"
            self._run.notice(notice)

    def result(self, event: Event) -> None:
        """An event of our own, in its place among the others."""
        self._run.count += 1
        self._run.sink.put(self._run.sink.encoder(event.__class__)(event))

    def settle(self) -> None:
        """Let people see what has come so far."""
        self._run.sink.settle()

    def take_stdout(self) -> int:
        """The descriptor of the output, to write a whole stream to; nothing of ours is written from here on."""
        emitter = self._run.sink.emitter
        if emitter is None:
            return 1
        emitter.surrender()
        return emitter.descriptor


def foreign_error(event: dict[str, Any], source: str) -> Fail:
    """The error of another tool as one of ours, as far as people need it."""
    category, code, hint, target = (_text(event, name) for name in ("category", "code", "hint", "target"))
    return Fail(
        category if category in CATEGORIES else "internal",
        code or "UNKNOWN",
        f"{source}: {_text(event, 'message') or code or 'an error without a message'}",
        hint=hint or None,
        target=target or None,
        retryable=event.get("retryable") is True,
    )


def _notice(kind: str, event: dict[str, Any]) -> dict[str, Any] | None:
    """A framework event with what showing it takes, in the types that takes; None for one that cannot be shown."""
    if kind == "aoi:warning":
        return {**event, "message": _text(event, "message") or _text(event, "code")}
    if kind == "aoi:plan":
        return {**event, "action": _text(event, "action") or "change", "target": _text(event, "target")}
    if kind == "aoi:check":
        texts = {"name": _text(event, "name") or "check", "detail": _text(event, "detail")}
        return {
            **event,
            **texts,
            "ok": event.get("ok") is True,
            "severity": _text(event, "severity") or "error",
        }
    if kind == "aoi:progress" and _is_number(event.get("done")):
        total = event.get("total")
        return {**event, "message": _text(event, "message"), "total": total if _is_number(total) else None}
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
