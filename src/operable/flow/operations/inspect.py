"""What a scheduler, or our own engine, holds."""

import os
from typing import Any

from operable.flow.operation import BACKEND, DATABASE, Defaults, Operation, Parameter, home, text_of


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.home import home_of
    from operable.flow.scheduler.inspection import inspect, inspection_of
    from operable.flow.scheduler.job_store import jobs_address

    asked = inspection_of(params)
    given = text_of(params, "dbPath")
    if asked.target == "operable":
        home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
        return inspect(jobs_address(defaults.environment, home, path=given, cwd=defaults.cwd), asked)
    path = given or defaults.db_path
    return inspect(os.path.join(defaults.cwd, path) if path else None, asked)


OPERATION = Operation(
    method="agentcli.inspect",
    order=10,
    verb="inspect",
    place=9,
    summary="Read scheduler state with field masks",
    run=_run,
    slow=True,
    params=(
        Parameter(
            "entity",
            "word",
            shown="[entity]",
            default="jobs",
            help="jobs or applies; of openclaw-scheduler also runs, queue, approvals, evidence, artifacts, events and "
            "others",
        ),
        BACKEND._replace(help="the backend"),
        Parameter("dbPath", option="db", help="its database"),
        home("where the jobs of Operable's own engine are kept"),
        DATABASE,
        Parameter("limit", "count"),
        Parameter("offset", "json", agentcli=False),
        Parameter("fields", help="only these fields, with commas between; a.b walks into objects"),
        Parameter(
            "where",
            "json",
            agentcli=False,
            help="only records whose column has this value, as column=value; may be repeated",
        ),
        Parameter(
            "sanitize",
            choices=("none", "basic"),
            refusal="Unsupported sanitize mode: {value}. Accepted values: {choices}",
            default="none",
            help="basic removes terminal sequences and control characters",
        ),
    ),
)
