"""What a caller chose, in the light of the manifest: refused where it cannot be, else as the session will be opened.

Plain decisions, before anything runs: the arm that `protocol` or `adapter` names, rules that cannot be enforced on the
agent, a session that cannot be resumed, the mode and the model in the agent's own words, which of the host's methods it may
use, and the limits of time and turns. A third-party adapter is loaded only when it was approved in exactly this version
(`operable.host.start.adapters`).
"""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import operable
from operable.gate.policy.pattern import ALLOW
from operable.gate.policy.rules import EVERYTHING, Policy, PolicyRule
from operable.gate.policy.tool_map import ToolMap
from operable.host import arms
from operable.host.arm import Arm, Opening
from operable.host.session.context import Limits
from operable.host.start.options import StartOptions
from operable.kernel.catalogue import load, names, unknown
from operable.kernel.errors import Fail
from operable.manifest.kinds.acp import AcpClient, AcpProfile
from operable.manifest.kinds.agent_cli import AgentCli
from operable.manifest.loader import Loaded
from operable.manifest.patches import Spawn, strategy_for
from operable.manifest.rules.governance import ALL_KINDS
from operable.wire.events import TOOL_KINDS

_EVERY_KIND = frozenset(TOOL_KINDS)
_OWN = "operable/"


def arm_for(manifest: AgentCli) -> Arm:
    """The arm of a manifest; Fail config/PROTOCOL_UNKNOWN or usage/UNKNOWN_ADAPTER."""
    if manifest.protocol in ("acp", "mcp"):
        return arm_named(manifest.protocol)
    if manifest.protocol != "proprietary" or manifest.adapter is None:
        raise Fail(
            "config",
            "PROTOCOL_UNKNOWN",
            f"no arm speaks the protocol {manifest.protocol!r}",
            target=manifest.id,
        )
    return adapter_named(manifest.adapter)


def arm_named(name: str) -> Arm:
    arm: Arm = load("operable.host.arms", name, "ARM", kind="protocol arm")
    return arm


def adapter_named(adapter: str) -> Arm:
    """The arm that an `adapter` field means."""
    known = [name for directory in arms.__path__ for name in names(directory)]
    if adapter.startswith(_OWN):
        name = adapter.removeprefix(_OWN)
        if name in known:
            return arm_named(name)
        raise unknown("adapter", adapter, [_OWN + name for name in known])
    found = {alias: arm for arm in map(arm_named, known) for alias in arm.adapters}
    if adapter in found:
        return found[adapter]
    from operable.host.start import adapters  # reading entry points costs; only what is not ours pays for it

    foreign = adapters.available()
    if adapter in foreign:
        return adapters.load(adapter)
    raise unknown("adapter", adapter, sorted([*found, *foreign, *(_OWN + name for name in known)]))


def quirks_of(manifest: AgentCli) -> Mapping[str, Any]:
    """`metadata.operable`: what a host must know about this agent beyond the standard."""
    found = manifest.metadata.get("operable", {})
    return found if isinstance(found, dict) else {}


def unasked_kinds(manifest: AgentCli, arm: Arm, mode: str | None) -> frozenset[str]:
    """The kinds of calls that this agent, in this mode, makes without asking.

    `metadata.operable.asks: never` says all of them, `unasking_modes` all or some of them in the modes that it names,
    `unasked_kinds` some of them in every mode.
    """
    quirks = quirks_of(manifest)
    if not arm.can_ask or quirks.get("asks") == "never" or manifest.capabilities.bidirectional is False:
        return _EVERY_KIND
    return kinds_of_mode(manifest, mode) | frozenset(quirks.get("unasked_kinds", ()))


def kinds_of_mode(manifest: AgentCli, mode: str | None) -> frozenset[str]:
    """The kinds of calls that this mode exists for: it makes them without asking, as `unasking_modes` says."""
    modes = quirks_of(manifest).get("unasking_modes", ())
    if isinstance(modes, Mapping):
        kinds = modes.get(mode, ())
        return frozenset(TOOL_KINDS if kinds == ALL_KINDS else kinds)
    return frozenset(TOOL_KINDS if mode in modes else ())


def expects_asks(manifest: AgentCli, arm: Arm, mode: str | None) -> bool:
    """Whether this agent, in this mode, asks about anything."""
    return unasked_kinds(manifest, arm, mode) < _EVERY_KIND


