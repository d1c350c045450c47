"""A disk of a campaign's own, and the conditions under which its writers work.

`enter` starts a program again in a mount namespace with a small tmpfs, so that nothing of the machine is changed. The
conditions belong to that disk (full, read-only, locked) or to the process that writes (`spoil`: clock, no locks).
"""

import contextlib
import errno
import fcntl
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

INSIDE = "OPERABLE_CAMPAIGN_DISK"
_SET = 40_000.0  # seconds: clocks are set by less than a day


def enter(module: str, *, size: str = "16m") -> int:
    """Run `python -m module` with the same arguments inside; its exit status."""
    with tempfile.TemporaryDirectory() as disk, tempfile.TemporaryDirectory() as elsewhere:
        mount = f'mount -t tmpfs -o size={size},mode=700 campaign {disk} && exec "$@"'
        words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
        again = [sys.executable, "-m", module, *sys.argv[1:]]
        environment = {**os.environ, INSIDE: f"{disk}\n{elsewhere}"}
        return subprocess.run([*words, *again], env=environment, check=False).returncode


def places() -> tuple[str, str] | None:
    """The small disk and a folder on another one; None outside."""
    found = os.environ.get(INSIDE)
    if found is None:
        return None
    disk, elsewhere = found.split("\n")
    return disk, elsewhere


@contextlib.contextmanager
def condition(name: str, disk: str, locks: Iterable[str] = ()) -> Iterator[None]:
    """The disk in this condition; `locks` are the files that another process keeps."""
    with contextlib.ExitStack() as stack:
        if name == "full":
            filler = os.path.join(disk, "filler")
            stack.callback(os.unlink, filler)
            _fill(filler)
        elif name == "read-only":
            _mount("remount,ro", disk)
            stack.callback(_mount, "remount,rw", disk)
        elif name == "locked":
            for path in locks:
                fcntl.flock(stack.enter_context(open(path, "a")), fcntl.LOCK_EX)
        yield


def spoil(name: str, seed: int) -> None:
    """What this process is told by its system, from now on."""
    chance, now = random.Random(seed), time.time
    if name == "clock":
        time.time = lambda: now() + chance.uniform(-_SET, _SET)
    elif name == "no locks":
        fcntl.flock = fcntl.lockf = _no_locks


def _no_locks(*_: Any) -> NoReturn:
    raise OSError(errno.ENOLCK, "No locks available")


def _fill(path: str) -> None:
    with open(path, "wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * size)


def _mount(options: str, disk: str) -> None:
    subprocess.run(["mount", "-o", options, disk], check=True)
