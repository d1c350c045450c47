"""The way from a manifest and a caller's choices to a running session, in the order of AIP-45.

    choices against the manifest -> rules against the agent -> readiness -> confinement -> spawn -> handshake -> drift

Nothing is started before everything that can be refused without starting has been. What each step does is its own
module's business; here is only the order, and what one hands to the next.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import operable
from operable.host import drift
from operable.host.arm import Arm, Opening
from operable.host.audit import Audit
from operable.host.confinement import Confined, provider
from operable.host.elsewhere import MACHINE_TIMEOUT, admit, ready_elsewhere
from operable.host.http_auth import authorization
from operable.host.http_transport import Remote, remote_address
from operable.host.launch.readiness import Launch, Ready, areadiness
from operable.host.launch.store import SecretStore
from operable.host.placing import Placing, login_variables, place, sandbox_of, vault_of
from operable.host.policy import Policy
from operable.host.protocols import arm_for
from operable.host.registry import Registry
from operable.host.session import Session
from operable.host.start_options import StartOptions, options_from
from operable.host.starting import Start, new_session_id, start_session
from operable.host.vaulting import Vault
from operable.host.works import Limits
from operable.kernel.errors import Fail
from operable.manifest.kinds.acp import AcpClient, AcpProfile
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loading import Loaded
from operable.manifest.patches import Spawn, spawn_for, strategy_for
from operable.proc.spawn import Command
from operable.wire.events import Notice


async def begin(loaded: Loaded, given: Mapping[str, Any], *, trusted: bool) -> Session:
    """Start a session, or Fail with the first step that refuses."""
    wanted = options_from(given)
    manifest = loaded.as_(AgentCli)
    arm = arm_for(manifest)
    chosen = spawn_for(manifest, mode=wanted.mode, options=wanted.options, model=wanted.model)
    strategy_for(manifest, wanted.continuation)
    _check_resume(manifest, arm, wanted)
    _check_rules(manifest, arm, wanted)
    registry = Registry(wanted.state)
    audit = Audit(registry.audit_path(wanted.workspace), actor=f"agent:{manifest.id}")
    placing = _placing(manifest, chosen, wanted, audit, trusted=trusted)
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
            ready = await asyncio.to_thread(ready_elsewhere, manifest, confined)
        return await _start(loaded, arm, chosen, wanted, ready, confined, registry)
    except BaseException:
        await asyncio.to_thread(confined.close)
        raise


async def _start(
    loaded: Loaded,
    arm: Arm,
    chosen: Spawn,
    wanted: StartOptions,
    ready: Ready,
    confined: Confined,
    registry: Registry,
) -> Session:
    """Everything is decided: spawn, shake hands, compare."""
    manifest = loaded.as_(AgentCli)
    limits = _limits(manifest, wanted)
    if arm.per_turn and limits.turn is None and confined.timeout is not None:
        limits = replace(limits, turn=confined.timeout)  # of one command, which a turn is here
    if confined.elsewhere and wanted.timeout is None:
        limits = replace(limits, handshake=limits.handshake + MACHINE_TIMEOUT)
    start = replace(
        _common(loaded, arm, chosen, wanted, registry, confined.cwd, elsewhere=confined.elsewhere),
        spawn=_spawner(manifest, chosen, ready, wanted, confined),
        limits=limits,
        secrets=confined.values,
        confine=confined.command,
        seen_as=confined.cwd,
        on_close=confined.close,
    )
    items = [each.as_dict() for each in confined.enforcement]
    text = f"the agent runs in {confined.provider}"
    return await _compared(
        manifest, await start_session(start), wanted, Notice("enforcement", text, start.session_id, items)
    )


async def _start_remote(
    loaded: Loaded, arm: Arm, chosen: Spawn, wanted: StartOptions, registry: Registry, placing: Placing
) -> Session:
    """An agent that runs elsewhere: nothing to install, start or confine; where it is must be on the egress list."""
    manifest = loaded.as_(AgentCli)
    url, is_sse = remote_address(loaded)
    known = await asyncio.to_thread(authorization, loaded, placing, url)
    start = replace(
        _common(loaded, arm, chosen, wanted, registry, wanted.workspace),
        connect=lambda on_lines, on_end: Remote(
            url, is_sse=is_sse, on_lines=on_lines, on_end=on_end, headers=known.headers
        ),
        secrets=known.values,
    )
    text = "the agent runs elsewhere: nothing but its address is enforced"
    return await _compared(
        manifest, await start_session(start), wanted, Notice("enforcement", text, start.session_id)
    )


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
    opening = _opening(loaded, arm, chosen, wanted, session_id, cwd)
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
        limits=_limits(manifest, wanted),
        budget=_budget(manifest, wanted),
        session_id=session_id,
        label=wanted.label,
        asking=expects_asks(manifest, arm, wanted.mode),
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
    manifest: AgentCli, chosen: Spawn, wanted: StartOptions, audit: Audit, *, trusted: bool
) -> Placing:
    others = set(manifest.models.env.values()) - set(chosen.model_variables)
    return Placing(
        wanted.workspace,
        audit,
        trusted=trusted,
        home=wanted.home,
        backends=wanted.secret_backends,
        accept_shared_env=wanted.accept_shared_env,
        unneeded=frozenset(others if chosen.model_variables else ()),
    )


def quirks_of(manifest: AgentCli) -> Mapping[str, Any]:
    """`metadata.operable`: what a host must know about this agent beyond the standard."""
    found = manifest.metadata.get("operable", {})
    return found if isinstance(found, dict) else {}


def expects_asks(manifest: AgentCli, arm: Arm, mode: str | None) -> bool:
    """Whether this agent, in this mode, asks before it changes anything.

    `metadata.operable.asks: never` says that it does not, `metadata.operable.unasking_modes` in which modes it does not.
    """
    quirks = quirks_of(manifest)
    if not arm.can_ask or quirks.get("asks") == "never" or manifest.capabilities.bidirectional is False:
        return False
    unasking = quirks.get("unasking_modes", ())
    return mode not in unasking


def _check_rules(manifest: AgentCli, arm: Arm, wanted: StartOptions) -> None:
    """Rules that the agent cannot be held to are refused, not pretended."""
    if isinstance(wanted.policy, Policy) and not wanted.policy.asks:
        return
    if expects_asks(manifest, arm, wanted.mode) or manifest.capabilities.tool_calls is False:
        return
    where = f" in the mode {wanted.mode}" if wanted.mode else ""
    raise Fail(
        "authz",
        "AGENT_NEVER_ASKS",
        f"{manifest.id}{where} acts without asking, so that these rules cannot be enforced",
        target=manifest.id,
        hint="choose a mode that asks, or allow everything (allow = ['*']) and rely on the sandbox",
    )


def _check_resume(manifest: AgentCli, arm: Arm, wanted: StartOptions) -> None:
    strategy = strategy_for(manifest, wanted.continuation)
    if wanted.continuation == "native-resume" and wanted.resume is None:
        raise Fail(
            "usage",
            "RESUME_ID_MISSING",
            "native-resume takes up an earlier session: say which",
            target="resume",
        )
    if wanted.resume is None:
        return
    if not arm.can_resume or manifest.capabilities.resumable is False:
        raise Fail(
            "usage", "NOT_RESUMABLE", f"{manifest.id} cannot resume sessions ({strategy})", target="resume"
        )


def launch_for(loaded: Loaded, given: Mapping[str, Any]) -> Launch:
    """What installing, setting up, logging in and looking (`doctor`) work on, for who does one of them without a start.

    Secrets that have no value yet are left out: finding that out is what these are for.
    """
    wanted = options_from(given)
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
    audit = Audit(Registry(wanted.state).audit_path(wanted.workspace), actor=f"agent:{manifest.id}")
    return _placing(manifest, chosen, wanted, audit, trusted=True)


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


def _spawner(
    manifest: AgentCli, chosen: Spawn, ready: Ready, wanted: StartOptions, confined: Confined
) -> Callable[[tuple[str, ...]], Command]:
    env = {**ready.env, **chosen.env, **wanted.env}
    program: tuple[str, ...] = (ready.binary, *chosen.args)
    if manifest.mcp is not None and manifest.mcp.command is not None:
        program = (manifest.mcp.command, *manifest.mcp.args)
        if manifest.mcp.command == manifest.bin:
            program = (ready.binary, *manifest.mcp.args)

    def spawn(words: tuple[str, ...]) -> Command:
        return confined.command([*program, *words], env, wanted.workspace)

    return spawn


def _opening(
    loaded: Loaded, arm: Arm, chosen: Spawn, wanted: StartOptions, session_id: str, cwd: str
) -> Opening:
    manifest = loaded.as_(AgentCli)
    granted = _granted(loaded)
    return Opening(
        cwd=cwd,
        session_id=session_id,
        client_version=getattr(operable, "__version__", "0"),
        resume=wanted.resume,
        mode=_protocol_mode(manifest, wanted.mode),
        model=chosen.model if chosen.model_by_protocol else None,
        mcp_servers=wanted.mcp_servers,
        fs_read=granted.fs.read_text_file,
        fs_write=granted.fs.write_text_file,
        terminal=granted.terminal,
        elicitation=arm.can_ask,
        quirks=quirks_of(manifest),
        history=wanted.history,
    )


def _protocol_mode(manifest: AgentCli, mode: str | None) -> str | None:
    """A mode that patches nothing on the command line is for the protocol to select; `default` means no patch at all.

    `metadata.operable.initial_mode` is what the protocol selects when nothing else was chosen: some agents would begin in a
    mode that asks nothing. `metadata.operable.mode_ids` has the agent's own words where AIP-45 does not allow them as ids.
    """
    quirks = quirks_of(manifest)
    found = next((each for each in manifest.modes if each.id == mode), None)
    if found is not None and (found.bin_args_append or found.env):
        return None
    if found is None or found.id == "default":
        return quirks.get("initial_mode")
    own: str = quirks.get("mode_ids", {}).get(found.id, found.id)
    return own


def _granted(loaded: Loaded) -> AcpClient:
    """The client methods that the ACP profile says this agent may use; nothing said is nothing granted."""
    profile = loaded.bound.get("acp")
    if profile is None or not isinstance(profile.value, AcpProfile):
        return AcpClient()
    told = profile.value.aip44.capabilities
    return AcpClient() if told is None else told.client


def _limits(manifest: AgentCli, wanted: StartOptions) -> Limits:
    """An ephemeral session lasts as long as its client; the others end when nobody has used them for their idle time."""
    declared = manifest.session
    if wanted.limits.idle is not None or declared.mode == "ephemeral":
        return wanted.limits
    return replace(wanted.limits, idle=declared.idle_timeout_ms / 1000)


def _budget(manifest: AgentCli, wanted: StartOptions) -> dict[str, float]:
    turns = manifest.session.max_turns
    limits = {} if turns is None else {"turns": float(turns)}
    return {**limits, **wanted.budget}
