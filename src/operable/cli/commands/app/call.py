"""`operable app call`: run one command of an application, and judge it.

It is admitted first: the command is documented, the package approved as it is now, and what `confirmationRequired` names
confirmed with `--confirm` (a person at a terminal is asked). Then `entry.command` and the words run as a list of arguments
from the package's root. One JSON document becomes one `app_entry`, or one per result where the package declares which list
holds them, and a summary with the rest; an AOI stream is passed on with its verdict. A non-zero exit status is always a
failure, and so is an error with status 0; the code is the application's own. stderr and internal places are shown only with
`--debug`. Nothing is retried.
"""

from __future__ import annotations

from operable.cli.app.events import AppEntry
from operable.tool import Relay, command


@command(
    runs_tools=True,
    timeout=60.0,
    grace=8.0,
    examples=[
        "app call todo-app -- list",
        "app call todo-app --output jsonl -- add 'Write docs' --due-at 2026-04-05",
        "app call todo-app --confirm -- remove td_0001 --confirm",
    ],
)
def call(
    app: str, *words: str, confirm: bool = False, stdin: str | None = None, workspace: str = ".", relay: Relay
) -> list[AppEntry]:
    """Run one command of an application. Write -- before it, so that its options are its own.

    app: its slug, or the path of its folder
    words: a documented command, and its arguments
    confirm: the user has agreed to a command that needs confirmation
    stdin FILE: a file that the command reads; - for standard input
    workspace DIR: the project
    """
    from operable.cli.app.call import called

    called(relay, app, words, workspace=workspace, confirm=confirm, stdin=stdin)
    return []  # the results have been reported, or passed on


COMMAND = call
