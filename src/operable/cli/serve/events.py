"""The events of `operable serve`."""

from __future__ import annotations

from operable.tool import Event


class DaemonServing(Event):
    """Where the daemon is, from now until it is stopped. What `token_file` contains is sent as a bearer token."""

    url: str
    token_file: str
