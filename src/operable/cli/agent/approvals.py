"""What waits for an answer, and what was approved: questions of running agents, manifests of projects, adapters of others.

A question belongs to its session: agents count their questions again in every connection, so a question is always named
together with its session, and answered in that session's folder only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from operable.cli.agent.events import AgentAdapter, AgentAnswer, AgentApproval, AgentQuestion
from operable.cli.agent.manifests import discovery, find, json_file
from operable.gate.approvals import Ask, Decision, answer_ask, pending_asks
from operable.host.launch import trust
from operable.host.launch.discover import DiscoveredManifest
from operable.host.session.registry import ALIVE, Registry
from operable.host.start import adapters
from operable.kernel.errors import Fail
from operable.tool import Change

_MANIFEST, _ADAPTER = "manifest", "adapter"


def questions(session: str | None) -> Iterator[AgentQuestion]:
    """The open questions of one session, or of all that run; those that wait longest first."""
    registry = Registry()
    homes = [registry.session(session)] if session is not None else registry.sessions()
    found = [ask for home in homes if home.meta.status in ALIVE for ask in pending_asks(home.folder)]
    for ask in sorted(found, key=lambda ask: (ask.expires_at, ask.session_id, ask.id)):
        plain = msgspec.to_builtins(ask)
        yield AgentQuestion(
            session=ask.session_id,
            question=ask.id,
            kind=ask.kind,  # type: ignore[arg-type]  # one of the three
            tool=ask.tool,
            tool_kind=ask.tool_kind,
            text=ask.text,
            arguments=plain.get("arguments"),
            options=plain.get("options", []),
            schema=ask.schema,
            url=ask.url,
            digest=ask.digest,
            expires_at=ask.expires_at,
            why=ask.why,
            diffs=list(ask.diffs),
            locations=list(ask.locations),
            announced=list(ask.announced),
        )


def planned_answer(session: str, question: str, *, allowed: bool, digest: str | None, **facts: Any) -> Change:
    """The answer as a plan: bound to what is being asked now."""
    home = Registry().session(session)
    ask = _open(home.folder, question)
    if digest is not None and digest != ask.digest:
        raise Fail(
            "conflict",
            "ASK_CHANGED",
            "the answer is for a different question",
            target=question,
            hint="look at the question again: operable agent approvals",
        )
    return Change(
        "allow" if allowed else "deny",
        question,
        session=home.meta.id,
        tool=ask.tool or None,
        asked=ask.digest,
        **facts,
    )


def answered(change: Change) -> AgentAnswer:
    """Give the answer; Raises Fail if another process was faster, or the question has changed."""
    content = change.get("content_file")
    decision = Decision(
        change.action == "allow",
        str(change.get("reason", "")),
        "operable agent answer",
        change.get("option"),
        None if content is None else json_file(content, "the answer"),
        str(change.get("remember", "")),
        change["asked"],
    )
    home = Registry().session(change["session"])
    ask = answer_ask(home.folder, change.target, decision)
    return AgentAnswer(
        session=home.meta.id, question=ask.id, allowed=decision.allowed, digest=decision.digest
    )


def planned_approval(name: str, workspace: str, *, adapter: bool, digest: str | None) -> Change | None:
    """Approve exactly what is there now; None: it is approved already."""
    if adapter:
        pin = adapters.pin_of(name)
        found = pin.digest
        done = adapters.approved().get(name) == pin
        change = Change(
            "approve", name, of=_ADAPTER, digest=found, distribution=pin.distribution, version=pin.version
        )
    else:
        manifest = _manifest(name, workspace)
        found = manifest.standing.digest
        done = manifest.trusted
        change = Change("approve", manifest.name, of=_MANIFEST, digest=found, path=manifest.path)
    if digest is not None and found and digest != found:
        raise Fail(
            "conflict",
            "DIGEST_MISMATCH",
            f"{name} has changed since it was reviewed: it is now {found}",
            target=name,
            hint="look at it again",
        )
    return None if done else change


def approved(change: Change) -> AgentApproval:
    """Carry an approval out; Fail when it is something else by now than what was planned."""
    if change["of"] == _ADAPTER:
        pin = adapters.pin_of(change.target)
        if pin.digest != change["digest"]:
            raise Fail(
                "conflict",
                "ADAPTER_CHANGED",
                "the adapter has changed since it was looked at",
                target=change.target,
                hint="look at it again: operable agent adapters",
            )
        adapters.approve(pin)
    else:
        trust.approve(change["path"], discovery(".").ledger, expected=change["digest"])
    return AgentApproval(
        kind=change["of"],
        name=change.target,
        approved=True,
        digest=change["digest"],
        path=change.get("path"),
    )


def planned_revocation(name: str, workspace: str, *, adapter: bool) -> Change | None:
    """Forget an approval; None if it does not exist."""
    if adapter:
        pin = adapters.approved().get(name)
        return None if pin is None else Change("revoke", name, of=_ADAPTER, digest=pin.digest)
    where = discovery(workspace)
    manifest = _manifest(name, workspace)
    digest = trust.approved_digest(manifest.path, where.ledger)
    if digest is None:
        return None
    return Change("revoke", manifest.name, of=_MANIFEST, digest=digest, path=manifest.path)


def revoked(change: Change) -> AgentApproval:
    if change["of"] == _ADAPTER:
        adapters.revoke(change.target)
    else:
        trust.revoke(change["path"], discovery(".").ledger)
    return AgentApproval(
        kind=change["of"],
        name=change.target,
        approved=False,
        digest=change["digest"],
        path=change.get("path"),
    )


def third_party() -> Iterator[AgentAdapter]:
    """Every adapter that is installed or was approved; nothing is imported."""
    known = adapters.approved()
    for name in sorted({*adapters.available(), *known}):
        kept = known.get(name)
        version = None if kept is None else kept.version
        try:
            pin = adapters.pin_of(name)
        except Fail as problem:
            yield AgentAdapter(
                name=name,
                installed=problem.code != "UNKNOWN_ADAPTER",
                approved=False,
                approved_version=version,
                problem=problem.message,
            )
            continue
        yield AgentAdapter(
            name=name,
            installed=True,
            distribution=pin.distribution,
            version=pin.version,
            digest=pin.digest,
            approved=kept == pin,
            approved_version=version,
        )


def _open(folder: str, question: str) -> Ask:
    for ask in pending_asks(folder):
        if ask.id == question:
            return ask
    raise Fail(
        "not_found",
        "NO_SUCH_ASK",
        "no such question is open in this session",
        target=question,
        hint="operable agent approvals",
    )


def _manifest(name: str, workspace: str) -> DiscoveredManifest:
    """The manifest of a project that this name means, also where a trusted one of that name hides it."""
    if "/" in name or name.endswith(".md"):
        return find(name, workspace)
    found = discovery(workspace).all()
    own = [each for each in found if each.origin == "project" and name in (each.name, each.id)]
    return own[0] if own else find(name, workspace)
