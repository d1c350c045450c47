"""`operable agent login`: log an agent in, by the login command of its manifest, on this terminal when it needs one.

Nothing is done when it is logged in, unless `--again`. A login that needs a person is refused at once if no person is
present, with `auth_required` and the agent's own command: nothing waits.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentLogin
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=900.0,  # a browser and a second factor
    examples=["agent login mine", "agent login mine --again --output jsonl"],
)
def login(name: str, *, again: bool = False, workspace: str = ".", context: Context) -> Iterator[Change]:
    """Log an agent in.

    name: its name, its id, or the path of its manifest
    again: also when it is logged in
    workspace: the folder that it is used in
    """
    from operable.cli.agent.readiness import planned_login

    change = planned_login(name, workspace, context, again=again)
    if change is not None:
        yield change


@login.apply
def do(changes: list[Change], context: Context) -> Iterator[AgentLogin]:
    from operable.cli.agent.readiness import logged_in

    for change in changes:
        yield logged_in(change, context)


COMMAND = login
