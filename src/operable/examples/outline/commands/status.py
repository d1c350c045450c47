"""`outline status`: what is there, and where."""

import os

from operable.examples.outline.database import SCHEMA, Reading, path
from operable.examples.outline.effects import last_change
from operable.tool import Event, command


class Status(Event):
    """What is in the store, and where it is."""

    notes: int
    folders: int
    tags: int
    changes: int
    database: str
    exists: bool
    size_bytes: int
    schema: int


@command(
    limit=None, columns=("notes", "folders", "database", "size_bytes"), examples=["status --output jsonl"]
)
def status() -> "Status":
    """Count what is in the store and say where it is."""
    place = path()
    with Reading() as connection:
        if connection is None:
            return Status(
                notes=0,
                folders=0,
                tags=0,
                changes=0,
                database=place,
                exists=False,
                size_bytes=0,
                schema=SCHEMA,
            )
        notes, folders = connection.execute("SELECT count(*), count(DISTINCT folder) FROM notes").fetchone()
        every = connection.execute("SELECT DISTINCT tags FROM notes WHERE tags <> ''")
        tags = {tag for (joined,) in every for tag in joined.split("\n")}
        return Status(
            notes=notes,
            folders=folders,
            tags=len(tags),
            changes=last_change(connection),
            database=place,
            exists=True,
            size_bytes=os.stat(place).st_size,
            schema=SCHEMA,
        )


COMMAND = status
