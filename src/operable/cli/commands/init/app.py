"""`operable init app`: a new application package that conforms, for its author to change.

Writes APP.md, `app/` with a working command line that keeps its data in SQLite, a skill, a schema and tests. What is there
already is left alone.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(mutates=True, examples=["init app my-notes", "init app my-notes --to apps --dry-run"])
def app(name: str, *, to: str = ".") -> Iterator[Change]:
    """Begin a new application package.

    name: its slug: words of a-z and 0-9 with hyphens between
    to DIR: the folder that gets it, as a folder of this name
    """
    from operable.app.skeleton import checked

    yield Change("create", checked(name, to), slug=name, folder=to)


@app.apply
def write(changes: list[Change]) -> Iterator[FileWritten]:
    from operable.app.skeleton import scaffold

    for change in changes:
        for path in scaffold(change["slug"], change["folder"]):
            yield FileWritten(path=path)


COMMAND = app
