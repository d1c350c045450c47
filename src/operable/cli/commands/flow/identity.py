"""`operable flow identity`: identity providers, and the identity of a task.

`providers` lists them, `schema NAME` shows one; `resolve FILE TASK` shows the identity that a task
would run as. `validate-delegation FILE TASK` says whether the delegation chain of that identity is valid. Credentials
are obtained for that, never shown, and given back.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.work_events import FlowDelegation, FlowIdentity, FlowProvider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "identity-providers",
    "identity-schema",
    "identity-resolve",
    "identity-validate-delegation",
    limit=None,
    columns=("name", "capabilities", "task_id", "principal_used", "trust", "delegation"),
    examples=[
        "flow identity",
        "flow identity schema env-bearer",
        "flow identity resolve workflow.json backup --output jsonl",
    ],
)
def identity(call: FlowCall) -> Iterator[FlowProvider | FlowIdentity | FlowDelegation]:
    """List identity providers, or show the identity a task would run as.

    name: the provider, or the manifest
    """
    from operable.cli.flow import governance

    return governance.identity(call)


COMMAND = identity
