"""`operable flow verify`: whether what the audit log says of an execution is what was signed about it.

Evidence is checked first, because it covers the whole record; else the attestation. Believed are the signers of
`--allowed-signers`, AGENTCLI_ALLOWED_SIGNERS or the home's file, else your own keys, which the verdict then says. Exit
status 65 when it is not verified.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowVerification
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "verify",
    limit=None,
    columns=("execution_id", "verified", "principal", "method", "reason"),
    examples=["flow verify 0f2c7c1a5b8e4d3f9a6b1c2d3e4f5a6b --output jsonl"],
)
def verify(call: FlowCall, context: Context) -> Iterator[FlowVerification]:
    """Verify what was recorded of an execution."""
    found = call.answer()
    yield FlowVerification(**{name: value for name, value in found.items() if name != "ok"})
    if not found["verified"]:
        context.conclude(exit_code=65)


COMMAND = verify
