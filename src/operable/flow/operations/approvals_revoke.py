"""Take an approval back. It is still listed, as revoked."""

from typing import Any

from operable.flow.operation import Defaults, Operation, Parameter, filled_text, home


def _run(params: dict[str, Any], defaults: Defaults) -> dict[str, Any]:
    from operable.flow.approve.local_approvals import revoke
    from operable.flow.task_query import caller_of

    caller = caller_of(defaults)
    revoked = revoke(
        caller.approvals,
        filled_text(params, "approvalId"),
        by=params.get("by") or caller.account,
        reason=params.get("reason"),
    )
    return {"ok": True, **revoked}


OPERATION = Operation(
    verb="approvals revoke",
    place=30,
    summary="Revoke an approval",
    run=_run,
    changes=True,
    params=(
        Parameter(
            "approvalId",
            "word",
            shown="<approval-id>",
            called="approval",
            help="its id, as `operable flow approvals` shows it",
        ),
        Parameter(
            "by",
            help="who revokes it; by default your account on this machine, whatever USER and HOSTNAME say",
        ),
        Parameter("reason", help="why"),
        home("where approvals are kept"),
    ),
)
