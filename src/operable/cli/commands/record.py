"""`operable record`: run a tool as `operable run` does, and keep the invocation in a file.

The file (a cassette) contains the tool's output line by line with its timing, the end of its diagnostics, its exit status
and its verdict; arguments are redacted, and so are lines that contain secrets, unless `--no-redact`. It is written
whatever the verdict is, whole or not at all, readable by its owner only. `operable replay` plays it as a fake tool.
"""

from __future__ import annotations

from operable.cli.call.words import GRACE, TIMEOUT
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
    validate: bool = False,
    accept_partial: bool = False,
    unbounded: bool = False,
    exact: bool = False,
    inherit: list[str] | None = None,
    env: list[str] | None = None,
    relay: Relay,
) -> None:
    """Run a tool, judge its stream and keep it in a file. Write -- before the tool, so that its options are its own.

    tool: the program to call
    arguments: its arguments; --output jsonl is added when they choose no output
    to: the file to write
    force: write it though there is one already
    redact: keep the output as it is; arguments and diagnostics are redacted always
    validate: ask the tool for its schema first, and check every event against it; refuse to start without one
    accept_partial: partial results are good enough
    unbounded: the stream has no end of its own: it needs no summary
    exact: call it with exactly these words
    inherit: pass this variable of our environment on to the tool; NAME or PREFIX_*
    env: give the tool this variable, as NAME=VALUE, or NAME=@FILE for a secret, which must not be on a command line
    """
    from operable.cli.call.relay import pass_on
    from operable.cli.call.words import adoption, call_options, check_target, machine_words
    from operable.run import record as recorded

    check_target(to, force=force)
    with adoption() as looked_after:
        options = call_options(
            relay,
            [tool],
            validate=validate,
            accept_partial=accept_partial,
            unbounded=unbounded,
            inherit=inherit,
            env=env,
        )
        relay.conclude(cassette=to)
        pass_on(
            recorded(machine_words([tool, *arguments], exact=exact), to, redact=redact, **options),
            relay,
            [tool],
            looked_after,
            env,
        )


COMMAND = record
