"""`operable flow paths`: where manifests, the registry, approvals and the audit are kept, one `flow_path` event each."""

from __future__ import annotations

from operable.cli.flow.backend_events import FlowPath
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow paths", "flow paths --home ./flows --output jsonl"])
def paths(*, home: str | None = None) -> Iterator[FlowPath]:
    """Show where things are kept.

    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.input import answer

    for name, path in answer("paths", home or "home", home=home)["paths"].items():
        yield FlowPath(name=name, path=path)


COMMAND = paths
