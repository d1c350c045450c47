"""What the commands of `operable flow` share that plan, apply, prune and inspect: one application, planned and then done.

A planned job carries the whole application as its payload: the second phase applies exactly what the first one planned, and
refuses when the backend has changed in between.

`inspected` and `negotiated` read a backend, for `operable flow inspect` and `capabilities`.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.cli.flow.command import FlowCall
from operable.cli.flow.events import AppliedJob, BackendCapabilities, BackendItem, PlannedJob
from operable.cli.flow.input import addressed
from operable.cli.flow.rpc import defaults_of
from operable.engine.place import engine_place
from operable.flow.contracts import Surroundings
from operable.flow.home import home_of
from operable.flow.operation import Defaults, current_folder
from operable.flow.scheduler.backends import ENGINE, SCHEDULER, SchedulerBackend, apply, backend_of, plan
from operable.flow.scheduler.inspection import inspect, inspection_of
from operable.flow.scheduler.job_store import jobs_address
from operable.flow.scheduler.openclaw import check_capabilities
from operable.flow.scheduler.reconciliation import ApplyOptions, JobStep
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.state.database import is_shared
from operable.tool import Change, Context, Page, Warn

_NAMED = 5  # jobs that a warning names
_WIDTH = 100  # characters of a value in a diff for people; programs get all of it


@dataclass(frozen=True, slots=True)
class Application:
    """A manifest on its way to a backend."""

    source: str
    manifest: Any
    backend: SchedulerBackend
    options: ApplyOptions
    surroundings: Surroundings
    exact: bool = True  # whether a person has looked at the plan, so that nothing else may be done

    def steps(self) -> tuple[list[JobStep], list[Warn]]:
        """What would be done, what the backend only half does, and which jobs it would leave behind."""
        texts: list[str] = []
        # Only our own store can say of every job which workflow it came from.
        looks = self.backend.client is None
        options = replace(self.options, prune=True) if looks else self.options
        with addressed(self.source):
            steps = plan(self.manifest, self.backend, options, self.surroundings, texts.append)
        warnings = [Warn("CAPABILITY_MISSING", text) for text in texts]
        if looks and not (self.options.prune or self.options.only_prune):
            left = [step for step in steps if step.action == "pruned"]
            steps = [step for step in steps if step.action != "pruned"]
            warnings += [self._left(left)] if left else []
        return steps, warnings

    def _left(self, steps: list[JobStep]) -> Warn:
        names = [step.name for step in steps[:_NAMED]]
        names += [f"and {len(steps) - _NAMED} more"] if len(steps) > _NAMED else []
        message = f"jobs of these workflows that are not in the manifest go on: {', '.join(names)}"
        hint = shlex.join(["operable", "flow", "prune", self.source, "--dry-run"])
        return Warn("JOBS_LEFT", message, hint=hint, jobs=[step.job_id for step in steps])

    def done(self, fingerprints: tuple[str, ...]) -> list[AppliedJob]:
        """Apply what has these fingerprints, and nothing else; without a plan that was seen, what is to be done by now.

        Then two applies at the same time come one after the other.
        """
        options = replace(self.options, expected=fingerprints if self.exact else None, skip_unchanged=True)
        with addressed(self.source):
            result = apply(self.manifest, self.backend, options, self.surroundings)
        return [_applied(action) for action in result["actions"] if action["action"] != "unchanged"]


_VERBS = {"created": "create", "updated": "update", "adopted": "adopt", "pruned": "prune"}


def application(
    call: FlowCall, *, network: bool, only_prune: bool = False, confirmed: bool = True
) -> Application:
    """What was said on the command line, with the environment's defaults."""
    options = ApplyOptions(
        adopt_by=call["adoptBy"] or "id",
        prune=bool(call["prune"]),
        only_prune=only_prune,
        allow_proof_command=call["allowProofCommand"],
    )
    manifest, defaults = call.manifest(), local_defaults(call)
    around = Surroundings(defaults.cwd, defaults.environment, network=network)
    require_one_database(call)
    with addressed(call.source):
        names = ("target", "dbPath", "database")
        backend = backend_of({name: call[name] for name in names}, defaults)
    # A scheduler of others was asked for the plan already, job for job.
    exact = confirmed or options.prune or backend.client is not None
    return Application(call.source, manifest, backend, options, around, exact)


def require_one_database(call: FlowCall) -> None:
    """Raises Fail if the call names two databases, or another one than the engine of its home has."""
    if call["dbPath"] is not None:
        if call["database"] is not None:
            message = "--db names a file of jobs, and --database the database of the engine: give one"
            raise Fail("usage", "INVALID_VALUE", message, target="--database")
        return
    if call["target"] in (None, ENGINE):
        with addressed("."):
            place = engine_place(
                os.environ, home=call["home"], database=call["database"], cwd=current_folder()
            )
        place.require_same_store()


def local_defaults(call: FlowCall) -> Defaults:
    """The home and the scheduler that were named, else those of the environment."""
    prefix, program = call["schedulerPrefix"], call["schedulerBin"]
    with addressed("."):
        return defaults_of(db=None, home=call["home"], prefix=prefix, program=program, compat=None)


def local_home(home: str | None) -> str:
    with addressed(home or "home"):
        return home_of(os.environ, home)


def planned(work: Application) -> Iterator[Change[Application] | Warn]:
    """The first phase: what would be done, and what would be left."""
    steps, warnings = work.steps()
    yield from warnings
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
    steps, warnings = work.steps()
    yield from warnings
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
            require_one_database(call)
            home, database = local_home(call["home"]), call["database"]
            path = jobs_address(os.environ, home, path=db, database=database, cwd=os.getcwd())
            if db is None and not is_shared(path) and not os.path.lexists(path):
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
