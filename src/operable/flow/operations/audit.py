"""The newest records of the audit log, oldest of them first."""

import re
from typing import Any

from operable.flow.errors import invalid_argument
from operable.flow.operation import Defaults, Operation, Parameter, home, local

_DIGITS = re.compile(r"[1-9][0-9]{0,15}\Z")


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.audit import log as audit_log
    from operable.flow.task_query import caller_of

    limit = _limit(params.get("limit"))
    records, warnings = audit_log.read(caller_of(defaults).place("audit"), limit)
    return {"ok": True, "count": len(records), "records": records, "warnings": warnings}


def _limit(value: Any) -> int | None:
    from operable.flow.manifest.findings import is_integer

    if value is None:
        return None
    if isinstance(value, str) and _DIGITS.match(value):
        return int(value)
    if is_integer(value) and value > 0:
        return int(value)
    raise invalid_argument("inspect limit must be a positive integer")


OPERATION = Operation(
    method="agentcli.audit",
    order=11,
    verb="audit",
    place=27,
    summary="Read the audit log",
    run=_run,
    slow=True,
    params=(
        local(
            "action",
            "what to do with it",
            "word",
            shown="[action]",
            default="show",
            offered=("show", "verify"),
        ),
        Parameter("limit", "count", called="newest", help="only so many of the newest records"),
        local("anchor", 'a head that was kept elsewhere, as "SEQ HASH": it must be in the log'),
        local("key", "the file of the Ed25519 key that must have signed the log's head"),
        home("where the audit is kept"),
    ),
)
