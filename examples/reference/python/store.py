"""The store: one JSONL file that is replaced as a whole, under a lock.

Its lines: `{"kind":"store",...}` first, then the items in order of creation, then what was done under idempotency keys.
Items and keys are in one file so that one rename makes an effect and the memory of it visible together, or neither.
Reading takes no lock: a reader sees the file before or after a change. A file that is not there is an empty store.
"""

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stream import Event, Fail, interruptible

# Retries come soon after the first try; the oldest keys are forgotten beyond this many.
KEYS = 1000
# Whoever holds the lock is done in milliseconds; longer means trouble, which the caller should hear of.
LOCK_TIMEOUT = 5.0


class Store:
    """What the file says."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.next = 1
        self.items: list[dict[str, Any]] = []
        self.keys: list[dict[str, Any]] = []

    def add(self, item: dict[str, Any]) -> None:
        self.items.append({"kind": "item", "seq": self.next, **item})
        self.next += 1

    def done(self, key: str, request: str) -> list[Event] | None:
        """The events of an earlier run with this key; None if there was none."""
        for record in self.keys:
            if record["key"] == sha256(key):
                if record["request"] != request:
                    raise Fail(
                        "conflict", "IDEMPOTENCY_KEY_REUSED", "This idempotency key was used for another call"
                    )
                return list(record["events"])
        return None

    def remember(self, key: str, request: str, events: list[Event]) -> None:
        # The key may be somebody's secret: only its digest is kept.
        self.keys.append({"kind": "key", "key": sha256(key), "request": request, "events": events})

    def save(self) -> None:
        """Replace the file: a crash leaves the old one or the new one, never a mixture."""
        head = {"kind": "store", "format": 1, "next": self.next}
        records = [head, *self.items, *self.keys[-KEYS:]]
        data = "".join(
            json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records
        )
        temporary = f"{self.path}.{os.getpid()}.tmp"
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "wb") as file:
                file.write(data.encode())
                file.flush()
                os.fsync(descriptor)
            os.rename(temporary, self.path)
        except OSError:
            raise _unwritable() from None


def directory() -> str:
    home = os.environ.get("REF_HOME")
    if home:
        return home
    if os.environ.get("HOME"):
        return os.path.join(os.environ["HOME"], ".local/share/reference")
    raise Fail("config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are")


def load(home: str) -> Store:
    store = Store(os.path.join(home, "items.jsonl"))
    try:
        with open(store.path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return store
    except OSError:
        raise Fail("io", "STORE_UNREADABLE", "The store cannot be read") from None
    try:
        head, *records = [json.loads(line) for line in data.splitlines()]
        store.next = head["next"]
        store.items = [record for record in records if record["kind"] == "item"]
        store.keys = [record for record in records if record["kind"] == "key"]
    except (ValueError, TypeError, KeyError):
        raise Fail("io", "STORE_DAMAGED", "The store is damaged") from None
    return store


@contextmanager
def locked(home: str) -> Iterator[Store]:
    """The store, with nobody else changing it meanwhile. The kernel takes the lock back from a process that dies."""
    try:
        os.makedirs(home, 0o700, exist_ok=True)
        descriptor = os.open(os.path.join(home, "items.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        raise _unwritable() from None
    deadline = time.monotonic() + LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise Fail("temporary", "STORE_BUSY", "Another process is changing the store") from None
            with interruptible():
                time.sleep(0.02)
    try:
        yield load(home)
    finally:
        os.close(descriptor)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _unwritable() -> Fail:
    return Fail("io", "STORE_UNWRITABLE", "The store cannot be written")
