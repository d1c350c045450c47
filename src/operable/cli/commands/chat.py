"""`operable chat`: talk with the built-in agent at the terminal, or ask it one thing.

Without a message it is a conversation: answers are streamed, changes are shown as diffs, and what the agent wants to do
is asked about: yes, no, always in this session, or quit the turn. Reading in the workspace needs no question. Ctrl-C stops
what is being done, twice leaves, as Ctrl-D does, and `/help` says what else there is. With a message it is one turn, and
the exit status says how it went.

If no person can be asked (machine mode, no terminal), everything that `--allow`, `--mode` and `--auto-approve` do
not allow is denied. The summary says how often. Keys come from the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY and the
others of `operable-agent --help`. `--offline` needs none: it talks to a scripted model.
"""

from __future__ import annotations

from operable.cli.agent.wire import Said
from operable.tool import Context, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    runs_tools=True,
    limit=None,
    timeout=None,
    grace=8.0,
    short={"p": "provider", "m": "model"},
    examples=[
        "chat",
        "chat --offline 'Say hello'",
        "chat --allow Read --allow Grep 'What does this project do?' --output jsonl",
        "chat --mode auto-edit --resume latest 'Go on' --timeout 600",
    ],
)
def chat(
    *message: str,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    max_turns: int | None = None,
    thinking: bool = False,
    effort: str | None = None,
    system_prompt: str | None = None,
    workspace: str = ".",
    mode: Literal["default", "auto-edit", "auto_edit", "yolo"] | None = None,
    auto_approve: bool = False,
    allow: list[str] | None = None,
    tool: list[str] | None = None,
    app: list[str] | None = None,
    sandbox: str | None = None,
    session_id: str | None = None,
    resume: str | None = None,
    session: bool = True,
    offline: bool = False,
    thoughts: bool = False,
    context: Context,
) -> Iterator[Said | Warn]:
    """Talk with the built-in agent, or ask it one thing.

    message: what to say, for one turn; - reads it from standard input; without it, a conversation
    provider NAME: whose models to use: anthropic, openai, openai-responses, bedrock, vertex or offline
    model MODEL: the model of the provider
    base_url URL: another address of the provider
    max_tokens: how long one answer of the model may be
    max_turns: how many rounds of tools one message may take
    thinking: let the model think before it answers
    effort: how much effort the model takes, where it has levels
    system_prompt WORDS: instructions before everything else
    workspace DIR: the folder that it works in
    mode: what needs no question: default (what --allow says), auto-edit (reading and editing), yolo (everything)
    auto_approve: the same as --mode yolo
    allow PATTERN: a tool that needs no question, by its name (SERVER/TOOL for one of an MCP server); may be repeated
    tool PROGRAM: an agent-operable tool to offer to the model; may be repeated
    app: an application (APP.md) that you have approved, to offer to the model; may be repeated
    sandbox NAME: bubblewrap, or none; without it, commands that no person was asked about write only to the workspace
    session_id ID: the id that a new session gets
    resume SESSION: go on with this session; latest is the last one of the workspace, pick shows them and asks
    session: keep a session that can be resumed
    offline: a scripted model that needs no key and no network
    thoughts: show people what the model thinks, too
    """
    from operable.cli.agent.builtin_chat import chatted

    words = {
        "--provider": provider,
        "--model": model,
        "--base-url": base_url,
        "--max-tokens": max_tokens,
        "--max-turns": max_turns,
        "--thinking": "enabled" if thinking else None,
        "--effort": effort,
        "--system-prompt": system_prompt,
        "--workspace": workspace,
        "--allow": allow,
        "--tool": tool,
        "--app": app,
        "--sandbox": sandbox,
        "--session-id": session_id,
        "--resume": resume,
        "--no-session": not session,
        "--offline": offline,
        "--auto-approve": auto_approve,
    }
    return chatted(context, words, list(message), mode=mode and mode.replace("-", "_"), thoughts=thoughts)


COMMAND = chat
