"""Run a workflow here, from its scheduled roots."""

from typing import Any

from operable.flow.operation import MANIFEST, Defaults, Operation, Parameter, local
from operable.flow.task_query import AGENT, EXECUTION


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.run.workflow import RunOptions, run
    from operable.flow.task_query import caller_of, exec_options

    options = RunOptions(
        workflow_id=params.get("workflowId"),
        root=params.get("root"),
        all_roots=bool(params.get("allRoots")),
        each=exec_options(params),
    )
    return run(params["manifest"], caller_of(defaults), options, dry_run=bool(params.get("dryRun")))


OPERATION = Operation(
    verb="run",
    place=14,
    summary="Run a workflow here, from its scheduled roots",
    run=_run,
    changes=True,
    slow=True,
    params=(
        MANIFEST,
        *EXECUTION[:1],
        Parameter("root", help="begin at this scheduled task"),
        Parameter("allRoots", "flag", help="begin at all scheduled tasks"),
        local(
            "prompts",
            "run prompt tasks on agents; without it a workflow that reaches some is refused",
            "flag",
        ),
        local("retry", "try failed tasks again, as often as they declare", "flag"),
        *EXECUTION[1:],
        *AGENT,
    ),
)
