"""`operable policy test`: what would be decided about a call, and which rule says so. Nothing is run or recorded.

The call is named as rules name it: KIND/NAME/ACTION. Its effect, and the command line of its program, are what the catalog
has of it, or what the caller says here. Without either, the words of the call stand for the line, and the effect is not
known, which counts against the call.
"""

from __future__ import annotations

from operable.cli.gate.events import CallDecision
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


@command(
    columns=("effect", "rule", "why"),
    examples=[
        "policy test wrap/git/push --caller mcp:claude-desktop --command 'git push origin main'",
        "policy test app/notes/add --arg text=hello --effect change --output jsonl",
    ],
)
def decide(
    call: str,
    *,
    caller: str | None = None,
    arg: list[str] | None = None,
    command: str | None = None,
    effect: Literal["read", "change", "destroy", "unknown"] | None = None,
    workspace: str = ".",
) -> list[CallDecision]:
    """Say what would be decided about a call, and why.

    call: what is called, as KIND/NAME/ACTION
    caller: who calls, as KIND:NAME; by default you
    arg: an argument of the call, as NAME=VALUE
    command: the command line of the program that it runs
    effect: what its owner declares that it does, in place of what the catalog has
    workspace DIR: the folder that it is called from
    """
    from operable.cli.gate.policy import decision

    return [
        decision(
            call, caller=caller, arguments=arg or (), command=command, effect=effect, workspace=workspace
        )
    ]


COMMAND = decide
