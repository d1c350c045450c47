"""An unbounded stream that gives no sign of life.

What it does
    Runs an unbounded command that declares a heartbeat and waits for three of the declared intervals: a beat must come,
    and the last one must not be older than one of them. Else it waits four times as long, since a busy machine may delay
    some: two must come that close to each other, and the last in the last of these waits. An interval that is longer
    than the linter waits (`--patience`) is reported as untested.

Why is this bad?
    A consumer takes a stream for dead after a few missed beats, and for alive as long as they come. A beat that is
    announced and does not come makes it restart a healthy stream.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.evidence import Observation
from operable.lint.example import ENTRY, INTERRUPTED, meta, transcript

# Seconds that a loaded machine may take to let the beat through.
_SLACK = 1.0
_LONGER = 4
# For its start and its end.
_REST = 20.0


def _command(case: Case) -> Iterator[LintFinding]:
    if not case.target.unbounded:
        raise NotApplicable("it is not unbounded")
    interval = case.target.claims.get("heartbeat_interval")
    if not isinstance(interval, int | float) or isinstance(interval, bool):
        raise NotApplicable("it declares no heartbeat, which is optional")
    if interval > case.lab.patience:
        raise Untested(
            f"it beats every {interval:g} s, longer than is waited for: lint with --patience {interval * 2:g}"
        )
    wait = interval * 3 + _SLACK
    call = case.sample_invocation()
    seen = case.observe(replace(call, watch=wait, timeout=wait + _REST))
    if seen.signalled is None or _beats_on(seen, interval + _SLACK):
        return
    longer = wait * _LONGER
    seen = case.observe(replace(call, watch=longer, timeout=longer + _REST))
    beats = seen.times("aoi:heartbeat")
    if seen.signalled is None:
        return
    if not any(later - sooner <= wait for sooner, later in itertools.pairwise(beats)):
        yield case.fail(
            f"no aoi:heartbeat came within {wait:g} s, though one is declared every {interval:g} s", seen
        )
    elif not _beats_on(seen, wait):
        silence = seen.signalled - beats[-1]
        text = (
            f"no aoi:heartbeat came in the last {silence:.1f} s, though one is declared every {interval:g} s"
        )
        yield case.fail(text, seen)


def _beats_on(seen: Observation, within: float) -> bool:
    """Whether the last beat was not long before the end."""
    beats = seen.times("aoi:heartbeat")
    return bool(beats) and seen.signalled is not None and seen.signalled - beats[-1] <= within


CHECK = LintCheck(
    name="silent-stream",
    number=None,
    title="an unbounded stream beats as it declares",
    characteristics=("Streamable",),
    level="SHOULD",
    section="8.3",
    passing=transcript("watch", meta("watch"), ENTRY, {"type": "aoi:heartbeat"}, INTERRUPTED, "# exit 130"),
    failing=transcript("watch", meta("watch"), ENTRY, INTERRUPTED, "# exit 130"),
    hint="emit aoi:heartbeat from a timer, not from the loop that waits for news",
    command=_command,
    page=__doc__,
)
