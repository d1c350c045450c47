"""agentcli.inspect: what a scheduler, or our own engine, holds."""

import os
from typing import Any

from operable.flow.home import home_of
from operable.flow.method import Defaults, Method, text_of
from operable.flow.scheduler.inspection import inspect, inspection_of
from operable.flow.scheduler.job_store import store_path


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    asked = inspection_of(params)
    given = text_of(params, "dbPath")
    if asked.target == "operable":
        home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
        return inspect(store_path(home, given, cwd=defaults.cwd), asked)
    path = given or defaults.db_path
    return inspect(os.path.join(defaults.cwd, path) if path else None, asked)


METHOD = Method(
    name="agentcli.inspect",
    order=10,
    summary="Read scheduler state with field masks",
    run=_run,
    slow=True,
    params=("entity", "dbPath", "limit", "offset", "fields", "sanitize", "where", "target"),
)
