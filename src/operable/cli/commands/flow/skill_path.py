"""`operable flow skill-path`: where an agent reads how manifests are written, one `flow_path` event each."""

from __future__ import annotations

from operable.cli.flow_backend_events import FlowPath
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow skill-path", "flow skill-path --output jsonl"])
def skill_path(*, home: str | None = None) -> Iterator[FlowPath]:
    """Show where the skill on writing manifests is: ours, and the place for your own.

    home: another home than AGENTCLI_HOME or ~/.agentcli
    """
    from operable.cli.agentcli_documents import SKILL
    from operable.cli.flow_backends import local_home
    from operable.flow.home import paths

    yield FlowPath(name="skill_path", path=SKILL)
    yield FlowPath(name="home_skill_path", path=paths(local_home(home))["skill_path"])


COMMAND = skill_path
