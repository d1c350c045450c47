"""The way from a manifest and a caller's choices to a running session, in the order of AIP-45.

    choices against the manifest -> rules against the agent -> readiness -> confinement -> spawn -> handshake -> drift

Nothing is started before everything that can be refused without starting has been. What each step does is its own
module's business; here is only the order, and what one hands to the next.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from operable.gate.audit.chain import Audit
from operable.gate.policy.agent_path import ANYWHERE
from operable.gate.policy.rules import Policy
from operable.host.arm import Arm
from operable.host.http.access import authorization, remote_address
from operable.host.http.transport import Remote
from operable.host.launch.doctor import rights
from operable.host.launch.installer import InstallProgress
from operable.host.launch.readiness import Launch, ReadyProgram, areadiness
from operable.host.launch.step import SecretStore
from operable.host.session.registry import Registry
from operable.host.session.session import Session
from operable.host.start import drift
from operable.host.start.assembly import Start, new_session_id, start_session
from operable.host.start.choices import (
    arm_for,
    budget_of,
    check_resume,
    check_rules,
    expects_asks,
    kinds_of_mode,
    limits_of,
    opening_of,
    quirks_of,
)
from operable.host.start.confinement import ConfinedAgent, provider
from operable.host.start.options import StartOptions, resolve_options
from operable.host.start.own_permissions import refuse_own_permissions
from operable.host.start.placement import (
    NONE,
    LoginFiles,
    Placing,
    choose_sandbox,
    is_unconfined,
    login_variables,
    place,
    sandbox_of,
    vault_of,
)
from operable.host.start.remote import MACHINE_TIMEOUT, admit, ready_elsewhere
from operable.host.start.vault import Vault
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.manifest.patches import Spawn, spawn_for, strategy_for
from operable.proc.command import PreparedCommand
from operable.proc.environment import environment, secret_values
from operable.wire.events import Notice

_FILE_MADE_WITHIN = 15.0
UNCONFINED = "no sandbox: the agent runs with all your rights"


async def begin(loaded: Loaded, options: StartOptions, *, trusted: bool) -> Session:
    """Start a session, or Fail with the first step that refuses."""
    wanted = resolve_options(options)
    loaded = choose_sandbox(loaded, wanted.sandbox, wanted.egress, wanted.workspace)
    manifest = loaded.as_(AgentCli)
    arm = arm_for(manifest)
    chosen = spawn_for(manifest, mode=wanted.mode, options=wanted.options, model=wanted.model)
    strategy_for(manifest, wanted.continuation)
    check_resume(manifest, arm, wanted)
    check_rules(manifest, arm, wanted)
    registry = Registry(wanted.state)
    await _gap_before_resume(manifest, wanted, registry)
    known = Known(wanted.given_secrets())
    known.add(*secret_values(chosen.env))
    audit = registry.audit(wanted.workspace, actor=f"agent:{manifest.id}", secrets=known)
    placing = _placing(manifest, chosen, wanted, audit, known, trusted=trusted)
    if manifest.mcp is not None and manifest.mcp.transport != "stdio":
        return await _start_remote(loaded, arm, chosen, wanted, registry, placing)
    login = await asyncio.to_thread(login_variables, loaded, placing)
    ready = None
    if provider(sandbox_of(loaded).provider).elsewhere:
        admit(manifest, arm, bool(login))
    else:
        ready = await areadiness(_launch(loaded, wanted, login, vault_of(loaded, placing)))
    confined = await asyncio.to_thread(
        place, loaded, placing, manifest.bin if ready is None else ready.binary
    )
    try:
        if ready is None:
            ready = await asyncio.to_thread(ready_elsewhere, manifest, confined.command, confined.known)
        return await _start(loaded, arm, chosen, wanted, ready, confined, registry)
    except BaseException:
        await asyncio.to_thread(confined.close)
        raise


async def _gap_before_resume(manifest: AgentCli, wanted: StartOptions, registry: Registry) -> None:
    """`resume_gap: minute`: Gemini empties a session that is taken up in the minute in which its file was made."""
    if wanted.resume is None or quirks_of(manifest).get("resume_gap") != "minute":
        return
    started = registry.last_start_of(wanted.resume, wanted.workspace)
    if started is None:
        return
    # Its file is made some seconds after the start that we noted.
    until = ((started + _FILE_MADE_WITHIN) // 60 + 1) * 60
    seconds = until - time.time()
    if 0 < seconds <= 60 + _FILE_MADE_WITHIN:
        text = (
            f"{manifest.id} would lose a session that is resumed in its first minute: {seconds:.0f} s to wait"
        )
        wanted.report(InstallProgress("resume", text))
        await asyncio.sleep(seconds)


async def _start(
    loaded: Loaded,
    arm: Arm,
    chosen: Spawn,
    wanted: StartOptions,
    ready: ReadyProgram,
    confined: ConfinedAgent,
    registry: Registry,
) -> Session:
    """Everything is decided: spawn, shake hands, compare."""
    manifest = loaded.as_(AgentCli)
    limits = limits_of(manifest, wanted)
    if arm.per_turn and limits.turn is None and confined.timeout is not None:
        limits = replace(limits, turn=confined.timeout)  # of one command, which a turn is here
    if confined.elsewhere and wanted.timeout is None:
        limits = replace(limits, handshake=limits.handshake + MACHINE_TIMEOUT)
    logins = _own_files(loaded, wanted, ready, confined)
    start = replace(
        _common(loaded, arm, chosen, wanted, registry, confined.cwd, elsewhere=confined.elsewhere),
        spawn=_spawner(manifest, chosen, ready, wanted, confined),
        limits=limits,
        secrets=confined.known,
        withheld=confined.withheld,
        confine=confined.command,
        seen_as=confined.cwd,
        sandbox=NONE if is_unconfined(confined.provider) else confined.provider,
        home=_home_of(confined, {**ready.env, **chosen.env, **wanted.env}),
        home_at=wanted.home or "",
        on_close=confined.close,
        learn=logins.learn,
    )
    before = [] if confined.elsewhere else rights(manifest)
    items = [each.as_dict() for each in (*confined.enforcement, *before)]
    text = UNCONFINED if is_unconfined(confined.provider) else f"the agent runs in {confined.provider}"
    return await _compared(
        manifest, await start_session(start), wanted, Notice("enforcement", text, start.session_id, items)
    )


async def _start_remote(
    loaded: Loaded, arm: Arm, chosen: Spawn, wanted: StartOptions, registry: Registry, placing: Placing
) -> Session:
    """An agent that runs elsewhere: nothing to install, start or confine; where it is must be on the egress list."""
    manifest = loaded.as_(AgentCli)
    url, is_sse = remote_address(loaded)
    allowed = await asyncio.to_thread(authorization, loaded, placing, url)
    start = replace(
        _common(loaded, arm, chosen, wanted, registry, wanted.workspace),
        connect=lambda on_lines, on_end: Remote(
            url, is_sse=is_sse, on_lines=on_lines, on_end=on_end, headers=allowed.headers
        ),
        secrets=placing.known,
        home=ANYWHERE,
    )
    text = "the agent runs elsewhere: only its address is enforced"
    return await _compared(
        manifest, await start_session(start), wanted, Notice("enforcement", text, start.session_id)
    )


def _home_of(confined: ConfinedAgent, env: Mapping[str, str]) -> str:
    """The HOME that the agent gets, for rules about paths with `~`."""
    if confined.elsewhere:
        return ANYWHERE
    return confined.variables(environment(env)).get("HOME") or ANYWHERE


def _common(
    loaded: Loaded,
    arm: Arm,
    chosen: Spawn,
    wanted: StartOptions,
    registry: Registry,
    cwd: str,
    *,
    elsewhere: bool = False,
) -> Start:
    manifest = loaded.as_(AgentCli)
    session_id = wanted.session_id or new_session_id()
    opening = opening_of(loaded, arm, chosen, wanted, session_id, cwd)
    if arm.restarts and wanted.resume is not None:
        opening = replace(opening, used=registry.used_by(wanted.resume, wanted.workspace))
    if elsewhere:
        opening = replace(
            opening, terminal=False
        )  # it would be a machine of its own, without the agent's files
    return Start(
        arm=arm,
        workspace=wanted.workspace,
        agent=manifest.id,
        opening=opening,
        policy=wanted.policy if isinstance(wanted.policy, Policy) else None,
        on_ask=wanted.on_ask,
        limits=limits_of(manifest, wanted),
        budget=budget_of(manifest, wanted),
        session_id=session_id,
        label=wanted.label,
        keep_for=wanted.keep_for,
        origin=wanted.origin,
        mode=wanted.mode,
        model=wanted.model,
        asking=expects_asks(manifest, arm, wanted.mode),
        kinds_of_mode=kinds_of_mode(manifest, wanted.mode),
        registry=registry,
        quirks=quirks_of(manifest),
    )


async def _compared(
    manifest: AgentCli, session: Session, wanted: StartOptions, enforcement: Notice
) -> Session:
    """The first lines of the log: how the agent is confined, and where it differs from its manifest."""
    try:
        drift.require(manifest, session.opened, resuming=wanted.resume is not None)
        differs = drift.notice(manifest, session.opened, session.id)
        session.log.append([enforcement] if differs is None else [enforcement, differs])
    except BaseException:
        await session.close()
        raise
    return session


def _placing(
    manifest: AgentCli, chosen: Spawn, wanted: StartOptions, audit: Audit, known: Known, *, trusted: bool
) -> Placing:
    others = set(manifest.models.env.values()) - set(chosen.model_variables)
    return Placing(
        wanted.workspace,
        audit,
        trusted=trusted,
        home=wanted.home,
        backends=wanted.secret_backends,
        accept_shared_env=wanted.accept_shared_env,
        known=known,
        unneeded=frozenset(others if chosen.model_variables else ()),
    )


def launch_for(loaded: Loaded, options: StartOptions) -> Launch:
    """What installing, setting up, logging in and looking (`doctor`) work on, for a caller that does one of them without
    a start.

    Secrets that have no value yet are left out: finding that out is what these are for.
    """
    wanted = resolve_options(options)
    placing = placing_for(loaded, wanted)
    try:
        login = login_variables(loaded, placing)
    except Fail as missing:
        if missing.category != "not_found":
            raise
        login = {}
    return _launch(loaded, wanted, login, vault_of(loaded, placing))


def placing_for(loaded: Loaded, wanted: StartOptions) -> Placing:
    """The place of a trusted manifest, with nothing chosen but what the options say."""
    manifest = loaded.as_(AgentCli)
    chosen = spawn_for(manifest, mode=wanted.mode, options=wanted.options, model=wanted.model)
    known = Known(wanted.given_secrets())
    registry = Registry(wanted.state)
    audit = registry.audit(wanted.workspace, actor=f"agent:{manifest.id}", secrets=known)
    return _placing(manifest, chosen, wanted, audit, known, trusted=True)


def _launch(loaded: Loaded, wanted: StartOptions, login: Mapping[str, str], vault: Vault | None) -> Launch:
    manifest, store = loaded.as_(AgentCli), SecretStore(vault)
    return Launch(
        manifest,
        wanted.workspace,
        user=str(os.getuid()),
        folder=os.path.dirname(os.path.abspath(loaded.path)) if os.path.isfile(loaded.path) else None,
        env=wanted.env,
        inherit=sandbox_of(loaded).env.passthrough,
        secrets=login,
        store=store,
        client=store.client,
        person=wanted.person,
        may_install=wanted.may_install,
        allow_unpinned=wanted.allow_unpinned,
        report=wanted.report,
    )


def _own_files(
    loaded: Loaded, wanted: StartOptions, ready: ReadyProgram, confined: ConfinedAgent
) -> LoginFiles:
    """The files of the agent that matter here: those of its login, and settings that must not allow what rules deny."""
    manifest = loaded.as_(AgentCli)
    passed = environment(inherit=sandbox_of(loaded).env.passthrough)
    variables = {**passed, **ready.env, **wanted.env}
    homes = tuple(home for home in (variables.get("HOME"), wanted.home) if home)
    policy = wanted.policy if isinstance(wanted.policy, Policy) else Policy()
    refuse_own_permissions(manifest, policy, variables, homes, wanted.workspace)
    found = LoginFiles(manifest, confined.known, variables=variables, homes=homes, workspace=wanted.workspace)
    found.learn()
    return found


def _spawner(
    manifest: AgentCli, chosen: Spawn, ready: ReadyProgram, wanted: StartOptions, confined: ConfinedAgent
) -> Callable[[tuple[str, ...]], PreparedCommand]:
    env = {**ready.env, **chosen.env, **wanted.env}
    confined.known.add(*secret_values(env))  # also what the readiness of the agent has added: its login
    program: tuple[str, ...] = (ready.binary, *chosen.args)
    if manifest.mcp is not None and manifest.mcp.command is not None:
        program = (manifest.mcp.command, *manifest.mcp.args)
        if manifest.mcp.command == manifest.bin:
            program = (ready.binary, *manifest.mcp.args)

    def spawn(words: tuple[str, ...]) -> PreparedCommand:
        return confined.command([*program, *words], env, wanted.workspace)

    return spawn
