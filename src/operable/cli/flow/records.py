"""The audit log of executions on the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from operable.cli.flow.input import addressed
from operable.cli.flow.work_events import FlowAuditProblem, FlowAuditVerdict, FlowRecord
from operable.cli.short_ids import short_id
from operable.flow.approve.audit_trail import lost_uses
from operable.flow.audit import log as audit_log
from operable.flow.audit.record import ending
from operable.flow.run.caller import Caller
from operable.kernel.errors import Fail
from operable.state.sealed_head import Head
from operable.tool import Context, Warn

_NOT_WHOLE = 65


def records(by: Caller, newest: int | None, *, people: bool = False) -> Iterator[FlowRecord | Warn]:
    """Oldest first, for people with short ids.

    All of them are read as they are asked for, so that a limit is also one of the work.
    """
    with addressed("audit"):
        path = by.place("audit")
        for record in audit_log.oldest_first(path) if newest is None else _newest(path, newest):
            if isinstance(record, audit_log.MalformedLine):
                yield Warn("AUDIT_RECORD_MALFORMED", f"line {record.line}: {record.message}")
            else:
                yield _event(record, short_id if people else str)


def _event(record: dict[str, Any], shown: Callable[[str], str]) -> FlowRecord:
    # A program that may write the file may have written this: nothing about it is certain.
    source = record.get("source")
    place = source if isinstance(source, dict) else {}
    execution_id = _text(record.get("execution_id"))
    return FlowRecord(
        execution_id=None if execution_id is None else shown(execution_id),
        timestamp=_text(record.get("timestamp")),
        task=f"{place.get('workflow_id')}/{place.get('task_id')}",
        outcome=_outcome(record),
        record=record,
    )


def _newest(path: str, count: int) -> Iterator[dict[str, Any] | audit_log.MalformedLine]:
    entries, left = [], count
    for each in audit_log.newest_first(path):
        entries.append(each)
        left -= isinstance(each, dict)
        if not left:
            break
    yield from reversed(entries)


def _outcome(record: dict[str, object]) -> str:
    error, result = record.get("error"), record.get("result")
    if isinstance(error, dict):
        return str(error.get("code"))
    if isinstance(result, dict):
        return ending(result)
    return str(record.get("status") or "unknown")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def verdict(
    by: Caller, context: Context, anchor: str | None, key: str | None = None
) -> Iterator[FlowAuditProblem | FlowAuditVerdict]:
    with addressed("audit"):
        found = audit_log.verify(by.place("audit"), anchor=_head(anchor), key=key)
        lost = lost_uses(by.place("audit"), by.approvals.events())
    found["problems"] += [
        {"code": "approval_use_lost", "message": f"the log does not contain the use of approval {name}"}
        for name in lost
    ]
    for problem in found["problems"]:
        yield FlowAuditProblem(**problem)
    whole = found["verified"] and not lost
    head = found["head"]
    yield FlowAuditVerdict(
        ok=whole,
        records=found["records"],
        unsealed_lines=found["unsealed_lines"],
        problems=len(found["problems"]),
        head=None if head is None else f"{head['seq']} {head['hash']}",
        lost=found["lost"],
        running=found["running"],
        signed_from=found["signed_from"],
        unsigned=found["unsigned"],
    )
    if not whole:
        context.conclude(exit_code=_NOT_WHOLE)


def _head(text: str | None) -> Head | None:
    if text is None:
        return None
    seq, blank, digest = text.partition(" ")
    if not blank or not seq.isascii() or not seq.isdigit():
        raise Fail("usage", "INVALID_VALUE", '--anchor takes "SEQ HASH"', target="--anchor")
    return Head(int(seq), digest)
