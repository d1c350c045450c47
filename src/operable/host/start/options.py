"""How a session is to be started: everything that a caller may choose, and what can be checked without a manifest."""

import os
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from typing import Any

from operable.gate.approvals import OnAsk
from operable.gate.policy.pattern import ASK
from operable.gate.policy.policy_file import load_policy
from operable.gate.policy.rules import Policy
from operable.host.peer import pairs
from operable.host.session.context import Limits
from operable.host.session.registry import SessionOrigin
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.proc.environment import secret_values


@dataclass(frozen=True, slots=True)
class StartOptions:
    """How a session is to be started; every field may be left out."""

    workspace: str = "."
    is_judged: bool = (
        False  # the workspace is a real path that was judged: what leads elsewhere by now is refused
    )
    mode: str | None = None
    model: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    continuation: str | None = None
    policy: Policy | str | None = (
        None  # or the path of a policy file; None: every ask is denied unless on_ask answers
    )
    on_ask: OnAsk | None = None
    resume: str | None = None  # the agent's own id of an earlier session
    session_id: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None  # of the handshake; the same as limits.handshake
    limits: Limits = field(default_factory=Limits)
    budget: Mapping[str, float] = field(default_factory=dict)  # turns, tokens, usd, seconds
    label: str | None = None
    keep_for: float | None = None  # seconds after its end before `operable agent prune` removes its log
    # Where the session comes from, for its meta data: ground, agent, the session that asked for it.
    origin: SessionOrigin = field(default_factory=SessionOrigin)
    history: str = ""  # what was said before, for protocols that take it apart from the first message
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    person: Any = None  # a person who can answer setup and login questions (operable.host.launch.step.Person)
    sandbox: str | None = (
        None  # a provider in place of the manifest's; "none": no sandbox, with all rights of the host
    )
    egress: tuple[str, ...] = ()  # hosts that may be reached beyond those of the manifest
    home: str | None = None  # a folder that is the agent's home where its sandbox gives it one of its own
    secret_backends: tuple[str, ...] = ("environment",)
    accept_shared_env: bool = False  # a provider that others can look into, together with auth
    may_install: bool = False  # download and run what its manifest names, with the rights of the host
    allow_unpinned: bool = False  # installs without a checksum
    report: Callable[[Any], object] = lambda _: None
    state: str | None = None  # the state directory; None: the user's own

    def given_secrets(self) -> list[str]:
        """The values to mask of what the caller gives: variables, and what MCP servers are reached and started with."""
        found = secret_values(self.env, given=True)
        for server in self.mcp_servers:
            found += secret_values(pairs(server.get("env")) | pairs(server.get("headers")), given=True)
            found += secret_values({"url": str(server.get("url") or "")})
        return found


def start_options(options: StartOptions | None, given: Mapping[str, Any]) -> StartOptions:
    """The options of a caller, with the fields that it gave as keywords; Fail usage/UNKNOWN_START_OPTION."""
    surplus = sorted(set(given) - {field.name for field in fields(StartOptions)})
    if surplus:
        raise Fail("usage", "UNKNOWN_START_OPTION", f"start has no option {', '.join(surplus)}")
    return replace(options or StartOptions(), **given)


def require_real(workspace: str) -> None:
    """Raises Fail conflict/WORKSPACE_MOVED if this path, which was real when it was judged, is a way elsewhere by now."""
    if os.path.realpath(workspace) != workspace:
        raise Fail(
            "conflict",
            "WORKSPACE_MOVED",
            f"the workspace {workspace} leads elsewhere since it was looked at",
            target=workspace,
            hint="it is behind a symbolic link now; name the folder that is meant",
        )


def resolve_options(chosen: StartOptions) -> StartOptions:
    """The options with paths and rules resolved: everything that needs no manifest is checked."""
    workspace = os.path.realpath(chosen.workspace)
    if chosen.is_judged:
        require_real(chosen.workspace)
    if not os.path.isdir(workspace):
        # Real agents accept a missing folder silently, and one creates it.
        raise Fail(
            "not_found", "WORKSPACE_NOT_FOUND", f"the workspace {workspace} is not a folder", target=workspace
        )
    rules = load_policy(chosen.policy) if isinstance(chosen.policy, str) else chosen.policy
    if rules is None:
        rules = Policy(default=ASK) if chosen.on_ask is not None else Policy()
    limits = chosen.limits if chosen.timeout is None else replace(chosen.limits, handshake=chosen.timeout)
    return replace(chosen, workspace=workspace, policy=rules, limits=limits)
