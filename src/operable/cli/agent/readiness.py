"""What `operable agent install`, `setup`, `login` and `doctor` plan and do: the way to a program that can be started.

Planning looks and changes nothing (but remembers what it found, as every look does); doing goes through
`operable.host.launch`, which is safe against interruption and against a second one at the same time.
"""

from __future__ import annotations

import os
import queue
import shlex
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from operable.cli.agent.events import AgentInstalled, AgentLogin, AgentMended, SetupStepDone
from operable.cli.agent.login_key import keep_key
from operable.cli.agent.manifests import json_file, launch, somebody
from operable.host.launch.doctor import LaunchCheck, doctor, mend
from operable.host.launch.install import Installed
from operable.host.launch.installer import InstallProgress
from operable.host.launch.login.auth import Authentication
from operable.host.launch.readiness import Launch, checked, not_installed, own_login
from operable.host.launch.setup import Setup
from operable.host.launch.step import step_kind
from operable.host.launch.version import check
from operable.host.start.confinement_paths import HOST_ACCESS
from operable.host.start.options import StartOptions, resolve_options
from operable.host.start.own_permissions import find_own_permission
from operable.host.start.placement import needed, sandbox_of, vault_of
from operable.host.start.sequence import placing_for
from operable.kernel.errors import Fail
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.proc.sandbox.confinement import sandbox
from operable.tool import Change, Check, Progress

if TYPE_CHECKING:
    from operable.tool import Context

_EVERY = 1.0  # seconds between two words about one download
Ready = tuple[Installed, str]  # a program, and its version


# --- install


def planned_install(name: str, workspace: str, *, again: bool, unpinned: bool) -> Change | None:
    """None: it is there, in a version that fits."""
    _, job = launch(name, StartOptions(workspace))
    installed = job.installation().locate()
    why = "it is not installed"
    if installed is not None:
        found = check(job.manifest.version_check, job.surroundings(installed.binary))
        if found.fits and not again:
            return None
        why = "asked for" if found.fits else found.why
    return Change(
        "install",
        job.manifest.name,
        path=name if "/" in name else None,
        workspace=os.path.realpath(workspace),
        why=why,
        methods=[each.method for each in job.manifest.install],
        again=again or None,
        unpinned=unpinned or None,
    )


def installed(change: Change) -> Iterator[AgentInstalled | Progress]:
    """Install, then ask the installed file for its version."""
    unpinned = bool(change.get("unpinned"))
    _, job = _again(change, StartOptions(allow_unpinned=unpinned, may_install=True))
    found, version = yield from _install_progress(job, again=bool(change.get("again")))
    yield AgentInstalled(
        id=job.manifest.id, name=job.manifest.name, binary=found.binary, version=version, method=found.method
    )


def _install_progress(job: Launch, *, again: bool) -> Generator[Progress, None, Ready]:
    """Install what is missing (`again`: also what is there), and give the program that was asked for its version.

    In a thread of its own, its words as progress while it runs. When the reader stops, so does the installation, and it
    is waited for.
    """
    stop = threading.Event()
    told: queue.SimpleQueue[InstallProgress | None] = queue.SimpleQueue()
    watched = replace(job, stop=stop, report=told.put)
    with ThreadPoolExecutor(1, thread_name_prefix="install") as pool:
        running = pool.submit(_install, watched, again)
        running.add_done_callback(lambda _: told.put(None))
        try:
            yield from _shown(told)
        finally:
            stop.set()
    return running.result()


def _install(job: Launch, again: bool) -> Ready:
    if again and job.installation().locate() is not None:
        job.installation().install(again=True)
    return checked(job)


def _shown(told: queue.SimpleQueue[InstallProgress | None]) -> Generator[Progress, None, None]:
    steps, last = 0, float("-inf")
    while (each := told.get()) is not None:
        if each.done is None:
            steps += 1
            yield Progress(done=steps, message=each.message, unit="steps")
        elif each.done == each.total or time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            yield Progress(done=each.done, total=each.total, message=each.message, unit="bytes")


# --- setup


