"""What `operable agent chat` does: turn after turn, from a person at the terminal or from a file of messages."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from operable.cli.agent.conversation import Talk
from operable.cli.agent.manifests import read_text
from operable.cli.agent.wire import Said
from operable.kernel.errors import Fail
from operable.tool.run.context import interactive_required

if TYPE_CHECKING:
    from operable.cli.agent.options import ConversationOptions
    from operable.tool import Context

_HELP = "/mode ID and /model ID change how it works, /quit ends; everything else goes to the agent."


def chatted(
    context: Context, name: str, options: ConversationOptions, messages: str | None
) -> Iterator[Said]:
    """The events of every turn, for machines; people see them."""
    if messages is None and not context.person:
        line = shlex.join(["operable", "agent", "prompt", name, "--prompt", "TEXT"])
        raise interactive_required("a conversation is typed", f"--messages FILE, or: {line}")
    with Talk(context, name, options, asking=messages is None) as talk:
        if messages is None:
            _tell(f"Session {talk.session.id} with {talk.agent.manifest.name}. {_HELP}")
        said = _typed(context) if messages is None else iter(_lines(messages))
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


def _lines(messages: str) -> list[str]:
    return [line for line in read_text(messages).splitlines() if line.strip()]


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
