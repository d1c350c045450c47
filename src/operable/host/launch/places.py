"""Where launching keeps its state, how that is locked, and where manifests are looked for.

    <state>/agents/ledger.sqlite              what is installed, set up and logged in
    <state>/agents/manifests.json             which manifests the user approved
    <state>/agents/installs/<id>@<major>/N/   one private installation each; what the ledger does not name is rubbish
    <state>/agents/locks/                     so that two hosts do not do the same thing at once

All of it is private to its owner (0700). The folder is `operable.state.paths.make_state("agents")` unless given.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.state.lock import EXCLUSIVE, held
from operable.state.paths import config_path, make_private, make_state

MANIFEST = "AGENT-CLI.md"


@dataclass(frozen=True, slots=True)
class Places:
    """The state folder of launching, and the places in it."""

    state: str

    @classmethod
    def default(cls) -> "Places":
        return cls(make_state("agents"))

    @property
    def ledger(self) -> str:
        return os.path.join(self.state, "ledger.sqlite")

    def installs(self, major: str) -> str:
        """The folder of all installations of `id@major`; made when it is not there."""
        return self._made("installs", plain(major))

    def lock(self, name: str) -> str:
        """The path of a lock file."""
        return os.path.join(self._made("locks"), plain(name))

    def _made(self, *names: str) -> str:
        return make_private(os.path.join(self.state, *names))


def plain(name: str) -> str:
    """A file name from an identity: what is not a letter, a digit or one of `@.-_` becomes `_`, and it is never hidden."""
    kept = "".join(character if character.isalnum() or character in "@.-_" else "_" for character in name)
    return f"_{kept}" if kept.startswith(".") else kept or "_"


def user_agents() -> str | None:
    """The folder of the user's own manifests."""
    return config_path("agents")


def bundled_agents() -> str:
    """The folder of the manifests that come with Operable."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "agents")


# One installation at a time, across processes: a lock of `state.lock` that can be stopped, and that says it waits.
# The file stays: removing it would let two holders in.
@contextmanager
def exclusive(
    path: str,
    *,
    timeout: float,
    what: str,
    stop: threading.Event | None = None,
    on_wait: Callable[[], object] | None = None,
) -> Iterator[None]:
    """Hold the lock; `what` is named in the failure if it is not free in time. `on_wait` is called once, if at all."""
    waits = _Waits(what, stop or threading.Event(), on_wait)
    with ExitStack() as stack:
        try:
            stack.enter_context(held(path, EXCLUSIVE, wait=timeout, pause=waits))
        except TimeoutError:
            message = f"another process is {what}, and did not end in time"
            raise Fail("timeout", "LOCK_TIMEOUT", message) from None
        except OSError as error:
            raise Fail("io", "LOCK_UNUSABLE", f"cannot lock {path}: {error.strerror}", target=path) from error
        yield


class _Waits:
    """Called between two attempts at the lock."""

    def __init__(self, what: str, stop: threading.Event, on_wait: Callable[[], object] | None) -> None:
        self._what, self._stop, self._on_wait = what, stop, on_wait

    def __call__(self, seconds: float) -> None:
        if self._on_wait is not None:
            self._on_wait()
            self._on_wait = None
        if self._stop.wait(seconds):
            raise Fail("cancelled", "STOPPED", f"stopped while waiting: {self._what}")
