"""The way out of a confined place: none, or a proxy that lets through what the manifest lists.

No listed host is no way out. Where secrets are put into requests on their way, the proxy reads them with a certificate of
its own, which programs inside are told to trust. Whether a provider can hold a list at all is for the provider to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from operable.host.delivery import Delivered
from operable.kernel.errors import Fail
from operable.proc.sandbox.confinement import Tunnel
from operable.proc.sandbox.egress.budget import Attempt
from operable.proc.sandbox.egress.proxy import Proxy
from operable.proc.sandbox.egress.service import SERVICE
from operable.proc.sandbox.egress.tls import TRUST_VARIABLES, Authority

_TRUST_BUNDLE = "/run/operable/trust.pem"
# Inside a network namespace every port is free; this one is remembered by people who debug.
_PROXY_PORT = 3128


@dataclass(slots=True)
class WayOut:
    """How the network is reached, what has to be seen inside for it, and the proxy that is to be stopped."""

    tunnel: Tunnel | None = None
    proxy: Proxy | None = None
    readable: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)


def way_out(
    egress: tuple[str, ...],
    delivered: Delivered,
    folder: str,
    on_attempt: Callable[[Attempt], object],
    *,
    inside: bool,
) -> WayOut:
    """The proxy runs when this returns; `folder` is the session's own."""
    if not egress:
        if delivered.substitutes:
            raise Fail("config", "SECRET_EXPOSURE_INVALID", "egress-substitute needs hosts in network.egress")
        return WayOut()
    path = os.path.join(folder, "egress")
    if not inside:
        # For the provider to refuse, or to report as open.
        return WayOut(Tunnel(path, _PROXY_PORT, (), egress))
    authority = Authority(folder) if delivered.substitutes else None
    found = WayOut()
    if authority is not None:
        bundle = os.path.join(folder, "trust.pem")
        with open(bundle, "wb") as file:
            file.write(authority.bundle())
        found.readable[_TRUST_BUNDLE] = bundle
    proxy = Proxy(
        egress, substitutes=tuple(delivered.substitutes), authority=authority, on_attempt=on_attempt
    )
    found.tunnel = Tunnel(path, _PROXY_PORT, proxy.rules.loopback(), egress)
    found.env = found.tunnel.environment()
    if authority is not None:
        found.env |= dict.fromkeys(TRUST_VARIABLES, _TRUST_BUNDLE)
    SERVICE.start(proxy, path)  # last: what fails before needs no stop
    found.proxy = proxy
    return found
