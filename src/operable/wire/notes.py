"""What a stream could do better: remarks that never change a verdict.

A verdict follows from what the specification demands. What it only advises (SHOULD, "recommended"), and what a reader can
suspect but not prove, is noted: one note for each kind of remark, at the first line that gave cause for it, so that the
notes of an endless stream are as few as those of a short one.
"""

from collections.abc import Iterator

from msgspec import Struct

from operable.kernel.errors import CATEGORIES
from operable.wire.framework import FRAMEWORK, Check, Error, Event, Meta
from operable.wire.reserved_names import PREFIX, RESERVED

_META_FIELDS = ("tool", "tool_version", "aoi_version", "schema_name", "schema_version")
_ERROR_FIELDS = ("category", "code", "message", "retryable")
_CHECK_FIELDS = ("name", "ok")
_QUOTE_LIMIT = 60
"""Characters of the peer's own words in a note: enough to recognise them, whatever the peer sends."""
_ECHOES = ("argv", "env", "environ", "environment")


class Note(Struct, frozen=True):
    """One remark, at the first line that gave cause for it."""

    code: str
    message: str
    line: int | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"


def remarks(event: Event) -> Iterator[tuple[str, str]]:
    """Code and message of everything that one event, seen by itself, gives cause to remark."""
    if isinstance(event, dict):
        yield from _about_type(event["type"])
    elif isinstance(event, Meta):
        yield from _about_meta(event)
    elif isinstance(event, Error):
        yield from _about_error(event)
    elif isinstance(event, Check):
        yield from _about_missing("CHECK_INCOMPLETE", event, _CHECK_FIELDS)


def is_noteworthy(name: str) -> bool:
    """Whether an event of this type can give cause for a remark or is the framework's; most types do neither."""
    return name in RESERVED or name.startswith(PREFIX)


def _about_type(name: str) -> Iterator[tuple[str, str]]:
    if name in RESERVED:
        yield (
            "FRAMEWORK_NAME_UNPREFIXED",
            f"{_quoted(name)} is not a framework event without its prefix `{PREFIX}` (8.2)",
        )
    elif name.startswith(PREFIX) and name not in FRAMEWORK:
        yield "FRAMEWORK_TYPE_UNKNOWN", f"{_quoted(name)} is unknown to this version of the framework (8.2)"


def _about_meta(meta: Meta) -> Iterator[tuple[str, str]]:
    yield from _about_missing("META_INCOMPLETE", meta, _META_FIELDS)
    echoed = [name for name in _ECHOES if name in meta.extra]
    if "args" in meta.extra and meta.args_redacted is not True:
        echoed.append("args")
    if echoed:
        yield (
            "META_ECHOES_ARGUMENTS",
            f"aoi:meta seems to echo arguments or environment: {', '.join(echoed)} (8.3)",
        )


def _about_error(error: Error) -> Iterator[tuple[str, str]]:
    yield from _about_missing("ERROR_INCOMPLETE", error, _ERROR_FIELDS)
    if isinstance(error.category, str) and error.category not in CATEGORIES:
        yield "CATEGORY_UNKNOWN", f"{_quoted(error.category)} is not a standard category (9.1)"
    if isinstance(error.code, str) and not _is_upper_snake(error.code):
        yield (
            "CODE_NOT_UPPER_SNAKE",
            f"the error code {_quoted(error.code)} is not written in upper snake case (9.1)",
        )


def _about_missing(code: str, event: Struct, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    # Null is as good as absent; `False` is a value.
    missing = [name for name in names if not isinstance(getattr(event, name), str | bool)]
    if missing:
        kind = event.__struct_config__.tag
        yield code, f"{kind} lacks {', '.join(missing)}"


def _is_upper_snake(code: str) -> bool:
    return code[:1].isalpha() and code.isascii() and code.isupper() and code.replace("_", "").isalnum()


def _quoted(words: str) -> str:
    return f"`{words}`" if len(words) <= _QUOTE_LIMIT else f"`{words[:_QUOTE_LIMIT]}…`"