def planned_setup(
    name: str, workspace: str, context: Context, *, answers: str | None, again: bool
) -> Iterator[Change]:
    """One change per open step. Raises Fail setup_required if a step needs a user and no user is present."""
    _, job = launch(name, StartOptions(workspace))
    job = replace(job, answers=_answers(answers), person=somebody(context), remember=not context.dry_run)
    binary = _binary(job)
    setup = job.setup(binary)
    pending = setup.pending()
    wanted = [step.id for step in (setup.steps if again else pending)]
    if not again and pending and not context.dry_run:
        for step in pending:
            if step.needs_person and step.id not in job.answers and job.person is None:
                raise _setup_required(setup, name)
    for step_id in wanted:
        yield Change(
            "set up",
            step_id,
            agent=name,
            workspace=os.path.realpath(workspace),
            answers=None if answers is None else os.path.abspath(answers),
            again=again or None,
        )


def _setup_required(setup: Setup, name: str) -> Fail:
    """The open steps, and how to do them without a terminal where that is possible."""
    unanswered = [each.id for each in setup.pending() if each.needs_person and each.id not in setup.answers]
    kinds = [step_kind(each) for each in setup.steps if each.id in unanswered]
    line = shlex.join(["operable", "agent", "setup", name])
    if all(kind.takes_answer for kind in kinds):
        hint = f"write a JSON file with answers to {', '.join(unanswered)}, then: {line} --answers FILE"
    else:
        hint = f"a person has to do it at a terminal: {line}"
    try:
        setup.require()
    except Fail as required:
        required.hint = hint
        return required
    raise AssertionError("a step is open")  # as `pending` says


def set_up(changes: list[Change], context: Context) -> Iterator[SetupStepDone]:
    """All steps in order; the pipeline stops at the first that fails."""
    first = changes[0]
    _, job = launch(first["agent"], StartOptions(first["workspace"], person=somebody(context)))
    job = replace(job, answers=_answers(first.get("answers")))
    if first.get("again"):
        job.ledger.reopen(job.scope)
    setup = job.setup(_binary(job))
    setup.run()
    records = job.ledger.steps(job.scope)
    for change in changes:
        record = records.get(change.target)
        yield SetupStepDone(
            id=f"{job.manifest.id}/{change.target}",
            name=job.manifest.name,
            step=change.target,
            outcome="done" if record is None else record.outcome,
        )


# --- login


def planned_login(name: str, workspace: str, context: Context, *, again: bool) -> Change | Check:
    """A check: it is logged in, and how that is known. Fail auth_required, with what to do, if it cannot be done here."""
    loaded, job = launch(name, StartOptions(workspace, person=somebody(context)))
    manifest = loaded.as_(AgentCli)
    job = replace(job, remember=not context.dry_run)
    authentication = _authentication(loaded, job)
    login = None if authentication.auth is None else authentication.auth.login
    if authentication.auth is not None and authentication.look() == "authed" and not again:
        return _logged_in(manifest, authentication)
    if login is None:
        raise _how_to_log_in(manifest, authentication.required())
    if login.interactive and job.person is None and not context.dry_run:
        raise _how_to_log_in(manifest, authentication.required("its login needs a person at a terminal"))
    return Change("log in", name, workspace=os.path.realpath(workspace), command=login.cmd)


def _authentication(loaded: Loaded, job: Launch) -> Authentication:
    return job.authentication(_binary(job), job.setup(None).environment(), own_login(loaded.as_(AgentCli)))


def _logged_in(manifest: AgentCli, authentication: Authentication) -> Check:
    known = authentication.evidence()
    detail = f"{manifest.name} is logged in" + (f": {known}" if known else "")
    found = Check(ok=True, detail=detail, severity="info")
    found.fields["name"] = "login"
    return found


def _how_to_log_in(manifest: AgentCli, failure: Fail) -> Fail:
    """The same with everything that can be done: its command, the variables of its keys, its own words."""
    told = manifest.metadata.get("operable", {})
    ways = [f"run {failure.details['login_command']}"] if failure.details.get("login_command") else []
    if variables := " or ".join(manifest.models.env.values()):
        ways.append(f"give it a key in {variables}")
    if isinstance(told.get("login_help"), str):
        ways.append(told["login_help"])
    if ways:
        failure.hint = "; or ".join(ways)
    return failure


