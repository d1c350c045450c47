"""`operable engine approve`: let a run that asks for an approval go on.

The approval is for one execution. Who may give it is what the task declares (`approval.approver_scope`). Where allowed
signers are configured (`AGENTCLI_ALLOWED_SIGNERS`, or `state/allowed_signers` of the home), here or at the worker, it is
signed with your SSH key, as by `operable flow approve`; a yes that would not count is refused.
"""

from __future__ import annotations

from operable.cli.engine.events import EngineRun
from operable.cli.engine.options import EngineOptions
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Literal


@command(
    mutates=True,
    columns=("run_id", "name", "state", "reason"),
    examples=[
        "engine approve run_8e78e4a88e2871f2f197 --reason 'release 7'",
        "engine approve run_8e78e4a88e28 --by ann@example.com --signing-key ~/.ssh/id_ed25519",
    ],
)
def approve(
    run: str,
    *,
    by: str | None = None,
    reason: str | None = None,
    signer: Literal["ssh", "none"] | None = None,
    signing_key: str | None = None,
    engine: EngineOptions,
) -> Iterator[Change[Any]]:
    """Approve a run.

    run: its id, or the unique beginning of one
    by: who approves; by default your account on this machine
    reason WHY: why
    signer: how it is signed; by default with your SSH key where allowed signers are configured, and not elsewhere
    signing_key FILE: the private key to sign with; else AGENTCLI_SIGNING_KEY, or your own
    """
    from operable.cli.engine.decisions import RunAnswer, planned_decision

    answer = RunAnswer(approve=True, by=by, reason=reason, signer=signer, key=signing_key)
    return planned_decision(run, answer, engine)  # type: ignore[return-value]  # and warnings


@approve.apply
def write(changes: list[Change[Callable[[], EngineRun]]]) -> Iterator[EngineRun]:
    for change in changes:
        yield change.payload()


COMMAND = approve
