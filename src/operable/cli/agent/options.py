"""The options that `operable agent prompt` and `operable agent chat` share."""

from __future__ import annotations

from operable.tool import Options


class ConversationOptions(Options):
    """How an agent is started, and what it may do.

    workspace DIR: the folder that it works in
    policy FILE: a file with rules
    allow PATTERN: what it may do without asking, as a pattern: Bash, 'execute:git *', kind:read, *; may be repeated
    deny PATTERN: what it may not do; may be repeated
    ask PATTERN: what a person is to be asked about; may be repeated
    mode MODE: one of its modes
    model MODEL: the model to use
    option ID=VALUE: a value for one of its options, as ID=VALUE; may be repeated
    sandbox NAME: confine it: bubblewrap, another provider, or none (it then has all your rights); else as its manifest says
    egress HOST: a host that it may reach beyond those of its manifest, as NAME or NAME:PORT; may be repeated
    env NAME=VALUE: give the agent this variable, as NAME=VALUE, or NAME=@FILE for a secret; may be repeated
    session SESSION: the id that this session gets in our own books
    keep_for AGE: how long its log is kept after its end before `operable agent prune` removes it: 90s, 30m, 2h or 30d
    resume SESSION: go on with this earlier session: our id of it, or the agent's own; pick shows them and asks
    install: install it, with your rights, when it is not there in the right version; else that is refused, or asked
    thoughts: show people what it thinks, too
    """

    workspace: str = "."
    policy: str | None = None
    allow: list[str] | None = None
    deny: list[str] | None = None
    ask: list[str] | None = None
    mode: str | None = None
    model: str | None = None
    option: list[str] | None = None
    sandbox: str | None = None
    egress: list[str] | None = None
    env: list[str] | None = None
    session: str | None = None
    keep_for: str | None = None
    resume: str | None = None
    install: bool = False
    thoughts: bool = False
