"""What `operable flow inspect` and `operable flow capabilities` do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from operable.cli.flow.backend_events import BackendCapabilities, BackendItem
from operable.cli.flow.backends import local_defaults, local_home
from operable.cli.flow.command import FlowCall
from operable.cli.flow.input import addressed
from operable.flow.scheduler.backends import ENGINE, SCHEDULER, backend_of
from operable.flow.scheduler.inspection import inspect, inspection_of
from operable.flow.scheduler.job_store import store_path
from operable.flow.scheduler.openclaw import check_capabilities
from operable.kernel.errors import Fail
from operable.tool import Page


def inspected(call: FlowCall, page: Page) -> Iterator[BackendItem]:
    """Records from where the page begins."""
    target, db = call["target"], call["dbPath"]
    begin = 0 if page.after is None else int(page.after) + 1
    params = {name: call[name] for name in ("entity", "target", "fields", "sanitize")} | {
        "where": _conditions(call["where"] or []),
        "offset": begin,
        "limit": page.fetch or 1_000_000,
    }
    with addressed(db or target):
        path = db or os.environ.get("AGENTCLI_SCHEDULER_DB")
        if target == ENGINE:
            path = store_path(local_home(call["home"]), db, cwd=os.getcwd())
            if db is None and not os.path.lexists(path):
                inspection_of(params)  # a wrong entity is wrong also where nothing was applied yet
                return
        found = inspect(path, inspection_of(params))
    for number, item in enumerate(found["items"], begin):
        yield BackendItem(entity=call["entity"], number=number, item=item)


def _conditions(words: list[str]) -> dict[str, str]:
    found = {}
    for word in words:
        column, equals, value = word.partition("=")
        if not equals or not column:
            raise Fail(
                "usage",
                "CONDITION_INVALID",
                f"--where takes column=value, not {word!r}",
                hint="--where status=failed",
            )
        found[column] = value
    return found


def negotiated(call: FlowCall) -> BackendCapabilities:
    """What the scheduler says, against what the manifest needs."""
    manifest, defaults = call.manifest(), local_defaults(call)
    with addressed(call.source):
        backend = backend_of({"target": SCHEDULER, "dbPath": call["dbPath"]}, defaults)
        assert backend.client is not None  # noqa: S101 - the scheduler's backend has one
        found = check_capabilities(manifest, backend.client)
    effective, judged = found["effective"], found["compatibility"]
    version, schema = effective["handoff_version"], effective["schema_version"]
    return BackendCapabilities(
        compatible=judged["ok"],
        source=effective["source"],
        handoff_version=None if version is None else str(version),
        schema_version=schema if isinstance(schema, int) else None,
        errors=judged["errors"],
        warnings=judged["warnings"],
        features=effective["features"],
        problem=found["capabilities"].get("error"),
    )
