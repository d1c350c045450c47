"""`operable agent doctor`: what is between an agent and its start, and with `--fix` what can be done about it.

One `aoi:check` each for the program, its version, its setup, its login, its sandbox and its secrets; a failed one
names the command that fixes it. Without `--fix` nothing is changed. With it, every fix that needs no person is planned and
done (installing, setup steps, logins). Then everything is checked again. Exit status 65 when something is
left.
"""

from __future__ import annotations

from operable.cli.agent.events import AgentMended
from operable.tool import Change, Check, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=3600.0,
    examples=["agent doctor claude-code", "agent doctor goose --fix --output jsonl"],
)
def doctor(
    name: str, *, fix: bool = False, workspace: str = ".", context: Context
) -> Iterator[Check | Change]:
    """Look at everything that an agent needs before it can start, and fix what can be fixed.

    name: its name, its id, or the path of its manifest
    fix: do what can be done from here
    workspace DIR: the folder that it is used in
    """
    from operable.cli.agent.readiness import looked_at

    return looked_at(name, workspace, context, fix=fix)


@doctor.apply
def do(changes: list[Change], context: Context) -> Iterator[AgentMended | Check]:
    from operable.cli.agent.readiness import mended

    return mended(changes, context)


COMMAND = doctor
