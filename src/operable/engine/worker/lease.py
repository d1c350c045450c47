"""Who lives: every worker has a lock that the kernel, or the database, releases when its process ends.

No clock decides whether a worker is dead, so a machine that is slow or suspended buries no worker. A worker
that is stopped keeps its lock: its runs wait until it goes on or is killed.

On one machine the lock is a file. Workers of several machines hold an advisory lock of PostgreSQL on a connection of its
own. A restart of the database frees those locks; so a lock must be free for `GRACE` seconds, and holders take it again.

The same connection listens: a command that makes or answers a run notifies the database, and workers look at once.
"""

import hashlib
import os
import select
import socket
import time
from contextlib import suppress
from typing import Any, Protocol

from operable.kernel.errors import Fail
from operable.state.atomic import make_folder
from operable.state.database import CHANNEL
from operable.state.lock import create_locked, is_at, is_locked

# Longer than a restart of a database and the reconnection of its workers.
GRACE = 10.0


class Lease(Protocol):
    def hold(self, worker_id: str) -> None:
        """Take the lock of this worker, or take it again if it was lost."""

    def is_dead(self, worker_id: str) -> bool:
        """Whether this worker is dead for certain. False means: it lives, or nothing is known."""

    def bury(self, worker_id: str) -> None:
        """Remove what is left of a dead worker."""

    def release(self) -> None:
        """Give the lock of this process back."""

    def descriptor(self) -> int | None:
        """What becomes readable when a change of the store is reported. None if nothing reports changes."""

    def was_notified(self) -> bool:
        """Whether a change was reported since the last call."""


class Bell:
    """Wakes the one thread that waits for it. Any thread may ring it, and so may a signal's function."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def ring(self) -> None:
        with suppress(OSError):  # it rings already, or there is nothing left to wake
            self._writer.send(b"!")

    def wait(self, timeout: float, other: int | None = None) -> bool:
        """Until it rings, or another descriptor can be read, or the time is over; whether it rang."""
        waiter, own = select.poll(), self._reader.fileno()
        for each in (own,) if other is None else (own, other):
            waiter.register(each, select.POLLIN)
        ready = {each for each, _ in waiter.poll(max(0.0, timeout) * 1000)}
        if own in ready:
            self._reader.recv(65536)
        return own in ready

    def close(self) -> None:
        self._reader.close()
        self._writer.close()


class FileLease:
    """Locked files in a folder of this machine.

    A file that is gone says little: a user may have removed it while the worker lives. That worker makes it again, unless
    it is stopped. So one whose file is gone is dead if its process is gone too, for `grace` seconds.
    """

    def __init__(self, folder: str, grace: float = GRACE) -> None:
        self._folder, self._grace = folder, grace
        self._held: tuple[str, int] | None = None
        self._gone_since: dict[str, float] = {}

    def hold(self, worker_id: str) -> None:
        if self._held is not None and is_at(self._path(worker_id), self._held[1]):
            return
        try:
            make_folder(self._folder)
            descriptor = create_locked(self._path(worker_id))
        except OSError as error:
            message = f"the lock of this worker cannot be made: {error}"
            raise Fail("temporary", "LEASE_UNAVAILABLE", message) from error
        self.release()
        self._held = (worker_id, descriptor)

    def is_dead(self, worker_id: str) -> bool:
        try:
            return not is_locked(self._path(worker_id))
        except FileNotFoundError:
            if _may_run(worker_id):
                self._gone_since.pop(worker_id, None)
                return False
            since = self._gone_since.setdefault(worker_id, time.monotonic())
            return time.monotonic() - since >= self._grace

    def bury(self, worker_id: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(worker_id))

    def release(self) -> None:
        """The file stays: its free lock says to the next worker that tickets of this one may be left."""
        if self._held is not None:
            os.close(self._held[1])
            self._held = None

    def descriptor(self) -> int | None:
        return None

    def was_notified(self) -> bool:
        return False

    def _path(self, worker_id: str) -> str:
        return os.path.join(self._folder, f"{worker_id}.lock")


class PostgresLease:
    """Advisory locks of a database, each on the connection of its worker."""

    def __init__(self, url: str, grace: float = GRACE) -> None:
        self._url = url
        self._grace = grace
        self._connection: Any = None
        self._held: str | None = None
        self._free_since: dict[str, float] = {}
        self._notified = False

    def hold(self, worker_id: str) -> None:
        import psycopg

        if self._connection is not None and not self._connection.closed:
            with suppress(psycopg.Error):
                self._connection.execute("SELECT 1")
                return
        try:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=10, keepalives_idle=5, keepalives_interval=5
            )
            # The session that had it before may not be gone yet: the next round tries again.
            self._connection.execute("SET lock_timeout = '5s'")
            self._connection.execute("SELECT pg_advisory_lock(%s)", (_key(worker_id),))
            self._connection.add_notify_handler(self._note)
            self._connection.execute(f"LISTEN {CHANNEL}")
        except psycopg.Error as error:
            self._connection = None
            message = f"the lock of this worker cannot be taken: {str(error).strip().splitlines()[0]}"
            raise Fail("temporary", "LEASE_UNAVAILABLE", message) from None
        self._held = worker_id

    def is_dead(self, worker_id: str) -> bool:
        if worker_id == self._held or self._is_held(worker_id):
            self._free_since.pop(worker_id, None)
            return False
        since = self._free_since.setdefault(worker_id, time.monotonic())
        return time.monotonic() - since >= self._grace

    def bury(self, worker_id: str) -> None:
        self._free_since.pop(worker_id, None)

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._held = None

    def descriptor(self) -> int | None:
        return None if self._connection is None or self._connection.closed else self._connection.fileno()

    def was_notified(self) -> bool:
        import psycopg

        if self.descriptor() is not None:
            try:
                self._connection.pgconn.consume_input()
                while self._connection.pgconn.notifies() is not None:
                    self._notified = True
            except psycopg.Error:
                self._connection.close()  # the next round takes the lock again
        notified, self._notified = self._notified, False
        return notified

    def _note(self, _: object) -> None:
        """Called for what comes with the answer to another statement."""
        self._notified = True

    def _is_held(self, worker_id: str) -> bool:
        import psycopg

        key = _key(worker_id)
        try:
            row = self._connection.execute("SELECT pg_try_advisory_lock(%s)", (key,)).fetchone()
            if not row[0]:
                return True
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (key,))
        except psycopg.Error:
            return True  # nothing is known while the database does not answer
        return False


def _may_run(worker_id: str) -> bool:
    """Whether the process that a worker's id names may be there; on another machine nothing is known about it."""
    host, _, number = worker_id.rpartition("-")[0].rpartition("-")
    if host != socket.gethostname()[:40] or not number.isdecimal():
        return True
    return os.path.exists(f"/proc/{number}") or not os.path.exists("/proc/self")


def _key(worker_id: str) -> int:
    return int.from_bytes(hashlib.sha256(worker_id.encode()).digest()[:8], signed=True)
