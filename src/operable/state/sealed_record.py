"""What a sealed log knows of its records, whatever their format: place, seal, and the few kinds that mean something to it.

A format is a codec between the records of an application and lines. It decides the members and the spelling; the log
decides the order, what is begun and closed, and what is written about the log itself (`notice`).
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Protocol

from operable.kernel.data_class import dataclass
from operable.state.sealed_head import Head

Json = dict[str, Any]
DAMAGE = "damage"
"""The log was cut, edited or replaced before this record. A chain that has one never verifies again."""
LOST = "lost"
"""The process that began the record which this one closes has ended without closing it."""
RETIRED = "retired"
"""Records up to this place were removed because of the log's own limit."""
SIGNED = "signed"
"""From this record on the heads are signed. A log that has one, and an unsigned head, lost its signature."""

RESTARTED = "restarted"
"""The log begins here, although there must have been one before: it was removed. A chain that has one never verifies."""


@dataclass(frozen=True, slots=True)
class RecordPosition:
    """Where a record goes: after the one with hash `prev`, whose time is `after` in the format's spelling."""

    seq: int
    prev: str
    now: float
    after: str = ""
    opens: bool = False
    closes: int | None = None
    kind: str | None = None  # of a notice


@dataclass(frozen=True, slots=True)
class SealedRecord:
    """A line that was read. `intact`: its seal fits its content and its spelling."""

    head: Head
    prev: str
    record: Json
    intact: bool
    at: str = ""  # its time, where times of the format never decrease
    opens: bool = False
    closes: int | None = None
    kind: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)  # of a notice


class RecordFormat(Protocol):
    """The codec of one kind of log."""

    @property
    def genesis(self) -> str:
        """What stands for the hash before the first record."""

    @property
    def continues_unsealed(self) -> bool:
        """Whether a log that another program wrote without seals is continued."""

    def seal(self, record: Json, place: RecordPosition) -> tuple[bytes, str, str]:
        """The line of a record, its hash and its time."""

    def read(self, line: bytes) -> SealedRecord:
        """Raises ValueError if the line is not a sealed record of this format."""

    def notice(self, kind: str, facts: Json, about: Json | None, now: float) -> Json:
        """A record about the log itself; `about` is the record that was begun, for LOST."""
