"""`operable record`: run a tool as `operable run` does, and keep the invocation in a file.

The file (a cassette) contains the tool's output line by line with its timing, the end of its diagnostics, its exit status
and its verdict; arguments are redacted, and so are lines that contain secrets, unless `--no-redact`. It is written
whatever the verdict is, whole or not at all, readable by its owner only. `operable replay` plays it as a fake tool.
"""

from __future__ import annotations

from operable.cli.call.words import GRACE, TIMEOUT, ToolOptions
from operable.tool import Relay, command


@command(
    runs_tools=True,
    limit=None,
    timeout=TIMEOUT,
    grace=GRACE,
    short={"o": "to"},
    examples=[
        "record -o search.cassette -- outline search 'agent operable'",
        "record --to failing.cassette --force --output jsonl -- outline get no-such-note",
    ],
)
def record(
    tool: str,
    *arguments: str,
    to: str,
    force: bool = False,
    redact: bool = True,
    judged: ToolOptions,
    relay: Relay,
) -> None:
    """Run a tool, judge its stream and keep it in a file. Write -- before the tool, so that its options are its own.

    tool: the program to call
    arguments: its arguments; --output jsonl is added when they choose no output
    to FILE: the file to write
    force: write it though there is one already
    redact: redact the output also; arguments and diagnostics always are
    """
    from operable.cli.call.relay import pass_on
    from operable.cli.call.words import Gated, adoption, call_options, check_target
    from operable.run import record as recorded

    check_target(to, force=force)
    with Gated(relay, [tool, *arguments]) as gate, adoption() as looked_after:
        options = call_options(relay, [tool], judged)
        relay.conclude(cassette=to)
        running = recorded([tool, *arguments], to, redact=redact, **options)
        pass_on(running, relay, [tool], looked_after, judged.env)
        gate.end(running.verdict.code)


COMMAND = record
