"""`operable app schedules`: the scheduling commands that an application documents.

Only these may be called, and only where APP.md says `scheduling: supported`; anything else is refused. The section of the
body that is about scheduling is read, and nothing is run.
"""

from __future__ import annotations

from operable.cli.app.events import AppSchedule
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    columns=("command", "usage"),
    examples=["app schedules todo-app", "app schedules ./apps/mine --output jsonl"],
)
def schedules(name: str, *, workspace: str = ".") -> Iterator[AppSchedule]:
    """Show the scheduling commands that an application documents.

    name: its slug, or the path of its folder
    workspace DIR: the project
    """
    from operable.app.usage import schedules as documented
    from operable.cli.app.packages import meant

    for each in documented(meant(name, workspace)):
        yield AppSchedule(command=each.command, usage=each.usage)


COMMAND = schedules
