"""The events of `operable serve`."""

from __future__ import annotations

from operable.tool import Event


class DaemonServing(Event):
    """Where the daemon is, from now until it is stopped. What `token_file` contains is sent as a bearer token."""

    url: str
    token_file: str


class LoginLinkMade(Event):
    """A link that logs one browser in, once, within `expires_in_s` seconds. It is as good as a password until then."""

    url: str
    expires_in_s: int
