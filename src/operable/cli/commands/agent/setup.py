"""`operable agent setup`: do the setup steps of an agent that are still open, in order, once per bundle, workspace and user.

Questions are asked at the terminal, or answered beforehand by `--answers`, a JSON file (step id -> answer): answers may be
secrets, which have no place on a command line. If a step needs a person and no person is present, nothing is done, and
the error `setup_required` lists the open steps. The step that failed is named by `setup_failed`; those before it stay done.
"""

from __future__ import annotations

from operable.cli.agent.events import SetupStepDone
from operable.tool import Change, Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    timeout=3600.0,  # a person goes to a browser and comes back
    examples=["agent setup mine", "agent setup mine --answers answers.json --output jsonl"],
)
def setup(
    name: str,
    *,
    answers: str | None = None,
    again: bool = False,
    workspace: str = ".",
    context: Context,
) -> Iterator[Change]:
    """Do the open setup steps of an agent.

    name: its name, its id, or the path of its manifest
    answers: a JSON file with answers, by the id of the step
    again: do all of them again
    workspace DIR: the folder that it is set up for
    """
    from operable.cli.agent.readiness import planned_setup

    return planned_setup(name, workspace, context, answers=answers, again=again)


@setup.apply
def do(changes: list[Change], context: Context) -> Iterator[SetupStepDone]:
    from operable.cli.agent.readiness import set_up

    return set_up(changes, context)


COMMAND = setup
