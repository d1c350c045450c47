"""`operable replay`: play a recorded invocation as a fake tool.

Its output is the recorded tool's, byte for byte, at the recorded pace, and its end is that tool's end: the same exit
status, or the same signal. Nothing is added in any output mode, since what was recorded is a stream with a meta event
and a summary of its own (docs/decisions/0010). Only an error before the first byte is reported in our own name, as by
any other command.
"""

from __future__ import annotations

from operable.tool import Fail, Relay, command


@command(
    limit=None,
    has_results=False,  # the bytes are the recorded ones, all of them
    timeout=None,
    examples=[
        "replay search.cassette",
        "replay search.cassette --speed 10",
        "replay search.cassette --no-wait",
    ],
)
def replay(cassette: str, *, speed: float = 1.0, wait: bool = True, relay: Relay) -> None:
    """Play a recorded invocation: the same bytes, the same pace, the same end.

    cassette: the file that `operable record` has written
    speed: so many times as fast as it was
    wait: wait between its lines as long as the tool did
    """
    from operable.run import exit_like, load
    from operable.run import replay as play

    if not speed > 0:
        raise Fail(
            "usage", "INVALID_VALUE", "--speed must be more than 0", target="--speed", hint="--no-wait"
        )
    recorded = load(cassette)
    exit_like(play(recorded, speed=speed if wait else None, stdout=relay.take_stdout()))


COMMAND = replay
