"""For commands that pass on the events of other tools; given to one that has a parameter `relay: Relay`.

Theory of operation. A relay's own meta event waits until the other tool has introduced itself (`introduce`), so that one
event tells whose results follow; it goes out before anything else does, whatever that is. Events are passed on as the
lines that came (`lines`): what is not encoded again cannot change, and costs next to nothing. For people they are shown
one by one (`event`). Warnings, errors and results are counted, so that the one summary at the end speaks for them all.

Or the command lets go of the stream (`take_stdout`), because what it has to write is a whole stream already.
"""

from __future__ import annotations

from operable.kernel.errors import CATEGORIES, Fail
from operable.tool.context import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.tool.records import Event
    from operable.tool.runner import Run

# What a relayed notice needs before it can be shown, when its tool has left it out.
_SHOWN: dict[str, dict[str, Any]] = {
    "aoi:warning": {"message": ""},
    "aoi:progress": {"done": 0},
    "aoi:plan": {"action": "change"},
    "aoi:check": {"name": "check", "ok": False, "severity": "error"},
}


class Relay(Context):
    """A context that can also speak for others. For plain functions: what passes here, a generator does not yield."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
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

    def event(self, event: dict[str, Any]) -> None:
        """Show one event to people, whatever its type. Nothing in it can act on their terminal."""
        kind = event["type"]
        if kind == "aoi:error":
            self._run.errors += 1
            self._run.sink.error(foreign_error(_inert(event)))
        elif kind in _SHOWN:
            self._run.count += kind == "aoi:plan"
            self._run.notice(_SHOWN[kind] | _inert(event))
        elif not kind.startswith("aoi:"):
            self._run.count += 1
            self._run.repeat(_inert(event))

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


def foreign_error(event: dict[str, Any]) -> Fail:
    """The error of another tool as one of ours: for people, and for whoever has to raise it."""
    details = {
        name: value
        for name, value in event.items()
        if name not in ("type", "retryable", "exit_code", *_TEXTS)
    }
    category, code, message, hint, target = (_text(event, name) for name in _TEXTS)
    return Fail(
        category if category in CATEGORIES else "internal",
        code or "UNKNOWN",
        message or code or "an error without a message",
        hint=hint or None,
        target=target or None,
        retryable=event.get("retryable") is True,
        **details,
    )


_TEXTS = ("category", "code", "message", "hint", "target")


def _inert(value: Any) -> Any:
    """Without control characters in its texts, but for line ends. What is nested deeper is shown as JSON, which has none."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() or letter == "\n" else "·" for letter in value)
    if isinstance(value, dict):
        return {name: _inert(inner) if isinstance(inner, str) else inner for name, inner in value.items()}
    return value


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
