"""`operable agent prompt`: one message to an agent, and everything that follows.

In machine mode the seven events (`text-delta`, `tool-call`, `tool-result`, `thought`, `agent-prompt`, `turn-end`, `error`)
and the extensions are between `aoi:meta` and `aoi:summary`; the summary names the session, whose log keeps the same
events. For people the answer is on stdout as it comes, everything else on stderr.

Without a rule, everything that the agent asks for is denied. Rules say otherwise, by tool, kind and argument:
`--allow`, `--deny`, `--ask` and `--policy`. What a rule leaves to people (`--ask`) is asked at the terminal, or waits for
`operable agent answer` from another one. After the policy's `ask_timeout` it is denied.

The exit status follows the turn: 0 completed, 130 cancelled, 124 out of time, 65 refused or cut short, 77 not logged in, 74
for an agent that failed. Ctrl-C and `--timeout` cancel the turn, then end the agent.
"""

from __future__ import annotations

from operable.cli.agent.options import ConversationOptions
from operable.cli.agent.wire import Said
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    runs_tools=True,
    limit=None,
    timeout=3600.0,
    grace=20.0,
    examples=[
        "agent prompt claude-code --prompt 'Say hello'",
        "agent prompt codex --prompt - --allow kind:read --deny 'execute:rm *' --output jsonl < task.md",
        "agent prompt goose --prompt 'Run the tests' --sandbox bubblewrap --allow kind:execute",
        "agent prompt operable-agent --prompt 'Go on' --resume ses_0f2c --policy rules.toml",
    ],
)
def prompt(
    name: str,
    *,
    prompt: str,
    options: ConversationOptions,
    continuation: str | None = None,
    context: Context,
) -> Iterator[Said]:
    """Send one message to an agent and stream the result.

    name: its name, its id, or the path of its manifest
    prompt MESSAGE: the message; - reads it from standard input
    continuation: how earlier turns reach the agent, one of those that its manifest supports
    """
    from operable.cli.agent.conversation import Talk
    from operable.cli.agent.manifests import read_text

    text = read_text("-") if prompt == "-" else prompt
    with Talk(context, name, options, continuation=continuation) as talk:
        yield from talk.turn(text)


COMMAND = prompt