def check_rules(manifest: AgentCli, arm: Arm, wanted: StartOptions) -> None:
    """Rules that the agent cannot be held to are refused, not pretended."""
    policy = wanted.policy if isinstance(wanted.policy, Policy) else Policy()
    if manifest.capabilities.tool_calls is False:
        return
    unasked = unasked_kinds(manifest, arm, wanted.mode)
    tools = ToolMap(quirks_of(manifest).get("tools"))
    rules = _unenforceable(policy, unasked, tools)
    if not rules:
        return
    kinds = [kind for kind in TOOL_KINDS if kind in unasked and policy.wants_to_be_asked(kind, tools)]
    calls = "any call" if unasked == _EVERY_KIND else f"calls of kind {', '.join(kinds)}"
    where = f" in the mode {wanted.mode}" if wanted.mode else ""
    others = [None, *(each.id for each in manifest.modes)]
    asking = [
        mode
        for mode in others
        if mode != wanted.mode and not _unenforceable(policy, unasked_kinds(manifest, arm, mode), tools)
    ]
    patterns = [EVERYTHING] if unasked == _EVERY_KIND else [f"kind:{kind}" for kind in kinds]
    raise Fail(
        "authz",
        "AGENT_NEVER_ASKS",
        f"{manifest.id}{where} does not ask about {calls}: {', '.join(rules)} cannot be enforced",
        target=manifest.id,
        hint=f"{_asking_modes(asking)}{_concession(policy, unasked, tools, patterns)}, "
        f"so that only the sandbox limits such calls; its modes: operable agent show {manifest.id}",
    )


def _unenforceable(policy: Policy, unasked: frozenset[str], tools: ToolMap) -> list[str]:
    """What the policy says, as it was written, about calls that the agent does not ask about."""
    if unasked == _EVERY_KIND:
        return policy.restrictions
    written = (
        rule for kind in TOOL_KINDS if kind in unasked for rule in policy.wants_to_be_asked(kind, tools)
    )
    return list(dict.fromkeys(written))


def _asking_modes(modes: list[str | None]) -> str:
    """Which of its modes ask about what the rules are about. None is the mode in which the agent begins."""
    if not modes:
        return "no mode of it does: "
    words = ["leave out --mode" if mode is None else f"use --mode {mode}" for mode in modes]
    return f"{', or '.join(words)}, or "


def _concession(policy: Policy, unasked: frozenset[str], tools: ToolMap, patterns: list[str]) -> str:
    """The least that the caller has to change in the rules: what to remove, and what to allow."""
    more = [PolicyRule(ALLOW, pattern) for pattern in patterns]
    surplus = _unenforceable(policy.with_rules(more), unasked, tools)
    rest = replace(policy, rules=tuple(r for r in policy.rules if f"{r.effect} {r.pattern}" not in surplus))
    words = [f"remove {', '.join(surplus)}"] if surplus else []
    if set(_unenforceable(rest, unasked, tools)) - set(surplus):
        words.append(f"add {' '.join(shlex.join(['--allow', pattern]) for pattern in patterns)}")
    return " and ".join(words)


def check_resume(manifest: AgentCli, arm: Arm, wanted: StartOptions) -> None:
    strategy = strategy_for(manifest, wanted.continuation)
    if wanted.continuation == "native-resume" and wanted.resume is None:
        raise Fail(
            "usage",
            "RESUME_ID_MISSING",
            "native-resume needs the id of an earlier session",
            target="resume",
        )
    if wanted.resume is None:
        return
    if not arm.can_resume or manifest.capabilities.resumable is False:
        raise Fail(
            "usage", "NOT_RESUMABLE", f"{manifest.id} cannot resume sessions ({strategy})", target="resume"
        )


def opening_of(
    loaded: Loaded, arm: Arm, chosen: Spawn, wanted: StartOptions, session_id: str, cwd: str
) -> Opening:
    manifest = loaded.as_(AgentCli)
    granted = _granted(loaded)
    return Opening(
        cwd=cwd,
        session_id=session_id,
        client_version=getattr(operable, "__version__", "0"),
        resume=wanted.resume,
        mode=protocol_mode(manifest, wanted.mode),
        model=chosen.model if chosen.model_by_protocol else None,
        mcp_servers=wanted.mcp_servers,
        fs_read=granted.fs.read_text_file,
        fs_write=granted.fs.write_text_file,
        terminal=granted.terminal,
        elicitation=arm.can_ask,
        quirks=quirks_of(manifest),
        history=wanted.history,
    )


def protocol_mode(manifest: AgentCli, mode: str | None) -> str | None:
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
    capabilities = profile.value.aip44.capabilities
    return AcpClient() if capabilities is None else capabilities.client


def limits_of(manifest: AgentCli, wanted: StartOptions) -> Limits:
    """An ephemeral session lasts as long as its client; the others end after they were unused for their idle time."""
    declared = manifest.session
    if wanted.limits.idle is not None or declared.mode == "ephemeral":
        return wanted.limits
    return replace(wanted.limits, idle=declared.idle_timeout_ms / 1000)


def budget_of(manifest: AgentCli, wanted: StartOptions) -> dict[str, float]:
    turns = manifest.session.max_turns
    limits = {} if turns is None else {"turns": float(turns)}
    return {**limits, **wanted.budget}
