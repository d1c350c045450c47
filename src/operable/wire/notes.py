"""What a stream could do better: remarks that never change a verdict.

A verdict follows from what the specification demands. What it only advises (SHOULD, "recommended"), and what a reader can
suspect but not prove, is noted: one note for each kind of remark, at the first line that gave cause for it, so that the
notes of an endless stream are as few as those of a short one.
"""

from collections.abc import Iterator

from msgspec import Struct

from operable.kernel.errors import CATEGORIES
from operable.wire.framework import FRAMEWORK, Check, Error, Event, Meta, Plan, Summary
from operable.wire.reserved_names import PREFIX, RESERVED

_META_FIELDS = ("tool", "tool_version", "aoi_version", "schema_name", "schema_version")
_ERROR_FIELDS = ("category", "code", "message", "retryable")
_CHECK_FIELDS = ("name", "ok")
AOI_VERSIONS = ("0.2",)
"""Those whose streams are read as they are meant."""
DOUBTS = frozenset(
    {
        "COUNT_DIFFERS",
        "ERRORS_BESIDE_OK",
        "AOI_VERSION_UNKNOWN",
        "DUPLICATE_KEYS",
        "FRAMEWORK_NAME_UNPREFIXED",
    }
)
"""The remarks that say that the stream may not mean what was read: strict reading refuses it."""
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
            f"{quoted(name)} is not a framework event without its prefix `{PREFIX}` (8.2)",
        )
    elif name.startswith(PREFIX) and name not in FRAMEWORK:
        yield "FRAMEWORK_TYPE_UNKNOWN", f"{quoted(name)} is unknown to this version of the framework (8.2)"


def _about_meta(meta: Meta) -> Iterator[tuple[str, str]]:
    yield from _about_missing("META_INCOMPLETE", meta, _META_FIELDS)
    version = meta.aoi_version
    if isinstance(version, str) and version not in AOI_VERSIONS:
        yield "AOI_VERSION_UNKNOWN", f"the AOI version {quoted(version)} is not one that is known here (5)"
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
        yield "CATEGORY_UNKNOWN", f"{quoted(error.category)} is not a standard category (9.1)"
    if isinstance(error.code, str) and not _is_upper_snake(error.code):
        yield (
            "CODE_NOT_UPPER_SNAKE",
            f"the error code {quoted(error.code)} is not written in upper snake case (9.1)",
        )


def _about_missing(code: str, event: Struct, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    # Null is as good as absent; `False` is a value.
    missing = [name for name in names if not isinstance(getattr(event, name), str | bool)]
    if missing:
        kind = event.__struct_config__.tag
        yield code, f"{kind} lacks {', '.join(missing)}"


def _is_upper_snake(code: str) -> bool:
    return code[:1].isalpha() and code.isascii() and code.isupper() and code.replace("_", "").isalnum()


def quoted(words: str) -> str:
    """A few of the peer's own words."""
    return f"`{words}`" if len(words) <= _QUOTE_LIMIT else f"`{words[:_QUOTE_LIMIT]}…`"


class Tally:
    """What a stream had, to be compared with what its summary says it had."""

    def __init__(self) -> None:
        self._checks = 0
        self._failing = 0
        self._plans = 0

    def add(self, event: Event) -> None:
        """Count a framework event that may be a result."""
        if isinstance(event, Check):
            self._checks += 1
            self._failing += event.ok is False
        elif isinstance(event, Plan):
            self._plans += 1

    def doubts(
        self, summary: Summary, *, domain: int, warnings: int, errors: int
    ) -> Iterator[tuple[str, str]]:
        """Where a success contradicts its stream. Checks, plans and failures may count as results."""
        if not summary.ok:
            return
        sums = {domain}
        for more in (self._checks, self._plans, errors):
            sums |= {total + more for total in sums}
        pairs = (
            ("count", summary.count, sums, domain),
            ("warning_count", summary.warning_count, {warnings}, warnings),
            ("error_count", summary.error_count, {errors, errors + self._failing}, errors),
        )
        wrong = [
            f"{name} is {said}, and the stream had {had}"
            for name, said, fitting, had in pairs
            if isinstance(said, int) and said not in fitting
        ]
        if wrong:
            yield "COUNT_DIFFERS", f"the summary does not fit the stream: {'; '.join(wrong)} (8.3)"
        if not summary.partial and errors:
            yield (
                "ERRORS_BESIDE_OK",
                f"the summary says ok and not partial, and the stream had {errors} errors (8.3)",
            )
