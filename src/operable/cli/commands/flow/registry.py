"""`operable flow registry`: the manifests that are kept under names, one `registered_flow` event each; or one of them.

`operable flow register` adds one, `operable flow unregister` removes one, `operable flow import` takes a project's.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import RegisteredFlow, RegisteredManifest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "registry-list",
    limit=None,
    columns=("name", "workflows", "problem", "manifest"),
    examples=["flow registry", "flow registry disk --output jsonl"],
)
def registry(call: FlowCall) -> Iterator[RegisteredFlow | RegisteredManifest]:
    """List the manifests that are kept under names, or show one."""
    from operable.cli.flow.registry import listed, shown

    return listed(call["home"]) if call["name"] is None else shown(call["name"], call["home"])


COMMAND = registry
