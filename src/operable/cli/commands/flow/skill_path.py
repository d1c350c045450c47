"""`operable flow skill-path`: where an agent reads how manifests are written, one `flow_path` event each."""

from __future__ import annotations

from operable.cli.flow.backend_events import FlowPath
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow skill-path", "flow skill-path --output jsonl"])
def skill_path(*, home: str | None = None) -> Iterator[FlowPath]:
    """Show where the skill on writing manifests is: ours, and the place for your own.

    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.flow.input import answer

    found = answer("skill-path", home or "home", home=home)
    for name in ("skill_path", "home_skill_path"):
        yield FlowPath(name=name, path=found[name])


COMMAND = skill_path
