"""The events of `add`, `update` and `remove`, of every kind of package."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class PackageInstalled(Event):
    """A package from elsewhere is in the user's own folder, and may be used as it was shown."""

    name: str
    version: str
    revision: str | None = None  # the commit, of a git repository
    digest: str
    signature: Literal["none", "unknown", "allowed"]  # unknown: by a key that the user has not listed
    signer: str | None = None
    path: str


class PackageRemoved(Event):
    """A package that was added is gone, with its data."""

    name: str
    path: str
