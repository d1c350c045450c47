"""The store: one JSON file that is replaced as a whole, under a lock; reading takes none.

Items and what was done under idempotency keys are in one file, so that one rename makes an effect and the memory of it
visible together, or neither. A file that is not there is an empty store.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stream import Fail, interruptible

Store = dict[str, Any]
# A process with the lock is done in milliseconds; longer means trouble, which the caller should learn of.
LOCK_TIMEOUT = 5.0


def directory() -> str:
    if home := os.environ.get("REF_HOME"):
        return home
    if home := os.environ.get("HOME"):
        return os.path.join(home, ".local/share/reference")
    raise Fail("config", "HOME_NOT_SET", "Neither REF_HOME nor HOME says where the items are")


def load(home: str) -> Store:
    try:
        with open(os.path.join(home, "items.json"), encoding="utf-8") as file:
            store: Store = json.load(file)
            return {name: store[name] for name in ("next", "items", "keys")}
    except FileNotFoundError:
        return {"next": 1, "items": [], "keys": {}}
    except (OSError, ValueError, KeyError, TypeError):
        raise Fail("io", "STORE_UNREADABLE", "The store cannot be read") from None


def save(home: str, store: Store) -> None:
    """Replace the file: a crash leaves the old one or the new one, never a mixture."""
    path = os.path.join(home, "items.json")
    with open(f"{path}.{os.getpid()}.tmp", "w", encoding="utf-8") as file:
        json.dump(store, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    os.rename(file.name, path)


@contextmanager
def locked(home: str) -> Iterator[None]:
    """No other process changes the store meanwhile. The kernel takes the lock back from a process that dies."""
    try:
        os.makedirs(home, 0o700, exist_ok=True)
        with open(os.path.join(home, "items.lock"), "a", encoding="ascii") as lock:
            deadline = time.monotonic() + LOCK_TIMEOUT
            while not _lock(lock.fileno()):
                if time.monotonic() > deadline:
                    raise Fail("temporary", "STORE_BUSY", "Another process is changing the store")
                with interruptible():
                    time.sleep(0.02)
            yield
    except OSError:
        raise Fail("io", "STORE_UNWRITABLE", "The store cannot be written") from None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
