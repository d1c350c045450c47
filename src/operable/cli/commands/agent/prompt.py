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
    continuation: str | None = None,
    install: bool = False,
    thoughts: bool = False,
    context: Context,
) -> Iterator[Said]:
    """Send one message to an agent and stream the result.

    name: its name, its id, or the path of its manifest
    prompt: the message; - reads it from standard input
    workspace: the folder that it works in
    policy: a file with rules
    allow: what it may do without asking, as a pattern: Bash, 'execute:git *', kind:read, *; may be repeated
    deny: what it may not do; may be repeated
    ask: what a person is to be asked about; may be repeated
    mode: one of its modes
    model: the model to use
    option: a value for one of its options, as ID=VALUE; may be repeated
    sandbox: confine it: bubblewrap, another provider, or none (it then has all your rights); else as its manifest says
    egress: a host that it may reach beyond those of its manifest, as NAME or NAME:PORT; may be repeated
    env: give the agent this variable, as NAME=VALUE, or NAME=@FILE for a secret; may be repeated
    session: the id that this session gets in our own books
    resume: go on with this earlier session: our id of it, or the agent's own
    continuation: how earlier turns reach the agent, one of those that its manifest supports
    install: install it, with your rights, when it is not there in the right version; else that is refused, or asked
    thoughts: show people what it thinks, too
    """
    from operable.cli.agent.conversation import ConversationOptions, Talk, policy_of
    from operable.cli.agent.manifests import read_text
    from operable.host.start.options import StartOptions

    wanted = ConversationOptions(
        name,
        StartOptions(
            workspace,
            policy=policy_of(policy, allow=allow, deny=deny, ask=ask),
            mode=mode,
            model=model,
            session_id=session,
            resume=resume,
            continuation=continuation,
            sandbox=sandbox,
            egress=tuple(egress or ()),
            may_install=install,
        ),
        options=option,
        env=env,
        thoughts=thoughts,
    )
    text = read_text("-") if prompt == "-" else prompt
    with Talk(context, wanted) as talk:
        yield from talk.turn(text)


COMMAND = prompt
