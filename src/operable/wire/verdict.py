"""The verdict on a stream: what became of the operation, why, and with which status a relay should exit.

Theory of operation. Everything that can be found is a code; `CODES` says for each what the outcome is and how the reason
reads. A violation found while reading decides at once. Otherwise the end decides, by the two tables below: `with_summary`
where the terminal summary arrived, `without_summary` where it did not (AOI-CLI sections 4, 6 and 13.1). The exit status
alone never makes a success of a finite stream, and `ok` alone does not either.

An exit status is what `subprocess` gives: negative when a signal ended the process, None when it is not known, as for a
recorded stream.
"""

from typing import Final, Literal

from msgspec import Struct

from operable.kernel.errors import (
    CATEGORIES,
    EX_DATAERR,
    EX_OK,
    EX_SIGINT,
    EX_SIGPIPE,
    EX_SIGTERM,
    EX_TIMEOUT,
)
from operable.wire.framework import Error, Event, Meta, Summary
from operable.wire.notes import Note

Outcome = Literal["success", "partial", "failed", "interrupted", "incomplete", "violation"]

CODES: Final[dict[str, tuple[Outcome, str]]] = {
    # with a summary
    "OK": ("success", "The summary says ok."),
    "PARTIAL": ("partial", "The summary says ok, but the results are partial."),
    "PARTIAL_FAILURE": ("partial", "The summary is not ok; its partial results were asked for."),
    "SUMMARY_NOT_OK": ("failed", "The summary says that the operation failed."),
    "EXIT_CONTRADICTS_SUMMARY": ("failed", "The summary says ok, but the process ended with {status}."),
    "INTERRUPTED": ("interrupted", "The summary says that the operation was interrupted."),
    # without
    "STREAM_ENDED": ("success", "The unbounded stream ended by itself."),
    "STREAM_INTERRUPTED": ("interrupted", "The unbounded stream was ended by {status}."),
    "STREAM_FAILED": ("failed", "The unbounded stream ended with {status}."),
    "NEVER_STARTED": ("failed", "The process ended with {status} before its stream began."),
    "NO_SUMMARY": ("incomplete", "The stream ended without a summary, with {status}."),
    "DOWNSTREAM_CLOSED": ("incomplete", "The reader of the stream went away before its summary, {status}."),
    "LINE_TRUNCATED": ("incomplete", "The stream ended in the middle of line {line}, with {status}."),
    "EXIT0_WITHOUT_SUMMARY": (
        "violation",
        "The process claims success with {status}, but there is no summary.",
    ),
    "DOUBTFUL": ("violation", "Line {line} is doubtful, and reading is strict: {detail}."),
    # while reading
    "LINE_TOO_LONG": ("violation", "Line {line} is longer than {detail} bytes."),
    "BLANK_LINE": ("violation", "Line {line} is blank."),
    "BYTE_ORDER_MARK": ("violation", "Line {line} begins with a byte order mark."),
    "NUL_BYTE": ("violation", "Line {line} contains a NUL byte."),
    "INVALID_UTF8": ("violation", "Line {line} is not UTF-8."),
    "NESTED_TOO_DEEP": ("violation", "Line {line} is nested too deep to be read."),
    "LONE_SURROGATE": (
        "violation",
        "Line {line} contains {detail}, a lone surrogate, which is not a character.",
    ),
    "NUMBER_OUT_OF_RANGE": ("violation", "Line {line} has a number that no 64-bit float holds: {detail}."),
    "NOT_JSON": ("violation", "Line {line} is not JSON: {detail}."),
    "NOT_AN_OBJECT": ("violation", "Line {line} is JSON but not an object."),
    "NO_TYPE": ("violation", "Line {line} has no `type`: it must be a string that is not empty."),
    "MALFORMED_EVENT": ("violation", "Line {line} is a malformed {detail}."),
    "TYPE_MISMATCH": ("violation", "Line {line} is not what its type promises: {detail}."),
    "SECOND_META": ("violation", "Line {line} is a second aoi:meta; one stream has at most one."),
    "OUTPUT_AFTER_SUMMARY": ("violation", "Line {line} follows the summary, which is the last event."),
}

