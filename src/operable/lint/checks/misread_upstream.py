"""An upstream tool whose stream is misread: its last message is not waited for, or its framework events are taken for data.

What it does
    Feeds a command that takes JSONL its good lines as the stream of another tool: between `aoi:meta` and `aoi:summary`.
    Whole, it must be taken, with as many results as the lines alone (SHOULD). Without its summary, as by a producer that
    died, it must not be reported as a success. With an `aoi:error` and a summary that is not ok it must not either,
    unless that is asked for (SHOULD).

Why is this bad?
    End of file is all that a consumer gets from a crash. In a pipe the tool is the consumer: a tool that reports half of
    what was sent as the whole hides the crash from every tool downstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, Untested
from operable.lint.evidence import Invocation, Observation, encode, excerpt
from operable.lint.example import error, meta, summary, transcript

_META = {
    "type": "aoi:meta",
    "tool": "ledger",
    "tool_version": "2.4.1",
    "aoi_version": "0.2",
    "schema_name": "com.example.ledger.events",
    "schema_version": "1.0.0",
    "command": "list",
}
_ERROR = error("SOURCE_UNAVAILABLE", "temporary", retryable=True)


def _command(case: Case) -> Iterator[LintFinding]:
    if not case.target.reads_jsonl:
        raise NotApplicable("it takes no JSONL input")
    call = case.sample_invocation()
    data = [item for item in map(_item, (call.stdin or b"").splitlines()) if item is not None]
    if not data or "-" not in call.words:
        raise Untested("there is no sample input; give it `stdin` in the profile")
    count = len(data)
    whole = _fed(case, call, _META, *data, summary(True, count=count))
    expected = case.lab.observe(call)
    if expected.succeeded and not whole.succeeded:
        yield case.fail(
            f"the stream of another tool is refused: status {whole.status}",
            whole,
            level="SHOULD",
            section="13",
            excerpt=excerpt(whole.stdout[-200:]),
        )
    elif expected.succeeded and len(whole.domain) != len(expected.domain):
        said = f"{len(whole.domain)} results instead of {len(expected.domain)}"
        yield case.fail(
            f"framework events of another tool are taken for data: {said}",
            whole,
            level="SHOULD",
            section="13",
            excerpt=excerpt(whole.stdout),
        )
    cut = _fed(case, call, _META, *data)
    if cut.succeeded:
        yield case.fail("the stream of another tool ends without a summary, and it reports success", cut)
    failed = _fed(case, call, _META, *data, _ERROR, summary(False, count=count, error_count=1))
    if failed.succeeded:
        said = "another tool reports an error and a summary that is not ok, and it reports success"
        yield case.fail(said, failed, level="SHOULD", section="13")


def _item(line: bytes) -> dict[str, Any] | None:
    """What of a line is data: not the frame of a stream that the sample may have already."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    framework = isinstance(value, dict) and str(value.get("type", "")).startswith("aoi:")
    return value if isinstance(value, dict) and not framework else None


def _fed(case: Case, call: Invocation, *events: dict[str, Any]) -> Observation:
    return case.observe(replace(call, stdin="".join(encode(event) + "\n" for event in events).encode()))


CHECK = LintCheck(
    name="misread-upstream",
    number=None,
    title="the stream of another tool is read to its summary",
    characteristics=("Composable",),
    level="MUST",
    section="4",
    passing=transcript(
        "import --input-jsonl -  # an upstream that dies",
        meta("import"),
        error("UPSTREAM_INCOMPLETE", "io"),
        summary(False),
        "# exit 74",
    ),
    failing=transcript(
        "import --input-jsonl -  # an upstream that dies",
        meta("import"),
        {"type": "created", "id": "n1", "title": "x"},
        summary(True, count=1),
        "# changes work/notes.json",
    ),
    hint="once an aoi:meta was read, wait for an aoi:summary with ok true before reporting success; skip other aoi: events",
    command=_command,
    page=__doc__,
)
