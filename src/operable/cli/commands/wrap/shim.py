"""`operable wrap shim`: a small program that is the wrapped tool, for a linter, for the PATH of an agent, or for a shell.

    operable wrap shim git > git-aoi && chmod +x git-aoi
    aoi-lint ./git-aoi

For people it prints the program alone, so that it can be redirected.
"""

from __future__ import annotations

from operable.cli.wrap.events import Shim
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, has_results=False, examples=["wrap shim git > git-aoi"])
def shim(tool: str, *, context: Context) -> Iterator[Shim]:
    """Print a program that is the wrapped tool.

    tool: the name of the tool
    """
    from operable.wrap.front import shim as text

    if context.machine:
        yield Shim(name=tool, program=text(tool))
    else:
        context.show(text(tool))


COMMAND = shim
