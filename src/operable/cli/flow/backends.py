"""What the commands of `operable flow` share that plan, apply, prune and inspect: one application, planned and then done.

A planned job carries the whole application as its payload: the second phase applies exactly what the first one planned, and
refuses when the backend has changed in between.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from operable.cli.flow.backend_events import AppliedJob, PlannedJob
from operable.cli.flow.command import FlowCall
from operable.cli.flow.input import addressed
from operable.cli.flow.rpc import defaults_of
from operable.flow.contracts import Surroundings
from operable.flow.home import home_of
from operable.flow.operation import Defaults
from operable.flow.scheduler.backends import SchedulerBackend, apply, backend_of, plan
from operable.flow.scheduler.reconciliation import ApplyOptions, JobStep
from operable.tool import Change, Context, Warn

_WIDTH = 100  # characters of a value in a diff for people; programs get all of it


@dataclass(frozen=True, slots=True)
class Application:
    """A manifest on its way to a backend."""

    source: str
    manifest: Any
    backend: SchedulerBackend
    options: ApplyOptions
    surroundings: Surroundings

    def steps(self, warnings: list[str]) -> list[JobStep]:
        with addressed(self.source):
            return plan(self.manifest, self.backend, self.options, self.surroundings, warnings.append)

    def done(self, fingerprints: tuple[str, ...]) -> list[AppliedJob]:
        """Apply what has these fingerprints, and nothing else."""
        options = replace(self.options, expected=fingerprints, skip_unchanged=True)
        with addressed(self.source):
            result = apply(self.manifest, self.backend, options, self.surroundings)
        return [_applied(action) for action in result["actions"] if action["action"] != "unchanged"]


_VERBS = {"created": "create", "updated": "update", "adopted": "adopt", "pruned": "prune"}


def application(call: FlowCall, *, network: bool, only_prune: bool = False) -> Application:
    """What was said on the command line, with the environment's defaults."""
    options = ApplyOptions(
        adopt_by=call["adoptBy"] or "id",
        prune=bool(call["prune"]),
        only_prune=only_prune,
        allow_proof_command=call["allowProofCommand"],
    )
    manifest, defaults = call.manifest(), local_defaults(call)
    around = Surroundings(defaults.cwd, defaults.environment, network=network)
    with addressed(call.source):
        backend = backend_of({"target": call["target"], "dbPath": call["dbPath"]}, defaults)
    return Application(call.source, manifest, backend, options, around)


def local_defaults(call: FlowCall) -> Defaults:
    """The home and the scheduler that were named, else those of the environment."""
    prefix, program = call["schedulerPrefix"], call["schedulerBin"]
    with addressed("."):
        return defaults_of(db=None, home=call["home"], prefix=prefix, program=program, compat=None)


def local_home(home: str | None) -> str:
    with addressed(home or "home"):
        return home_of(os.environ, home)


def planned(work: Application) -> Iterator[Change[Application] | Warn]:
    """The first phase: what would be done, and what the backend only half does."""
    warnings: list[str] = []
    steps = work.steps(warnings)
    for text in warnings:
        yield Warn("CAPABILITY_MISSING", text)
    for step in steps:
        if step.action != "unchanged":
            yield _change(step).carry(work)


def _change(step: JobStep) -> Change:
    return Change(
        _VERBS[step.action],
        step.name,
        job_id=step.job_id,
        adopted_from_job_id=step.adopted_from,
        changes=list(step.changes) or None,
        fingerprint=step.fingerprint,
    )


def done(changes: list[Change[Application]]) -> list[AppliedJob]:
    """The second phase. A list: it is done as a whole before it is reported."""
    return changes[0].payload.done(tuple(change["fingerprint"] for change in changes))


def views(work: Application, context: Context) -> Iterator[PlannedJob | Warn]:
    """The plan, also of what stays as it is: events for programs, a diff for people."""
    warnings: list[str] = []
    steps = work.steps(warnings)
    for text in warnings:
        yield Warn("CAPABILITY_MISSING", text)
    for step in steps:
        if not context.machine:
            context.show(_drawn(step))
            continue
        yield PlannedJob(
            action=step.action,
            name=step.name,
            job_id=step.job_id,
            invocation_mode=step.invocation_mode,
            adopted_from_job_id=step.adopted_from,
            changes=list(step.changes),
        )


_MARKS = {"created": "+", "updated": "~", "adopted": "~", "unchanged": " ", "pruned": "-"}


def _drawn(step: JobStep) -> str:
    """A step as people read a diff."""
    came = f" (was {step.adopted_from})" if step.adopted_from else ""
    lines = [f"{_MARKS[step.action]} {step.action:9}  {step.name}  {step.job_id}{came}"]
    for change in step.changes:
        before, after = (_short(change[name]) for name in ("before", "after"))
        lines.append(f"    {change['field']}: {before} -> {after}")
    return "".join(f"{line}\n" for line in lines)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"


def _applied(action: dict[str, Any]) -> AppliedJob:
    return AppliedJob(
        action=action["action"],
        name=action["name"],
        job_id=action["job_id"],
        invocation_mode=action["invocation_mode"],
        adopted_from_job_id=action.get("adopted_from_job_id"),
        authorization_proof_verification=action.get("authorization_proof_verification"),
    )
