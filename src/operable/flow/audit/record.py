"""The record format of the audit log of executions: one JSON line per record, with its own members and `chain`.

`chain` has `seq` (counting from 0 over all files), `prev` (the hash of the record before; of everything before the chain,
when a log without seals is continued) and `hash` (over the canonical text of the record without `hash`). `kind` is
`started` for a record that begins an execution, else what the record says about the log itself; `closes` is the number of
the record whose execution it ends. Readers of the plain log go on working. A record has one spelling: not even a blank
can be changed.
"""

import json
from collections.abc import Mapping
from typing import Any

from operable.flow.canonical import canonical_text, hash_text, parse
from operable.flow.trust.identity.sessions import timestamp
from operable.state.sealed_head import Head
from operable.state.sealed_record import LOST, RecordPosition, SealedRecord

Json = dict[str, Any]
GENESIS = "sha256:" + "0" * 64
STARTED = "started"


class ExecutionFormat:
    """The codec."""

    genesis = GENESIS
    continues_unsealed = True

    def seal(self, record: Json, place: RecordPosition) -> tuple[bytes, str, str]:
        chain: Json = {"seq": place.seq, "prev": place.prev}
        if place.kind is not None or place.opens:
            chain["kind"] = place.kind or STARTED
        if place.closes is not None:
            chain["closes"] = place.closes
        sealed = hash_text(canonical_text({**record, "chain": chain}))
        return _spelled({**record, "chain": {**chain, "hash": sealed}}), sealed, ""

    def read(self, line: bytes) -> SealedRecord:
        try:
            record = parse(line)
            chain = dict(record["chain"])
            own = str(chain.pop("hash"))
            seq, prev, kind, closes = chain["seq"], chain["prev"], chain.get("kind"), chain.get("closes")
            sealed = hash_text(canonical_text({**record, "chain": chain}))
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError("not a record") from error
        if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
            raise ValueError("not a record")
        facts = record.get("audit")
        return SealedRecord(
            Head(seq, own),
            str(prev),
            record,
            intact=sealed == own and _spelled(record) == line,
            opens=kind == STARTED,
            closes=closes if isinstance(closes, int) else None,
            kind=kind if isinstance(kind, str) and kind != STARTED else None,
            facts=facts if isinstance(facts, dict) else {},
        )

    def notice(self, kind: str, facts: Json, about: Json | None, now: float) -> Json:
        begun = about or {}
        return {
            "execution_id": begun.get("execution_id"),
            "timestamp": timestamp(now),
            "source": begun.get("source"),
            "status": LOST if kind == LOST else f"audit_{kind}",
            "audit": facts,
        }


def _spelled(record: Json) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def ending(result: Mapping[str, Any]) -> str:
    """How a task ended, in the words of the log: `timeout`, `exit 3`, a signal, or `not started`."""
    if result.get("timed_out"):
        return "timeout"
    code = result.get("exit_code")
    return str(result.get("signal") or "not started") if code is None else f"exit {code}"
