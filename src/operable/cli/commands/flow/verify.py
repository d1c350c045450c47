"""`operable flow verify`: whether what the audit log says of an execution is what was signed about it.

Evidence is checked first, because it covers the whole record; else the attestation. Believed are the signers of
`--allowed-signers`, AGENTCLI_ALLOWED_SIGNERS or the home's file, else your own keys. `proven` says what that shows: with
your own keys alone, that one of them signed, and not who it was. Exit status 65 when it is not verified.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowVerification
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "verify",
    limit=None,
    columns=("execution_id", "verified", "proven", "reason"),
    examples=["flow verify 0f2c7c1a5b8e4d3f9a6b1c2d3e4f5a6b --output jsonl"],
)
def verify(call: FlowCall, context: Context) -> Iterator[FlowVerification]:
    """Verify what was recorded of an execution."""
    found = call.answer()
    shown = {name: value for name, value in found.items() if name != "ok"}
    yield FlowVerification(proven=_proven(found), **shown)
    if not found["verified"]:
        context.conclude(exit_code=65)


def _proven(found: dict[str, Any]) -> str:
    """What the signature shows. The name in a record is what its writer chose; only a list of signers proves it."""
    if not found["verified"]:
        return "nothing"
    key, name = found.get("key_fingerprint") or "of the public key", found["principal"]
    if found.get("trust_source") == "allowed_signers":
        return f"the key {key} signed it, which the allowed signers give to {name}"
    return f"the key {key} signed it; whose key that is, is not known without allowed signers, so {name} is only a claim"


COMMAND = verify