_INTERRUPTING = (-2, -15, EX_SIGINT, EX_SIGTERM)
_DOWNSTREAM_CLOSED = (-13, EX_SIGPIPE)


class Counts(Struct):
    """How many events were read; `domain` are those that are not the framework's."""

    events: int = 0
    domain: int = 0
    warnings: int = 0
    errors: int = 0


class Verdict(Struct, frozen=True, kw_only=True):
    """How one stream is judged."""

    outcome: Outcome
    code: str
    reason: str
    line: int | None
    """The line that decided, counted from 1: of the offence, of the cut, of the summary, or the last one."""
    exit_status: int | None
    meta: Meta | None
    summary: Summary | None
    last_error: Error | None
    counts: Counts
    notes: tuple[Note, ...]
    partial_accepted: bool
    tail: tuple[Event, ...]
    """The event of a last line without LF, when `close` was not called to get it."""

    @property
    def ok(self) -> bool:
        return self.outcome == "success" or (self.outcome == "partial" and self.partial_accepted)

    @property
    def exit_code(self) -> int:
        """With which status a relay of this stream should exit."""
        if self.ok:
            return EX_OK
        if (
            self.code == "DEADLINE_EXCEEDED"
        ):  # as reported by the process that ran and ended it (operable.run)
            return EX_TIMEOUT
        if self.outcome == "interrupted":
            return EX_SIGTERM if self.exit_status in (-15, EX_SIGTERM) else EX_SIGINT
        if self.outcome == "failed":
            return self._failure_code()
        return EX_DATAERR

    def _failure_code(self) -> int:
        """The child's own status, as a shell would give it; else what its last error stands for."""
        if self.exit_status:
            return self.exit_status if self.exit_status > 0 else 128 - self.exit_status
        category = self.last_error.category if self.last_error else None
        return CATEGORIES[category][1] if isinstance(category, str) and category in CATEGORIES else EX_DATAERR


def with_summary(summary: Summary, exit_status: int | None, *, accept_partial: bool) -> str:
    """The code of a stream that ended with its summary."""
    if summary.ok:
        if exit_status:
            return "EXIT_CONTRADICTS_SUMMARY"
        return "PARTIAL" if summary.partial else "OK"
    if summary.reason == "interrupted":
        return "INTERRUPTED"
    return "PARTIAL_FAILURE" if accept_partial and summary.partial else "SUMMARY_NOT_OK"


def without_summary(exit_status: int | None, *, unbounded: bool, started: bool, truncated: bool) -> str:
    """The code of a stream that ended without one. It has started when it held anything but errors."""
    if exit_status == 0 and not unbounded:
        return "EXIT0_WITHOUT_SUMMARY"
    if truncated:
        return "LINE_TRUNCATED"
    if exit_status in _DOWNSTREAM_CLOSED:
        return "DOWNSTREAM_CLOSED"
    if not unbounded:
        return "NEVER_STARTED" if exit_status and not started else "NO_SUMMARY"
    if not exit_status:
        return "STREAM_ENDED"
    return "STREAM_INTERRUPTED" if exit_status in _INTERRUPTING else "STREAM_FAILED"


def explain(code: str, *, line: int | None, detail: str, exit_status: int | None) -> tuple[Outcome, str]:
    """Outcome and reason of a code."""
    outcome, reason = CODES[code]
    return outcome, reason.format(line=line, detail=detail, status=_status(exit_status))


def _status(exit_status: int | None) -> str:
    if exit_status is None:
        return "an unknown exit status"
    return f"exit status {exit_status}" if exit_status >= 0 else f"signal {-exit_status}"
