"""The events that several commands emit. Their shape is the public contract `com.example.outline.events`.

Whatever a mutation did is reported with the id of the note, its new version, and `change`, its number in the store's log of
changes: `outline watch --after CHANGE` shows what came later.
"""

from operable.tool import Event


class Note(Event):
    """A whole note. `outline import` takes these events back."""

    id: str
    title: str
    body: str
    folder: str
    tags: "list[str]"
    created_at: str
    updated_at: str
    version: int


class Created(Event):
    """A note came into being."""

    id: str
    version: int
    title: str
    folder: str
    change: int


class Updated(Event):
    """A note has new content, or another place."""

    id: str
    version: int
    title: str
    folder: str
    change: int


class Deleted(Event):
    """A note is gone. `version` is the last one it had."""

    id: str
    version: int
    title: str
    folder: str
    change: int
