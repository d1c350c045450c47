"""`operable init tool`: a new tool that conforms, for its author to change.

Writes a tool in Python with the SDK (list, get, create, delete and a check of doctor), its tests, and the profile with which
the linter passes all of it. What is there already is left alone.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["init tool my-notes", "init tool my-notes --to tools --dry-run"])
def tool(name: str, *, to: str = ".") -> Iterator[Change]:
    """Begin a new tool.

    name: what it is called: words of a-z and 0-9 with hyphens between
    to: the folder that gets it, as a folder of this name
    """
    from operable.cli.starter import checked

    yield Change("create", checked(name, to), slug=name, folder=to)


@tool.apply
def write(changes: list[Change]) -> Iterator[FileWritten]:
    from operable.cli.starter import scaffold

    for change in changes:
        for path in scaffold(change["slug"], change["folder"]):
            yield FileWritten(path=path)


COMMAND = tool
