"""Connections to the hosts on the list: the name is resolved here, once, and the address that was judged is connected to.

So a name cannot change its meaning between the two (DNS rebinding). Lookups and vaults block: each session has a few threads
of its own, so that one session's slow names do not stop another's.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from operable.proc.sandbox.egress.budget import AttemptLog, Bounds
from operable.proc.sandbox.egress.rules import Rules
from operable.proc.sandbox.egress.streams import Ends, Refused

_THREADS = 4
_ADDRESSES = 8  # that are tried for one name
T = TypeVar("T")


class EgressUpstream:
    """Connects for one session."""

    def __init__(self, rules: Rules, log: AttemptLog, bounds: Bounds, trust: ssl.SSLContext | None) -> None:
        self._rules = rules
        self._log = log
        self._bounds = bounds
        self._trust = trust
        self._threads = ThreadPoolExecutor(_THREADS, "operable-egress")

    async def connect(self, host: str, port: int, *, secure: bool = False) -> Ends:
        """Connect to an address of the host that may be connected to; raises Refused."""
        context = self._context() if secure else None
        for place in await self._resolve(host, port):
            try:
                async with asyncio.timeout(self._bounds.connect):
                    return await asyncio.open_connection(
                        place,
                        port,
                        ssl=context,
                        server_hostname=host if secure else None,
                        limit=self._bounds.head,
                    )
            except (OSError, TimeoutError):  # ssl.SSLError is an OSError
                continue
        self._log.report(host, port, "unreachable")
        raise Refused("unreachable", "502 Bad Gateway")

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Call what blocks in a thread of this session."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _resolve(self, host: str, port: int) -> list[str]:
        try:
            async with asyncio.timeout(self._bounds.connect):
                answers = await self.call(socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
        except (OSError, UnicodeError, TimeoutError) as error:
            self._log.report(host, port, "unresolvable")
            raise Refused("unresolvable", "502 Bad Gateway") from error
        places = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        usable = [place for place in places if self._rules.may_connect(host, place, port)]
        if not usable:
            self._log.report(host, port, "private-address")
            raise Refused("private-address")
        return usable[:_ADDRESSES]

    def _context(self) -> ssl.SSLContext:
        if self._trust is None:
            self._trust = ssl.create_default_context()  # reads every authority of the system: once
        return self._trust
