"""`operable agent chat`: a conversation with an agent at the terminal, with its questions answered there.

One session, one turn after the other. What the agent asks and no rule answers is asked at the terminal, and may as well be
answered from another one (`operable agent answer`); the first answer counts. `/mode ID`, `/model ID`, `/help` and `/quit`
are for the host, everything else goes to the agent. The end of the input (Ctrl-D) ends the conversation, and so does
Ctrl-C, which cancels a running turn first.

Without a terminal, `--messages` brings the user's side, one message per line; then what no rule allows is denied, as in
`operable agent prompt`.
"""

from __future__ import annotations

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
    workspace: str = ".",
    policy: str | None = None,
    allow: list[str] | None = None,
    deny: list[str] | None = None,
    ask: list[str] | None = None,
    mode: str | None = None,
    model: str | None = None,
    option: list[str] | None = None,
    sandbox: str | None = None,
    egress: list[str] | None = None,
    env: list[str] | None = None,
    session: str | None = None,
    resume: str | None = None,
    install: bool = False,
    thoughts: bool = False,
    context: Context,
) -> Iterator[Said]:
    """Hold a conversation with an agent, and answer what it asks.

    name: its name, its id, or the path of its manifest
    messages: a file with the user's messages, one per line; - is standard input
    workspace: the folder that it works in
    policy: a file with rules
    allow: what it may do without asking, as a pattern; may be repeated
    deny: what it may not do; may be repeated
    ask: what a person is to be asked about; at the terminal everything that no rule decides; may be repeated
    mode: one of its modes
    model: the model to use
    option: a value for one of its options, as ID=VALUE; may be repeated
    sandbox: confine it: bubblewrap, another provider, or none (it then has all your rights); else as its manifest says
    egress: a host that it may reach beyond those of its manifest, as NAME or NAME:PORT; may be repeated
    env: give the agent this variable, as NAME=VALUE, or NAME=@FILE for a secret; may be repeated
    session: the id that this session gets in our own books
    resume: go on with this earlier session: our id of it, or the agent's own
    install: install it, with your rights, when it is not there in the right version; else that is refused, or asked
    thoughts: show what it thinks, too
    """
    from operable.cli.agent.chat import chatted
    from operable.cli.agent.conversation import ConversationOptions, policy_of
    from operable.host.start.options import StartOptions

    wanted = ConversationOptions(
        name,
        StartOptions(
            workspace,
            policy=policy_of(policy, allow=allow, deny=deny, ask=ask, asking=messages is None),
            mode=mode,
            model=model,
            session_id=session,
            resume=resume,
            sandbox=sandbox,
            egress=tuple(egress or ()),
            may_install=install,
        ),
        options=option,
        env=env,
        thoughts=thoughts,
    )
    return chatted(context, wanted, messages)


COMMAND = chat
