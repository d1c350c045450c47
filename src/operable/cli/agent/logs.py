"""What `operable agent sessions`, `logs` and `audit` read: the registry, the logs and the audit chains on disk.

All of it is read while other processes write; nothing here needs the host of a session.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from operable.cli.agent.events import AgentSession, AuditProblem, AuditRecord, AuditVerdict
from operable.cli.agent.wire import Said, logged
from operable.gate.audit.chain import describe_missing, parse_head, read_audit, verify_audit
from operable.gate.audit.place import workspace_slug
from operable.host.session.log_files import POLL_INTERVAL, FileCursor, Record
from operable.host.session.registry import ALIVE, Registry, SessionMeta
from operable.host.session.transcript import user_words
from operable.kernel.errors import EX_DATAERR, Fail
from operable.tool import Context


def listed(after: Any, *, workspace: str | None, agent: str | None, alive: bool) -> Iterator[AgentSession]:
    """Sessions, newest first; `after` is the last one of the page before."""
    for home in Registry().sessions(workspace=workspace):
        meta = home.meta
        if after is not None and [meta.started_at, meta.id] >= list(after):
            continue
        if (agent is None or meta.adapter_slug == agent) and (not alive or meta.status in ALIVE):
            yield _session(meta)


def read(session: str, after: int, *, follow: bool, people: bool = False) -> Iterator[Said]:
    """The events behind a number; with `follow` until the session has ended and everything is read."""
    row = _shown if people else logged
    registry = Registry()
    home = registry.session(session)
    cursor = FileCursor(home.folder, max(0, after))
    try:
        while True:
            # Asked before reading: what a session wrote before it ended is then never missed.
            running = follow and registry.renewed(home).meta.status in ALIVE
            while records := cursor.read():
                yield from map(row, records)
            if not running:
                return
            time.sleep(POLL_INTERVAL)
    finally:
        cursor.close()


def _shown(record: Record) -> Said:
    """As people read it: of the user's message its words, which for machines are in `data`."""
    plain: Any = logged(record)
    words = user_words(record.event)
    if words is not None:
        plain["message"] = words
    return plain  # type: ignore[no-any-return]  # a dictionary of that shape


def audited(workspace: str, *, file: str | None, after: int) -> Iterator[AuditRecord]:
    """The records of a chain behind a number."""
    import msgspec

    path = _chain(workspace, file)
    for name, number, line in read_audit(path):
        try:
            record = msgspec.json.decode(line, type=dict[str, Any])
            if record["seq"] > after:
                yield _record(record)
        except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError):
            raise Fail(
                "validation",
                "AUDIT_DAMAGED",
                f"line {number} of {os.path.basename(name)} is not a record",
                target=path,
                hint="see everything that is wrong: operable agent audit verify",
            ) from None


def verified(
    context: Context, workspace: str, *, file: str | None, anchor: str | None, key: str | None = None
) -> Iterator[AuditProblem | AuditVerdict]:
    path = _chain(workspace, file)
    if file is not None and not os.path.isfile(path):
        raise Fail("not_found", "FILE_NOT_FOUND", f"there is no chain {path}", target=path)
    found = verify_audit(
        path,
        anchor=None if anchor is None else parse_head(anchor),
        key=key,
        workspace=workspace_slug(workspace) if file is None else None,
    )
    problems = [AuditProblem(code=each.code, line=each.line, message=each.message) for each in found.problems]
    if not found.records and file is None and (begun := Registry().count_begun(workspace)):
        problems.append(AuditProblem(code="chain.truncated", line=0, message=describe_missing(begun)))
    if problems:  # said first: a limit may end us before the verdict
        context.conclude(exit_code=EX_DATAERR, reason="audit_chain_broken")
    elif not found.records:
        context.warn("AUDIT_EMPTY", "there is nothing to verify: the chain has no record", target=path)
    yield from problems
    yield AuditVerdict(
        path=path,
        ok=not problems,
        records=found.records,
        problems=len(problems),
        head=None if found.head is None else f"{found.head.seq} {found.head.hash}",
        lost=found.lost,
        running=found.running,
        times_ahead=found.times_ahead,
        signed_from=found.signed_from,
        unsigned=found.unsigned,
    )


def _chain(workspace: str, file: str | None) -> str:
    """Where the chain is. A workspace may be gone and its chain be there; if both are missing, the name is wrong."""
    if file is not None:
        return os.path.abspath(file)
    path = Registry().audit_path(workspace)
    if not os.path.isdir(workspace) and not os.path.lexists(os.path.dirname(path)):
        message = f"the workspace {workspace} is not a folder, and has no chain"
        raise Fail("not_found", "WORKSPACE_NOT_FOUND", message, target=workspace)
    return path


def _record(record: dict[str, Any]) -> AuditRecord:
    policy = record.get("policy") or {}
    return AuditRecord(
        seq=record["seq"],
        ts=str(record["ts"]),
        actor=str(record["actor"]["id"]),
        action=str(record["action"]),
        subject=dict(record["subject"]),
        decision=policy.get("decision"),
        policy=policy.get("ref"),
        input=record.get("input"),
        output=record.get("output"),
        metadata=record.get("metadata"),
        hash=str(record["hash"]),
    )


def _session(meta: SessionMeta) -> AgentSession:
    return AgentSession(
        id=meta.id,
        agent=meta.adapter_slug,
        status=meta.status,  # type: ignore[arg-type]  # one of the five
        workspace=meta.cwd,
        started_at=meta.started_at,
        ended_at=meta.ended_at,
        last_output_at=meta.last_output_at,
        turns=meta.turns,
        exit_code=meta.exit_code,
        agent_session_id=meta.agent_session_id,
        agent_version=meta.agent_version,
        protocol=meta.protocol,
        label=meta.label,
        error=meta.error,
        pid=meta.pid,
    )
