"""`operable agent add`: install an agent from a folder, an archive or a git repository.

The plan fetches it and shows what it is, who signed it, and what it may do: nothing is in place before you have agreed to
exactly this content. Afterwards it is in your own folder, and can be started as long as its files are these.
"""

from __future__ import annotations

from operable.cli.packages.events import PackageInstalled
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    destructive=True,  # code from elsewhere: agreed to after it was shown
    examples=[
        "agent add ./my-agent.tar.gz --dry-run",
        "agent add https://example.org/my-agent.git --revision v1.2 --dry-run",
    ],
    timeout=600.0,
)
def add(source: str, *, revision: str | None = None, signed: bool = False) -> Iterator[Change]:
    """Install an agent from elsewhere.

    source: a folder, an archive (tar, zip), or the address of a git repository (https, ssh, git+FOLDER)
    revision REVISION: of a git repository: the branch, tag or commit
    signed: refuse it unless a signer that you allow has signed it
    """
    from operable.cli.packages.installation import planned_add
    from operable.host.launch.installation import AgentPackages

    yield planned_add(AgentPackages(), source, revision, signed=signed)


@add.apply
def keep(changes: list[Change]) -> Iterator[PackageInstalled]:
    from operable.cli.packages.installation import added
    from operable.host.launch.installation import AgentPackages

    for change in changes:
        yield added(AgentPackages(), change)


COMMAND = add
