"""The port to a durable engine: what queues, delays and redelivers tickets. It knows nothing of jobs and runs.

A ticket is a short text. The backend delivers it to `deliver` of one started worker, at least once, not before its delay
is over, and again if that worker died before `deliver` returned and `recover` names it. Two tickets of one name are one.
Delivering twice does no harm: the store decides what a ticket still means. So the guarantees that a backend must have are
weak, and any durable queue can be one.

An entry of `backends/` is one engine; its descriptor is `BACKEND`. A queue is named by a backend's name, or by a URL whose
scheme is that name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from operable.engine.store.queue import EMBEDDED_QUEUE, QueueIdentity
from operable.kernel import catalogue

VARIABLE = "OPERABLE_QUEUE"
EMBEDDED = EMBEDDED_QUEUE.address


class Backend(Protocol):
    """One connection to an engine. Methods may be called from any thread after `start`."""

    queue: QueueIdentity

    def start(self, store_id: str, worker_id: str, slots: int, deliver: Callable[[str], None]) -> None:
        """Begin to deliver tickets of this store. The worker's id is never used again by another process."""

    def enqueue(self, tickets: Iterable[tuple[str, float]]) -> None:
        """Queue tickets: name, seconds until it may be delivered. Those that exist are left as they are."""

    def recover(self, worker_id: str) -> None:
        """Deliver again what this dead worker did not finish. A living worker must not be named."""

    def forget(self, tickets: Iterable[str]) -> None:
        """Remove tickets: they are not delivered, and their history is gone. Of the embedded queue also before `start`."""

    def waiting(self) -> int:
        """How many tickets are queued, delayed, or delivered and not finished."""

    def stop(self, timeout: float) -> None:
        """Deliver nothing more, and wait so long for what runs. Also if it was not started."""


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Which queue. Its credentials are variables, or files that variables name: words of a command are public."""

    queue: str
    store: str  # the address of the store: a path, or a URL
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BackendEntry:
    """One engine. `open` connects and changes nothing; it raises Fail if the engine cannot be used."""

    name: str
    open: Callable[[QueueSettings], Backend]


def open_backend(settings: QueueSettings) -> Backend:
    """Raises Fail if there is no such backend, its package is not installed, or it cannot be reached."""
    name = settings.queue.partition("://")[0]
    entry: BackendEntry = catalogue.load("operable.engine.backends", name, "BACKEND", kind="engine backend")
    return entry.open(settings)
