"""The structured error for a call that is not ok.

A tool that explained itself is quoted: category, code, message and hint are those of its own last error. Otherwise the
verdict on its stream is the error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from operable.kernel.errors import CATEGORIES, CATEGORY_OF_STATUS, Fail

if TYPE_CHECKING:
    from operable.wire.verdict import Verdict

# The last words of a tool that failed: a traceback's end, not a log.
STDERR_LIMIT = 2000
_BY_OUTCOME = {
    "partial": "partial",
    "interrupted": "cancelled",
    "incomplete": "io",
    "violation": "validation",
}


def failure(verdict: Verdict, source: str, stderr: str = "", *, hint: str | None = None, **more: Any) -> Fail:
    """What the verdict says, as an error."""
    last = verdict.last_error
    category = _BY_OUTCOME.get(verdict.outcome) or CATEGORY_OF_STATUS.get(verdict.exit_code, "internal")
    if last is not None and verdict.outcome == "failed" and last.category in CATEGORIES:
        category = str(last.category)
    details: dict[str, Any] = (
        {"line_number": verdict.line} if verdict.outcome == "violation" and verdict.line else {}
    )
    if stderr.strip():
        details["stderr"] = stderr.strip()[-STDERR_LIMIT:]
    return Fail(
        category,
        verdict.code,
        f"{source}: {verdict.reason}",
        hint=hint,
        target=source,
        exit_code=verdict.exit_code,
        **details,
        **more,
    )


def speaks_for_itself(verdict: Verdict) -> bool:
    """Whether a failed stream has given its reason in an error event of its own."""
    return (
        verdict.counts.errors > 0
        and verdict.outcome in ("failed", "partial")
        and verdict.code != "DEADLINE_EXCEEDED"
    )


def reason_of(verdict: Verdict, source: str, stderr: str = "") -> Fail:
    """The tool's own last error where it gave one, else what the verdict says."""
    last = verdict.last_error
    if last is None or not speaks_for_itself(verdict) or not isinstance(last.code, str):
        return failure(verdict, source, stderr)
    category = last.category if isinstance(last.category, str) and last.category in CATEGORIES else "internal"
    details: dict[str, Any] = {"verdict": verdict.code, "tool": source}
    if isinstance(last.retry_after, int | float):
        details["retry_after"] = last.retry_after
    return Fail(
        category,
        last.code,
        last.message if isinstance(last.message, str) else verdict.reason,
        hint=last.hint if isinstance(last.hint, str) else None,
        target=last.target if isinstance(last.target, str) else None,
        retryable=last.retryable if isinstance(last.retryable, bool) else None,
        exit_code=verdict.exit_code,
        **details,
    )


def is_retryable(verdict: Verdict) -> bool:
    """Whether the same call may be made again: only where the tool says so, or never began for a passing reason."""
    last = verdict.last_error
    return not verdict.ok and last is not None and last.retryable is True and speaks_for_itself(verdict)
