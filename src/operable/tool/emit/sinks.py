"""Where a run's events go. A sink receives everything in order and decides only how it looks."""

from __future__ import annotations

from operable.tool.emit.writer import Emitter
from operable.tool.json_text import json_text, utf8
from operable.tool.process import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from operable.kernel.errors import Fail

    class Sink(Protocol):
        """`encoder(class)` and `encode(dict)` make what `put` takes; `size` is its length in bytes as a line."""

        secrets: tuple[str, ...]
        emitter: Emitter | None  # None where the output is for people

        @property
        def put(self) -> Callable[[Any], None]: ...
        def encoder(self, kind: type[Any]) -> Callable[[Any], Any]: ...
        def encode(self, event: dict[str, Any]) -> Any: ...
        def size(self, encoded: Any) -> int: ...
        def meta(self, fields: dict[str, Any]) -> None: ...
        def notice(self, fields: dict[str, Any]) -> None: ...
        def error(self, fail: Fail) -> None: ...
        def settle(self) -> None: ...
        def prose(self, text: str, style: str) -> None: ...
        def summary(self, fields: dict[str, Any]) -> None: ...
        def results(self) -> int: ...
        def complain(self, text: str) -> None: ...
        def close(self) -> None: ...


class MachineSink:
    """The AOI stream."""

    def __init__(self, emitter: Emitter, secrets: tuple[str, ...]) -> None:
        self.emitter: Emitter | None = emitter
        self.secrets = secrets
        self.put = emitter.line
        self._write = emitter

    def encoder(self, kind: type[Any]) -> Callable[[Any], bytes]:
        if self.secrets:
            return lambda event: self.encode(event.to_dict())
        to_json = kind.to_json
        return lambda event: utf8(to_json(event))

    def encode(self, event: dict[str, Any]) -> bytes:
        return utf8(self._text(event))

    def _text(self, event: dict[str, Any]) -> str:
        return json_text(masked(event, self.secrets) if self.secrets else event)

    def size(self, encoded: bytes) -> int:
        return len(encoded) + 1

    def meta(self, fields: dict[str, Any]) -> None:
        self._write.aside(json_text(fields))

    def notice(self, fields: dict[str, Any]) -> None:
        self._write.aside(self._text(fields))

    def error(self, fail: Fail) -> None:
        self._write.aside(json_text(shown_error(fail, self.secrets)))

    def summary(self, fields: dict[str, Any]) -> None:
        self._write.end(json_text(fields))

    def settle(self) -> None:
        """A machine gets everything in time anyway."""

    def prose(self, text: str, style: str) -> None:
        """Running text is for people."""

    def results(self) -> int:
        return self._write.results()

    def complain(self, text: str) -> None:
        complain(text)

    def close(self) -> None:
        self._write.flush()


def masked(event: dict[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    """An event without the given secrets in its values. Names and `type` stay: they are the author's."""
    from operable.kernel.redact import MASK, Redactor

    hide = Redactor(secrets).text

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return hide(value)
        if isinstance(value, dict):
            return {name: clean(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [clean(inner) for inner in value]
        if value.__class__ in (int, float) and str(value) in secrets:
            return MASK
        return clean(value.to_dict()) if hasattr(value, "__fields__") else value

    return {name: value if name == "type" else clean(value) for name, value in event.items()}


def shown_error(fail: Fail, secrets: tuple[str, ...]) -> dict[str, Any]:
    """The error event with secrets removed. What consumers branch on is the author's, never a secret."""
    event = fail.event()
    try:
        shown = _redacted(event, secrets)
    except (TypeError, ValueError, RecursionError):
        # An error must come through even when its author has put into it what JSON cannot say.
        shown = {name: _sayable(name, value, secrets) for name, value in event.items()}
    return shown | {name: event[name] for name in ("category", "code")}


def _sayable(name: str, value: Any, secrets: tuple[str, ...]) -> Any:
    try:
        return _redacted({name: value}, secrets)[name]
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__})"


def _redacted(event: dict[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    from operable.kernel.redact import redact_value

    shown: dict[str, Any] = redact_value(masked(event, secrets))
    json_text(shown)
    return shown
