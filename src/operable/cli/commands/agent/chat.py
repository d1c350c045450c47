"""`operable agent chat`: a conversation with an agent at the terminal, with its questions answered there.

One session, one turn after the other, with the same face as `operable chat`. What the agent asks and no rule answers is
asked at the terminal, and may as well be answered from another one (`operable agent answer`); the first answer counts.
Reading in the workspace needs no question. `/help` lists what is for the chat itself; other words behind a slash go to the
agent. Ctrl-C cancels a running turn, twice leaves, and so does Ctrl-D.

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
    allow PATTERN: what it may do without asking, as a pattern; may be repeated
    ask PATTERN: what a person is to be asked about; at the terminal everything that no rule decides; may be repeated
    thoughts: show what it thinks, too
    """
    import shlex

    from operable.cli.agent.conversation import Talk
    from operable.cli.agent.manifests import read_text
    from operable.tool.run.context import interactive_required

    if messages is None and not context.person:
        line = shlex.join(["operable", "agent", "prompt", name, "--prompt", "TEXT"])
        raise interactive_required("a conversation is typed", f"--messages FILE, or: {line}")
    with Talk(context, name, options, asking=messages is None) as talk:
        if messages is None:
            talk.hold()
            return
        for text in filter(str.strip, read_text(messages).splitlines()):
            yield from talk.turn(text)


COMMAND = chat
