"""All egress proxies of a host, on one event loop in one thread: a host that computes or blocks slows no sandbox down.

The thread starts with the first proxy. Callbacks of a proxy (`on_attempt`) run in it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING

from operable.kernel.errors import Fail

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from operable.proc.sandbox.egress.proxy import Proxy

# Binding a unix socket, or closing connections: milliseconds.
_TIMEOUT = 10.0


class Service:
    """Starts and stops proxies from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self, proxy: Proxy, path: str) -> None:
        """Serve on this unix socket; Fail when it cannot be made."""
        try:
            self._do(proxy.start(path))
        except OSError as error:
            raise Fail(
                "io", "EGRESS_UNAVAILABLE", f"cannot serve egress at {path}: {error.strerror or error}"
            ) from error

    def stop(self, proxy: Proxy) -> None:
        self._do(proxy.aclose())

    def forget(self) -> None:
        """In a fork of the host: the thread stayed with the parent."""
        self._lock = threading.Lock()
        self._loop = None

    def _do(self, what: Coroutine[object, object, None]) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="operable-egress", daemon=True).start()
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_TIMEOUT)


SERVICE = Service()
os.register_at_fork(after_in_child=SERVICE.forget)
