"""Putting a session together from decided parts: an arm, a way to spawn the agent, rules, and a place on disk.

Everything that can fail for reasons of the manifest, the machine or the user has been settled before this
(`operable.host.agent_cli`); here only the state directory and the agent itself can still refuse.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any

from operable.gate.approvals import TIMEOUT, ApprovalQueue, OnAsk
from operable.gate.audit.place import workspace_slug
from operable.gate.policy.pattern import ASK
from operable.gate.policy.rules import Policy
from operable.host.arm import Arm, Opening
from operable.host.policy.gate import Gate
from operable.host.session.client_methods import ClientMethods, Confine
from operable.host.session.context import Budget, Limits, SessionContext
from operable.host.session.link import AgentLink, Connect, Spawn, no_process
from operable.host.session.log import SessionLog
from operable.host.session.registry import (
    ERROR,
    STARTING,
    Registry,
    SessionHome,
    SessionMeta,
    SessionOrigin,
    timestamp,
)
from operable.host.session.session import Session
from operable.host.session.transport import EOF_GRACE, LINE_LIMIT, TERM_GRACE
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.kernel.redact import Known
from operable.wire.events import Notice


@dataclass(frozen=True, slots=True)
class Start:
    """A session that may now begin. `policy` None: everything is asked where `on_ask` is given, else denied."""

    arm: Arm
    spawn: Spawn = no_process
    workspace: str = "."
    agent: str = "agent"
    opening: Opening | None = None
    policy: Policy | None = None
    on_ask: OnAsk | None = None
    limits: Limits = field(default_factory=Limits)
    budget: Mapping[str, float] = field(default_factory=dict)
    secrets: Known = field(default_factory=Known, repr=False)
    withheld: Known = field(default_factory=Known, repr=False)  # those that the agent itself must not have
    session_id: str | None = None
    label: str | None = None
    keep_for: float | None = None
    origin: SessionOrigin = field(default_factory=SessionOrigin)
    mode: str | None = None
    model: str | None = None
    sandbox: str | None = None
    actor: str = ""
    asking: bool = True  # the agent, in the mode it was started in, asks before it changes anything
    kinds_of_mode: frozenset[str] = frozenset()  # what its mode does without asking
    confine: Confine | None = None
    connect: Connect | None = None  # how an agent that runs elsewhere is reached, instead of spawning one
    registry: Registry | None = None
    quirks: Mapping[str, Any] = field(default_factory=dict)
    seen_as: str | None = None  # the workspace as the agent sees it, where a sandbox shows it elsewhere
    home: str = ""  # the HOME of the agent; empty: that of the host
    home_at: str = ""  # where that folder is on the host, where a sandbox shows it elsewhere
    line_limit: int = LINE_LIMIT
    eof_grace: float = EOF_GRACE
    term_grace: float = TERM_GRACE
    on_close: Any = None
    learn: Callable[[], object] = lambda: None  # the secrets that the agent has got since the last turn


async def start_session(start: Start) -> Session:
    """Make the session's place on disk, spawn, shake hands; Fail with nothing left running."""
    registry = start.registry or Registry()
    session_id = start.session_id or new_session_id()
    opening = start.opening or Opening(cwd=start.workspace, session_id=session_id, quirks=start.quirks)
    policy = start.policy
    if policy is None:
        policy = Policy(default=ASK) if start.on_ask is not None else Policy()
    origin = start.origin
    home = registry.create(
        SessionMeta(
            session_id,
            start.agent,
            origin.bucket or workspace_slug(start.workspace),
            start.workspace,
            label=start.label,
            keep_for=start.keep_for,
            agent_slug=origin.agent_slug,
            parent_session_id=origin.parent_session_id,
            depth=origin.depth,
            ground=origin.ground,
            worktree=origin.worktree,
            continues=origin.continues,
            mode=start.mode,
            model=start.model,
            sandbox=start.sandbox,
        )
    )
    try:
        session = _session(start, opening, policy, home, registry)
        await session.open()
    except BaseException as problem:
        if home.meta.status == STARTING:
            code = problem.code if isinstance(problem, Fail) else type(problem).__name__
            with suppress(Fail):  # the caller gets the first error
                home.save(status=ERROR, ended_at=timestamp(), error=code)
        raise
    return session


def _session(
    start: Start, opening: Opening, policy: Policy, home: SessionHome, registry: Registry
) -> Session:
    actor = start.actor or f"agent:{start.agent}"
    audit = registry.audit(start.workspace, actor=actor, secrets=start.secrets)
    attended = start.on_ask is not None or policy.wants_answers
    gate = Gate(
        session_id=home.meta.id,
        workspace=start.workspace,
        seen_as=start.seen_as or start.workspace,
        home=start.home,
        home_at=start.home_at,
        policy=policy,
        audit=audit,
        attended=attended,
        asking=start.asking and start.arm.can_ask and policy.asks,
        quirks=start.quirks,
        kinds_of_mode=start.kinds_of_mode,
        secrets=start.secrets,
    )
    context = SessionContext(
        home=home,
        log=SessionLog(home.folder, secrets=start.secrets),
        gate=gate,
        approvals=ApprovalQueue(
            home.folder,
            timeout=policy.ask_timeout or TIMEOUT,
            on_ask=start.on_ask,
            secrets=start.secrets,
        ),
        budget=Budget({**policy.budget, **start.budget}, asyncio.get_running_loop().time),
        methods=ClientMethods(
            gate,
            fs_read=opening.fs_read,
            fs_write=opening.fs_write,
            confine=start.confine if opening.terminal else None,
            withheld=start.withheld,
            missing_is_empty=start.quirks.get("missing_file") == "empty",
        ),
        limits=start.limits,
        learn=start.learn,
    )
    context.approvals.on_damaged = lambda ask_id, text: context.commit(
        [Notice("answer_damaged", text, context.id, {"toolCallId": ask_id})]
    )
    context.approvals.on_change = context.changed
    session = Session(context, lambda session: _link(start, opening, session), start.on_close)
    gate.record.begin_session(f"{start.agent} in {start.workspace}", arm=start.arm.name)
    return session


def _link(start: Start, opening: Opening, session: Session) -> AgentLink:
    return AgentLink(
        start.arm,
        start.spawn,
        opening,
        on_happenings=session.receive,
        on_ended=session.ended,
        on_broken=session.broke,
        connect=start.connect,
        secrets=start.secrets,
        line_limit=start.line_limit,
        eof_grace=start.eof_grace,
        term_grace=start.term_grace,
    )


def new_session_id() -> str:
    return f"ses_{os.urandom(10).hex()}"
