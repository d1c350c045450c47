"""`operable agent chat`: a conversation with an agent at the terminal, with its questions answered there.

One session, one turn after the other. What the agent asks and no rule answers is asked at the terminal, and may as well be
answered from another one (`operable agent answer`); the first answer counts. `/mode ID`, `/model ID`, `/help` and `/quit`
are for the host, everything else goes to the agent. The end of the input (Ctrl-D) ends the conversation, and so does
Ctrl-C, which cancels a running turn first.

Without a terminal, `--messages` brings the user's side, one message per line; then what no rule allows is denied, as in
`operable agent prompt`.
"""

from __future__ import annotations

import sys

from operable.cli.agent.options import ConversationOptions
from operable.cli.agent.wire import Said
from operable.tool import Context, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from operable.cli.agent.conversation import Talk

_HELP = "/mode ID and /model ID change how it works, /quit ends; everything else goes to the agent."


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
    import shlex

    from operable.cli.agent.conversation import Talk
    from operable.cli.agent.manifests import read_text
    from operable.tool.run.context import interactive_required

    if messages is None and not context.person:
        line = shlex.join(["operable", "agent", "prompt", name, "--prompt", "TEXT"])
        raise interactive_required("a conversation is typed", f"--messages FILE, or: {line}")
    with Talk(context, name, options, asking=messages is None) as talk:
        if messages is None:
            _tell(f"Session {talk.session.id} with {talk.agent.manifest.name}. {_HELP}")
        said = _typed(context) if messages is None else filter(str.strip, read_text(messages).splitlines())
        for text in said:
            if messages is None and text.startswith("/"):
                if not _command(talk, text):
                    return
                continue
            try:
                yield from talk.turn(text)
            except Fail as problem:
                # At a terminal a turn that failed is not the end: the person sees why, and goes on while the agent lives.
                if messages is not None or talk.session.status != "running":
                    raise
                _tell(f"{problem.message}")


def _typed(context: Context) -> Iterator[str]:
    while True:
        try:
            text = context.ask("\n>", hint="").strip()
        except Fail as ended:
            if ended.code != "INTERACTIVE_REQUIRED":
                raise
            return  # the end of the input
        if text:
            yield text


def _command(talk: Talk, text: str) -> bool:
    """Something for the host; False: it was the last."""
    word, _, value = text.partition(" ")
    try:
        match word:
            case "/quit" | "/exit":
                return False
            case "/mode" if value:
                talk.session.select(mode=value.strip())
            case "/model" if value:
                talk.session.select(model=value.strip())
            case _:
                _tell(_HELP)
    except Fail as refused:
        _tell(refused.message)
    return True


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


COMMAND = chat