def logged_in(change: Change, context: Context) -> AgentLogin:
    loaded, job = _again(change, StartOptions(person=somebody(context)))
    if change.get("source") is not None:
        keep_key(change)
        loaded, job = _again(change, StartOptions())  # as one that has the key
        authentication = _authentication(loaded, job)
    else:
        authentication = _authentication(loaded, job)
        authentication.login()
    return AgentLogin(id=job.manifest.id, name=job.manifest.name, state=authentication.look())


# --- doctor


def looked_at(name: str, workspace: str, context: Context, *, fix: bool) -> Iterator[Check | Change]:
    """One check after the other; with `fix`, a plan of what can be fixed from here instead of a failure."""
    loaded, job = launch(name, StartOptions(workspace, person=somebody(context)))
    job = replace(job, remember=not context.dry_run)
    for found in _checks(loaded, job, workspace):
        mendable = fix and found.fix is not None and found.fix.run is not None
        yield _check(found, severity="warning" if mendable else None)
        if mendable and found.fix is not None:
            yield Change(
                found.fix.action, name, workspace=os.path.realpath(workspace), command=found.fix.command
            )


def mended(changes: list[Change], context: Context) -> Iterator[AgentMended | Check]:
    """Fix what can be fixed, in order, checking again after each; then what was done, and its state."""
    first = changes[0]
    loaded, job = _again(first, StartOptions(person=somebody(context)))
    before = {
        found.fix.action for found in _failing(loaded, job, first["workspace"]) if found.fix is not None
    }
    found = list(mend(lambda: _checks(loaded, job, first["workspace"])))
    after = {each.fix.action for each in found if each.status == "failed" and each.fix is not None}
    for action in sorted(before - after):
        yield AgentMended(id=job.manifest.id, name=job.manifest.name, action=action)
    yield from map(_check, found)


def _failing(loaded: Loaded, job: Launch, workspace: str) -> list[LaunchCheck]:
    return [found for found in _checks(loaded, job, workspace) if found.status == "failed"]


def _checks(loaded: Loaded, job: Launch, workspace: str) -> Iterator[LaunchCheck]:
    placing = placing_for(loaded, resolve_options(StartOptions(workspace)))
    slugs = [entry.slug for entry in needed(vault_of(loaded, placing), placing)]
    provider = sandbox_of(loaded).provider
    keys = list(loaded.as_(AgentCli).models.env.values())
    confines = provider not in HOST_ACCESS
    missing = lambda: sandbox(provider).missing("system")  # noqa: E731
    yield from doctor(job, sandbox=missing, confines=confines, secrets=slugs, keys=keys)
    home = os.path.expanduser("~")
    allowed = find_own_permission(loaded.as_(AgentCli), os.environ, (home,), workspace)
    if allowed is not None:
        message = f"{allowed.member} in {allowed.path} allows calls without a question: rules that deny or ask are refused"
        yield LaunchCheck("permissions", "open", message)


def _check(found: LaunchCheck, severity: str | None = None) -> Check:
    hint = None if found.fix is None else found.fix.command
    level = {"failed": severity or "error", "open": "warning"}.get(found.status, "info")
    made = Check(ok=found.status == "ok", detail=found.message, severity=level, hint=hint)
    made.fields["name"] = found.name
    return made


# --- shared


def _again(change: Change, options: StartOptions) -> tuple[Loaded, Launch]:
    """The manifest of a plan, looked up again: it must still be trusted."""
    return launch(change.get("path") or change.target, replace(options, workspace=change["workspace"]))


def _binary(job: Launch) -> str:
    found = job.installation().locate()
    if found is None:
        raise not_installed(job.manifest)
    return found.binary


def _answers(path: str | None) -> Mapping[str, str]:
    """Step id -> answer, from a JSON file: answers may be secrets, which have no place among arguments."""
    if path is None:
        return {}
    found = json_file(path, "the answers")
    wrong = sorted(name for name, value in found.items() if not isinstance(value, str))
    if wrong:
        raise Fail(
            "validation", "INVALID_ANSWERS", f"answers are texts: {', '.join(wrong)}", target="--answers"
        )
    return found
