"""`operable agent chat`: a conversation with an agent at the terminal, with its questions answered there.

One session, one turn after the other. What the agent asks and no rule answers is asked at the terminal, and may as well be
answered from another one (`operable agent answer`); the first answer counts. `/mode ID`, `/model ID`, `/help` and `/quit`
are for the host, everything else goes to the agent. The end of the input (Ctrl-D) ends the conversation, and so does
Ctrl-C, which cancels a running turn first.

Without a terminal, `--messages` brings the user's side, one message per line; then what no rule allows is denied, as in
`operable agent prompt`.
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
    timeout=None,
    grace=20.0,
    examples=[
        "agent chat claude-code --allow kind:read",
        "agent chat operable-agent --messages questions.txt --output jsonl",
    ],
)
def chat(
    name: str,
    *,
    messages: str | None = None,
    options: ConversationOptions,
    context: Context,
) -> Iterator[Said]:
    """Hold a conversation with an agent, and answer what it asks.

    name: its name, its id, or the path of its manifest
    messages: a file with the user's messages, one per line; - is standard input
    allow: what it may do without asking, as a pattern; may be repeated
    ask: what a person is to be asked about; at the terminal everything that no rule decides; may be repeated
    thoughts: show what it thinks, too
    """
    from operable.cli.agent.chat import chatted

    return chatted(context, name, options, messages)


COMMAND = chat
