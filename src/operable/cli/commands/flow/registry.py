"""`operable flow registry`: the manifests that are kept under names, one `registered_flow` event each; or one of them.

`operable flow register` adds one, `operable flow unregister` removes one, `operable flow import` takes a project's.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import RegisteredFlow, RegisteredManifest
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("name", "workflows", "problem", "manifest"),
    examples=["flow registry", "flow registry disk --output jsonl"],
)
def registry(
    name: str | None = None, *, home: str | None = None
) -> Iterator[RegisteredFlow | RegisteredManifest]:
    """List the manifests that are kept under names, or show one.

    name: show the manifest of this name
    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.registry import listed, shown

    return listed(home) if name is None else shown(name, home)


COMMAND = registry
