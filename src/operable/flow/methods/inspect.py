"""agentcli.inspect: what a scheduler, or our own engine, holds."""

import os
from typing import Any

from operable.flow.homes import home_of
from operable.flow.inspecting import inspect, inspection_of
from operable.flow.job_store import store_path
from operable.flow.method import Defaults, Method


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    asked = inspection_of(params)
    given = params.get("dbPath")
    path = given if isinstance(given, str) and given else defaults.db_path
    if asked.target == "operable":
        home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
        given_path = given if isinstance(given, str) else None
        return inspect(store_path(home, given_path, cwd=defaults.cwd), asked)
    return inspect(os.path.join(defaults.cwd, path) if path else None, asked)


METHOD = Method(
    name="agentcli.inspect",
    order=10,
    summary="Read scheduler state with field masks",
    run=_run,
    slow=True,
    params=("entity", "dbPath", "limit", "offset", "fields", "sanitize", "where", "target"),
)
