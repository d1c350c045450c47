"""The record format of the audit chain of agents: `agentgovernance/v1` of AIP-7, one line of canonical JSON (RFC 8785).

`seq` counts from 0, `prevHash` is the hash of the record before (64 zeros for the first), `hash` is SHA-256 over the
record without `hash`. A record that begins something has `metadata.phase: started`, the one that closes it
`metadata.closes` with its number. What is said about the chain itself has an action `audit.damage`, `audit.lost`,
`audit.retired`, `audit.signed` or `audit.restarted`.

`ts` never decreases, as the standard wants it. A record made while the clock is behind the record before has the time of
that record, and `metadata.clock` with what the clock said.
"""

import time
from hashlib import sha256
from typing import Any

import msgspec

from operable.kernel.canonical import canonical_json
from operable.state.sealed_head import Head
from operable.state.sealed_record import RecordPosition, SealedRecord

GENESIS = "0" * 64
_NOTICE = "audit."


class AuditFormat:
    """The codec."""

    genesis = GENESIS
    continues_unsealed = False

    def seal(self, record: dict[str, Any], place: RecordPosition) -> tuple[bytes, str, str]:
        now = spelled_time(place.now)
        entry = {**record, "seq": place.seq, "ts": max(now, place.after), "prevHash": place.prev}
        more: dict[str, Any] = {}
        if now < place.after:
            more["clock"] = now
        if place.opens:
            more["phase"] = "started"
        if place.closes is not None:
            more["closes"] = place.closes
        if more:
            entry["metadata"] = {**record.get("metadata", {}), **more}
        sealed = sha256(canonical_json(entry)).hexdigest()
        return canonical_json({**entry, "hash": sealed}) + b"\n", sealed, entry["ts"]

    def read(self, line: bytes) -> SealedRecord:
        try:
            record = msgspec.json.decode(line.rstrip(b"\n"), type=dict[str, Any])
            seq, own, before, at = record["seq"], str(record["hash"]), str(record["prevHash"]), record["ts"]
            sealed = sha256(canonical_json({k: v for k, v in record.items() if k != "hash"})).hexdigest()
            intact = sealed == own and canonical_json(record) + b"\n" == line
        except (msgspec.MsgspecError, LookupError, TypeError) as error:
            raise ValueError("not a record") from error
        if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
            raise ValueError("not a record")
        metadata, action = record.get("metadata"), str(record.get("action"))
        flags = metadata if isinstance(metadata, dict) else {}
        closes, facts = flags.get("closes"), record.get("output")
        return SealedRecord(
            Head(seq, own),
            before,
            record,
            intact,
            at=str(at),
            opens=flags.get("phase") == "started",
            closes=closes if isinstance(closes, int) else None,
            kind=action.removeprefix(_NOTICE) if action.startswith(_NOTICE) else None,
            facts=facts if isinstance(facts, dict) else {},
        )

    def notice(
        self, kind: str, facts: dict[str, Any], about: dict[str, Any] | None, now: float
    ) -> dict[str, Any]:
        del now  # `seal` gives every record its time
        begun = about or {}
        return {
            "$schema": "agentgovernance/v1",
            "doctype": "audit-event",
            "actor": {"id": "operable"},
            "action": f"{_NOTICE}{kind}",
            "subject": begun.get("subject") or {"kind": "audit"},
            "output": facts | ({"action": begun["action"]} if "action" in begun else {}),
        }


def spelled_time(seconds: float) -> str:
    """UTC with milliseconds."""
    whole = int(seconds // 1)
    milliseconds = int((seconds - whole) * 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{milliseconds:03d}Z"
