"""`operable pipe`: tools in a row, each reading the output of the one before, and one verdict for each.

The stages are separated by the word `:::`, which no shell treats specially; `--separator` chooses another. The results
are those of the last stage, passed on as `operable run` does; after them comes one `verdict` event per stage. Pipefail:
the exit status is that of the last stage that is not ok. The error and the summary name the stage that caused the
failure. A stage whose reader had enough, and that ended because of it, is excused. A tool that reads needs an argument
that says so, as in a shell: `outline import --input-jsonl -`.
"""

from __future__ import annotations

from operable.cli.call.events import VerdictEvent
from operable.cli.call.words import GRACE, TIMEOUT, ToolOptions
from operable.tool import Fail, Relay, command

SEPARATOR = ":::"


@command(
    runs_tools=True,
    limit=None,
    timeout=TIMEOUT,
    grace=GRACE,
    examples=[
        "pipe -- outline export ::: outline import --input-jsonl -",
        "pipe --output jsonl --separator then -- outline search agent then ./summarize --input-jsonl -",
    ],
)
def pipe(
    *words: str,
    separator: str = SEPARATOR,
    judged: ToolOptions,
    relay: Relay,
) -> list[VerdictEvent]:
    """Run tools in a row, with one verdict for each. Write -- before the first.

    words: the command lines of the tools, with ::: between them; --output jsonl is added to each that chooses no output
    separator: the word between two command lines
    validate: ask each tool for its schema first, and check every event against it; refuse to start without one
    unbounded: the streams have no end of their own: they need no summary
    strict: a doubt about a stream is a failure: a count that differs, an error beside ok, a repeated key
    exact: call the tools with exactly these words
    inherit NAME: of our environment pass on only this and the harmless ones; NAME or PREFIX_*; else all is passed on
    env NAME=VALUE: give the tools this variable, or NAME=@FILE for a secret, which must not be on a command line
    """
    from operable.cli.call.relay import pass_on
    from operable.cli.call.words import Gated, adoption, call_options
    from operable.run import pipe as piped

    stages = split(words, separator)
    tools = [stage[0] for stage in stages]
    with Gated(relay, *stages) as gate, adoption() as looked_after:
        options = call_options(relay, tools, judged)
        running = piped(stages, **options)
        pass_on(running, relay, tools, looked_after, judged.env)
        gate.end(*(stage.verdict.code for stage in running.stages))
    return []  # the verdicts have been reported, in their place


def split(words: tuple[str, ...], separator: str) -> list[list[str]]:
    """The command lines between the separators; at least two, and none of them empty."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            stages.append([])
        else:
            stages[-1].append(word)
    if len(stages) < 2 or not all(stages):
        problem = "there is one command line" if words and len(stages) < 2 else "a command line is empty"
        raise Fail(
            "usage",
            "INVALID_PIPELINE",
            f"A pipeline is tools with {separator} between them: {problem}",
            hint=f"operable pipe -- TOOL A {separator} TOOL B",
            target="WORDS",
        )
    return stages


COMMAND = pipe
