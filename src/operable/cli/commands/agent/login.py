"""`operable agent login`: log an agent in, by the login command of its manifest, on this terminal when it needs one.

With `--from-file` a key is put where its SECRETS.md says, a keyring or a private file, from a file or standard input.

If it is logged in, the command says by what that is known (a key, a file) and does nothing, unless `--again`. A login that
needs a person is refused at once if no person is present, with `auth_required` and every way that there is: the agent's own
command, the variables of its keys, what its manifest says. Nothing waits.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentLogin
from operable.tool import Change, Check, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=900.0,  # a browser and a second factor
    examples=[
        "agent login mine",
        "agent login mine --again --output jsonl",
        "agent login mine --from-file key.txt",
    ],
)
def login(
    name: str, *, again: bool = False, from_file: str | None = None, workspace: str = ".", context: Context
) -> Iterator[Change | Check]:
    """Log an agent in.

    name: its name, its id, or the path of its manifest
    again: also when it is logged in
    from_file FILE: log in with the key in this file (`-`: standard input), kept where its SECRETS.md says
    workspace DIR: the folder that it is used in
    """
    from operable.cli.agent.login_key import planned_key
    from operable.cli.agent.readiness import planned_login

    if from_file is not None:
        yield planned_key(name, workspace, from_file)
        return
    yield planned_login(name, workspace, context, again=again)


@login.apply
def do(changes: list[Change], context: Context) -> Iterator[AgentLogin]:
    from operable.cli.agent.readiness import logged_in

    for change in changes:
        yield logged_in(change, context)


COMMAND = login
