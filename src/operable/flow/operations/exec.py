"""Run one task here, with its approval, identity, contract and evidence. A prompt task goes to a scheduler."""

from typing import Any

from operable.flow.operation import MANIFEST, SCHEDULER, TASK, Defaults, Operation, Parameter
from operable.flow.task_query import AGENT, EXECUTION


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.manifest.selection import select
    from operable.flow.run.executor import execute_selected, preview
    from operable.flow.task_query import caller_of, exec_options

    options = exec_options(params)
    selected = select(params["manifest"], params["taskId"], options.workflow_id)
    if not selected.is_shell:
        return _delegated(selected, params, defaults)
    if params.get("dryRun"):
        return preview(params["manifest"], params["taskId"], caller_of(defaults), options)
    return execute_selected(selected, caller_of(defaults), options)


def _delegated(selected: Any, params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.scheduler.backends import backend_of
    from operable.flow.scheduler.specs import dispatch, no_runtime, preview_dispatch

    if params.get("dryRun"):
        return preview_dispatch(selected)
    named = (params.get("schedulerPrefix"), params.get("schedulerBin"))
    if not any((*named, defaults.scheduler_prefix, defaults.scheduler_bin)):
        raise no_runtime(selected)
    client = backend_of(params, defaults).client
    assert client is not None  # noqa: S101 - the scheduler is the default backend
    return dispatch(selected, client, defaults.cwd, defaults.environment)


OPERATION = Operation(
    verb="exec",
    place=13,
    summary="Run one task here",
    run=_run,
    changes=True,
    slow=True,
    params=(
        MANIFEST,
        TASK,
        *EXECUTION,
        Parameter("approvalId", help="use this approval"),
        *(param._replace(help="") for param in SCHEDULER if param.rpc),
        *AGENT,
    ),
)
