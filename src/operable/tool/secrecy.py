"""What a run must not show: the secrets that its call was given, taken out of events and errors.

`kernel.redact` compiles its rules when it is loaded, so only an event that is to be masked loads it.
"""

from operable.tool.records import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from operable.kernel.errors import Fail


def masked(event: "dict[str, Any]", secrets: "tuple[str, ...]") -> "dict[str, Any]":
    """An event without the given secrets in its values. Names and `type` stay: they are the author's."""
    from operable.kernel.redact import MASK, Redactor

    hide = Redactor(secrets).text

    def clean(value: "Any") -> "Any":
        if isinstance(value, str):
            return hide(value)
        if isinstance(value, dict):
            return {name: clean(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [clean(inner) for inner in value]
        if value.__class__ in (int, float) and str(value) in secrets:
            return MASK
        if value is None or isinstance(value, int | float):
            return value
        from operable.tool.encoders import plain

        return clean(plain(value))  # a record, a dataclass, or a type that is a text in JSON

    return {name: value if name == "type" else clean(value) for name, value in event.items()}


def shown_error(fail: "Fail", secrets: "tuple[str, ...]") -> "dict[str, Any]":
    """The error event with secrets removed. What consumers branch on is the author's, never a secret."""
    event = fail.event()
    try:
        shown = _redacted(event, secrets)
    except (TypeError, ValueError, RecursionError):
        # An error must come through even when its author has put into it what JSON cannot say.
        shown = {name: _sayable(name, value, secrets) for name, value in event.items()}
    return shown | {name: event[name] for name in ("category", "code")}


def _sayable(name: str, value: "Any", secrets: "tuple[str, ...]") -> "Any":
    try:
        return _redacted({name: value}, secrets)[name]
    except (TypeError, ValueError, RecursionError):
        return f"({type(value).__name__})"


def _redacted(event: "dict[str, Any]", secrets: "tuple[str, ...]") -> "dict[str, Any]":
    from operable.kernel.redact import redact_value

    shown: dict[str, Any] = redact_value(masked(event, secrets))
    json_text(shown)
    return shown
