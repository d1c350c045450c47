"""`outline watch`: what happens to the notes, while it happens.

Reads the store's log of changes. Between two looks at the log it only asks SQLite whether anything was committed (a
few microseconds), so that a short interval costs little. The log keeps the last 100,000 changes; a caller that asks for
older ones learns how many are gone.
"""

import time

from operable.examples.outline import rules
from operable.examples.outline.database import Reading
from operable.examples.outline.effects import last_change
from operable.examples.outline.events import Created, Deleted, Updated
from operable.tool import Fail, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection

SHORTEST, LONGEST = 0.05, 60.0  # below it costs more than it shows; above it is too slow for watching
_EVENTS: "dict[str, type[Created | Updated | Deleted]]" = {
    "created": Created,
    "updated": Updated,
    "deleted": Deleted,
}


@command(
    unbounded=True,
    heartbeat=15.0,
    columns=("change", "type", "id", "version", "title"),
    examples=["watch --output jsonl --timeout 60", "watch --after 0 --limit 5 --output jsonl"],
)
def watch(
    *, folder: "str | None" = None, after: "int | None" = None, poll: float = 0.5
) -> "Iterator[Created | Updated | Deleted]":
    """Report every creation, update and deletion, until you interrupt it.

    folder: only in and below this folder
    after: begin after this change, not now; 0 for the oldest one that is still known
    poll: seconds between two looks, from 0.05 to 60
    """
    if not SHORTEST <= poll <= LONGEST:
        raise Fail(
            "usage",
            "INVALID_VALUE",
            f"--poll must be from {SHORTEST} to {LONGEST:g} seconds",
            target="--poll",
        )
    if after is not None and after < 0:
        raise Fail("usage", "INVALID_VALUE", "--after must not be negative", target="--after")
    place = None if folder is None else rules.folder(folder)
    while True:
        with Reading() as connection:
            if connection is not None:
                yield from _follow(connection, after, place, poll)
            elif after is None:
                after = 0  # whatever comes into a store that is not there yet is new
        time.sleep(poll)


def _follow(
    connection: "Connection", after: "int | None", folder: "str | None", poll: float
) -> "Iterator[Created | Updated | Deleted]":
    position = last_change(connection) if after is None else after
    (oldest,) = connection.execute("SELECT coalesce(min(change), 0) FROM changes").fetchone()
    if position < oldest - 1:
        yield Warn("CHANGES_FORGOTTEN", f"{oldest - 1 - position} changes are no longer known")  # type: ignore[misc]
    seen = -1
    while True:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != seen:
            seen = version
            for event in _since(connection, position):
                position = event.change
                if not folder or event.folder == folder or event.folder.startswith(f"{folder}/"):
                    yield event
        time.sleep(poll)


def _since(connection: "Connection", position: int) -> "Iterator[Created | Updated | Deleted]":
    rows = connection.execute(
        "SELECT change, action, id, version, title, folder FROM changes WHERE change > ? ORDER BY change",
        (position,),
    )
    for change, action, note_id, version, title, folder in rows:
        yield _EVENTS[action](id=note_id, version=version, title=title, folder=folder, change=change)


COMMAND = watch
