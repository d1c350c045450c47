"""Where jobs are applied: a scheduler that is reached through its program, or the store of our own engine.

One interface for both, so that plan, apply and prune do not depend on which one it is.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from operable.flow.canonical import spelled
from operable.flow.contracts import Surroundings
from operable.flow.errors import invalid_argument
from operable.flow.home import home_of
from operable.flow.manifest.inheritance import Json
from operable.flow.operation import Defaults, text_of, truthy
from operable.flow.scheduler import openclaw, operable
from operable.flow.scheduler.client import SchedulerClient, invocation_of
from operable.flow.scheduler.job_store import store_path
from operable.flow.scheduler.reconciliation import ApplyOptions, JobStep

ENGINE, SCHEDULER = operable.ENGINE, openclaw.SCHEDULER


@dataclass(frozen=True, slots=True)
class SchedulerBackend:
    """One place for jobs: `client` for a scheduler, `store` for our own engine."""

    target: str
    client: SchedulerClient | None = None
    store: str = ""


def backend_of(params: Mapping[str, Any], defaults: Defaults) -> SchedulerBackend:
    """The backend that a request means; without a word that is the scheduler, as its clients expect."""
    target: Any = params.get("target")
    target = target if truthy(target) else SCHEDULER
    db_path = text_of(params, "dbPath")
    if target == ENGINE:
        home = home_of(defaults.environment, defaults.home, cwd=defaults.cwd)
        return SchedulerBackend(ENGINE, store=store_path(home, db_path, cwd=defaults.cwd))
    if target != SCHEDULER:
        raise invalid_argument(f"Unsupported apply target: {spelled(target)}")
    prefix, program = text_of(params, "schedulerPrefix"), text_of(params, "schedulerBin")
    if not prefix and not program:
        prefix, program = defaults.scheduler_prefix, defaults.scheduler_bin
    client = SchedulerClient(
        invocation_of(prefix, program, defaults.environment),
        cwd=os.path.abspath(defaults.cwd),
        environment=defaults.environment,
        db_path=db_path or defaults.db_path,
    )
    return SchedulerBackend(SCHEDULER, client=client)


def apply(
    manifest: Json,
    backend: SchedulerBackend,
    options: ApplyOptions,
    surroundings: Surroundings,
    warn: Callable[[str], None] = lambda _text: None,
) -> Json:
    """The documented result; FlowError when nothing, or not everything, could be applied."""
    if backend.client is None:
        return operable.apply_to_store(manifest, backend.store, options, surroundings)
    return openclaw.apply_to_scheduler(manifest, backend.client, options, surroundings, warn)


def plan(
    manifest: Json,
    backend: SchedulerBackend,
    options: ApplyOptions,
    surroundings: Surroundings,
    warn: Callable[[str], None] = lambda _text: None,
) -> list[JobStep]:
    """What would happen to each job. Reads, negotiates and verifies proofs, and writes nothing."""
    if backend.client is None:
        return operable.plan_for_store(manifest, backend.store, options, surroundings)
    prepared = openclaw.prepare(manifest, backend.client, options, surroundings)
    for warning in prepared.warnings:
        warn(warning["message"])
    return prepared.steps
