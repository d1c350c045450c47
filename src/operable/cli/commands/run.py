"""`operable run`: call a tool, watch it, judge it.

For people it is a live view: tables, progress, the tool's diagnostics, and the verdict at the end. In machine mode it
is a relay: our own `aoi:meta` first, with the tool's own meta in its field `upstream`; then the tool's events, byte for
byte, except for its meta and summary; then our own `aoi:summary`, with the verdict in its field `verdict` and the tool's
summary in that. The exit status follows the verdict: 0, the tool's own status when it failed, 65 for a stream that is
none, 124 after `--timeout`, 130 when interrupted. Ctrl-C, SIGTERM and the deadline end the tool; every process that it
started ends with it, also one that made a session of its own, and also after kill -9 of `operable run`.

Where the user has a policy file, its rules are about these calls also, and they are recorded (`operable policy show`).
"""

from __future__ import annotations

from operable.cli.call.words import GRACE, TIMEOUT, ToolOptions
from operable.tool import Relay, command


@command(
    runs_tools=True,
    limit=None,
    timeout=TIMEOUT,
    grace=GRACE,
    examples=[
        "run -- outline search 'agent operable'",
        "run --output jsonl --timeout 30 -- outline search 'agent operable' --limit 2",
        "run --inherit 'AWS_*' --validate -- ./my-tool list",
    ],
)
def run(
    tool: str,
    *arguments: str,
    judged: ToolOptions,
    relay: Relay,
) -> None:
    """Run a tool and judge its stream. Write -- before the tool, so that its options are its own.

    tool: the program to call
    arguments: its arguments; --output jsonl is added when they choose no output
    """
    from operable.cli.call.relay import pass_on
    from operable.cli.call.words import Gated, adoption, call_options
    from operable.run import call

    with Gated(relay, [tool, *arguments]) as gate, adoption() as looked_after:
        options = call_options(relay, [tool], judged)
        running = call([tool, *arguments], **options)
        pass_on(running, relay, [tool], looked_after, judged.env)
        gate.end(running.verdict.code)


COMMAND = run
