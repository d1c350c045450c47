"""`operable check`: judge recorded streams by the rules that apply to a running tool.

Gives one `verdict` event per stream, and a warning for everything that is merely advised and was not done. The exit
status follows the verdict of the first stream that is not ok: 65 for a stream that is broken or cut off; for one that
is whole and reports a failure, what that failure means; 130 for one that was interrupted.
"""

from __future__ import annotations

from operable.cli.call.events import VerdictEvent
from operable.tool import Context, Fail, ItemError, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    timeout=3600.0,  # the stream may come from a tool that is still running
    columns=("source", "outcome", "code", "line", "reason"),
    examples=[
        "check < stream.jsonl",
        "check --exit-status 0 --tool outline search.jsonl list.jsonl --output jsonl",
    ],
)
def check(
    *files: str,
    exit_status: int | None = None,
    accept_partial: bool = False,
    strict: bool = False,
    unbounded: bool = False,
    schema: str | None = None,
    tool: str | None = None,
    context: Context,
) -> Iterator[VerdictEvent]:
    """Judge recorded streams.

    files: the streams; - or none is standard input
    exit_status: what the tool ended with, if that is known; negative when a signal ended it
    accept_partial: partial results are good enough
    strict: a doubt about the stream is a failure: a count that differs, an error beside ok, a repeated key
    unbounded: the stream has no end of its own: it needs no summary
    schema FILE: check the events against the JSON Schema in this file
    tool PROGRAM: check the events against the schema of this tool
    """
    from operable.cli.call.verdicts import chunks, published_schema, reported
    from operable.run import check as judged

    rules = published_schema(schema, tool)
    all_ok = True
    for name in files or ("-",):
        try:
            verdict = judged(
                chunks(name),
                exit_status=exit_status,
                schema=rules,
                accept_partial=accept_partial,
                strict=strict,
                unbounded=True if unbounded else None,
            )
        except FileNotFoundError:
            missing = Fail("not_found", "FILE_NOT_FOUND", f"There is no file {name}", target=name)
            yield ItemError(missing)  # type: ignore[misc]  # travels with the events
            continue
        if all_ok and not verdict.ok:
            all_ok = False
            context.conclude(exit_code=verdict.exit_code, reason=f"stream_{verdict.outcome}")
        yield from reported(verdict, name)


COMMAND = check
